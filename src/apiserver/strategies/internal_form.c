/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/internal_form.h"

/* --- tables ----------------------------------------------------------------------------------- */

static const struct internal_member node_requirement[] = {
    {"Key", "key", NULL, "\"\""},
    {"Operator", "operator", NULL, "\"\""},
    {"Values", "values", NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
const struct internal_member internal_node_term[] = {
    {"MatchExpressions", "matchExpressions", node_requirement, NULL},
    {"MatchFields", "matchFields", node_requirement, NULL},
    {NULL, NULL, NULL, NULL},
};
static const struct internal_member node_selector[] = {
    {"NodeSelectorTerms", "nodeSelectorTerms", internal_node_term, NULL},
    {NULL, NULL, NULL, NULL},
};
const struct internal_member internal_volume_affinity[] = {
    {"Required", "required", node_selector, NULL},
    {NULL, NULL, NULL, NULL},
};
const struct internal_member internal_pod_claim[] = {
    {"Name", "name", NULL, "\"\""},
    {"ResourceClaimName", "resourceClaimName", NULL, NULL},
    {"ResourceClaimTemplateName", "resourceClaimTemplateName", NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
const struct internal_member internal_profile[] = {
    {"Type", "type", NULL, "\"\""},
    {"LocalhostProfile", "localhostProfile", NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
static const struct internal_member capabilities[] = {
    {"Add", "add", NULL, NULL},
    {"Drop", "drop", NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
static const struct internal_member selinux_options[] = {
    {"User", "user", NULL, "\"\""}, {"Role", "role", NULL, "\"\""},
    {"Type", "type", NULL, "\"\""}, {"Level", "level", NULL, "\"\""},
    {NULL, NULL, NULL, NULL},
};
static const struct internal_member windows_options[] = {
    {"GMSACredentialSpecName", "gmsaCredentialSpecName", NULL, NULL},
    {"GMSACredentialSpec", "gmsaCredentialSpec", NULL, NULL},
    {"RunAsUserName", "runAsUserName", NULL, NULL},
    {"HostProcess", "hostProcess", NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
const struct internal_member internal_security_context[] = {
    {"Capabilities", "capabilities", capabilities, NULL},
    {"Privileged", "privileged", NULL, NULL},
    {"SELinuxOptions", "seLinuxOptions", selinux_options, NULL},
    {"WindowsOptions", "windowsOptions", windows_options, NULL},
    {"RunAsUser", "runAsUser", NULL, NULL},
    {"RunAsGroup", "runAsGroup", NULL, NULL},
    {"RunAsNonRoot", "runAsNonRoot", NULL, NULL},
    {"ReadOnlyRootFilesystem", "readOnlyRootFilesystem", NULL, NULL},
    {"AllowPrivilegeEscalation", "allowPrivilegeEscalation", NULL, NULL},
    {"ProcMount", "procMount", NULL, NULL},
    {"SeccompProfile", "seccompProfile", internal_profile, NULL},
    {"AppArmorProfile", "appArmorProfile", internal_profile, NULL},
    {NULL, NULL, NULL, NULL},
};

/* --- forms ------------------------------------------------------------------------------------ */

struct json_value internal_list(const struct json_value *v, const struct internal_member *type,
                                struct arena *a)
{
    struct json_value out = json_array();

    if (!v || v->kind != JSON_ARRAY)
        return json_null();
    out.items = v->n ? arena_array(a, struct json_value, v->n) : NULL;
    out.n = v->n;
    for (size_t i = 0; i < v->n; i++)
        out.items[i] = internal_form(&v->items[i], type, a);
    return out;
}

/* As deep as the tables. */
struct json_value internal_form(const struct json_value *v, const struct internal_member *type,
                                struct arena *a)
{
    struct json_value out = json_object();

    if (!v || v->kind != JSON_OBJECT)
        return v ? *v : json_null();
    for (; type->name; type++) {
        const struct json_value *m = json_get(v, str_of(type->member));
        struct json_value value = m ? *m : json_literal(type->zero ? type->zero : "null", a);

        if (m && type->type)
            value = m->kind == JSON_ARRAY ? internal_list(m, type->type, a)
                                          : internal_form(m, type->type, a);
        json_set(&out, str_of(type->name), value, a);
    }
    return out;
}

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const struct json_member *)a)->key, ((const struct json_member *)b)->key);
}

struct json_value internal_map(const struct json_value *v, struct arena *a)
{
    struct json_value out = json_object();

    if (!v || v->kind != JSON_OBJECT)
        return json_null();
    if (v->n_members == 0)
        return out;
    out.n_members = v->n_members;
    out.members = arena_array(a, struct json_member, v->n_members);
    memcpy(out.members, v->members, v->n_members * sizeof(*v->members));
    qsort(out.members, out.n_members, sizeof(*out.members), by_key);
    return out;
}
