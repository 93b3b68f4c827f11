/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/plugin/plugin_templates.h"

/* The bytes of a file, from symbol to symbol_end. The path is relative to the top directory. */
#define FILE_BYTES(symbol, file)                                                           \
    __asm__(".pushsection .rodata\n" #symbol ":\n.incbin \"src/cmd/plugin/templates/" file \
            "\"\n" #symbol "_end:\n.popsection\n");                                        \
    extern const char symbol[] __attribute__((visibility("hidden")));                      \
    extern const char symbol##_end[] __attribute__((visibility("hidden")))

FILE_BYTES(template_gitignore, "gitignore.in");
FILE_BYTES(template_config, "config.yaml.in");
FILE_BYTES(template_scenario, "scenario.yaml.in");
FILE_BYTES(template_expected, "expected.txt.in");
FILE_BYTES(template_readme, "README.md.in");
FILE_BYTES(template_c_source, "c/plugin.c.in");
FILE_BYTES(template_c_test, "c/test.c.in");
FILE_BYTES(template_c_makefile, "c/Makefile.in");
FILE_BYTES(template_cxx_source, "c++/plugin.cc.in");
FILE_BYTES(template_cxx_test, "c++/test.cc.in");
FILE_BYTES(template_cxx_makefile, "c++/Makefile.in");
FILE_BYTES(template_rust_source, "rust/plugin.rs.in");
FILE_BYTES(template_rust_abi, "rust/berth.rs");
FILE_BYTES(template_rust_makefile, "rust/Makefile.in");

#define ROW(lang, path, symbol) {lang, path, symbol, symbol##_end}

const struct plugin_template plugin_templates[] = {
    ROW(NULL, ".gitignore", template_gitignore),   ROW(NULL, "config.yaml", template_config),
    ROW(NULL, "scenario.yaml", template_scenario), ROW(NULL, "expected.txt", template_expected),
    ROW(NULL, "README.md", template_readme),       ROW("c", "@NAME@.c", template_c_source),
    ROW("c", "test.c", template_c_test),           ROW("c", "Makefile", template_c_makefile),
    ROW("c++", "@NAME@.cc", template_cxx_source),  ROW("c++", "test.cc", template_cxx_test),
    ROW("c++", "Makefile", template_cxx_makefile), ROW("rust", "@NAME@.rs", template_rust_source),
    ROW("rust", "berth.rs", template_rust_abi),    ROW("rust", "Makefile", template_rust_makefile),
};
const size_t n_plugin_templates = ARRAY_LEN(plugin_templates);
