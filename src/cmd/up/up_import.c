/* SPDX-License-Identifier: Apache-2.0 */
/* --import: a dump, the export of upstream's simulator, or a live cluster. */
#include "base/time.h"
#include "cmd/cli/cmd.h"
#include "cmd/up/up_objects.h"
#include "codec/yaml.h"

/* --- one object ------------------------------------------------------------------------------- */

/* What every cluster has of its own. */
static bool is_of_the_cluster(struct str kind, const struct json_value *object)
{
    static const struct {
        const char *kind, *name; /* name NULL: all */
    } rows[] = {
        {"Event", NULL},
        {"Lease", NULL},
        {"LeaseCandidate", NULL},
        {"ComponentStatus", NULL},
        {"APIService", NULL},
        {"PodMetrics", NULL},
        {"NodeMetrics", NULL},
        {"Service", "kubernetes"},
        {"Endpoints", "kubernetes"},
        {"EndpointSlice", "kubernetes"},
        {"ConfigMap", "kube-root-ca.crt"},
        {"ConfigMap", "extension-apiserver-authentication"},
    };
    struct str name = json_text_at(object, "metadata.name");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_is(kind, rows[i].kind) && (!rows[i].name || str_is(name, rows[i].name)))
            return true;
    return false;
}

int up_import_object(struct up_importer *im, struct json_value *object, struct str api_version,
                     struct str kind, struct err *reterr)
{
    struct api_status status = {0};
    if (!str_empty(kind)) {
        json_set_default(object, STR("apiVersion"), json_text(api_version), &im->arena);
        json_set_default(object, STR("kind"), json_text(kind), &im->arena);
    }
    kind = json_get_text(object, STR("kind"));
    if (is_of_the_cluster(kind, object))
        return 0;
    int code = control_plane_import(im->plane, object, time_wall(), &im->arena, &status);
    if (code == 404) {
        if (im->n_unknown++ == 0)
            im->unknown = arena_dup(&im->texts, kind);
        return 0;
    }
    if (code)
        return err_set(reterr, -EINVAL, "%.*s/%.*s: %.*s", STR_ARG(kind),
                       STR_ARG(json_text_at(object, "metadata.name")), STR_ARG(status.message));
    if (str_is(kind, "CustomResourceDefinition"))
        control_plane_settle(im->plane, time_wall());
    im->n++;
    return 0;
}

/* --- the simulator's export ------------------------------------------------------------------- */

static const struct {
    const char *member, *api_version, *kind;
} simulator_lists[] = {
    {"namespaces", "v1", "Namespace"},
    {"priorityClasses", "scheduling.k8s.io/v1", "PriorityClass"},
    {"storageClasses", "storage.k8s.io/v1", "StorageClass"},
    {"nodes", "v1", "Node"},
    {"pvs", "v1", "PersistentVolume"},
    {"pvcs", "v1", "PersistentVolumeClaim"},
    {"pods", "v1", "Pod"},
};

static bool is_simulator(const struct json_value *tree)
{
    if (tree->kind != JSON_OBJECT || json_get(tree, STR("kind")))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(simulator_lists); i++)
        if (json_get(tree, str_of(simulator_lists[i].member)))
            return true;
    return json_get(tree, STR("schedulerConfig")) != NULL;
}

static int import_simulator(struct up_importer *im, struct json_value *tree, struct err *reterr)
{
    for (size_t i = 0; i < ARRAY_LEN(simulator_lists); i++) {
        struct json_value *list = json_member(tree, str_of(simulator_lists[i].member));
        for (size_t j = 0; list && list->kind == JSON_ARRAY && j < list->n; j++) {
            int r;
            arena_reset(&im->arena);
            r = up_import_object(im, &list->items[j], str_of(simulator_lists[i].api_version),
                                 str_of(simulator_lists[i].kind), reterr);
            if (r < 0)
                return err_prefix(reterr, r, "%s[%zu]", simulator_lists[i].member, j);
        }
    }
    return 0;
}

/* --- the flag --------------------------------------------------------------------------------- */

/* A file that is small enough to be a kubeconfig or an export is read to find out. */
int up_import_open(struct up_import *import, const char *path, struct err *reterr)
{
    struct json_value *docs;
    struct str text;
    size_t n;
    *import = (struct up_import){.path = path};
    arena_init(&import->arena, (size_t)64 << 10);
    if (strcmp(path, "-") == 0)
        return 0;
    int r = cmd_read_limited(path, YAML_MAX_OBJECT, &import->arena, &text, reterr);
    if (r == -EFBIG || r == -EISDIR)
        return 0;
    if (r < 0)
        return r;
    if (json_parse(text, 0, &import->arena, &import->tree, NULL) == 0) {
        if (is_simulator(&import->tree))
            import->kind = UP_IMPORT_SIMULATOR;
        else if (str_is(json_get_text(&import->tree, STR("kind")), "Config"))
            import->kind = UP_IMPORT_CLUSTER;
        return 0;
    }
    /* Only the beginning tells; a dump is read later, object by object. */
    if (text.n <= (size_t)1 << 20 && yaml_parse(text, 0, &import->arena, &docs, &n, NULL) == 0 &&
        n == 1) {
        import->tree = docs[0];
        if (is_simulator(docs))
            import->kind = UP_IMPORT_SIMULATOR;
        else if (str_is(json_get_text(docs, STR("kind")), "Config"))
            import->kind = UP_IMPORT_CLUSTER;
    }
    return 0;
}

void up_import_release(struct up_import *import)
{
    arena_release(&import->arena);
}

const struct json_value *up_import_config(const struct up_import *import)
{
    if (import->kind != UP_IMPORT_SIMULATOR)
        return NULL;
    const struct json_value *config = json_get(&import->tree, STR("schedulerConfig"));
    return config && config->kind == JSON_OBJECT ? config : NULL;
}

int up_import_run(struct up_import *import, struct control_plane *plane, size_t *ret_n,
                  struct err *reterr)
{
    struct up_importer im = {.plane = plane};
    int r;
    arena_init(&im.arena, (size_t)64 << 10);
    arena_init(&im.texts, 0);
    if (import->kind == UP_IMPORT_SIMULATOR)
        r = import_simulator(&im, &import->tree, reterr);
    else if (import->kind == UP_IMPORT_CLUSTER)
        r = up_import_cluster(&im, import->path, reterr);
    else
        r = up_import_dump(&im, import->path, reterr);
    if (r == 0 && im.n_unknown)
        fprintf(stderr,
                "berth: warning: ignored %zu objects of kinds that are not served, the "
                "first is a %.*s\n",
                im.n_unknown, STR_ARG(im.unknown));
    *ret_n = im.n;
    arena_release(&im.arena);
    arena_release(&im.texts);
    return r;
}
