/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/node_affinity_args.h"

#include "api/selector_fault.h"

#define REQUIRED  "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"

struct node_affinity_args {
    struct args_meta meta;
    struct node_affinity *added_affinity;
};

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct node_affinity_args),
    F_PTR_MSG(struct node_affinity_args, added_affinity, "addedAffinity", 0, struct node_affinity,
              &node_affinity_type),
};
static const struct type args_type =
    TYPE("NodeAffinityArgs", struct node_affinity_args, args_fields);

static int check(const struct node_affinity *added, struct berth_error *error)
{
    struct faults faults = {0};
    struct buf text = BUF_INIT;
    if (added->required)
        node_selector_faults(&faults, REQUIRED, added->required);
    node_preferences_faults(&faults, PREFERRED, added);
    bool ok = !faults_write(&faults, &text);
    if (!ok)
        snprintf(error->text, sizeof(error->text), "%s", buf_cstr(&text));
    buf_release(&text);
    return ok ? 0 : -EINVAL;
}

int node_affinity_args_decode(struct berth_str text, struct arena *a,
                              const struct node_affinity **ret_added, struct berth_error *error)
{
    struct node_affinity_args args;
    int r = plugin_args_decode(text, "NodeAffinityArgs", &args_type, a, &args, error);
    if (r == 0 && args.added_affinity)
        r = check(args.added_affinity, error);
    if (r == 0)
        *ret_added = args.added_affinity;
    return r;
}
