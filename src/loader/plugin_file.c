/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/plugin_file.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/config/point.h"
#include "kube/file.h"
#include "loader/elf_image.h"

/* The array that a shared object exports: see berth/plugin.h. */
#define SYMBOL   "berth_plugins"
/* The longest name or version of a plugin. */
#define TEXT_MAX 256

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* --- inspection ------------------------------------------------------------------------------- */

/* The members up to here have existed since ABI 1.0. */
#define HEAD_SIZE offsetof(struct berth_plugin, events)

/* NULL if it is NULL, empty or not in the image. */
static const char *copy_text(const struct elf_image *image, const char *address, struct arena *a)
{
    const char *text =
        address ? elf_image_text(image, (uint64_t)(uintptr_t)address, TEXT_MAX) : NULL;
    return text && *text ? arena_dup(a, str_of(text)).p : NULL;
}

/* The most arguments of a plugin that are listed. */
#define ARGS_MAX 64

/* The rows of a table of arguments. Only the members that struct plugin_info names are of use. */
static const struct berth_arg *read_args(const struct elf_image *image, uint64_t address,
                                         struct arena *a)
{
    struct berth_arg *rows = arena_array(a, struct berth_arg, ARGS_MAX + 1);
    size_t n = 0;
    while (n < ARGS_MAX &&
           elf_image_read(image, address + n * sizeof(*rows), &rows[n], sizeof(*rows))) {
        rows[n].name = copy_text(image, rows[n].name, a);
        if (!rows[n].name)
            break;
        n++;
    }
    rows[n] = (struct berth_arg){.name = NULL};
    return rows;
}

/* Fills a plugin's struct as it is in the file: its pointers are addresses in the image. */
static int read_plugin(const struct elf_image *image, uint64_t address, size_t i, struct arena *a,
                       struct plugin_info *info, struct err *reterr)
{
    struct berth_plugin p = {0};
    if (!elf_image_read(image, address, &p, HEAD_SIZE))
        return err_set(reterr, -EINVAL, SYMBOL "[%zu] is not constant data", i);
    info->name = copy_text(image, p.name, a);
    if (p.abi >> 16 != BERTH_ABI_MAJOR)
        return err_set(reterr, -EINVAL,
                       "plugin \"%s\" was built for ABI %u, this berth has ABI %u; build it with "
                       "this berth's header",
                       info->name ? info->name : "?", p.abi >> 16, (unsigned)BERTH_ABI_MAJOR);
    if (!info->name)
        return err_set(reterr, -EINVAL, SYMBOL "[%zu] has no name", i);
    if (p.struct_size < HEAD_SIZE ||
        !elf_image_read(image, address, &p, MIN(p.struct_size, sizeof(p))))
        return err_set(reterr, -EINVAL, "plugin \"%s\": struct_size %zu is not that of a plugin",
                       info->name, p.struct_size);
    info->version = copy_text(image, p.version, a);
    info->abi = p.abi;
    info->struct_size = p.struct_size;
    info->flags = p.flags;
    info->args = p.args ? read_args(image, (uint64_t)(uintptr_t)p.args, a) : NULL;
    for (int point = 0; point < POINT_COUNT; point++)
        info->points |= (unsigned)plugin_implements(&p, (enum point)point) << point;
    return 0;
}

static int check_names(const struct plugin_listing *l, struct err *reterr)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(l->plugins[i].name, l->plugins[k].name) == 0)
                return err_set(reterr, -EEXIST, "exports two plugins named %s", l->plugins[i].name);
    return 0;
}

static int read_plugins(const struct elf_image *image, struct arena *a, struct plugin_listing *l,
                        struct err *reterr)
{
    uint64_t list, address;
    if (!elf_image_symbol(image, SYMBOL, &list))
        return err_set(reterr, -ENOENT,
                       "not a plugin: it does not export " SYMBOL "; see berth/plugin.h");
    l->plugins = arena_array(a, struct plugin_info, PLUGIN_FILE_MAX);
    for (l->n = 0;; l->n++) {
        if (!elf_image_read(image, list + l->n * sizeof(address), &address, sizeof(address)))
            return err_set(reterr, -EINVAL, SYMBOL " does not end with NULL");
        if (!address)
            break;
        if (l->n == PLUGIN_FILE_MAX)
            return err_set(reterr, -E2BIG,
                           SYMBOL " has more than %d plugins, or no NULL at its end",
                           PLUGIN_FILE_MAX);
        l->plugins[l->n] = (struct plugin_info){0};
        int r = read_plugin(image, address, l->n, a, &l->plugins[l->n], reterr);
        if (r < 0)
            return r;
    }
    return l->n ? check_names(l, reterr) : err_set(reterr, -ENOENT, SYMBOL " is empty");
}

/* The most libraries that are listed; each one is searched for from the start. */
#define NEEDED_MAX 256

static void read_needed(const struct elf_image *image, struct arena *a, struct plugin_listing *l)
{
    size_t n = 0;
    while (n < NEEDED_MAX && elf_image_needed(image, n))
        n++;
    l->needed = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        l->needed[i] = arena_dup(a, str_of(elf_image_needed(image, i))).p;
    l->needed[n] = NULL;
}

int plugin_file_inspect(const char *path, struct str bytes, struct arena *a,
                        struct plugin_listing *ret_listing, struct err *reterr)
{
    struct elf_image image;
    *ret_listing = (struct plugin_listing){0};
    int r = elf_image_new(&image, bytes, reterr);
    if (r == 0) {
        r = read_plugins(&image, a, ret_listing, reterr);
        read_needed(&image, a, ret_listing);
        elf_image_release(&image);
    }
    return r < 0 ? err_prefix(reterr, r, "%s", path) : 0;
}

/* --- loading ---------------------------------------------------------------------------------- */

int plugin_file_read(const char *path, struct buf *out, struct err *reterr)
{
    return file_read(path, ELF_IMAGE_MAX, out, reterr);
}

static bool write_all(int fd, struct str bytes)
{
    for (size_t at = 0; at < bytes.n;) {
        ssize_t n = write(fd, bytes.p + at, bytes.n - at);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Kernels before 6.3 do not know MFD_EXEC; later ones may require it. */
static int make_copy(const char *path, struct str bytes, struct err *reterr)
{
    const char *slash = strrchr(path, '/');
    struct str name = str_slice(str_of(slash ? slash + 1 : path), 0, 200);
    char *text = str_dup(name);
    int fd = memfd_create(text, MFD_CLOEXEC | MFD_EXEC);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(text, MFD_CLOEXEC);
    free(text);
    if (fd < 0 || !write_all(fd, bytes)) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return err_set(reterr, -error, "copy in memory: %s", strerror(error));
    }
    return fd;
}

static void copy_path(int fd, char path[static 32])
{
    snprintf(path, 32, "/proc/self/fd/%d", fd);
}

/* The dynamic linker's message without the path of the copy. */
static int linker_error(struct err *reterr)
{
    const char *text = dlerror();
    if (access("/proc/self/fd", X_OK) < 0)
        return err_set(reterr, -errno, "loading plugins needs /proc, which is not mounted");
    struct str message = str_of(text ? text : "no reason given");
    if (!str_starts(message, STR("/proc/self/fd/")))
        return err_set(reterr, -ENOENT, "missing dependency: %.*s", STR_ARG(message));
    message = str_trim(str_slice(message, str_find(message, ':') + 1, message.n));
    return err_set(reterr, -ENOEXEC, "%.*s", STR_ARG(message));
}

/*
 * The linker recognizes files by path and inode. The descriptor stays open as long as the code is
 * loaded, so that no other copy gets the same path. Code that cannot be unloaded keeps it for good.
 */
static void unload(void *code, int fd)
{
    char path[32];
    copy_path(fd, path);
    dlclose(code);
    void *still = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (still)
        dlclose(still);
    else
        close(fd);
}

static int load_copy(struct plugin_file *file, struct err *reterr)
{
    char path[32];
    copy_path(file->copy, path);
    file->code = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!file->code)
        return linker_error(reterr);
    file->plugins = dlsym(file->code, SYMBOL);
    return file->plugins ? 0 : linker_error(reterr);
}

int plugin_file_load(const char *path, struct str bytes, struct plugin_file **ret_file,
                     struct err *reterr)
{
    struct plugin_listing listing;
    struct arena scratch;
    arena_init(&scratch, 0);
    int r = plugin_file_inspect(path, bytes, &scratch, &listing, reterr);
    arena_release(&scratch);
    if (r < 0)
        return r;
    struct plugin_file *file = xnew(struct plugin_file);
    *file = (struct plugin_file){.refs = 1, .path = xstrdup(path), .size = bytes.n};
    r = file->copy = make_copy(path, bytes, reterr);
    if (r >= 0)
        r = load_copy(file, reterr);
    if (r < 0) {
        plugin_file_unref(file);
        return err_prefix(reterr, r, "%s", path);
    }
    *ret_file = file;
    return 0;
}

bool plugin_file_is(const struct plugin_file *file, struct str bytes)
{
    if (file->size != bytes.n)
        return false;
    for (size_t at = 0; at < bytes.n;) {
        char chunk[65536];
        ssize_t n = pread(file->copy, chunk, MIN(sizeof(chunk), bytes.n - at), (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || memcmp(chunk, bytes.p + at, (size_t)n) != 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

struct plugin_file *plugin_file_ref(struct plugin_file *file)
{
    file->refs++;
    return file;
}

struct plugin_file *plugin_file_unref(struct plugin_file *file)
{
    if (!file || --file->refs)
        return NULL;
    if (file->code)
        unload(file->code, file->copy);
    else if (file->copy >= 0)
        close(file->copy);
    free(file->path);
    free(file);
    return NULL;
}
