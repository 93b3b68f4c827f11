/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config/args_kind.h"

#include "codec/json.h"

/* kind and apiVersion are optional; if present, they must match. */
static int check_meta(const struct args_kind *kind, const struct args_meta *meta,
                      struct err *reterr)
{
    if (!str_empty(meta->kind) && !str_is(meta->kind, kind->name))
        return err_set(reterr, -EINVAL,
                       "args for plugin %s were not of type %s." CONFIG_GROUP
                       ", got %.*s." CONFIG_GROUP,
                       kind->plugin, kind->name, STR_ARG(meta->kind));
    if (!str_empty(meta->api_version) && !str_is(meta->api_version, CONFIG_API_VERSION) &&
        !(kind->legacy && str_is(meta->api_version, CONFIG_GROUP "/v1beta1")))
        return err_set(reterr, -EINVAL,
                       "decoding args for plugin %s: no kind \"%s\" is registered for version "
                       "\"%.*s\"",
                       kind->plugin, kind->name, STR_ARG(meta->api_version));
    return 0;
}

/* "scoringStrategy.type: expected a string", without the line number of the JSON text. */
static int name_member(const struct args_kind *kind, struct err *reterr)
{
    struct err err = *reterr;
    struct str why = str_of(err.msg);
    size_t colon = str_find(why, ':');
    why = str_trim(str_slice(why, colon + 1, why.n));
    colon = str_find(why, ':');
    if (colon < why.n && str_find(why, ' ') > colon)
        return err_set(reterr, -EINVAL, "%.*s", STR_ARG(why));
    return err_set(reterr, -EINVAL, "decoding args for plugin %s: %.*s", kind->plugin,
                   STR_ARG(why));
}

static const struct features *or_default(const struct features *features, struct arena *a)
{
    if (features)
        return features;
    struct features *untouched = arena_new(a, struct features);
    features_default(untouched);
    return untouched;
}

int args_read(const struct args_kind *kind, const struct features *features, struct str text,
              struct arena *a, void *out, struct err *reterr)
{
    struct args_meta *meta = out;
    memset(out, 0, kind->type->size);
    int r = 0;
    if (text.n)
        r = json_decode(text, kind->type, JSON_STRICT, a, out, reterr);
    if (r < 0)
        return name_member(kind, reterr);
    meta->features = or_default(features, a);
    r = check_meta(kind, meta, reterr);
    if (r == 0 && kind->fill)
        kind->fill(out, a);
    return r;
}

struct str args_write(const struct args_kind *kind, void *args, struct arena *a)
{
    struct args_meta *meta = args;
    struct buf text = BUF_INIT;
    meta->kind = str_of(kind->name);
    meta->api_version = STR(CONFIG_API_VERSION);
    json_encode(kind->type, args, &text);
    struct str copy = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return copy;
}

const struct args_kind *args_kind_of(const struct args_kind *const *kinds, struct str plugin)
{
    for (size_t i = 0; kinds && kinds[i]; i++)
        if (str_is(plugin, kinds[i]->plugin))
            return kinds[i];
    return NULL;
}
