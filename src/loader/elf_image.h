/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_image.h - the data of a shared object, without loading it.
 *
 * Purpose:   maps the segments of an ELF file into memory and applies its relocations with base
 *            address 0, as the dynamic linker would, so that constant data can be read: symbols,
 *            structs, texts. No code of the file runs. The file may be anything: every offset is
 *            checked, and a file that is cut off or built for another machine is reported.
 * Ownership: the image owns its memory; the bytes are not needed any more after elf_image_new.
 * Threading: one thread while it is made, any thread afterwards.
 */
#ifndef BERTH_LOADER_ELF_IMAGE_H
#define BERTH_LOADER_ELF_IMAGE_H

#include "base/err.h"

/* The largest file, and the largest image in memory. */
#define ELF_IMAGE_MAX ((size_t)256 << 20)

struct elf_image {
    char *memory; /* the segments; index: virtual address */
    size_t size;
    uint64_t symbols, strings, strings_size; /* DT_SYMTAB, DT_STRTAB */
    uint64_t n_symbols;
    uint64_t dynamic, dynamic_size;
};

/* Fails with one line that says what the file is and what to do about it; no file name in it. */
int elf_image_new(struct elf_image *image, struct str bytes, struct err *reterr) MUST_CHECK;
void elf_image_release(struct elf_image *image);

/* The address of a defined symbol. */
bool elf_image_symbol(const struct elf_image *image, const char *name, uint64_t *ret_address);
/* Copies n bytes at an address; false if they are not all in the image. */
bool elf_image_read(const struct elf_image *image, uint64_t address, void *to, size_t n) MUST_CHECK;
/* The text at an address, which ends with NUL within max bytes; NULL if it does not. Borrowed. */
const char *elf_image_text(const struct elf_image *image, uint64_t address, size_t max);
/* The i-th library that the file needs (DT_NEEDED); NULL after the last. Borrowed. */
const char *elf_image_needed(const struct elf_image *image, size_t i);

#endif
