/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines are written: the general verbosity, and the levels of single files. */
#include <fnmatch.h>

#include "base/log_internal.h"

struct module {
    char *pattern;
    int level;
};

atomic_int log_threshold_;
static atomic_int verbosity;
/* Set before a second thread exists, constant afterwards. */
static struct module *modules;
static size_t n_modules;

static void set_threshold(void)
{
    int highest = log_verbosity();
    for (size_t i = 0; i < n_modules; i++)
        highest = MAX(highest, modules[i].level);
    atomic_store_explicit(&log_threshold_, highest, memory_order_relaxed);
}

void log_set_verbosity(int v)
{
    atomic_store_explicit(&verbosity, v, memory_order_relaxed);
    set_threshold();
}

int log_verbosity(void)
{
    return atomic_load_explicit(&verbosity, memory_order_relaxed);
}

void log_set_modules(const struct log_module *list, size_t n)
{
    for (size_t i = 0; i < n_modules; i++)
        free(modules[i].pattern);
    free(modules);
    modules = n ? xcalloc(n, sizeof(*modules)) : NULL;
    n_modules = n;
    for (size_t i = 0; i < n; i++)
        modules[i] = (struct module){str_dup(list[i].pattern), list[i].level};
    set_threshold();
}

/* The level of the first pattern that matches; -1: none. */
static int level_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(base, "."), base);
    for (size_t i = 0; i < n_modules; i++)
        if (fnmatch(modules[i].pattern, name, 0) == 0)
            return modules[i].level;
    return -1;
}

bool log_wanted(const char *file, int level)
{
    return level <= log_verbosity() || (n_modules && level <= level_of(file));
}
