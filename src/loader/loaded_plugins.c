/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/loaded_plugins.h"

#include <dirent.h>

#include "kube/file.h"
#include "loader/guest_config.h"
#include "plugins/registry.h"
#include "wasm/wasm_plugin.h"

static const struct berth_plugin *const none[] = {NULL};
static const struct berth_plugin *const *compiled_in = none;

void compiled_in_plugins_set(const struct berth_plugin *const *plugins)
{
    compiled_in = plugins ? plugins : none;
}

/* --- sources ---------------------------------------------------------------------------------- */

typedef VEC(char *) path_list;

void plugin_sources_release(struct plugin_sources *s)
{
    vec_release(&s->files);
    vec_release(&s->dirs);
}

static void release_paths(path_list *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        free(paths->v[i]);
    vec_release(paths);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Hidden files are those that a writer has not finished yet. */
static int add_dir(path_list *paths, const char *dir, struct err *reterr)
{
    size_t first = paths->n;
    struct dirent *e;
    DIR *d = opendir(dir);
    if (!d)
        return err_set(reterr, -errno, "--plugin-dir: %s: %s", dir, strerror(errno));
    while ((e = readdir(d)))
        if (e->d_name[0] != '.' && str_ends(str_of(e->d_name), STR(".so")))
            vec_push(paths, xasprintf("%s/%s", dir, e->d_name));
    closedir(d);
    if (paths->n > first)
        qsort(paths->v + first, paths->n - first, sizeof(*paths->v), by_text);
    return 0;
}

static int list_paths(const struct plugin_sources *s, path_list *paths, struct err *reterr)
{
    int r = 0;
    for (size_t i = 0; i < s->files.n; i++)
        vec_push(paths, xstrdup(s->files.v[i]));
    for (size_t i = 0; r == 0 && i < s->dirs.n; i++)
        r = add_dir(paths, s->dirs.v[i], reterr);
    return r;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return hash_u64(hash ^ value);
}

static uint64_t mix_file(uint64_t hash, const char *path)
{
    struct file_stamp stamp;
    if (file_stamp_of(path, &stamp) < 0)
        return hash;
    hash = mix(mix(hash, str_hash(str_of(path))), stamp.inode);
    hash = mix(mix(hash, (uint64_t)stamp.size), (uint64_t)stamp.mtime);
    return mix(hash, (uint64_t)stamp.ctime);
}

uint64_t plugin_sources_stamp(const struct plugin_sources *s)
{
    path_list paths = {0};
    struct err err;
    uint64_t hash = list_paths(s, &paths, &err) < 0;
    for (size_t i = 0; i < paths.n; i++)
        hash = mix_file(hash, paths.v[i]);
    release_paths(&paths);
    return hash;
}

uint64_t loaded_plugins_guest_stamp(const struct loaded_plugins *set)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < set->guests.n; i++) {
        struct str path = guest_url_path(str_of(set->guests.v[i]->url));
        if (path.n)
            hash = mix_file(hash, path.p); /* the end of the URL: ends with NUL */
    }
    return hash;
}

/* --- sets ------------------------------------------------------------------------------------- */

/* The set that has the files. */
static const struct loaded_plugins *without_guests(const struct loaded_plugins *set)
{
    while (set && set->base)
        set = set->base;
    return set;
}

static struct plugin_file *find_same(const struct loaded_plugins *set, const char *path,
                                     struct str bytes)
{
    set = without_guests(set);
    for (size_t i = 0; set && i < set->files.n; i++)
        if (strcmp(set->files.v[i]->path, path) == 0 && plugin_file_is(set->files.v[i], bytes))
            return set->files.v[i];
    return NULL;
}

const char *loaded_plugins_path(const struct loaded_plugins *set, struct str plugin)
{
    set = without_guests(set);
    for (size_t i = 0; i < set->files.n; i++)
        for (size_t k = 0; set->files.v[i]->plugins[k]; k++)
            if (str_is(plugin, set->files.v[i]->plugins[k]->name))
                return set->files.v[i]->path;
    return NULL;
}

/* Names the other plugin of a duplicate name. */
static int check_duplicates(const struct loaded_plugins *set, const struct plugin_file *file,
                            struct err *reterr)
{
    for (size_t i = 0; file->plugins[i]; i++) {
        struct str name = str_of(file->plugins[i]->name);
        const char *path = loaded_plugins_path(set, name);
        if (registry_find(&set->registry, name))
            return err_set(reterr, -EEXIST,
                           "%s: a plugin named %.*s already exists in %s; rename one", file->path,
                           STR_ARG(name), path ? path : "this program");
    }
    return 0;
}

static int add_file(struct loaded_plugins *set, const char *path,
                    const struct loaded_plugins *previous, struct err *reterr)
{
    struct buf bytes = BUF_INIT;
    struct plugin_file *file = NULL;
    int r = plugin_file_read(path, &bytes, reterr);
    if (r == 0) {
        file = find_same(previous, path, buf_str(&bytes));
        if (file)
            plugin_file_ref(file);
        else
            r = plugin_file_load(path, buf_str(&bytes), &file, reterr);
    }
    buf_release(&bytes);
    if (r == 0)
        r = check_duplicates(set, file, reterr);
    if (r == 0)
        r = registry_merge(&set->registry, file->plugins, reterr);
    if (r == 0)
        vec_push(&set->files, file);
    else
        plugin_file_unref(file);
    return r;
}

int loaded_plugins_new(const struct plugin_sources *sources, const struct loaded_plugins *previous,
                       struct loaded_plugins **ret_set, struct err *reterr)
{
    path_list paths = {0};
    struct loaded_plugins *set = xnew(struct loaded_plugins);
    set->refs = 1;
    registry_init(&set->registry, &in_tree_registry);
    int r = registry_merge(&set->registry, compiled_in, reterr);
    if (r == 0)
        r = list_paths(sources, &paths, reterr);
    for (size_t i = 0; r == 0 && i < paths.n; i++)
        r = add_file(set, paths.v[i], previous, reterr);
    release_paths(&paths);
    if (r < 0) {
        loaded_plugins_unref(set);
        return r;
    }
    *ret_set = set;
    return 0;
}

bool loaded_plugins_eq(const struct loaded_plugins *a, const struct loaded_plugins *b)
{
    a = without_guests(a);
    b = without_guests(b);
    if (a->files.n != b->files.n)
        return false;
    for (size_t i = 0; i < a->files.n; i++)
        if (a->files.v[i] != b->files.v[i])
            return false;
    return true;
}

struct loaded_plugins *loaded_plugins_ref(struct loaded_plugins *set)
{
    set->refs++;
    return set;
}

struct loaded_plugins *loaded_plugins_unref(struct loaded_plugins *set)
{
    if (!set || --set->refs)
        return NULL;
    registry_release(&set->registry);
    for (size_t i = 0; i < set->guests.n; i++)
        wasm_module_unref(set->guests.v[i]);
    vec_release(&set->guests);
    loaded_plugins_unref(set->base);
    for (size_t i = 0; i < set->files.n; i++)
        plugin_file_unref(set->files.v[i]);
    vec_release(&set->files);
    free(set);
    return NULL;
}

/* --- guests ----------------------------------------------------------------------------------- */

struct loaded_plugins *loaded_plugins_without_guests(struct loaded_plugins *set)
{
    while (set->base)
        set = set->base;
    return set;
}

/* A module of a server is read once; a new URL is how it is replaced. */
static struct wasm_module *find_fetched(const struct loaded_plugins *set,
                                        const struct guest_entry *entry)
{
    for (size_t i = 0; set && !guest_url_path(entry->url).n && i < set->guests.n; i++)
        if (str_is(entry->name, set->guests.v[i]->name) &&
            str_is(entry->url, set->guests.v[i]->url))
            return wasm_module_ref(set->guests.v[i]);
    return NULL;
}

static struct wasm_module *find_module(const struct loaded_plugins *set,
                                       const struct guest_entry *entry, struct str bytes)
{
    for (size_t i = 0; set && i < set->guests.n; i++) {
        struct wasm_module *m = set->guests.v[i];
        if (str_is(entry->name, m->name) && str_is(entry->url, m->url) && str_eq(m->bytes, bytes))
            return wasm_module_ref(m);
    }
    return NULL;
}

static int add_guest(struct loaded_plugins *set, const struct guest_entry *entry,
                     const struct loaded_plugins *previous, struct err *reterr)
{
    struct buf bytes = BUF_INIT;
    struct wasm_module *module = find_fetched(previous, entry);
    int r = module ? 0 : guest_url_read(entry->url, &bytes, reterr);
    if (r == 0 && !module)
        module = find_module(previous, entry, buf_str(&bytes));
    if (r == 0 && !module)
        r = wasm_plugin_load(entry->name, entry->url, buf_str(&bytes), &module, reterr);
    buf_release(&bytes);
    if (r < 0)
        return err_prefix(reterr, r, "initializing plugin \"%.*s\"", STR_ARG(entry->name));
    vec_push(&set->guests, module);
    return registry_register(&set->registry, &module->plugin, reterr);
}

int loaded_plugins_add_guests(struct loaded_plugins **set, const struct scheduler_config *config,
                              const struct loaded_plugins *previous, struct err *reterr)
{
    struct loaded_plugins *with = NULL;
    guest_entries entries = {0};
    struct arena a;
    arena_init(&a, 0);
    int r = guest_config_find(config, &(*set)->registry, &a, &entries, reterr);
    if (r == 0 && entries.n) {
        with = xnew(struct loaded_plugins);
        with->refs = 1;
        with->base = loaded_plugins_ref(*set);
        registry_init(&with->registry, &(*set)->registry);
        with->registry.whole_objects = true;
    }
    for (size_t i = 0; r == 0 && i < entries.n; i++)
        r = add_guest(with, &entries.v[i], previous, reterr);
    vec_release(&entries);
    arena_release(&a);
    if (r < 0) {
        loaded_plugins_unref(with);
        return r;
    }
    if (with) {
        loaded_plugins_unref(*set);
        *set = with;
    }
    return 0;
}
