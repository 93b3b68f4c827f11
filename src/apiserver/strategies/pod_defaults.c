/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults of pod specs and of what is in them. */
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/types/amounts.h"

/* --- scalars ---------------------------------------------------------------------------------- */

void default_text(struct json_value *object, const char *member, const char *text, struct arena *a)
{
    const struct json_value *v = json_get(object, str_of(member));

    if (!v || v->kind != JSON_STRING || str_empty(v->text))
        json_set(object, str_of(member), json_text(str_of(text)), a);
}

void default_number(struct json_value *object, const char *member, int64_t number, struct arena *a)
{
    const struct json_value *v = json_get(object, str_of(member));

    if (!v || v->kind != JSON_NUMBER || str_is(v->text, "0"))
        json_set(object, str_of(member), json_int(number, a), a);
}

static void default_mode(struct json_value *source, struct arena *a)
{
    json_set_default(source, STR("defaultMode"), json_int(0644, a), a);
}

/* The member if it is an object; NULL otherwise. */
static struct json_value *object_at(struct json_value *v, const char *member)
{
    struct json_value *m = v ? json_member(v, str_of(member)) : NULL;

    return m && m->kind == JSON_OBJECT ? m : NULL;
}

struct json_value *array_at(struct json_value *v, const char *member)
{
    struct json_value *m = v ? json_member(v, str_of(member)) : NULL;

    return m && m->kind == JSON_ARRAY ? m : NULL;
}

/* --- quantities ------------------------------------------------------------------------------- */

/* Upstream's RoundUp(milli); amounts beyond this bound have no smaller digits. */
#define ROUND_BOUND ((int64_t)1 << 52)

static void round_quantity(struct json_value *v, struct arena *a)
{
    struct quantity q, rounded;
    int64_t whole;

    if ((v->kind != JSON_STRING && v->kind != JSON_NUMBER) ||
        quantity_parse(v->text, a, &q, NULL) < 0)
        return;
    whole = quantity_value(&q);
    if (whole > -ROUND_BOUND && whole < ROUND_BOUND) {
        rounded = quantity_of_milli(quantity_milli_value(&q), (enum quantity_format)q.format);
        if (quantity_cmp(&rounded, &q) != 0)
            q = rounded;
    }
    *v = json_text(quantity_text(&q, a));
}

void resource_list_set_defaults(struct json_value *list, struct arena *a)
{
    if (!list || list->kind != JSON_OBJECT)
        return;
    for (size_t i = 0; i < list->n_members; i++)
        round_quantity(&list->members[i].value, a);
}

static void resource_requirements_set_defaults(struct json_value *requirements, struct arena *a)
{
    resource_list_set_defaults(object_at(requirements, "limits"), a);
    resource_list_set_defaults(object_at(requirements, "requests"), a);
}

void claim_spec_set_defaults(struct json_value *spec, struct arena *a)
{
    json_set_default(spec, STR("volumeMode"), json_text(STR("Filesystem")), a);
    resource_requirements_set_defaults(object_at(spec, "resources"), a);
}

/* --- images ----------------------------------------------------------------------------------- */

/* Components of a repository: lower case letters, digits and separators. */
static bool is_repository(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        bool letter = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9');

        if (!letter && (!strchr("._-/", s.p[i]) || i == 0 || i + 1 == s.n))
            return false;
    }
    return s.n > 0;
}

/* Whether the part before the first slash is a registry: it has a dot, a port or is localhost. */
static bool is_registry(struct str s)
{
    return str_find(s, '.') < s.n || str_find(s, ':') < s.n || str_is(s, "localhost");
}

/*
 * Upstream's ParseImageName: an image without tag and digest has the tag latest; a text that is no
 * image has none.
 */
static bool is_latest(struct str image)
{
    size_t at = str_find(image, '@'), slash = str_find(image, '/'), colon;
    bool digest = at < image.n;
    struct str rest = str_slice(image, 0, at), tag;

    if (slash < rest.n && is_registry(str_slice(rest, 0, slash)))
        rest = str_slice(rest, slash + 1, rest.n);
    colon = str_find(rest, ':');
    tag = str_slice(rest, colon + 1, rest.n);
    if (!is_repository(str_slice(rest, 0, colon)))
        return false;
    return colon < rest.n ? str_is(tag, "latest") : !digest;
}

static void default_pull_policy(struct json_value *v, const char *member, struct str image,
                                struct arena *a)
{
    default_text(v, member, is_latest(image) ? "Always" : "IfNotPresent", a);
}

/* --- volumes ---------------------------------------------------------------------------------- */

static void default_divisor(struct json_value *ref, struct arena *a)
{
    if (ref)
        json_set_default(ref, STR("divisor"), json_text(STR("0")), a);
}

static void default_field_refs(struct json_value *items, struct arena *a)
{
    for (size_t i = 0; items && i < items->n; i++) {
        struct json_value *ref = object_at(&items->items[i], "fieldRef");

        if (ref)
            default_text(ref, "apiVersion", "v1", a);
        default_divisor(object_at(&items->items[i], "resourceFieldRef"), a);
    }
}

static void default_projections(struct json_value *projected, struct arena *a)
{
    struct json_value *sources;

    default_mode(projected, a);
    sources = array_at(projected, "sources");
    for (size_t i = 0; sources && i < sources->n; i++) {
        struct json_value *token = object_at(&sources->items[i], "serviceAccountToken");

        default_field_refs(array_at(object_at(&sources->items[i], "downwardAPI"), "items"), a);
        if (token)
            json_set_default(token, STR("expirationSeconds"), json_int(3600, a), a);
    }
}

static void default_azure_disk(struct json_value *disk, struct arena *a)
{
    json_set_default(disk, STR("cachingMode"), json_text(STR("ReadWrite")), a);
    json_set_default(disk, STR("fsType"), json_text(STR("ext4")), a);
    json_set_default(disk, STR("readOnly"), json_bool(false), a);
    json_set_default(disk, STR("kind"), json_text(STR("Shared")), a);
}

void volume_source_set_defaults(struct json_value *source, struct arena *a)
{
    struct json_value *v = object_at(source, "hostPath");

    if (v)
        json_set_default(v, STR("type"), json_text(STR("")), a);
    v = object_at(source, "iscsi");
    if (v)
        default_text(v, "iscsiInterface", "default", a);
    v = object_at(source, "rbd");
    if (v) {
        default_text(v, "pool", "rbd", a);
        default_text(v, "user", "admin", a);
        default_text(v, "keyring", "/etc/ceph/keyring", a);
    }
    v = object_at(source, "azureDisk");
    if (v)
        default_azure_disk(v, a);
    v = object_at(source, "scaleIO");
    if (v) {
        default_text(v, "storageMode", "ThinProvisioned", a);
        default_text(v, "fsType", "xfs", a);
    }
}

static void default_pod_sources(struct json_value *volume, struct arena *a)
{
    static const char *const with_mode[] = {"secret", "configMap", "downwardAPI"};
    struct json_value *v = object_at(volume, "image");

    if (v)
        default_pull_policy(v, "pullPolicy", json_get_text(v, STR("reference")), a);
    for (size_t i = 0; i < ARRAY_LEN(with_mode); i++) {
        v = object_at(volume, with_mode[i]);
        if (v)
            default_mode(v, a);
    }
    default_field_refs(array_at(object_at(volume, "downwardAPI"), "items"), a);
    v = object_at(volume, "projected");
    if (v)
        default_projections(v, a);
    v = object_at(object_at(volume, "ephemeral"), "volumeClaimTemplate");
    if (v)
        claim_spec_set_defaults(json_set_object(v, STR("spec"), a), a);
}

static bool has_source(const struct json_value *volume)
{
    for (size_t i = 0; i < volume->n_members; i++)
        if (!str_is(volume->members[i].key, "name") && volume->members[i].value.kind == JSON_OBJECT)
            return true;
    return false;
}

static void default_volume(struct json_value *volume, struct arena *a)
{
    if (volume->kind != JSON_OBJECT)
        return;
    if (!has_source(volume))
        json_set(volume, STR("emptyDir"), json_object(), a);
    volume_source_set_defaults(volume, a);
    default_pod_sources(volume, a);
}

/* --- containers ------------------------------------------------------------------------------- */

static void default_http(struct json_value *handler, struct arena *a)
{
    struct json_value *http = object_at(handler, "httpGet");

    if (!http)
        return;
    default_text(http, "path", "/", a);
    default_text(http, "scheme", "HTTP", a);
}

static void default_probe(struct json_value *probe, struct arena *a)
{
    struct json_value *grpc;

    if (!probe)
        return;
    default_http(probe, a);
    grpc = object_at(probe, "grpc");
    if (grpc)
        json_set_default(grpc, STR("service"), json_text(STR("")), a);
    default_number(probe, "timeoutSeconds", 1, a);
    default_number(probe, "periodSeconds", 10, a);
    default_number(probe, "successThreshold", 1, a);
    default_number(probe, "failureThreshold", 3, a);
}

static void default_env(struct json_value *env, struct arena *a)
{
    for (size_t i = 0; env && i < env->n; i++) {
        struct json_value *from = object_at(&env->items[i], "valueFrom");
        struct json_value *field = object_at(from, "fieldRef");
        struct json_value *file = object_at(from, "fileKeyRef");

        if (field)
            default_text(field, "apiVersion", "v1", a);
        default_divisor(object_at(from, "resourceFieldRef"), a);
        if (file)
            json_set_default(file, STR("optional"), json_bool(false), a);
    }
}

static void default_container(struct json_value *c, struct arena *a)
{
    static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"};
    struct json_value *ports = array_at(c, "ports");

    if (c->kind != JSON_OBJECT)
        return;
    for (size_t i = 0; ports && i < ports->n; i++)
        default_text(&ports->items[i], "protocol", "TCP", a);
    default_env(array_at(c, "env"), a);
    resource_requirements_set_defaults(object_at(c, "resources"), a);
    for (size_t i = 0; i < ARRAY_LEN(probes); i++)
        default_probe(object_at(c, probes[i]), a);
    default_http(object_at(object_at(c, "lifecycle"), "postStart"), a);
    default_http(object_at(object_at(c, "lifecycle"), "preStop"), a);
    /* Upstream drops fields whose feature is off by default. */
    if (object_at(c, "lifecycle"))
        json_remove(object_at(c, "lifecycle"), STR("stopSignal"));
    /* An empty object is what upstream writes for requirements that are not set. */
    json_set_default(c, STR("resources"), json_object(), a);
    default_text(c, "terminationMessagePath", "/dev/termination-log", a);
    default_text(c, "terminationMessagePolicy", "File", a);
    default_pull_policy(c, "imagePullPolicy", json_get_text(c, STR("image")), a);
}

/* --- specs ------------------------------------------------------------------------------------ */

void pod_spec_set_defaults(struct json_value *spec, struct arena *a)
{
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    struct json_value *volumes = array_at(spec, "volumes");

    for (size_t i = 0; volumes && i < volumes->n; i++)
        default_volume(&volumes->items[i], a);
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_value *list = array_at(spec, lists[l]);

        for (size_t i = 0; list && i < list->n; i++)
            default_container(&list->items[i], a);
    }
    resource_list_set_defaults(object_at(spec, "overhead"), a);
    resource_requirements_set_defaults(object_at(spec, "resources"), a);
    default_text(spec, "restartPolicy", "Always", a);
    json_set_default(spec, STR("terminationGracePeriodSeconds"), json_int(30, a), a);
    if (json_int_at(spec, "terminationGracePeriodSeconds", 0) < 0)
        json_set(spec, STR("terminationGracePeriodSeconds"), json_int(1, a), a);
    default_text(spec, "dnsPolicy", "ClusterFirst", a);
    json_set_default(spec, STR("securityContext"), json_object(), a);
    default_text(spec, "schedulerName", "default-scheduler", a);
    /* The old name of the field is kept equal to the new one. */
    if (!str_empty(json_get_text(spec, STR("serviceAccountName"))))
        json_set(spec, STR("serviceAccount"), *json_get(spec, STR("serviceAccountName")), a);
    else if (!str_empty(json_get_text(spec, STR("serviceAccount"))))
        json_set(spec, STR("serviceAccountName"), *json_get(spec, STR("serviceAccount")), a);
}

void pod_template_set_defaults(struct json_value *template, struct arena *a)
{
    pod_spec_set_defaults(json_set_object(template, STR("spec"), a), a);
}
