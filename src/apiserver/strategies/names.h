/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - the syntax of names, label keys and values, with upstream's messages.
 *
 * Purpose:   each check adds one Invalid error per rule that the text breaks, as upstream's
 *            IsDNS1123Subdomain, IsQualifiedName and so on do.
 * Ownership: nothing is kept; errors are in the arena of their list.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_NAMES_H
#define BERTH_APISERVER_STRATEGIES_NAMES_H

#include "apiserver/types/api_status.h"

enum name_format {
    NAME_DNS_SUBDOMAIN,
    NAME_DNS_LABEL,
    NAME_DNS_1035_LABEL,
    NAME_QUALIFIED, /* a label key, a finalizer, a resource name */
    NAME_LABEL_VALUE,
    NAME_PATH_SEGMENT,
    NAME_CONFIG_KEY, /* a key of a ConfigMap or Secret */
    NAME_ENV,        /* a variable of the environment */
};

/* Adds an Invalid error with the text for each rule that it breaks. Returns whether it is valid. */
bool field_check_name(struct field_errors *errors, const struct field_path *path, struct str text,
                      enum name_format format);
bool name_valid(struct str text, enum name_format format);

/* A map of labels: keys and values. Members of another kind than string are ignored. */
void field_check_labels(struct field_errors *errors, const struct field_path *path,
                        const struct json_value *labels);
void field_check_annotations(struct field_errors *errors, const struct field_path *path,
                             const struct json_value *annotations);

#endif
