# SPDX-License-Identifier: Apache-2.0
# Rules for the examples. NAME is the plugin's file without its ending; TEST_FLAGS are flags of
# `berth plugin test`. Needs `make install`, or BERTH and CPPFLAGS that name a build directory.

BERTH    ?= berth
CFLAGS   ?= -O2 -g
CXXFLAGS ?= -O2 -g
RUSTC    ?= rustc
KUBECONFIG ?= $(HOME)/.kube/config
INCLUDES := $(CPPFLAGS) $(shell pkg-config --cflags berth 2>/dev/null)
WARN     := -Wall -Wextra -Wno-missing-field-initializers

all: $(NAME).so

%.so: %.c
	$(CC) -std=c11 $(WARN) $(INCLUDES) $(CFLAGS) -fPIC -fvisibility=hidden -shared $< -o $@.tmp
	mv $@.tmp $@

%.so: %.cc
	$(CXX) -std=c++20 $(WARN) $(INCLUDES) $(CXXFLAGS) -fPIC -fvisibility=hidden -shared $< -o $@.tmp
	mv $@.tmp $@

# The ABI as Rust; `berth plugin new --lang rust` creates the same file.
%.so: %.rs ../berth.rs
	$(RUSTC) --edition 2021 -O -C panic=abort --crate-name $(subst -,_,$*) --crate-type cdylib $< -o $@.tmp
	mv $@.tmp $@

# What the plugin says about each node of scenario.yaml, compared with expected.txt.
test: $(NAME).so
	$(BERTH) plugin test $(NAME).so --config config.yaml -f scenario.yaml $(TEST_FLAGS) >actual.tmp
	diff -u expected.txt actual.tmp

# Schedules the pods of a cluster that select the profile of config.yaml.
run: $(NAME).so
	sed 's|kubeconfig: ""|kubeconfig: "$(KUBECONFIG)"|' config.yaml | \
		$(BERTH) scheduler --plugin $(NAME).so --config - --secure-port 0 -v 2

clean:
	rm -f *.so *.tmp $(PROGRAM)

.PHONY: all test run clean
