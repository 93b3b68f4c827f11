/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/node_affinity/node_affinity_args.h"

#include "api/selector_fault.h"
#include "plugins/common/in_tree.h"

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

static void check(const void *ctx, struct error_list *c)
{
    const struct node_affinity *added = ((const struct node_affinity_args *)ctx)->added_affinity;
    const char *prefix = c->prefix ? c->prefix : "";
    struct faults faults = {0};
    if (!added)
        return;
    char *required = xasprintf("%s" REQUIRED, prefix),
         *preferred = xasprintf("%s" PREFERRED, prefix);
    if (added->required)
        node_selector_faults(&faults, required, added->required);
    node_preferences_faults(&faults, preferred, added);
    if (faults.n)
        error_list_add_all(c, buf_str(&faults.text), faults.n);
    buf_release(&faults.text);
    free(required);
    free(preferred);
}

const struct args_kind node_affinity_args_kind = {
    .plugin = "NodeAffinity", .name = "NodeAffinityArgs", .type = &args_type, .check = check};

int node_affinity_args_read(struct berth_str text, struct arena *a,
                            const struct node_affinity **ret_added, struct berth_error *error)
{
    struct node_affinity_args args;
    int r = plugin_args_read(&node_affinity_args_kind, text, a, &args, error);
    if (r == 0)
        *ret_added = args.added_affinity;
    return r;
}
