/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/signature.h"

#include "engine/cache/pod_info.h"

/* A part begins with its length, so that different parts cannot add up to the same text. */
static void add_part(struct buf *out, struct str part)
{
    buf_add_printf(out, "%zu:", part.n);
    buf_add_str(out, part);
}

static bool takes_part(const struct profile *profile, const struct berth_handle *h)
{
    static const enum point points[] = {POINT_PRE_FILTER, POINT_FILTER, POINT_PRE_SCORE,
                                        POINT_SCORE};
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        const handle_list *list = &profile->at[points[i]];
        for (size_t k = 0; k < list->n; k++)
            if (list->v[k] == h)
                return true;
    }
    return false;
}

bool signature_write(const struct profile *profile, const struct berth_pod *pod, struct buf *out)
{
    struct buf parts = BUF_INIT;
    bool signable = true;
    add_part(out, pod->pod->spec.scheduler_name);
    for (size_t i = 0; signable && i < profile->instances.n; i++) {
        const struct berth_handle *h = profile->instances.v[i];
        if (!takes_part(profile, h))
            continue;
        struct berth_signature signature = {&parts};
        buf_clear(&parts);
        signable = h->plugin->sign && h->plugin->sign(h->self, pod, &signature) == BERTH_SUCCESS;
        add_part(out, str_of(h->plugin->name));
        add_part(out, buf_str(&parts));
    }
    buf_release(&parts);
    return signable;
}
