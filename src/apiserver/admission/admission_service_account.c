/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission_service_account.c - ServiceAccount: every pod has one that exists, and its token is
 * mounted into the containers.
 */
#include "apiserver/admission/admission_internal.h"
#include "base/rand.h"

#define MIRROR_ANNOTATION  "kubernetes.io/config.mirror"
#define ENFORCE_ANNOTATION "kubernetes.io/enforce-mountable-secrets"
#define VOLUME_PREFIX      "kube-api-access-"
#define MOUNT_PATH         "/var/run/secrets/kubernetes.io/serviceaccount"
#define RANDOM_CHARS       5

static const char token_volume[] =
    "{\"sources\":["
    "{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}},"
    "{\"configMap\":{\"name\":\"kube-root-ca.crt\","
    "\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}},"
    "{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\","
    "\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}"
    "],\"defaultMode\":420}";

static bool is_relevant(const struct admission *adm)
{
    return adm->object && admission_is(adm, "", "pods") &&
           (str_empty(adm->subresource) || str_is(adm->subresource, "ephemeralcontainers"));
}

static struct str account_name(const struct json_value *pod)
{
    struct str name = json_text_at(pod, "spec.serviceAccountName");
    return str_empty(name) ? json_text_at(pod, "spec.serviceAccount") : name;
}

/* NULL with *ret_status if it does not exist. */
static const struct json_value *get_account(const struct admission *adm, struct str name,
                                            struct api_status *ret_status)
{
    const struct json_value *account =
        admission_get(adm, "", "serviceaccounts", adm->namespace, name);
    if (!account)
        admission_forbid(
            adm, ret_status,
            "error looking up service account %.*s/%.*s: serviceaccount %.*s not found",
            STR_ARG(adm->namespace), STR_ARG(name), STR_ARG(arena_quoted(adm->arena, name)));
    return account;
}

/* --- the token -------------------------------------------------------------------------------- */

/* The seed of the request, the version of the store and the pod decide: no state is needed. */
static struct str random_volume_name(const struct admission *adm)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    struct rand r;
    uint64_t seed = adm->seed ^ (snapshot_version(adm->snapshot) * 0x9e3779b97f4a7c15);
    struct str name = adm->name;
    for (size_t i = 0; i < name.n; i++)
        seed = (seed ^ (unsigned char)name.p[i]) * 0x100000001b3;
    rand_seed(&r, seed);
    char suffix[RANDOM_CHARS];
    for (size_t i = 0; i < RANDOM_CHARS; i++)
        suffix[i] = alphabet[rand_below(&r, sizeof(alphabet) - 1)];
    return arena_printf(adm->arena, VOLUME_PREFIX "%.*s", RANDOM_CHARS, suffix);
}

static bool should_mount(const struct json_value *account, const struct json_value *pod)
{
    return json_bool_at(pod, "spec.automountServiceAccountToken",
                        json_bool_at(account, "automountServiceAccountToken", true));
}

static bool has_mount(const struct json_value *container)
{
    struct json_items mounts = json_items_at(container, "volumeMounts");
    for (size_t i = 0; i < mounts.n; i++)
        if (str_is(json_text_at(&mounts.v[i], "mountPath"), MOUNT_PATH))
            return true;
    return false;
}

/* Returns whether a container needs the volume. */
static bool mount_into(struct json_value *spec, const char *list, struct str volume,
                       struct arena *a)
{
    bool needed = false;
    struct json_value *containers = json_member(spec, str_of(list));
    if (!containers || containers->kind != JSON_ARRAY)
        return false;
    for (size_t i = 0; i < containers->n; i++) {
        struct json_value *container = &containers->items[i];
        if (container->kind != JSON_OBJECT || has_mount(container))
            continue;
        struct json_value mount = json_object();
        json_set(&mount, STR("name"), json_text(volume), a);
        json_set(&mount, STR("readOnly"), json_bool(true), a);
        json_set(&mount, STR("mountPath"), json_text(STR(MOUNT_PATH)), a);
        json_append(json_set_array(container, STR("volumeMounts"), a), mount, a);
        needed = true;
    }
    return needed;
}

static void mount_token(const struct admission *adm, struct json_value *spec)
{
    struct str name = {0};
    struct json_items volumes = json_items_at(spec, "volumes");
    for (size_t i = 0; i < volumes.n && !name.p; i++)
        if (str_starts(json_text_at(&volumes.v[i], "name"), STR(VOLUME_PREFIX)))
            name = json_text_at(&volumes.v[i], "name");
    bool exists = name.p != NULL;
    if (!exists)
        name = random_volume_name(adm);
    bool needed = mount_into(spec, "initContainers", name, adm->arena);
    needed = mount_into(spec, "containers", name, adm->arena) || needed;
    if (exists || !needed)
        return;
    struct json_value volume = json_object();
    json_set(&volume, STR("name"), json_text(name), adm->arena);
    json_set(&volume, STR("projected"), json_literal(token_volume, adm->arena), adm->arena);
    json_append(json_set_array(spec, STR("volumes"), adm->arena), volume, adm->arena);
}

/* --- secrets that the account must name ------------------------------------------------------- */

static bool names_secret(struct json_items references, struct str name)
{
    for (size_t i = 0; i < references.n; i++)
        if (str_eq(json_text_at(&references.v[i], "name"), name))
            return true;
    return false;
}

/* what: "container", "init container", "ephemeral container". */
static int check_environment(const struct admission *adm, const struct json_value *account,
                             const struct json_value *container, const char *what,
                             struct api_status *ret_status)
{
    struct json_items secrets = json_items_at(account, "secrets");
    struct str container_name = json_text_at(container, "name");
    struct str account_name = json_text_at(account, "metadata.name");
    struct json_items env = json_items_at(container, "env");
    for (size_t i = 0; i < env.n; i++) {
        struct str name = json_text_at(&env.v[i], "valueFrom.secretKeyRef.name");
        if (json_at(&env.v[i], "valueFrom.secretKeyRef") && !names_secret(secrets, name))
            return admission_forbid(
                adm, ret_status,
                "%s %.*s with envVar %.*s referencing secret.secretName=\"%.*s\" is not allowed "
                "because service account %.*s does not reference that secret",
                what, STR_ARG(container_name), STR_ARG(json_text_at(&env.v[i], "name")),
                STR_ARG(name), STR_ARG(account_name));
    }
    env = json_items_at(container, "envFrom");
    for (size_t i = 0; i < env.n; i++) {
        struct str name = json_text_at(&env.v[i], "secretRef.name");
        if (json_at(&env.v[i], "secretRef") && !names_secret(secrets, name))
            return admission_forbid(adm, ret_status,
                                    "%s %.*s with envFrom referencing secret.secretName=\"%.*s\" "
                                    "is not allowed because "
                                    "service account %.*s does not reference that secret",
                                    what, STR_ARG(container_name), STR_ARG(name),
                                    STR_ARG(account_name));
    }
    return 0;
}

static int check_containers(const struct admission *adm, const struct json_value *account,
                            const char *list, const char *what, struct api_status *ret_status)
{
    struct json_items containers = json_items_at(adm->object, list);
    for (size_t i = 0; i < containers.n; i++) {
        int code = check_environment(adm, account, &containers.v[i], what, ret_status);
        if (code)
            return code;
    }
    return 0;
}

static int check_volumes(const struct admission *adm, const struct json_value *account,
                         struct api_status *ret_status)
{
    struct json_items volumes = json_items_at(adm->object, "spec.volumes");
    for (size_t i = 0; i < volumes.n; i++) {
        struct str name = json_text_at(&volumes.v[i], "secret.secretName");
        if (json_at(&volumes.v[i], "secret") &&
            !names_secret(json_items_at(account, "secrets"), name))
            return admission_forbid(adm, ret_status,
                                    "volume with secret.secretName=\"%.*s\" is not allowed because "
                                    "service account %.*s "
                                    "does not reference that secret",
                                    STR_ARG(name), STR_ARG(json_text_at(account, "metadata.name")));
    }
    return 0;
}

static int check_secrets(const struct admission *adm, const struct json_value *account,
                         struct api_status *ret_status)
{
    struct str enforce = json_annotation(account, ENFORCE_ANNOTATION);
    bool enforced;
    if (!enforce.p || !str_to_bool(enforce, &enforced) || !enforced)
        return 0;
    if (!str_empty(adm->subresource))
        return check_containers(adm, account, "spec.ephemeralContainers", "ephemeral container",
                                ret_status);
    int code = check_volumes(adm, account, ret_status);
    if (!code)
        code = check_containers(adm, account, "spec.initContainers", "init container", ret_status);
    if (!code)
        code = check_containers(adm, account, "spec.containers", "container", ret_status);
    struct json_items pull = json_items_at(adm->object, "spec.imagePullSecrets");
    for (size_t i = 0; i < pull.n && !code; i++) {
        struct str name = json_text_at(&pull.v[i], "name");
        if (!names_secret(json_items_at(account, "imagePullSecrets"), name))
            code = admission_forbid(
                adm, ret_status,
                "imagePullSecrets[%zu].name=\"%.*s\" is not allowed because service account %.*s "
                "does not reference that imagePullSecret",
                i, STR_ARG(name), STR_ARG(json_text_at(account, "metadata.name")));
    }
    return code;
}

/* --- the plugin ------------------------------------------------------------------------------- */

/* A pod of a file on a node: the kubelet does not accept changes of it. */
static int check_mirror(const struct admission *adm, struct api_status *ret_status)
{
    if (!str_empty(account_name(adm->object)))
        return admission_forbid(adm, ret_status, "a mirror pod may not reference service accounts");
    struct json_items volumes = json_items_at(adm->object, "spec.volumes");
    for (size_t i = 0; i < volumes.n; i++) {
        if (json_at(&volumes.v[i], "secret"))
            return admission_forbid(adm, ret_status, "a mirror pod may not reference secrets");
        struct json_items sources = json_items_at(&volumes.v[i], "projected.sources");
        for (size_t j = 0; j < sources.n; j++)
            if (json_at(&sources.v[j], "serviceAccountToken"))
                return admission_forbid(
                    adm, ret_status,
                    "a mirror pod may not use ServiceAccountToken volume projections");
    }
    return 0;
}

int service_account_validate(struct admission *adm, struct api_status *ret_status)
{
    if (!is_relevant(adm) || (adm->operation == ADMIT_UPDATE ? str_empty(adm->subresource)
                                                             : adm->operation != ADMIT_CREATE))
        return 0;
    if (adm->operation == ADMIT_CREATE && json_annotation(adm->object, MIRROR_ANNOTATION).p)
        return check_mirror(adm, ret_status);
    struct str name = account_name(adm->object);
    if (str_empty(name))
        return admission_forbid(adm, ret_status, "no service account specified for pod %.*s/%.*s",
                                STR_ARG(adm->namespace),
                                STR_ARG(json_text_at(adm->object, "metadata.name")));
    const struct json_value *account = get_account(adm, name, ret_status);
    return account ? check_secrets(adm, account, ret_status) : ret_status->code;
}

int service_account_admit(struct admission *adm, struct api_status *ret_status)
{
    if (!is_relevant(adm) || adm->operation != ADMIT_CREATE)
        return 0;
    if (json_annotation(adm->object, MIRROR_ANNOTATION).p)
        return check_mirror(adm, ret_status);
    struct json_value *spec = json_set_object(adm->object, STR("spec"), adm->arena);
    struct str name = account_name(adm->object);
    if (str_empty(name))
        name = STR("default");
    /* The old name of the field always has the same value. */
    json_set(spec, STR("serviceAccountName"), json_text(name), adm->arena);
    json_set(spec, STR("serviceAccount"), json_text(name), adm->arena);
    const struct json_value *account = get_account(adm, name, ret_status);
    if (!account)
        return ret_status->code;
    if (should_mount(account, adm->object))
        mount_token(adm, spec);
    struct json_items pull = json_items_at(account, "imagePullSecrets");
    if (json_items_at(spec, "imagePullSecrets").n == 0 && pull.n > 0)
        json_set(spec, STR("imagePullSecrets"), *json_at(account, "imagePullSecrets"), adm->arena);
    return check_secrets(adm, account, ret_status);
}
