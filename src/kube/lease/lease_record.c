/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/lease/lease_record.h"

void lease_record_wrote(struct lease_record *r, struct object *lease, int64_t now)
{
    const struct lease_spec *spec = &object_lease(lease)->spec;

    free(r->holder);
    r->holder = spec->holder_identity ? str_dup(*spec->holder_identity) : xstrdup("");
    r->duration_seconds = spec->lease_duration_seconds ? *spec->lease_duration_seconds : 0;
    r->transitions = spec->lease_transitions ? *spec->lease_transitions : 0;
    r->acquired = spec->acquire_time;
    r->observed_at = now;
    object_unref(r->lease);
    r->lease = lease;
}

void lease_record_observe(struct lease_record *r, struct object *lease, int64_t now)
{
    bool same = r->lease && desc_equal(&lease_spec_type, &object_lease(r->lease)->spec,
                                       &object_lease(lease)->spec);

    lease_record_wrote(r, lease, same ? r->observed_at : now);
}

void lease_record_release(struct lease_record *r)
{
    object_unref(r->lease);
    free(r->holder);
}

bool lease_record_is_held_by(const struct lease_record *r, struct str identity)
{
    return r->holder && str_is(identity, r->holder);
}

int64_t lease_record_end(const struct lease_record *r)
{
    return r->observed_at + r->duration_seconds * NSEC_PER_SEC;
}

void lease_record_fill(const struct lease_record *r, struct lease_claim *claim, bool create,
                       struct lease *ret_lease)
{
    bool renewal = lease_record_is_held_by(r, claim->holder);
    struct timestamp wall = timestamp_of(time_wall());

    if (create)
        *ret_lease = (struct lease){0};
    else
        *ret_lease = *object_lease(r->lease);
    ret_lease->spec.preferred_holder = NULL;
    ret_lease->spec.holder_identity = &claim->holder;
    ret_lease->spec.lease_duration_seconds = &claim->seconds;
    ret_lease->spec.lease_transitions = &claim->transitions;
    ret_lease->spec.acquire_time = renewal ? r->acquired : wall;
    ret_lease->spec.renew_time = wall;
}
