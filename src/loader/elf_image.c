/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/elf_image.h"

#include <elf.h>

/* --- the machine of this process -------------------------------------------------------------- */

/* Relocation types of data, by machine. Other types concern code and calls. */
struct machine {
    uint16_t id;
    const char *name;
    uint32_t relative, absolute, global;
};

static const struct machine machines[] = {
    {EM_X86_64, "x86-64", R_X86_64_RELATIVE, R_X86_64_64, R_X86_64_GLOB_DAT},
    {EM_AARCH64, "aarch64", R_AARCH64_RELATIVE, R_AARCH64_ABS64, R_AARCH64_GLOB_DAT},
    {EM_RISCV, "riscv64", R_RISCV_RELATIVE, R_RISCV_64, R_RISCV_64},
    {EM_PPC64, "ppc64", R_PPC64_RELATIVE, R_PPC64_ADDR64, R_PPC64_GLOB_DAT},
    {EM_S390, "s390x", R_390_RELATIVE, R_390_64, R_390_GLOB_DAT},
    {EM_386, "i386", 0, 0, 0},
    {EM_ARM, "arm", 0, 0, 0},
};

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OWN_MACHINE EM_PPC64
#else
#define OWN_MACHINE EM_S390
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif

static const struct machine *machine_of(uint16_t id)
{
    for (size_t i = 0; i < ARRAY_LEN(machines); i++)
        if (machines[i].id == id)
            return &machines[i];
    return NULL;
}

/* --- header ----------------------------------------------------------------------------------- */

#define BUILD_HINT "build it with `cc -shared -fPIC`"

static int check_header(const Elf64_Ehdr *h, struct err *reterr)
{
    const struct machine *own = machine_of(OWN_MACHINE), *its = machine_of(h->e_machine);
    if (h->e_ident[EI_CLASS] != ELFCLASS64)
        return err_set(reterr, -ENOEXEC, "a 32-bit file; build it for %s", own->name);
    if (h->e_ident[EI_DATA] != OWN_DATA || h->e_machine != OWN_MACHINE)
        return err_set(reterr, -ENOEXEC, "built for %s; build it for %s",
                       its ? its->name : "another machine", own->name);
    if (h->e_type == ET_REL)
        return err_set(reterr, -ENOEXEC, "an object file; link it with `cc -shared`");
    if (h->e_type == ET_EXEC)
        return err_set(reterr, -ENOEXEC, "a program, not a shared object; " BUILD_HINT);
    if (h->e_type != ET_DYN)
        return err_set(reterr, -ENOEXEC, "not a shared object; " BUILD_HINT);
    return 0;
}

static int cut_off(struct err *reterr)
{
    return err_set(reterr, -EBADMSG, "the file is cut off or damaged; build it again");
}

/* Whether [offset, offset + n) is in the file. */
static bool in_file(struct str bytes, uint64_t offset, uint64_t n)
{
    return offset <= bytes.n && n <= bytes.n - offset;
}

static bool get_segment(struct str bytes, const Elf64_Ehdr *h, size_t i, Elf64_Phdr *ret_segment)
{
    uint64_t at = h->e_phoff + i * sizeof(*ret_segment);
    if (h->e_phentsize != sizeof(*ret_segment) || at < h->e_phoff ||
        !in_file(bytes, at, sizeof(*ret_segment)))
        return false;
    memcpy(ret_segment, bytes.p + at, sizeof(*ret_segment));
    return true;
}

/* Copies the segments. Sets image->dynamic. */
static int map_segments(struct elf_image *image, struct str bytes, const Elf64_Ehdr *h,
                        struct err *reterr)
{
    Elf64_Phdr s;
    uint64_t end = 0;
    for (size_t i = 0; i < h->e_phnum; i++) {
        if (!get_segment(bytes, h, i, &s))
            return cut_off(reterr);
        if (s.p_type != PT_LOAD)
            continue;
        if (!in_file(bytes, s.p_offset, s.p_filesz) || s.p_filesz > s.p_memsz)
            return cut_off(reterr);
        if (s.p_vaddr > ELF_IMAGE_MAX || s.p_memsz > ELF_IMAGE_MAX - s.p_vaddr)
            return err_set(reterr, -EFBIG, "needs more than %zu MiB of memory",
                           ELF_IMAGE_MAX >> 20);
        end = MAX(end, s.p_vaddr + s.p_memsz);
    }
    if (!end)
        return cut_off(reterr);
    image->size = end;
    image->memory = xcalloc(1, end);
    for (size_t i = 0; i < h->e_phnum && get_segment(bytes, h, i, &s); i++) {
        if (s.p_type == PT_LOAD)
            memcpy(image->memory + s.p_vaddr, bytes.p + s.p_offset, s.p_filesz);
        if (s.p_type == PT_DYNAMIC) {
            image->dynamic = s.p_vaddr;
            image->dynamic_size = s.p_memsz;
        }
    }
    return 0;
}

/* --- dynamic section -------------------------------------------------------------------------- */

bool elf_image_read(const struct elf_image *image, uint64_t address, void *to, size_t n)
{
    if (address > image->size || n > image->size - address)
        return false;
    memcpy(to, image->memory + address, n);
    return true;
}

const char *elf_image_text(const struct elf_image *image, uint64_t address, size_t max)
{
    if (address >= image->size)
        return NULL;
    const char *text = image->memory + address;
    return memchr(text, '\0', MIN(max, image->size - address)) ? text : NULL;
}

/* The i-th entry with this tag. */
static bool dynamic_entry(const struct elf_image *image, int64_t tag, size_t i, uint64_t *ret_value)
{
    for (uint64_t at = 0; at < image->dynamic_size; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn d;
        if (!elf_image_read(image, image->dynamic + at, &d, sizeof(d)) || d.d_tag == DT_NULL)
            return false;
        if (d.d_tag == tag && i-- == 0) {
            *ret_value = d.d_un.d_val;
            return true;
        }
    }
    return false;
}

static uint64_t dynamic_value(const struct elf_image *image, int64_t tag)
{
    uint64_t value = 0;
    (void)dynamic_entry(image, tag, 0, &value);
    return value;
}

static bool read_u32(const struct elf_image *image, uint64_t address, uint32_t *ret_value)
{
    return elf_image_read(image, address, ret_value, sizeof(*ret_value));
}

/* The number of symbols is in no field: it follows from the longest chain of the hash table. */
static uint64_t count_by_gnu_hash(const struct elf_image *image, uint64_t table)
{
    uint32_t n_buckets, first, bloom, at, last = 0, entry = 0;
    if (!read_u32(image, table, &n_buckets) || !read_u32(image, table + 4, &first) ||
        !read_u32(image, table + 8, &bloom))
        return 0;
    uint64_t buckets = table + 16 + (uint64_t)bloom * 8;
    uint64_t chains = buckets + (uint64_t)n_buckets * 4;
    for (uint32_t i = 0; i < n_buckets; i++) {
        if (!read_u32(image, buckets + (uint64_t)i * 4, &at))
            return 0;
        last = MAX(last, at);
    }
    if (last < first)
        return first;
    do
        if (!read_u32(image, chains + (uint64_t)(last - first) * 4, &entry))
            return 0;
    while (!(entry & 1) && ++last);
    return (uint64_t)last + 1;
}

static uint64_t count_symbols(const struct elf_image *image)
{
    uint64_t hash = dynamic_value(image, DT_HASH), gnu = dynamic_value(image, DT_GNU_HASH);
    uint32_t n;
    if (hash && read_u32(image, hash + 4, &n))
        return n;
    return gnu ? count_by_gnu_hash(image, gnu) : 0;
}

static bool read_symbol(const struct elf_image *image, uint64_t i, Elf64_Sym *ret_symbol)
{
    return i < image->n_symbols && elf_image_read(image, image->symbols + i * sizeof(*ret_symbol),
                                                  ret_symbol, sizeof(*ret_symbol));
}

static const char *string_at(const struct elf_image *image, uint64_t offset)
{
    if (offset >= image->strings_size)
        return NULL;
    return elf_image_text(image, image->strings + offset, image->strings_size - offset);
}

bool elf_image_symbol(const struct elf_image *image, const char *name, uint64_t *ret_address)
{
    Elf64_Sym s;
    for (uint64_t i = 0; i < image->n_symbols && read_symbol(image, i, &s); i++) {
        const char *its = string_at(image, s.st_name);
        if (its && s.st_shndx != SHN_UNDEF && strcmp(its, name) == 0) {
            *ret_address = s.st_value;
            return true;
        }
    }
    return false;
}

const char *elf_image_needed(const struct elf_image *image, size_t i)
{
    uint64_t offset;
    return dynamic_entry(image, DT_NEEDED, i, &offset) ? string_at(image, offset) : NULL;
}

/* --- relocations ------------------------------------------------------------------------------ */

/* Stands for an address outside the file: not NULL, and not in the image. */
#define ELSEWHERE (UINT64_MAX / 2)

static void put_u64(const struct elf_image *image, uint64_t address, uint64_t value)
{
    if (address <= image->size && sizeof(value) <= image->size - address)
        memcpy(image->memory + address, &value, sizeof(value));
}

static void relocate_one(const struct elf_image *image, const struct machine *m,
                         const Elf64_Rela *r)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    Elf64_Sym s;
    if (type == m->relative) {
        put_u64(image, r->r_offset, (uint64_t)r->r_addend);
    } else if (type == m->absolute || type == m->global) {
        if (!read_symbol(image, ELF64_R_SYM(r->r_info), &s))
            return;
        put_u64(image, r->r_offset,
                s.st_shndx == SHN_UNDEF ? ELSEWHERE : s.st_value + (uint64_t)r->r_addend);
    }
}

/* Packed relative relocations (DT_RELR) have their addends in place: nothing is added to these. */
static bool relocate(const struct elf_image *image)
{
    uint64_t table = dynamic_value(image, DT_RELA), size = dynamic_value(image, DT_RELASZ);
    const struct machine *m = machine_of(OWN_MACHINE);
    if (size > image->size)
        return false;
    for (uint64_t at = 0; at < size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        if (!elf_image_read(image, table + at, &r, sizeof(r)))
            return false;
        relocate_one(image, m, &r);
    }
    return true;
}

/* --- making ----------------------------------------------------------------------------------- */

static int read_dynamic(struct elf_image *image, struct err *reterr)
{
    if (!image->dynamic)
        return err_set(reterr, -ENOEXEC, "not a shared object; " BUILD_HINT);
    if (dynamic_value(image, DT_FLAGS_1) & DF_1_PIE)
        return err_set(reterr, -ENOEXEC, "a program, not a shared object; " BUILD_HINT);
    image->symbols = dynamic_value(image, DT_SYMTAB);
    image->strings = dynamic_value(image, DT_STRTAB);
    image->strings_size = dynamic_value(image, DT_STRSZ);
    image->n_symbols = count_symbols(image);
    return relocate(image) ? 0 : cut_off(reterr);
}

int elf_image_new(struct elf_image *image, struct str bytes, struct err *reterr)
{
    Elf64_Ehdr h;
    *image = (struct elf_image){0};
    if (bytes.n < SELFMAG || memcmp(bytes.p, ELFMAG, SELFMAG) != 0)
        return err_set(reterr, -ENOEXEC, "not a shared object; " BUILD_HINT);
    if (bytes.n < sizeof(h))
        return cut_off(reterr);
    memcpy(&h, bytes.p, sizeof(h));
    int r = check_header(&h, reterr);
    /* Linkers write the section headers last: a file that ends before them is being written. */
    if (r == 0 && h.e_shoff && !in_file(bytes, h.e_shoff, (uint64_t)h.e_shnum * h.e_shentsize))
        r = cut_off(reterr);
    if (r == 0)
        r = map_segments(image, bytes, &h, reterr);
    if (r == 0)
        r = read_dynamic(image, reterr);
    if (r < 0)
        elf_image_release(image);
    return r;
}

void elf_image_release(struct elf_image *image)
{
    free(image->memory);
    *image = (struct elf_image){0};
}
