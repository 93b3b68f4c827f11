/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/scheduler/metrics_flags.h"

#include "base/log.h"
#include "base/vec.h"
#include "cmd/cli/cmd.h"
#include "codec/yaml.h"
#include "serve/process_metrics.h"

typedef VEC(struct metric_allow) allow_vec;

/* "metric,label" and "value,value". */
static void add_allow(allow_vec *out, struct str key, struct str values)
{
    size_t comma = str_find(key, ',');
    vec_push(out, (struct metric_allow){.family = str_slice(key, 0, comma),
                                        .label = str_slice(key, comma + 1, key.n),
                                        .values = values});
}

/* Fails only if the file has changed since the flags were checked. */
static void read_manifest(const char *path, struct arena *a, allow_vec *out)
{
    struct json_value *docs;
    struct str text;
    struct err err;
    size_t n;
    int r = cmd_read_file(path, a, &text, &err);
    if (r == 0)
        r = yaml_parse(text, JSON_STRICT, a, &docs, &n, &err);
    if (r < 0) {
        log_error("Failed to read allow list manifest", KV_ERR(&err));
        return;
    }
    for (size_t i = 0; n && docs[0].kind == JSON_OBJECT && i < docs[0].n_members; i++)
        if (docs[0].members[i].value.kind == JSON_STRING)
            add_allow(out, docs[0].members[i].key, docs[0].members[i].value.text);
}

struct metrics *metrics_of_flags(const struct scheduler_options *o, const struct features *features)
{
    const struct metrics_flags *flags = &o->metrics;
    struct metrics *m = metrics_new();
    allow_vec allowed = {0};
    struct arena arena;
    arena_init(&arena, 0);
    for (size_t i = 0; i < flags->allow_labels.keys.n; i++)
        add_allow(&allowed, flags->allow_labels.keys.v[i], flags->allow_labels.values.v[i]);
    if (!flags->allow_labels.changed && *flags->allow_labels_manifest)
        read_manifest(flags->allow_labels_manifest, &arena, &allowed);
    metrics_govern(m, &(struct metrics_rules){
                          .minor = KUBE_VERSION.minor,
                          .show_hidden = *flags->show_hidden_for_version,
                          .disabled = flags->disabled.list.v,
                          .n_disabled = flags->disabled.list.n,
                          .allowed = allowed.v,
                          .n_allowed = allowed.n,
                      });
    process_metrics_add(m);
    build_metrics_add(m, features,
                      str_empty(o->version.reported) ? STR(KUBE_GIT_VERSION) : o->version.reported);
    vec_release(&allowed);
    arena_release(&arena);
    return m;
}
