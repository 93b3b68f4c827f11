/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings about pods (upstream: GetWarningsForPod, GetWarningsForPodTemplate). */
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/types/amounts.h"

struct warner {
    const char *path; /* "", "spec.template." */
    const struct json_value *spec, *meta;
    struct buf *out;
    struct arena *a;
};

/* --- labels and annotations ------------------------------------------------------------------- */

static const struct {
    const char *label, *message;
} old_labels[] = {
    {"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
    {"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
    {"failure-domain.beta.kubernetes.io/region",
     "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
    {"failure-domain.beta.kubernetes.io/zone",
     "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
    {"beta.kubernetes.io/instance-type",
     "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
};

static const char *old_label(struct str key)
{
    for (size_t i = 0; i < ARRAY_LEN(old_labels); i++)
        if (str_is(key, old_labels[i].label))
            return old_labels[i].message;
    return NULL;
}

static void warn_labels(const struct warner *w)
{
    struct json_members selector = json_members_at(w->spec, "nodeSelector");
    struct json_items spread = json_items_at(w->spec, "topologySpreadConstraints");

    for (size_t i = 0; i < selector.n; i++)
        if (old_label(selector.v[i].key))
            buf_add_printf(w->out, "%sspec.nodeSelector[%.*s]: %s\n", w->path,
                           STR_ARG(selector.v[i].key), old_label(selector.v[i].key));
    for (size_t i = 0; i < spread.n; i++) {
        struct str key = json_get_text(&spread.v[i], STR("topologyKey"));

        if (old_label(key))
            buf_add_printf(w->out,
                           "%sspec.topologySpreadConstraints[%zu].topologyKey: %.*s is %s\n",
                           w->path, i, STR_ARG(key), old_label(key));
        if (!json_get(&spread.v[i], STR("labelSelector")))
            buf_add_printf(w->out,
                           "%sspec.topologySpreadConstraints[%zu].labelSelector: a null "
                           "labelSelector results in matching no pod\n",
                           w->path, i);
    }
}

static void warn_annotations(const struct warner *w)
{
    static const struct {
        const char *key, *message;
    } old[] = {
        {"scheduler.alpha.kubernetes.io/critical-pod",
         "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
        {"security.alpha.kubernetes.io/sysctls",
         "non-functional in v1.11+; use the \"sysctls\" field instead"},
        {"security.alpha.kubernetes.io/unsafe-sysctls",
         "non-functional in v1.11+; use the \"sysctls\" field instead"},
    };
    const struct json_value *list = json_get(w->meta, STR("annotations"));

    for (size_t i = 0; i < ARRAY_LEN(old); i++)
        if (json_get(list, str_of(old[i].key)))
            buf_add_printf(w->out, "%smetadata.annotations[%s]: %s\n", w->path, old[i].key,
                           old[i].message);
}

/* --- volumes ---------------------------------------------------------------------------------- */

static void warn_fraction(const struct warner *w, const struct json_value *list, const char *name,
                          const char *where)
{
    const struct json_value *v = json_get(list, str_of(name));
    struct quantity q = quantity_at(v, w->a);

    if (v && quantity_milli_value(&q) % 1000 != 0)
        buf_add_printf(w->out,
                       "%s%s[%s]: fractional byte value \"%.*s\" is invalid, must be an integer\n",
                       w->path, where, name, STR_ARG(quantity_text(&q, w->a)));
}

static void warn_old_sources(const struct warner *w, const struct json_value *volume, size_t i)
{
    static const struct {
        const char *source, *message;
    } old[] = {
        {"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
        {"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
        {"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
        {"flocker", "deprecated in v1.22, non-functional in v1.25+"},
        {"storageos", "deprecated in v1.22, non-functional in v1.25+"},
        {"quobyte", "deprecated in v1.22, non-functional in v1.25+"},
        {"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
        {"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
        {"rbd", "deprecated in v1.28, non-functional in v1.31+"},
    };

    for (size_t k = 0; k < ARRAY_LEN(old); k++)
        if (json_get(volume, str_of(old[k].source)))
            buf_add_printf(w->out, "%sspec.volumes[%zu].%s: %s\n", w->path, i,
                           strcmp(old[k].source, "storageos") == 0 ? "storageOS" : old[k].source,
                           old[k].message);
}

/* Items that write the same file. */
static void warn_paths(const struct warner *w, const struct json_value *volume, const char *source,
                       const char *kind, const char *name_member)
{
    const struct json_value *v = json_get(volume, str_of(source));
    struct json_items items = json_items_at(v, "items");
    struct str name = json_get_text(volume, STR("name"));
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < items.n; i++) {
        struct str path = json_get_text(&items.v[i], STR("path"));

        if (!map_put(&seen, path, w->out))
            continue;
        buf_add_printf(w->out, "volume \"%.*s\" (%s", STR_ARG(name), kind);
        if (name_member)
            buf_add_printf(w->out, " \"%.*s\"", STR_ARG(json_get_text(v, str_of(name_member))));
        buf_add_printf(w->out, "): overlapping paths: \"%.*s\" with \"%.*s\"\n", STR_ARG(path),
                       STR_ARG(path));
    }
    map_release(&seen);
}

static void warn_volumes(const struct warner *w)
{
    struct json_items list = json_items_at(w->spec, "volumes");

    for (size_t i = 0; i < list.n; i++) {
        const struct json_value *claim =
            json_at(&list.v[i], "ephemeral.volumeClaimTemplate.spec.resources");
        struct json_items sources = json_items_at(&list.v[i], "projected.sources");
        struct str where = arena_printf(
            w->a, "spec.volumes[%zu].ephemeral.volumeClaimTemplate.spec.resources.requests", i);

        warn_old_sources(w, &list.v[i], i);
        warn_fraction(w, json_get(claim, STR("requests")), "storage", where.p);
        warn_paths(w, &list.v[i], "configMap", "ConfigMap", "name");
        warn_paths(w, &list.v[i], "secret", "Secret", "secretName");
        warn_paths(w, &list.v[i], "downwardAPI", "DownwardAPI", NULL);
        for (size_t s = 0; s < sources.n; s++)
            if (sources.v[s].kind == JSON_OBJECT && sources.v[s].n_members == 0)
                buf_add_printf(w->out, "volume \"%.*s\" (Projected) has no sources provided\n",
                               STR_ARG(json_get_text(&list.v[i], STR("name"))));
    }
}

/* --- lists with names ------------------------------------------------------------------------- */

static void warn_duplicates(const struct warner *w, const char *list_name, const char *member)
{
    struct json_items list = json_items_at(w->spec, list_name);
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < list.n; i++) {
        struct str text = json_get_text(&list.v[i], str_of(member));

        if (map_put(&seen, text, w->out))
            buf_add_printf(w->out, "%sspec.%s[%zu].%s: duplicate %s \"%.*s\"\n", w->path, list_name,
                           i, member, member, STR_ARG(text));
        if (str_empty(text) && strcmp(member, "name") == 0)
            buf_add_printf(w->out, "%sspec.%s[%zu].name: invalid empty name \"\"\n", w->path,
                           list_name, i);
    }
    map_release(&seen);
}

/* --- containers ------------------------------------------------------------------------------- */

static void warn_env(const struct warner *w, const struct json_value *c, const char *where)
{
    struct json_items env = json_items_at(c, "env");
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < env.n; i++) {
        struct str name = json_get_text(&env.v[i], STR("name"));
        struct str value = json_get_text(&env.v[i], STR("value"));
        struct str ref = arena_printf(w->a, "$(%.*s)", STR_ARG(name));
        bool uses = !json_get(&env.v[i], STR("valueFrom")) && !str_eq(value, ref) &&
                    str_search(value, ref) < value.n;

        if (map_put(&seen, name, w->out) && !uses)
            buf_add_printf(w->out,
                           "%s%s.env[%zu]: hides previous definition of \"%.*s\", which may be "
                           "dropped when using apply\n",
                           w->path, where, i, STR_ARG(name));
    }
    map_release(&seen);
}

struct port_place {
    const struct json_value *port;
    const char *where;
};

static void warn_port_pair(const struct warner *w, const char *where, const struct json_value *port,
                           const struct port_place *other)
{
    struct str ip = json_get_text(port, STR("hostIP"));
    struct str other_ip = json_get_text(other->port, STR("hostIP"));
    int64_t host = json_int_at(port, "hostPort", 0);
    int64_t other_host = json_int_at(other->port, "hostPort", 0);
    const char *what = NULL;

    if (str_eq(ip, other_ip) && host == other_host)
        what = "duplicate";
    else if (host == 0 || other_host == 0)
        what = "overlapping";
    else if (host == other_host && str_empty(ip) != str_empty(other_ip))
        what = "dangerously ambiguous";
    if (what)
        buf_add_printf(w->out, "%s: %s port definition with %s\n", where, what, other->where);
}

/* A port is compared with the first one of its number; upstream compares all pairs. */
static void warn_ports(const struct warner *w, const struct json_value *c, const char *where,
                       struct map *ports, struct map *names)
{
    struct json_items list = json_items_at(c, "ports");

    for (size_t i = 0; i < list.n; i++) {
        struct port_place *place = arena_new(w->a, struct port_place), *other;
        struct str name = json_get_text(&list.v[i], STR("name"));
        struct str key =
            arena_printf(w->a, "%lld/%.*s", (long long)json_int_at(&list.v[i], "containerPort", 0),
                         STR_ARG(json_get_text(&list.v[i], STR("protocol"))));

        place->port = &list.v[i];
        place->where = arena_printf(w->a, "%s%s.ports[%zu]", w->path, where, i).p;
        other = map_get(ports, key);
        if (other)
            warn_port_pair(w, place->where, &list.v[i], other);
        else
            map_put(ports, key, place);
        if (str_empty(name))
            continue;
        other = map_get(names, name);
        if (other)
            buf_add_printf(w->out,
                           "%s: duplicate port name \"%.*s\" with %s, services and probes that "
                           "select ports by name will use %s\n",
                           place->where, STR_ARG(name), other->where, other->where);
        else
            map_put(names, name, place);
    }
}

static void warn_containers(const struct warner *w)
{
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    static const char *const amounts[] = {"limits", "requests"};
    struct map ports = MAP_INIT, names = MAP_INIT;

    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_items list = json_items_at(w->spec, lists[l]);

        for (size_t i = 0; i < list.n; i++) {
            const char *where = arena_printf(w->a, "spec.%s[%zu]", lists[l], i).p;

            for (size_t m = 0; m < ARRAY_LEN(amounts); m++) {
                const struct json_value *v =
                    json_get(json_get(&list.v[i], STR("resources")), str_of(amounts[m]));
                struct str at = arena_printf(w->a, "%s.resources.%s", where, amounts[m]);

                warn_fraction(w, v, "memory", at.p);
                warn_fraction(w, v, "ephemeral-storage", at.p);
            }
            warn_env(w, &list.v[i], where);
            warn_ports(w, &list.v[i], where, &ports, &names);
        }
    }
    map_release(&ports);
    map_release(&names);
}

/* --- affinity --------------------------------------------------------------------------------- */

static void warn_affinity(const struct warner *w)
{
    static const char *const kinds[] = {"podAffinity", "podAntiAffinity"};
    static const char *const lists[] = {"requiredDuringSchedulingIgnoredDuringExecution",
                                        "preferredDuringSchedulingIgnoredDuringExecution"};

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        const struct json_value *kind =
            json_get(json_get(w->spec, STR("affinity")), str_of(kinds[k]));

        for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
            struct json_items terms = json_items_at(kind, lists[l]);
            const char *term = l == 0 ? "" : "podAffinityTerm.";

            for (size_t i = 0; i < terms.n; i++)
                if (!json_at(&terms.v[i],
                             l == 0 ? "labelSelector" : "podAffinityTerm.labelSelector"))
                    buf_add_printf(w->out,
                                   "%sspec.affinity.%s.%s[%zu].%slabelSelector: a null "
                                   "labelSelector results in matching no pod\n",
                                   w->path, kinds[k], lists[l], i, term);
        }
    }
}

void pod_template_warn(const struct json_value *template, const char *path, struct buf *warnings,
                       struct arena *a)
{
    struct warner w = {
        .path = *path ? arena_printf(a, "%s.", path).p : "",
        .spec = json_get(template, STR("spec")),
        .meta = json_get(template, STR("metadata")),
        .out = warnings,
        .a = a,
    };

    warn_labels(&w);
    warn_annotations(&w);
    warn_volumes(&w);
    warn_duplicates(&w, "hostAliases", "ip");
    warn_duplicates(&w, "imagePullSecrets", "name");
    warn_fraction(&w, json_get(w.spec, STR("overhead")), "memory", "spec.overhead");
    warn_fraction(&w, json_get(w.spec, STR("overhead")), "ephemeral-storage", "spec.overhead");
    warn_containers(&w);
    warn_affinity(&w);
}

void warn_dns_label(struct str name, const char *what, struct buf *warnings, struct arena *a)
{
    struct field_errors errors = {.arena = a};
    struct field_path path = field_child(NULL, "metadata");
    size_t skip = strlen("Invalid value: : ") + arena_quoted(a, name).n;

    if (field_check_name(&errors, &path, name, NAME_DNS_LABEL))
        return;
    buf_add_printf(warnings,
                   "metadata.name: this is used in %s, which can result in surprising behavior; a "
                   "DNS label is recommended: [",
                   what);
    for (size_t i = 0; i < errors.n; i++)
        buf_add_printf(warnings, "%s%.*s", i ? " " : "",
                       STR_ARG(str_slice(errors.v[i].message, skip, errors.v[i].message.n)));
    buf_add_cstr(warnings, "]\n");
}
