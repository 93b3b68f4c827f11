# SPDX-License-Identifier: Apache-2.0
# berth. One Makefile, no recursion. `make help` lists the targets.

VERSION := 0.1.0

# SAN=address,undefined, SAN=thread and DEBUG=1 build into build/address, build/thread, build/debug.
SAN   ?=
DEBUG ?=
comma := ,
BUILD := build$(if $(SAN),/$(firstword $(subst $(comma), ,$(SAN))),$(if $(DEBUG),/debug))
ifeq ($(origin CC),default)
CC    := gcc
endif

# Debian 12 packages. `make deps` and `make deps-test` install those that are missing.
DEPS_BUILD := gcc libc6-dev libssl-dev libnghttp2-dev libyaml-dev libsqlite3-dev
DEPS_TEST  := $(DEPS_BUILD) libcmocka-dev clang-19 libclang-rt-19-dev llvm-19 \
	clang-format-19 clang-tidy-19 shellcheck python3 python3-venv openssl curl ca-certificates \
	groff-base mandoc zsh fish valgrind dpkg-dev binutils

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion \
	-Wpointer-arith -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wimplicit-fallthrough
# Warnings are errors in a git checkout, not in a release tarball: packagers use other compilers.
WERROR ?= $(if $(wildcard .git),1)
# Hardening. A flag that not every compiler, linker or architecture supports is used if $(CC) accepts
# it. Control-flow protection is -fcf-protection on amd64 and -mbranch-protection on arm64; -z ibt and
# -z shstk keep the program marked even if the C library's start files are not.
takes = $(shell echo 'int main(void) { return 0; }' | \
	$(CC) -Werror -fPIE -pie $1 -x c - -o /dev/null 2>/dev/null && echo '$1')
TARGET := $(shell $(CC) -dumpmachine)
ifneq ($(filter x86_64-%,$(TARGET)),)
CF_CFLAGS  := $(call takes,-fcf-protection=full)
CF_LDFLAGS := $(call takes,-Wl$(comma)-z$(comma)ibt$(comma)-z$(comma)shstk)
else ifneq ($(filter aarch64-%,$(TARGET)),)
CF_CFLAGS  := $(call takes,-mbranch-protection=standard)
CF_LDFLAGS :=
endif
# Position-independent code for libberth.so; all symbols but the public ones are hidden, so that it
# costs a program nothing.
HARDEN := -fstack-protector-strong -fPIC $(call takes,-fstack-clash-protection) $(CF_CFLAGS) \
	$(if $(SAN),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
CFLAGS   ?= $(if $(DEBUG),-Og -g3,-O2 -g)
# Sanitizer and debug builds check INVARIANT() (base/base.h); release builds do not.
CPPFLAGS += -D_GNU_SOURCE -DBERTH_VERSION='"$(VERSION)"' $(if $(SAN)$(DEBUG),-DBERTH_INVARIANTS) \
	-Isrc -Iinclude
ALL_CFLAGS := -std=c17 $(CFLAGS) $(WARN) $(if $(WERROR),-Werror) $(HARDEN) -fno-common \
	-fvisibility=hidden -pthread \
	$(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
ALL_LDFLAGS := $(LDFLAGS) -pie -Wl,-z,relro,-z,now,-z,noexecstack $(CF_LDFLAGS) -pthread \
	$(if $(SAN),-fsanitize=$(SAN))
LIBS := -lssl -lcrypto -lnghttp2 -lyaml -lsqlite3 -lm -ldl

SRC      := $(wildcard src/*/*.c src/*/*/*.c)
CMD_SRC  := $(wildcard src/cmd/*.c src/cmd/*/*.c)
LIB_OBJ  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(CMD_SRC),$(SRC)))
CMD_OBJ  := $(patsubst %.c,$(BUILD)/%.o,$(CMD_SRC))
TESTLIB_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/lib/*.c))
TESTPLUGIN_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/plugins/*.c))
UNIT     := $(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_*.c))
FUZZ     := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all help deps deps-test run test check unit unit-bins e2e-bins fuzz-bins fuzz lint format \
	clean kube oracle cel devices sigs man libs install install-kube-scheduler bench bench-decode bench-plugins bench-preemption \
	compile_commands.json dist deb instructions attack

all: $(BUILD)/berth

help:
	@echo 'Build and run:'
	@echo '  make                   build build/berth'
	@echo '  make run               install missing packages, build, run a cluster with examples/demo.yaml'
	@echo '  make DEBUG=1           build build/debug/berth: for a debugger, with invariants checked'
	@echo '  make deps              install the packages that the build needs (Debian)'
	@echo '  make clean             remove build/'
	@echo
	@echo 'Test:'
	@echo '  make test              run all tests; ends with "N passed, N failed, N skipped"'
	@echo '  make check             run the quick ones: lint, unit tests, simulate, recorded cases'
	@echo '  make unit              run the unit tests; SAN=address,undefined or SAN=thread selects'
	@echo '                         a sanitizer, T="queue heap" selects modules'
	@echo '  make lint              check format, clang-tidy, order and cycles of folders, sizes, scripts'
	@echo '  make fuzz              run each fuzz target for FUZZ_SECONDS (default 600)'
	@echo '  make oracle            compare with kube-scheduler on CASES random clusters, from SEED on'
	@echo '  make devices           compare allocations of devices with upstream on CASES random cases, from SEED on'
	@echo '  make sigs              compare with the plugins of scheduler-plugins on CASES random clusters, from SEED on'
	@echo '  make cel               compare CEL with cel-go on CASES random expressions, from SEED on'
	@echo '  make attack            attack berth and kube-scheduler; prints the table of docs/reliability.md'
	@echo '  make deps-test         install the packages that the tests need (Debian)'
	@echo '  make kube              build etcd, kube-apiserver, kubectl and kube-scheduler for the tests'
	@echo
	@echo 'Measure:'
	@echo '  make bench             kube-scheduler, berth and reference clients on a real cluster'
	@echo '  make bench-plugins     cost of each plugin per pod and node'
	@echo '  make bench-preemption  cost of a preemption, beside kube-scheduler'
	@echo '  make bench-decode      decoding 5,000 pods from JSON and protobuf, beside Go'
	@echo '  make instructions      instructions per pod against the recorded ones; RECORD=1 records them'
	@echo
	@echo 'Edit:'
	@echo '  make format            format all C files'
	@echo '  make compile_commands.json   write the compilation database for editors'
	@echo
	@echo 'Package:'
	@echo '  make install           install the program, headers, libberth, manual, completion and systemd'
	@echo '                         unit into DESTDIR and PREFIX (default /usr/local)'
	@echo '  make install-kube-scheduler   also install it under the name kube-scheduler'
	@echo '  make man               build the manual pages'
	@echo '  make dist              build a source tarball of the commit'
	@echo '  make deb               build a Debian package'
	@echo
	@echo 'V=1 prints whole commands.'

deps:
	@tools/deps.sh $(DEPS_BUILD)
deps-test:
	@tools/deps.sh $(DEPS_TEST)

# --- building ---------------------------------------------------------------------------------

# One short line per step; V=1 prints whole commands.
Q := $(if $(V),,@)
step = $(if $(V),,@echo '  $1 $@')

# Objects depend on a file with their flags: $(call stamp,FILE,FLAGS) rewrites it if a flag changed.
# This happens when the Makefile is read, so that -n and -q tell the truth.
stamp = $(shell mkdir -p $(dir $1); text='$(subst ','\'',$2)'; \
	printf '%s\n' "$$text" | cmp -s - $1 || printf '%s\n' "$$text" >$1)
$(call stamp,$(BUILD)/flags,$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS))

# A missing package is reported once, with the target that installs it.
headers := openssl/ssl.h nghttp2/nghttp2.h yaml.h sqlite3.h
$(BUILD)/headers: needed = $(headers)
$(BUILD)/headers: installer = make deps
$(BUILD)/test-headers: needed = cmocka.h
$(BUILD)/test-headers: installer = make deps-test
$(BUILD)/headers $(BUILD)/test-headers:
	@mkdir -p $(@D)
	@for header in $(needed); do \
		printf '#include <stddef.h>\n#include <%s>\n' $$header | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || \
			{ echo "$$header not found: run '$(installer)' to install the packages needed" >&2; exit 1; }; \
	done
	@touch $@

$(BUILD)/tests/%: private CPPFLAGS += -Itests/lib
# All unit tests are one program, so the main of each gets another name.
$(BUILD)/tests/unit/%.o: private CPPFLAGS += -Dmain=unit_$(patsubst test_%,%,$(*F))
$(BUILD)/tests/unit/%.o: private ALL_CFLAGS += -Wno-missing-prototypes
$(UNIT:%=$(BUILD)/tests/unit/test_%.o): | $(BUILD)/test-headers

$(BUILD)/%.o: %.c $(BUILD)/flags | $(BUILD)/headers
	$(call step,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# The files that `berth plugin new` creates are part of the program.
$(BUILD)/src/cmd/plugin/plugin_templates.o: $(wildcard src/cmd/plugin/templates/* src/cmd/plugin/templates/*/*)

$(BUILD)/libberth.a: $(LIB_OBJ)
	$(call step,AR)
	@rm -f $@
	$(Q)ar rcs $@ $^

$(BUILD)/berth: $(CMD_OBJ) $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic $^ $(LIBS) -o $@

# What `make install` installs for schedulers of one's own (include/berth/scheduler.h): everything but
# main, with public symbols only.
ABI_MAJOR := $(shell sed -n 's/^.define BERTH_ABI_MAJOR //p' include/berth/plugin.h)
SHIPPED_OBJ := $(filter-out %/main.o,$(CMD_OBJ)) $(LIB_OBJ)
libs: $(BUILD)/lib/libberth.a $(BUILD)/lib/libberth.so.$(ABI_MAJOR)
$(BUILD)/lib/libberth.a: $(SHIPPED_OBJ)
	$(call step,AR)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ld -r $^ -o $(@D)/berth.o && objcopy --localize-hidden $(@D)/berth.o && ar rcs $@ $(@D)/berth.o
$(BUILD)/lib/libberth.so.$(ABI_MAJOR): $(SHIPPED_OBJ)
	$(call step,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -pie,$(ALL_LDFLAGS)) -shared -Wl,-soname,$(@F),-z,defs $^ $(LIBS) -o $@

# berth with the plugins of tests/plugins, for tests/e2e.
$(BUILD)/berth-test: $(TESTPLUGIN_OBJ) $(BUILD)/libcmd.a $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic $^ $(LIBS) -o $@

# The commands without main, for unit tests.
$(BUILD)/libcmd.a: $(filter-out %/main.o,$(CMD_OBJ))
	$(call step,AR)
	@rm -f $@
	$(Q)ar rcs $@ $^

# All unit tests in one program, so that a change links once. `berth-unit queue` runs one module.
$(BUILD)/tests/unit_table.h: Makefile $(wildcard tests/unit)
	@mkdir -p $(@D)
	@printf 'UNIT(%s)\n' $(UNIT) >$@
$(BUILD)/tests/unit_main.o: private CPPFLAGS += -I$(BUILD)/tests
$(BUILD)/tests/unit_main.o: $(BUILD)/tests/unit_table.h
$(BUILD)/berth-unit: $(BUILD)/tests/unit_main.o $(UNIT:%=$(BUILD)/tests/unit/test_%.o) $(TESTLIB_OBJ) \
		$(BUILD)/libcmd.a $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ -lcmocka $(LIBS) -o $@

$(BUILD)/berth-bench: $(BUILD)/tests/bench/bench.o $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/berth-plugins-bench: $(BUILD)/tests/bench/plugins_bench.o $(BUILD)/src/cmd/bench/bench_rows.o \
		$(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

# berth's side of tests/cel.
$(BUILD)/berth-cel: $(BUILD)/tests/cel/cel_eval.o $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

# berth's allocator of devices on cases from standard input; tests/devices compares it with upstream's.
$(BUILD)/berth-devices: $(BUILD)/tests/devices/tool/allocate.o $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/berth-load: $(BUILD)/tests/bench/load.o $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/berth-controllers: $(BUILD)/tests/controllers/controllers.o $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

# The extender of docs/tutorials/extender.md.
$(BUILD)/my-scheduler-extender: $(BUILD)/examples/extender/extender.o $(BUILD)/libcmd.a $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

# berth that counts its own work, for tests/e2e/test_growth.py: see tests/counting.
COUNT_WRAP := memcpy memmove memset memcmp malloc calloc realloc reallocarray free \
	engine_schedule_one engine_object_changed engine_write_done engine_tick
COUNT_CFLAGS := $(filter-out -D_FORTIFY_SOURCE=%,$(ALL_CFLAGS)) -fsanitize-coverage=trace-pc
$(call stamp,$(BUILD)/counting/flags,$(CC) $(CPPFLAGS) $(COUNT_CFLAGS))
$(BUILD)/counting/%.o: %.c $(BUILD)/counting/flags
	$(call step,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(COUNT_CFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/berth-counting: $(patsubst %.c,$(BUILD)/counting/%.o,$(SRC) tests/counting/counting.c)
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic $(COUNT_WRAP:%=-Wl,--wrap=%) $^ $(LIBS) -o $@

# Fuzz targets: everything compiled by clang, with coverage and sanitizers.
FUZZ_CC     := clang-19
FUZZ_CFLAGS := -std=c17 -O1 -g $(filter-out -DBERTH_INVARIANTS,$(CPPFLAGS)) -DBERTH_INVARIANTS \
	-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
build/fuzz/obj/tests/%: private FUZZ_CFLAGS += -Itests/lib
$(call stamp,build/fuzz/flags,$(FUZZ_CC) $(FUZZ_CFLAGS))
build/fuzz/obj/%.o: %.c build/fuzz/flags
	$(call step,CC)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -MMD -MP -c $< -o $@
build/fuzz/libberth.a: $(patsubst %.c,build/fuzz/obj/%.o,$(filter-out $(CMD_SRC),$(SRC)))
	$(call step,AR)
	@rm -f $@
	$(Q)ar rcs $@ $^
build/fuzz/%: build/fuzz/obj/tests/fuzz/%.o build/fuzz/libberth.a
	$(call step,LD)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -pthread $^ $(LIBS) -o $@

.SECONDARY:
-include $(shell find $(BUILD) build/fuzz -type f -name '*.d' 2>/dev/null)

# --- running and testing ----------------------------------------------------------------------

JOBS := -j$(shell nproc)

run: deps
	@$(MAKE) --no-print-directory $(JOBS) all
	@$(BUILD)/berth up --nodes 6 --zones 3 --port 0 -f examples/demo.yaml $$([ -t 1 ] && echo --summary || echo --wait --for 1m)

test: deps-test
	@tests/run.py
check: deps-test
	@tests/run.py --quick

# Compares with tests/bench/instructions.json; RECORD=1 writes that file.
instructions: $(BUILD)/berth
	@tests/bench/instructions.py $(if $(RECORD),--record) --berth $<

e2e-bins: $(BUILD)/berth $(BUILD)/berth-test $(BUILD)/my-scheduler-extender $(BUILD)/berth-load $(BUILD)/berth-controllers
unit-bins: $(BUILD)/berth-unit
unit: unit-bins
	@tests/run.py --unit $(BUILD) $(T)

fuzz-bins: $(FUZZ)
FUZZ_SECONDS ?= 600
fuzz: fuzz-bins
	@tests/run.py --fuzz $(FUZZ_SECONDS)

kube:
	@tests/kube/build.sh

CASES ?= 2000
SEED  ?= 0
oracle: $(BUILD)/berth
	@oracle=$$(tests/oracle/build.sh) && \
		"$$oracle" -berth $(BUILD)/berth -cases $(CASES) -seed $(SEED) -coverage $(ORACLE_FLAGS)

devices: $(BUILD)/berth-devices
	@compare=$$(tests/devices/build.sh) && \
		"$$compare" -berth $(BUILD)/berth-devices -cases $(CASES) -seed $(SEED) -coverage

sigs: $(BUILD)/berth
	@compare=$$(tests/sigs/build.sh) && "$$compare" -berth $(BUILD)/berth -cases $(CASES) -seed $(SEED)

# Expressions and regular expressions: see tests/cel. CEL_FLAGS=-help lists all options.
cel: $(BUILD)/berth-cel
	@cel=$$(tests/cel/build.sh) && \
		"$$cel" -berth $< -cases $(CASES) -seed $(SEED) $(CEL_FLAGS) && \
		"$$cel" -berth $< -cases $(CASES) -seed $(SEED) -regex

# ATTACKS="storm large_list" selects attacks.
attack: $(BUILD)/berth
	@tests/kube/build.sh >/dev/null
	@tests/attack/table.py --berth $(abspath $<) $(ATTACKS)

bench-decode: $(BUILD)/berth-bench
	@tests/bench/decode.sh

PREEMPTIONS ?= 500
bench-preemption: $(BUILD)/berth
	@oracle=$$(tests/oracle/build.sh) && "$$oracle" -berth $(BUILD)/berth -bench $(PREEMPTIONS)

bench-plugins: $(BUILD)/berth-plugins-bench
	@$<

# make bench ROWS=plain,spread RUNS=3; see tests/bench/README.md.
NODES ?= 5000
PODS ?= 5000
ARRIVING ?= 500
RATE ?= 50
RUNS ?= 1
ROWS ?=
bench: $(BUILD)/berth $(BUILD)/berth-load $(BUILD)/berth-controllers
	@tests/kube/build.sh >/dev/null
	@tests/bench/cluster_bench.py --berth $(BUILD)/berth --load $(BUILD)/berth-load \
		--controllers $(BUILD)/berth-controllers \
		--nodes $(NODES) --pods $(PODS) --arriving $(ARRIVING) --rate $(RATE) --runs $(RUNS) \
		--rows '$(ROWS)' --output $(BUILD)/bench.json

FORMATTED := $(shell git ls-files '*.c' '*.h' 2>/dev/null)
lint:
	@tools/lint.sh
compile_commands.json:
	@tools/compile_commands.py $@
format:
	clang-format-19 -i $(FORMATTED)

# --- installing -------------------------------------------------------------------------------

# Pages of docs/man; @OPTIONS@ is replaced with the options from the program's tables.
MAN := $(patsubst docs/man/%.in,$(BUILD)/man/%,$(wildcard docs/man/*.in))
man: $(MAN)
$(BUILD)/man/%: docs/man/%.in $(BUILD)/berth
	@mkdir -p $(@D)
	$(Q)name=$(basename $*); { [ $$name = berth ] || $(BUILD)/berth mdoc $${name#berth-}; } | \
		sed -e '/^@OPTIONS@$$/{r /dev/stdin' -e 'd' -e '}' -e 's/@VERSION@/$(VERSION)/' $< >$@

PREFIX ?= /usr/local
share = $(DESTDIR)$(PREFIX)/share
# install-kube-scheduler also installs links of that name, for scripts that use it.
lib = $(DESTDIR)$(PREFIX)/lib
install: all man libs
	install -D -m 755 $(BUILD)/berth $(DESTDIR)$(PREFIX)/bin/berth
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/berth include/berth/*.h
	install -D -m 644 $(BUILD)/lib/libberth.a $(lib)/libberth.a
	install -D -m 755 $(BUILD)/lib/libberth.so.$(ABI_MAJOR) $(lib)/libberth.so.$(ABI_MAJOR)
	ln -sf libberth.so.$(ABI_MAJOR) $(lib)/libberth.so
	install -d $(lib)/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' deploy/berth.pc.in >$(lib)/pkgconfig/berth.pc
	for page in $(MAN); do \
		install -D -m 644 $$page $(share)/man/man$${page##*.}/$$(basename $$page) || exit 1; \
	done
	install -d $(share)/bash-completion/completions $(share)/zsh/site-functions \
		$(share)/fish/vendor_completions.d $(DESTDIR)$(PREFIX)/lib/systemd/system
	$(BUILD)/berth completion bash >$(share)/bash-completion/completions/berth
	$(BUILD)/berth completion zsh >$(share)/zsh/site-functions/_berth
	$(BUILD)/berth completion fish >$(share)/fish/vendor_completions.d/berth.fish
	sed 's|/usr/local|$(PREFIX)|' deploy/systemd/berth.service \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/berth.service
install-kube-scheduler: install
	ln -sf berth $(DESTDIR)$(PREFIX)/bin/kube-scheduler
	ln -sf berth $(share)/bash-completion/completions/kube-scheduler
	ln -sf berth.fish $(share)/fish/vendor_completions.d/kube-scheduler.fish
	ln -sf berth-scheduler.8 $(share)/man/man8/kube-scheduler.8

# --- releases ---------------------------------------------------------------------------------

DIST := build/berth-$(VERSION).tar.gz
DEB  := build/berth_$(VERSION)_$(shell dpkg --print-architecture 2>/dev/null).deb

# The committed tree, reproducibly.
dist:
	@mkdir -p build
	git archive --format=tar --prefix=berth-$(VERSION)/ HEAD | gzip -9n >$(DIST)
	@echo $(DIST)

DEPS_DEB := $(DEPS_BUILD) dpkg-dev binutils
deb:
	@tools/deps.sh $(DEPS_DEB)
	@rm -rf build/deb
	@$(MAKE) --no-print-directory $(JOBS) all man
	@$(MAKE) --no-print-directory install DESTDIR=build/deb PREFIX=/usr >/dev/null
	@tools/deb.sh build/deb $(VERSION) $(DEB)

clean:
	rm -rf build
