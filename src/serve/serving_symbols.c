/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/serving_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

struct symbol {
    uint64_t address, size; /* in memory */
    const char *name;       /* in the mapped file */
};

struct symbols {
    void *file; /* mapped; NULL: could not be read */
    size_t size;
    uint64_t bias; /* address in memory minus address in the file */
    VEC(struct symbol) sorted;
    struct symbols_mapping mapping;
    char path[512];
};

/* --- the file --------------------------------------------------------------------------------- */

static void map_file(struct symbols *s)
{
    struct stat st;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(ElfW(Ehdr))) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED) {
            s->file = p;
            s->size = (size_t)st.st_size;
        }
    }
    close(fd);
}

static const void *at(const struct symbols *s, uint64_t offset, uint64_t n)
{
    return offset <= s->size && n <= s->size - offset ? (const char *)s->file + offset : NULL;
}

static void add_symbols(struct symbols *s, const ElfW(Shdr) * table, const ElfW(Shdr) * texts)
{
    size_t n = table->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *syms = at(s, table->sh_offset, table->sh_size);
    const char *names = at(s, texts->sh_offset, texts->sh_size);
    /* The table must end with NUL, so that all names do. */
    if (!syms || !names || !texts->sh_size || names[texts->sh_size - 1])
        return;
    for (size_t i = 0; i < n; i++)
        if (ELF64_ST_TYPE(syms[i].st_info) == STT_FUNC && syms[i].st_value &&
            syms[i].st_name < texts->sh_size)
            vec_push(&s->sorted, ((struct symbol){s->bias + syms[i].st_value, syms[i].st_size,
                                                  names + syms[i].st_name}));
}

static void read_symbols(struct symbols *s)
{
    const ElfW(Ehdr) *head = at(s, 0, sizeof(*head));
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_shentsize != sizeof(ElfW(Shdr)))
        return;
    const ElfW(Shdr) *sections = at(s, head->e_shoff, (uint64_t)head->e_shnum * sizeof(ElfW(Shdr)));
    for (size_t i = 0; sections && i < head->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < head->e_shnum)
            add_symbols(s, &sections[i], &sections[sections[i].sh_link]);
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct symbol *)a)->address, y = ((const struct symbol *)b)->address;
    return (x > y) - (x < y);
}

/* dl_iterate_phdr reports the program itself first. */
static int on_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    struct symbols *s = ctx;
    s->bias = info->dlpi_addr;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type == PT_LOAD && ph->p_flags & PF_X)
            s->mapping = (struct symbols_mapping){.start = s->bias + ph->p_vaddr,
                                                  .limit = s->bias + ph->p_vaddr + ph->p_memsz,
                                                  .offset = ph->p_offset,
                                                  .file = s->path};
    }
    return 1;
}

struct symbols *symbols_new(void)
{
    struct symbols *s = xnew(struct symbols);
    ssize_t n = readlink("/proc/self/exe", s->path, sizeof(s->path) - 1);
    s->path[MAX(n, 0)] = '\0';
    dl_iterate_phdr(on_object, s);
    map_file(s);
    if (s->file)
        read_symbols(s);
    if (s->sorted.n)
        qsort(s->sorted.v, s->sorted.n, sizeof(*s->sorted.v), by_address);
    return s;
}

struct symbols *symbols_free(struct symbols *s)
{
    if (!s)
        return NULL;
    if (s->file)
        munmap(s->file, s->size);
    vec_release(&s->sorted);
    free(s);
    return NULL;
}

/* --- lookup ----------------------------------------------------------------------------------- */

static bool find_own(const struct symbols *s, uint64_t address, struct str *ret_name)
{
    size_t from = 0, to = s->sorted.n;
    while (from < to) { /* the first symbol after the address */
        size_t middle = from + (to - from) / 2;
        if (s->sorted.v[middle].address <= address)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == 0)
        return false;
    const struct symbol *symbol = &s->sorted.v[from - 1];
    if (address - symbol->address >= MAX(symbol->size, 1))
        return false;
    *ret_name = str_of(symbol->name);
    return true;
}

bool symbols_find(const struct symbols *s, uint64_t address, struct str *ret_name)
{
    Dl_info info;
    if (find_own(s, address, ret_name))
        return true;
    if (!dladdr((void *)(uintptr_t)address, &info) || !info.dli_sname)
        return false;
    *ret_name = str_of(info.dli_sname);
    return true;
}

bool symbols_mapping(const struct symbols *s, struct symbols_mapping *ret_mapping)
{
    *ret_mapping = s->mapping;
    return s->mapping.limit != 0;
}
