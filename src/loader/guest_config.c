/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/guest_config.h"

#include <ctype.h>

#include "codec/json_value.h"
#include "kube/file.h"
#include "loader/guest_fetch.h"
#include "wasm/wasm_plugin.h"

static bool section_has(const struct plugin_section *section, struct str name)
{
    for (size_t i = 0; i < section->enabled.n; i++)
        if (str_eq(section->enabled.v[i].name, name))
            return true;
    return false;
}

static bool is_enabled(const struct profile_config *profile, struct str name)
{
    if (!profile->plugins)
        return false;
    bool enabled = section_has(&profile->plugins->multi_point, name);
    for (int i = 0; !enabled && i < POINT_COUNT; i++)
        enabled = section_has(&profile->plugins->at[i], name);
    return enabled;
}

/* Empty: the arguments are not those of a guest. */
static struct str url_of(const struct plugin_args *entry, struct arena *a)
{
    struct json_value tree;
    if (!entry->args.n || json_parse(entry->args, 0, a, &tree, NULL) < 0)
        return STR("");
    return json_get_text(&tree, STR("guestURL"));
}

static int add(guest_entries *out, struct guest_entry entry, struct err *reterr)
{
    for (size_t i = 0; i < out->n; i++) {
        if (!str_eq(out->v[i].name, entry.name))
            continue;
        if (str_eq(out->v[i].url, entry.url))
            return 0;
        return err_set(reterr, -EINVAL,
                       "initializing plugin \"%.*s\": profiles give it two guestURLs, %.*s and "
                       "%.*s: give the guests different names",
                       STR_ARG(entry.name), STR_ARG(out->v[i].url), STR_ARG(entry.url));
    }
    vec_push(out, entry);
    return 0;
}

int guest_config_find(const struct scheduler_config *config, const struct registry *registry,
                      struct arena *a, guest_entries *out, struct err *reterr)
{
    int r = 0;
    for (size_t i = 0; i < config->profiles.n; i++) {
        const struct profile_config *profile = &config->profiles.v[i];
        for (size_t k = 0; r == 0 && k < profile->plugin_config.n; k++) {
            const struct plugin_args *entry = &profile->plugin_config.v[k];
            if (registry_find(registry, entry->name) || !is_enabled(profile, entry->name))
                continue;
            struct guest_entry guest = {entry->name, url_of(entry, a)};
            if (guest.url.n)
                r = add(out, guest, reterr);
        }
    }
    return r;
}

/* --- URLs ------------------------------------------------------------------------------------- */

struct str guest_url_path(struct str url)
{
    return str_starts(url, STR("file://")) ? str_slice(url, 7, url.n) : STR("");
}

static int read_path(struct str path, struct buf *out, struct err *reterr)
{
    char *name = str_dup(path);
    int r = file_read(name, WASM_MODULE_MAX, out, reterr);
    if (r < 0 && r != -EFBIG) {
        const char *why = strerror(-r);
        err_set(reterr, r, "open %s: %c%s", name, tolower((unsigned char)*why), why + 1);
    }
    free(name);
    return r;
}

static int read_url(struct str url, struct buf *out, struct err *reterr)
{
    size_t colon = str_find(url, ':');
    struct str scheme = str_slice(url, 0, colon);
    if (colon == url.n)
        return err_set(reterr, -EINVAL, "invalid URL: %.*s", STR_ARG(url));
    if (guest_url_path(url).n)
        return read_path(guest_url_path(url), out, reterr);
    if (str_is(scheme, "http") || str_is(scheme, "https"))
        return guest_fetch(url, WASM_MODULE_MAX, out, reterr);
    return err_set(reterr, -EINVAL, "unsupported URL scheme: %.*s", STR_ARG(scheme));
}

int guest_url_read(struct str url, struct buf *out, struct err *reterr)
{
    int r = read_url(url, out, reterr);
    return r < 0 ? err_prefix(reterr, r, "wasm: error reading guestURL %.*s", STR_ARG(url)) : 0;
}

/* --- inspection ------------------------------------------------------------------------------- */

bool guest_is_module(struct str bytes)
{
    return str_starts(bytes, (struct str){"\0asm", 4});
}

/* "a/no-small.wasm" is no-small. */
static struct str name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct str name = str_of(slash ? slash + 1 : path);
    return str_ends(name, STR(".wasm")) ? str_slice(name, 0, name.n - 5) : name;
}

int guest_inspect(const char *path, struct str bytes, struct arena *a,
                  struct plugin_listing *ret_listing, struct err *reterr)
{
    static const char *needed[] = {"libwasmtime.so", NULL};
    struct wasm_module *m;
    int r = wasm_plugin_load(name_of(path), str_of(path), bytes, &m, reterr);
    if (r < 0)
        return err_prefix(reterr, r, "%s", path);
    struct plugin_info *info = arena_new(a, struct plugin_info);
    struct berth_arg *args = arena_array(a, struct berth_arg, ARRAY_LEN(m->args));
    memcpy(args, m->args, sizeof(m->args));
    *info = (struct plugin_info){.name = arena_dup(a, name_of(path)).p,
                                 .version = m->plugin.version, /* a literal */
                                 .abi = m->plugin.abi,
                                 .struct_size = m->plugin.struct_size,
                                 .flags = m->plugin.flags,
                                 .args = args};
    for (int point = 0; point < POINT_COUNT; point++)
        info->points |= (unsigned)plugin_implements(&m->plugin, (enum point)point) << point;
    *ret_listing = (struct plugin_listing){.plugins = info, .n = 1, .needed = needed};
    wasm_module_unref(m);
    return 0;
}
