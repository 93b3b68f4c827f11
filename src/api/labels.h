/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.h - what may be a label key, a label value, a DNS name.
 *
 * Purpose:   the syntax that Kubernetes demands of keys and values, for selectors and for resource
 *            names, which follow the rules of keys.
 * Ownership: nothing is kept; the reason that comes back is a constant of the program.
 * Threading: any.
 */
#ifndef BERTH_API_LABELS_H
#define BERTH_API_LABELS_H

#include "base/str.h"

/* What is wrong with it, in words for a person, or NULL. A key is [DNS subdomain "/"] name. */
const char *label_key_fault(struct str key);
const char *label_value_fault(struct str value);

static inline bool label_key_valid(struct str key)
{
    return !label_key_fault(key);
}

/* Lower-case labels of letters, digits and '-' with dots between, 253 bytes at most. */
bool dns_subdomain_valid(struct str name);

#endif
