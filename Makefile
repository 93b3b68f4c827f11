# SPDX-License-Identifier: Apache-2.0
# berth: one Makefile, no recursion. `make help` lists what it can do.

VERSION := 0.1.0

# SAN=address,undefined, SAN=thread and DEBUG=1 build into directories of their own.
SAN   ?=
DEBUG ?=
comma := ,
BUILD := build$(if $(SAN),/$(firstword $(subst $(comma), ,$(SAN))),$(if $(DEBUG),/debug))
ifeq ($(origin CC),default)
CC    := gcc
endif

# Packages of Debian 12. `make deps` and `make deps-test` install what is missing of them.
DEPS_BUILD := gcc libc6-dev libssl-dev libnghttp2-dev libyaml-dev
DEPS_TEST  := $(DEPS_BUILD) libcmocka-dev clang-19 libclang-rt-19-dev llvm-19 \
	clang-format-19 clang-tidy-19 shellcheck python3 python3-venv openssl curl ca-certificates \
	groff-base mandoc zsh fish valgrind dpkg-dev binutils

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion \
	-Wpointer-arith -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wimplicit-fallthrough
# A warning is an error in a git checkout, which is a developer's or CI's, not in a release tarball.
WERROR ?= $(if $(wildcard .git),1)
# What hardens the program. Of flags that not every compiler, linker or architecture takes, those
# that $(CC) takes: control-flow protection is -fcf-protection on amd64 and -mbranch-protection on
# arm64. Start files of the C library that are built without it would take its mark off the program,
# hence -z ibt and the like.
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
HARDEN := -fstack-protector-strong -fPIE $(call takes,-fstack-clash-protection) $(CF_CFLAGS) \
	$(if $(SAN),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
CFLAGS   ?= $(if $(DEBUG),-Og -g3,-O2 -g)
# Sanitizer and debug builds check INVARIANT() (base/base.h); the program that users run does not.
CPPFLAGS += -D_GNU_SOURCE -DBERTH_VERSION='"$(VERSION)"' $(if $(SAN)$(DEBUG),-DBERTH_INVARIANTS) \
	-Isrc -Iinclude
ALL_CFLAGS := -std=c17 $(CFLAGS) $(WARN) $(if $(WERROR),-Werror) $(HARDEN) -fno-common \
	-fvisibility=hidden -pthread \
	$(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
ALL_LDFLAGS := $(LDFLAGS) -pie -Wl,-z,relro,-z,now,-z,noexecstack $(CF_LDFLAGS) -pthread $(if $(SAN),-fsanitize=$(SAN))
LIBS := -lssl -lcrypto -lnghttp2 -lyaml -lm -ldl

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
FORCE:
.PHONY: FORCE all help deps deps-test run test check unit unit-bins e2e-bins fuzz-bins fuzz lint format \
	clean kube oracle man install install-kube-scheduler bench bench-decode bench-plugins bench-preemption \
	compile_commands.json dist deb instructions attack

all: $(BUILD)/berth

help:
	@echo 'make run     install what is missing, build, schedule the example scenario'
	@echo 'make test    install what is missing, run all tests; ends with "N passed, N failed, N skipped"'
	@echo 'make         build build/berth'
	@echo 'make check   the quick part of the tests: lint, unit tests, simulate, recorded oracle cases'
	@echo 'make unit    unit tests only (SAN=address,undefined or SAN=thread for sanitizers)'
	@echo 'make unit T="queue heap"   these modules of them'
	@echo 'make DEBUG=1 build build/debug/berth, unoptimized and with its invariants checked'
	@echo 'make fuzz    every fuzz target for FUZZ_SECONDS (default 600) each'
	@echo 'make lint    format, clang-tidy, include directions, budgets, shellcheck'
	@echo 'make format  put every file into the house format'
	@echo 'make compile_commands.json   for editors: how each file is compiled'
	@echo 'make kube    build the real etcd, kube-apiserver, kubectl, kube-scheduler for tests'
	@echo 'make bench   kube-scheduler, berth and reference clients in turn on a real cluster'
	@echo 'make oracle  compare with kube-scheduler on CASES random clusters from SEED on'
	@echo 'make attack  attack berth and kube-scheduler in turn and print the figures of docs/reliability.md'
	@echo 'make bench-plugins what each plugin costs per pod and node'
	@echo 'make bench-preemption   what a preemption costs, beside kube-scheduler'
	@echo 'make bench-decode  decode 5,000 pods from JSON and protobuf, beside Go'
	@echo 'make install PREFIX=/usr/local DESTDIR=   the program, its manual, completion, a unit'
	@echo 'make man     the manual pages alone'
	@echo 'make dist    a source tarball of the commit'
	@echo 'make deb     a Debian package of the program, its manual, completion and unit'
	@echo 'make deps, make deps-test   the packages these need'

deps:
	@tools/deps.sh $(DEPS_BUILD)
deps-test:
	@tools/deps.sh $(DEPS_TEST)

# --- building ---------------------------------------------------------------------------------

# One short line a step; make V=1 shows the whole commands.
Q := $(if $(V),,@)
step = $(if $(V),,@echo '  $1 $@')

# Objects depend on this file, which changes when a flag does.
flags := $(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(flags))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(flags))' >$@

# A missing package is reported by name, not by the first file that needs it.
headers := openssl/ssl.h nghttp2/nghttp2.h yaml.h
$(BUILD)/headers:
	@mkdir -p $(@D)
	@for header in $(headers); do \
		printf '#include <stddef.h>\n#include <%s>\n' $$header | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || \
			{ echo "$$header not found: run 'make deps' to install what the build needs" >&2; exit 1; }; \
	done
	@touch $@

$(BUILD)/tests/%: private CPPFLAGS += -Itests/lib
# A unit test is one module of one program: its main gets a name of its own.
$(BUILD)/tests/unit/%.o: private CPPFLAGS += -Dmain=unit_$(patsubst test_%,%,$(*F))
$(BUILD)/tests/unit/%.o: private ALL_CFLAGS += -Wno-missing-prototypes

$(BUILD)/%.o: %.c $(BUILD)/flags | $(BUILD)/headers
	$(call step,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libberth.a: $(LIB_OBJ)
	$(call step,AR)
	@rm -f $@
	$(Q)ar rcs $@ $^

$(BUILD)/berth: $(CMD_OBJ) $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic $^ $(LIBS) -o $@

# berth with the plugins of tests/plugins in its registry, for tests/e2e.
$(BUILD)/berth-test: $(CMD_OBJ) $(TESTPLUGIN_OBJ) $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic $^ $(LIBS) -o $@

# The commands without main, for tests of their parts.
$(BUILD)/libcmd.a: $(filter-out %/main.o,$(CMD_OBJ))
	$(call step,AR)
	@rm -f $@
	$(Q)ar rcs $@ $^

# All unit tests in one program, so that a change links once: `berth-unit queue` runs one module.
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

$(BUILD)/berth-load: $(BUILD)/tests/bench/load.o $(BUILD)/libberth.a
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

# berth that counts what it does, for tests/e2e/test_growth.py: see tests/counting.
COUNT_WRAP := memcpy memmove memset memcmp malloc calloc realloc reallocarray free \
	engine_schedule_one engine_object_changed engine_write_done engine_tick
COUNT_CFLAGS := $(filter-out -D_FORTIFY_SOURCE=%,$(ALL_CFLAGS)) -fsanitize-coverage=trace-pc
build/counting/%.o: %.c
	$(call step,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(COUNT_CFLAGS) -MMD -MP -c $< -o $@
build/berth-counting: $(patsubst %.c,build/counting/%.o,$(SRC) tests/counting/counting.c)
	$(call step,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic $(COUNT_WRAP:%=-Wl,--wrap=%) $^ $(LIBS) -o $@

# Fuzz targets: everything again by clang, with coverage and the sanitizers.
FUZZ_CC     := clang-19
FUZZ_CFLAGS := -std=c17 -O1 -g $(CPPFLAGS) -DBERTH_INVARIANTS -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer
build/fuzz/obj/tests/%: private FUZZ_CFLAGS += -Itests/lib
build/fuzz/obj/%.o: %.c
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
-include $(shell find $(BUILD) build/fuzz build/counting -type f -name '*.d' 2>/dev/null)

# --- running and testing ----------------------------------------------------------------------

JOBS := -j$(shell nproc)

run: deps
	@$(MAKE) --no-print-directory $(JOBS) all
	$(BUILD)/berth simulate examples/scenario.yaml

test: deps-test
	@tests/run.py
check: deps-test
	@tests/run.py --quick

# Instructions per pod beside tests/bench/instructions.json; RECORD=1 writes that file.
instructions: $(BUILD)/berth
	@tests/bench/instructions.py $(if $(RECORD),--record) --berth $<

e2e-bins: $(BUILD)/berth $(BUILD)/berth-test $(BUILD)/berth-load
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

# make attack ATTACKS="storm large_list"; the table of docs/reliability.md.
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

# make bench ROWS=plain,spread RUNS=3; tests/bench/README.md has the rest.
NODES ?= 5000
PODS ?= 5000
ARRIVING ?= 500
RATE ?= 50
RUNS ?= 1
ROWS ?=
bench: $(BUILD)/berth $(BUILD)/berth-load
	@tests/kube/build.sh >/dev/null
	@tests/bench/cluster_bench.py --berth $(BUILD)/berth --load $(BUILD)/berth-load \
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

# Pages of docs/man with the options of their commands, as the program's own tables have them.
MAN := $(patsubst docs/man/%.in,$(BUILD)/man/%,$(wildcard docs/man/*.in))
man: $(MAN)
$(BUILD)/man/%: docs/man/%.in $(BUILD)/berth
	@mkdir -p $(@D)
	$(Q)name=$(basename $*); { [ $$name = berth ] || $(BUILD)/berth mdoc $${name#berth-}; } | \
		sed -e '/^@OPTIONS@$$/{r /dev/stdin' -e 'd' -e '}' -e 's/@VERSION@/$(VERSION)/' $< >$@

PREFIX ?= /usr/local
share = $(DESTDIR)$(PREFIX)/share
# install-kube-scheduler also takes that name, for what calls the scheduler by it.
install: all man
	install -D -m 755 $(BUILD)/berth $(DESTDIR)$(PREFIX)/bin/berth
	install -D -m 644 include/berth/plugin.h $(DESTDIR)$(PREFIX)/include/berth/plugin.h
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

# The committed tree, the same bytes every time.
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
