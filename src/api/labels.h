/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.h - validation of label keys, label values and DNS names.
 *
 * Purpose:   Kubernetes' syntax of keys and values, for selectors and for resource names, which
 *            follow the rules of keys.
 * Ownership: nothing is kept; the returned reason is a constant of the program.
 * Threading: any thread.
 */
#ifndef BERTH_API_LABELS_H
#define BERTH_API_LABELS_H

#include "base/str.h"

/* Returns the reason why it is invalid, or NULL. A key is [DNS subdomain "/"] name. */
const char *label_key_fault(struct str key);
const char *label_value_fault(struct str value);

static inline bool label_key_valid(struct str key)
{
    return !label_key_fault(key);
}

/* Lowercase labels of letters, digits and '-', separated by dots, at most 253 bytes. */
bool dns_subdomain_valid(struct str name);

#endif
