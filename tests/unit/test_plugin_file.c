/* SPDX-License-Identifier: Apache-2.0 */
/* A small ELF file, built here, and what is read from it without running it; then damaged copies.
 */
#include <elf.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/rand.h"
#include "engine/config/point.h"
#include "loader/elf_image.h"
#include "loader/plugin_file.h"

#if defined(__x86_64__)
#define MACHINE  EM_X86_64
#define RELATIVE R_X86_64_RELATIVE
#else
#define MACHINE  EM_AARCH64
#define RELATIVE R_AARCH64_RELATIVE
#endif

/* The file; addresses are offsets in it. */
struct file {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    Elf64_Dyn dynamic[8];
    Elf64_Sym symbols[2];
    uint32_t hash[5]; /* DT_HASH: one bucket, two symbols */
    Elf64_Rela relocations[6];
    char strings[64];
    uint64_t list[2];
    struct berth_plugin plugin;
    struct berth_arg args[2];
    char name[8], version[8], arg_name[8];
};

#define AT(member) offsetof(struct file, member)

static Elf64_Rela relative(size_t where, size_t to)
{
    return (Elf64_Rela){where, RELATIVE, (int64_t)to};
}

static void make_tables(struct file *f)
{
    static const char strings[] = "\0berth_plugins\0libm.so.6";
    memcpy(f->strings, strings, sizeof(strings));
    f->symbols[1] = (Elf64_Sym){.st_name = 1, .st_shndx = 1, .st_value = AT(list)};
    f->hash[0] = 1;
    f->hash[1] = 2;
    f->relocations[0] = relative(AT(list), AT(plugin));
    f->relocations[1] = relative(AT(plugin.name), AT(name));
    f->relocations[2] = relative(AT(plugin.version), AT(version));
    f->relocations[3] = relative(AT(plugin.filter), 1);
    f->relocations[4] = relative(AT(plugin.args), AT(args));
    f->relocations[5] = relative(AT(args[0].name), AT(arg_name));
    const Elf64_Dyn dynamic[] = {
        {DT_HASH, {AT(hash)}},
        {DT_SYMTAB, {AT(symbols)}},
        {DT_STRTAB, {AT(strings)}},
        {DT_STRSZ, {sizeof(f->strings)}},
        {DT_RELA, {AT(relocations)}},
        {DT_RELASZ, {sizeof(f->relocations)}},
        {DT_NEEDED, {sizeof("\0berth_plugins")}},
        {DT_NULL, {0}},
    };
    memcpy(f->dynamic, dynamic, sizeof(dynamic));
}

static void make_file(struct file *f)
{
    *f = (struct file){0};
    memcpy(f->header.e_ident, ELFMAG, SELFMAG);
    f->header.e_ident[EI_CLASS] = ELFCLASS64;
    f->header.e_ident[EI_DATA] = ELFDATA2LSB;
    f->header.e_type = ET_DYN;
    f->header.e_machine = MACHINE;
    f->header.e_phoff = AT(segments);
    f->header.e_phentsize = sizeof(f->segments[0]);
    f->header.e_phnum = 2;
    f->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof(*f), .p_memsz = sizeof(*f)};
    f->segments[1] =
        (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = AT(dynamic), .p_memsz = sizeof(f->dynamic)};
    make_tables(f);
    f->plugin.abi = BERTH_ABI;
    f->plugin.struct_size = sizeof(f->plugin);
    f->plugin.flags = BERTH_PLUGIN_NONBLOCKING;
    f->args[0].kind = BERTH_ARG_INT;
    memcpy(f->name, "Tiny", 5);
    memcpy(f->version, "2.1", 4);
    memcpy(f->arg_name, "weight", 7);
}

static int inspect(const void *bytes, size_t n, struct arena *a, struct plugin_listing *l,
                   struct err *err)
{
    return plugin_file_inspect("tiny.so", (struct str){bytes, n}, a, l, err);
}

static void a_file_is_read_without_running_it(void **state)
{
    (void)state;
    struct file f;
    struct plugin_listing l;
    struct arena a;
    struct err err;
    make_file(&f);
    arena_init(&a, 0);
    assert_int_equal(inspect(&f, sizeof(f), &a, &l, &err), 0);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.plugins[0].name, "Tiny");
    assert_string_equal(l.plugins[0].version, "2.1");
    assert_int_equal(l.plugins[0].points, 1u << POINT_FILTER);
    assert_int_equal(l.plugins[0].flags, BERTH_PLUGIN_NONBLOCKING);
    assert_string_equal(l.plugins[0].args[0].name, "weight");
    assert_int_equal(l.plugins[0].args[0].kind, BERTH_ARG_INT);
    assert_null(l.plugins[0].args[1].name);
    assert_string_equal(l.needed[0], "libm.so.6");
    assert_null(l.needed[1]);
    arena_release(&a);
}

static void assert_refused(const struct file *f, const char *why)
{
    struct plugin_listing l;
    struct arena a;
    struct err err;
    arena_init(&a, 0);
    assert_true(inspect(f, sizeof(*f), &a, &l, &err) < 0);
    assert_non_null(strstr(err.msg, "tiny.so: "));
    if (!strstr(err.msg, why))
        fail_msg("\"%s\" does not say \"%s\"", err.msg, why);
    arena_release(&a);
}

/* Makes a file, changes it, and expects an error with this text. */
#define REFUSED(f, change, why) \
    do {                        \
        make_file(f);           \
        change;                 \
        assert_refused(f, why); \
    } while (0)

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    struct file f;
    REFUSED(&f, f.header.e_ident[0] = 0, "not a shared object");
    REFUSED(&f, f.header.e_ident[EI_CLASS] = ELFCLASS32, "a 32-bit file");
    REFUSED(&f, f.header.e_machine = EM_S390, "built for s390x");
    REFUSED(&f, f.header.e_machine = 9999, "built for another machine");
    REFUSED(&f, f.header.e_type = ET_REL, "an object file");
    REFUSED(&f, f.header.e_type = ET_EXEC, "a program");
    REFUSED(&f, f.header.e_shoff = UINT64_MAX, "cut off");
    REFUSED(&f, f.segments[0].p_filesz++, "cut off");
    REFUSED(&f, f.segments[0].p_memsz = UINT64_MAX, "more than 256 MiB");
    REFUSED(&f, f.segments[1].p_type = PT_NULL, "not a shared object");
    REFUSED(&f, f.dynamic[5].d_un.d_val = UINT64_MAX, "cut off");
    REFUSED(&f, f.strings[1] = 'x', "does not export berth_plugins");
    REFUSED(&f, f.relocations[0].r_addend = 0, "berth_plugins is empty");
    REFUSED(&f, f.relocations[0].r_addend = INT64_MAX, "not constant data");
    REFUSED(&f, f.relocations[1].r_addend = 0, "has no name");
    REFUSED(&f, f.plugin.abi = 2u << 16, "was built for ABI 2, this berth has ABI 1");
    REFUSED(&f, f.plugin.struct_size = 16, "struct_size 16");
}

static void every_prefix_is_refused(void **state)
{
    (void)state;
    struct file f;
    make_file(&f);
    for (size_t n = 0; n < sizeof(f); n++) {
        struct plugin_listing l;
        struct arena a;
        struct err err;
        char *copy = malloc(n + 1); /* the exact size: a sanitizer sees reads beyond it */
        memcpy(copy, &f, n);
        arena_init(&a, 0);
        assert_true(inspect(copy, n, &a, &l, &err) < 0);
        arena_release(&a);
        free(copy);
    }
}

/* Whatever is in a file, reading it ends, within its bytes. */
static void damage_is_harmless(void **state)
{
    (void)state;
    struct rand r;
    size_t listed = 0;
    rand_seed(&r, 7);
    for (int i = 0; i < 20000; i++) {
        struct file f;
        struct plugin_listing l;
        struct arena a;
        struct err err;
        make_file(&f);
        for (uint64_t k = rand_below(&r, 6); k < 6; k++)
            ((unsigned char *)&f)[rand_below(&r, sizeof(f))] = (unsigned char)rand_below(&r, 256);
        arena_init(&a, 0);
        listed += inspect(&f, sizeof(f), &a, &l, &err) == 0;
        arena_release(&a);
    }
    assert_true(listed > 100 && listed < 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_without_running_it),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(damage_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
