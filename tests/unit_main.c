/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_main.c - the one program of all unit tests.
 *
 *   berth-unit                  lists the modules
 *   berth-unit MODULE           runs tests/unit/test_MODULE.c
 *
 * Each module is a cmocka group with a main of its own; the Makefile renames it to unit_MODULE and
 * writes the table. tests/run.py starts one process per module.
 */
#include <stdio.h>
#include <string.h>

#define UNIT(name) int unit_##name(void);
#include "unit_table.h"
#undef UNIT

static const struct {
    const char *name;
    int (*run)(void);
} modules[] = {
#define UNIT(name) {#name, unit_##name},
#include "unit_table.h"
#undef UNIT
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        if (argc < 2)
            puts(modules[i].name);
        else if (strcmp(argv[1], modules[i].name) == 0)
            return modules[i].run();
    }
    if (argc < 2)
        return 0;
    fprintf(stderr, "berth-unit: no module \"%s\"; run berth-unit without arguments for a list\n",
            argv[1]);
    return 2;
}
