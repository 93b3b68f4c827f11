/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/pg_object.h"

#include "codec/json_value.h"

static const struct field spec_fields[] = {
    F_ONE(struct pg_spec, min_member, "minMember", 0, INT32),
    F_MAP(struct pg_spec, min_resources, "minResources", 0, struct quantity_entry,
          &quantity_entry_type),
    F_PTR(struct pg_spec, schedule_timeout_seconds, "scheduleTimeoutSeconds", 0, INT32),
};
static const struct type spec_type = TYPE("PodGroupSpec", struct pg_spec, spec_fields);

/* Numbers that are zero are written as well: a merge patch leaves out what it does not change. */
static const struct field status_fields[] = {
    F_ALWAYS(struct pg_status, phase, "phase", 0, STR),
    F_ONE(struct pg_status, occupied_by, "occupiedBy", 0, STR),
    F_ALWAYS(struct pg_status, running, "running", 0, INT32),
    F_ALWAYS(struct pg_status, succeeded, "succeeded", 0, INT32),
    F_ALWAYS(struct pg_status, failed, "failed", 0, INT32),
    F_CUSTOM(struct pg_status, schedule_start_time, "scheduleStartTime", 0, struct timestamp,
             &time_custom),
};
static const struct type status_type = TYPE("PodGroupStatus", struct pg_status, status_fields);

struct str pg_label(const struct pod *pod)
{
    const struct str *name =
        str_map_get(&pod->metadata.labels, STR("scheduling.x-k8s.io/pod-group"));
    return name ? *name : STR("");
}

/* The member as a struct; zero if it is absent or of another type. */
static void read_part(const struct json_value *tree, struct str key, const struct type *type,
                      struct arena *a, void *out)
{
    const struct json_value *part = json_get(tree, key);
    struct err err;
    memset(out, 0, type->size);
    if (part && part->kind == JSON_OBJECT && json_value_decode(part, type, 0, a, out, &err) < 0)
        memset(out, 0, type->size);
}

void pg_object_read(const struct object *o, struct arena *a, struct pg_object *ret_object)
{
    const struct json_value *tree = object_tree(o);
    read_part(tree, STR("spec"), &spec_type, a, &ret_object->spec);
    read_part(tree, STR("status"), &status_type, a, &ret_object->status);
    const struct json_value *least = json_get(json_get(tree, STR("spec")), STR("minResources"));
    ret_object->spec.has_min_resources = least && least->kind == JSON_OBJECT;
}

bool pg_object_same_spec(const struct object *a, const struct object *b)
{
    const struct json_value *mine = json_get(object_tree(a), STR("spec"));
    const struct json_value *other = json_get(object_tree(b), STR("spec"));
    return mine && other ? json_value_equal(mine, other) : mine == other;
}

void pg_status_write(const struct pg_status *status, struct buf *out)
{
    json_encode(&status_type, status, out);
}

bool pg_status_equal(const struct pg_status *a, const struct pg_status *b)
{
    return str_eq(a->phase, b->phase) && str_eq(a->occupied_by, b->occupied_by) &&
           a->running == b->running && a->succeeded == b->succeeded && a->failed == b->failed;
}
