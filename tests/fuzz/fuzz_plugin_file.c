/* SPDX-License-Identifier: Apache-2.0 */
/* Shared objects as `berth plugin inspect` reads them. The identification is set, so that more
 * inputs get past it. */
#include <elf.h>

#include "engine/config/point.h"
#include "loader/plugin_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf bytes = BUF_INIT;
    struct plugin_listing listing;
    struct arena a;
    struct err err = {0};
    buf_add(&bytes, data, size);
    if (size >= sizeof(Elf64_Ehdr)) {
        Elf64_Ehdr head;
        memcpy(&head, bytes.p, sizeof(head));
        memcpy(head.e_ident, ELFMAG "\2\1\1", 7);
        head.e_type = ET_DYN;
        head.e_machine = EM_X86_64;
        memcpy(bytes.p, &head, sizeof(head));
    }
    arena_init(&a, 0);
    if (plugin_file_inspect("f.so", buf_str(&bytes), &a, &listing, &err) == 0)
        for (size_t i = 0; i < listing.n; i++)
            assert(listing.plugins[i].name && listing.plugins[i].points < 1U << POINT_COUNT);
    else
        assert(!strchr(err.msg, '\n'));
    arena_release(&a);
    buf_release(&bytes);
    return 0;
}
