/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_fields.h - fields of custom resources, which may have any content.
 *
 * Purpose:   reads lists and numbers of a JSON object; what is missing or has another type reads as
 *            empty or 0.
 * Ownership: nothing is kept.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_SIGS_JSON_FIELDS_H
#define BERTH_PLUGINS_SIGS_JSON_FIELDS_H

#include "codec/json_value.h"

/* Never NULL: an array. */
const struct json_value *json_get_list(const struct json_value *v, struct str key);
/* A whole number, 0 … 2^31-1; larger ones are that. */
int64_t json_get_int(const struct json_value *v, struct str key);

#endif
