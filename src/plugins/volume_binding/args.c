/* SPDX-License-Identifier: Apache-2.0 */
/* args.c - VolumeBindingArgs (upstream: ValidateVolumeBindingArgsWithOptions). */
#include "plugins/volume_binding/args.h"

static const struct field volume_binding_fields[] = {
    ARGS_META_FIELDS(struct volume_binding_args),
    F_PTR(struct volume_binding_args, bind_timeout_seconds, "bindTimeoutSeconds", 0, INT64),
    F_LIST_MSG(struct volume_binding_args, shape, "shape", 0, struct shape_point,
               &shape_point_type),
};
static const struct type volume_binding_type =
    TYPE("VolumeBindingArgs", struct volume_binding_args, volume_binding_fields);

/* The default: prefer nodes with free resources. */
static void fill_shape(shape_list *shape, struct arena *a)
{
    shape->v = arena_array(a, struct shape_point, 2);
    shape->v[0] = (struct shape_point){.utilization = 0, .score = 10};
    shape->v[1] = (struct shape_point){.utilization = 100, .score = 0};
    shape->n = 2;
}

static void fill_volume_binding(void *ctx, struct arena *a)
{
    struct volume_binding_args *args = ctx;
    if (!args->bind_timeout_seconds) {
        args->bind_timeout_seconds = arena_new(a, int64_t);
        *args->bind_timeout_seconds = 600;
    }
    if (args->shape.n == 0 && args->meta.features->on[FEATURE_STORAGE_CAPACITY_SCORING])
        fill_shape(&args->shape, a);
}

static void add_shape_error(const shape_list *shape, struct error_list *c)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < shape->n; i++)
        buf_add_printf(&text, "%s{\"Utilization\":%d,\"Score\":%d}", i ? "," : "",
                       shape->v[i].utilization, shape->v[i].score);
    error_list_add(c,
                   "shape: Invalid value: [%s]: unexpected field `shape`, remove it or turn on the "
                   "feature gate StorageCapacityScoring",
                   buf_cstr(&text));
    buf_release(&text);
}

static void check_volume_binding(const void *ctx, struct error_list *c)
{
    const struct volume_binding_args *args = ctx;
    if (*args->bind_timeout_seconds < 0)
        error_list_add(c,
                       "bindTimeoutSeconds: Invalid value: %lld: invalid BindTimeoutSeconds, "
                       "should not be a negative value",
                       (long long)*args->bind_timeout_seconds);
    if (args->meta.features->on[FEATURE_STORAGE_CAPACITY_SCORING])
        shape_check(&args->shape, "shape", c);
    else if (args->shape.v)
        add_shape_error(&args->shape, c);
}

const struct args_kind volume_binding_args_kind = {
    .plugin = "VolumeBinding",
    .name = "VolumeBindingArgs",
    .type = &volume_binding_type,
    .fill = fill_volume_binding,
    .check = check_volume_binding,
};

int volume_binding_args_read(struct berth_str text, bool scores, struct arena *a,
                             struct volume_binding_args *ret_args, struct berth_error *error)
{
    struct features *features = arena_new(a, struct features);
    struct error_list errors = {0};
    struct err err = {0};
    features->on[FEATURE_STORAGE_CAPACITY_SCORING] = scores;
    int r = args_read(&volume_binding_args_kind, features, (struct str){text.p, text.n}, a,
                      ret_args, &err);
    if (r < 0)
        snprintf(error->text, sizeof(error->text), "%.*s", (int)sizeof(error->text) - 1, err.msg);
    else
        check_volume_binding(ret_args, &errors);
    if (errors.n) {
        struct buf out = BUF_INIT;
        error_list_write(&errors, &out);
        snprintf(error->text, sizeof(error->text), "%s", buf_cstr(&out));
        buf_release(&out);
        r = -EINVAL;
    }
    error_list_release(&errors);
    return r;
}
