/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/node_resources/allocation_plugin.h"

#include "engine/config/features.h"
#include "engine/framework/framework.h"

struct allocation_plugin {
    const struct berth_host *host;
    struct arena arena; /* holds the arguments */
    struct resource_scorer scorer;
};

void allocation_plugin_destroy(void *ctx)
{
    struct allocation_plugin *self = ctx;
    arena_release(&self->arena);
    free(self);
}

int allocation_plugin_create(enum scoring_type type, const struct berth_host *host,
                             struct berth_handle *h, struct berth_str text, void **ret_self,
                             struct berth_error *error)
{
    struct allocation_plugin *self = xnew(struct allocation_plugin);
    struct allocation_args args;
    self->host = host;
    arena_init(&self->arena, 0);
    int r = allocation_args_read(text, type, &self->arena, &args, error);
    if (r < 0) {
        allocation_plugin_destroy(self);
        return r;
    }
    resource_scorer_init(&self->scorer, type, args.resources, args.shape,
                         handle_feature(h, FEATURE_BERTH_SANE_SCORES));
    *ret_self = self;
    return 0;
}

enum berth_code allocation_plugin_score(void *ctx, const struct berth_cycle *cycle,
                                        const struct berth_pod *pod, const struct berth_node *node,
                                        int64_t *ret_score, struct berth_status *status)
{
    (void)cycle, (void)status;
    const struct allocation_plugin *self = ctx;
    struct score_terms *terms = score_terms_new(&self->scorer.resources, pod);
    *ret_score = resource_scorer_score(&self->scorer, terms, node);
    free(terms);
    return BERTH_SUCCESS;
}

enum berth_code allocation_plugin_score_many(void *ctx, const struct berth_cycle *cycle,
                                             const struct berth_pod *pod,
                                             struct berth_score_batch *batch,
                                             struct berth_status *status)
{
    (void)cycle, (void)status;
    const struct allocation_plugin *self = ctx;
    struct score_terms *terms = score_terms_new(&self->scorer.resources, pod);
    resource_scorer_score_many(&self->scorer, terms, batch);
    free(terms);
    return BERTH_SUCCESS;
}

enum berth_code allocation_plugin_sign(void *ctx, const struct berth_pod *pod,
                                       struct berth_signature *s)
{
    const struct allocation_plugin *self = ctx;
    struct score_terms *terms = score_terms_new(&self->scorer.resources, pod);
    score_terms_sign(terms, self->host, pod->names, s);
    free(terms);
    return BERTH_SUCCESS;
}
