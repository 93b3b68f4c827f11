/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_steps.h - what creations, updates and deletions have in common around admission.
 *
 * Purpose:   managed fields, owner references, admission with its effects, warnings.
 * Ownership: as registry_internal.h.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_REGISTRY_WRITE_STEPS_H
#define BERTH_APISERVER_REGISTRY_WRITE_STEPS_H

#include "apiserver/admission/admission.h"
#include "apiserver/registry/registry_internal.h"

struct steps {
    struct op *op;
    struct json_value *object;    /* NULL: a deletion */
    const struct json_value *old; /* NULL: a creation */
    struct str subresource;
    struct str namespace, name; /* of a deletion */
    struct admission_effect *effects;
    size_t n_effects;
};

/* Nothing is done without admission. */
int steps_mutate(struct steps *s) MUST_CHECK;
int steps_validate(struct steps *s) MUST_CHECK;
/* Writes what admission asks for besides the object: usage of quotas. */
void steps_apply_effects(struct steps *s);
void steps_warn(struct steps *s);

/* metadata.managedFields of a write that is no apply; nothing without a field manager. */
void track_managed_fields(struct op *op, struct json_value *object, const struct json_value *old,
                          struct str subresource);
/* Removes repeated owner references with upstream's warning. */
void dedup_owners(struct op *op, struct json_value *object, bool after_admission);

#endif
