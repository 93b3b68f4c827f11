/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib.h - what the extension libraries (lib_*.c) share, and their objects.
 *
 * Purpose:   types and values of libraries that others make or read: the attributes and capacities
 *            of a device are semantic versions and quantities. Costs that several functions have.
 * Ownership: objects are in the arena given.
 * Threading: constants and plain values; any thread.
 */
#ifndef BERTH_CEL_LIB_H
#define BERTH_CEL_LIB_H

#include "api/quantity.h"
#include "cel/function.h"

extern const struct cel_type cel_quantity_type, cel_semver_type, cel_url_type, cel_format_type;
extern const struct cel_type cel_ip_type, cel_cidr_type;
extern const struct cel_type cel_list_t_type; /* list(T) */
extern const struct cel_type cel_list_int_type, cel_list_uint_type, cel_list_double_type,
    cel_list_bool_type, cel_list_duration_type, cel_list_timestamp_type, cel_list_bytes_type;

/* A value of kubernetes.Quantity. */
struct cel_value cel_quantity(struct arena *a, struct quantity quantity);
/* A value of kubernetes.Semver; an error with upstream's message if the text is none. */
struct cel_value cel_semver(struct arena *a, struct str text);

extern const struct cel_library cel_lib_url, cel_lib_regex, cel_lib_k8s_lists, cel_lib_authz,
    cel_lib_quantity, cel_lib_strings, cel_lib_sets, cel_lib_ip, cel_lib_cidr, cel_lib_format,
    cel_lib_semver, cel_lib_lists;

/* --- costs ------------------------------------------------------------------------------------ */

/* Reading args[0] once; twice. */
cel_cost_fn cel_cost_read, cel_cost_read_twice;
/* Reading the first argument; the target, whose size the result has. */
cel_estimate_fn cel_estimate_read_arg, cel_estimate_read_target;
/* Reading args[0] with all its elements, as upstream charges isSorted, indexOf and others. */
cel_cost_fn cel_cost_elements;
cel_estimate_fn cel_estimate_elements;

static inline struct cel_range cel_fixed(uint64_t n)
{
    return (struct cel_range){n, n};
}

/*
 * Whether the evaluation may hold `bytes` more. If not, it ends as if the cost were exceeded:
 * upstream charges replace, flatten and format for what they read, not for what they make.
 */
#define CEL_ROOM ((size_t)64 << 20)
bool cel_room(struct cel_eval *e, uint64_t bytes);

/* --- texts ------------------------------------------------------------------------------------ */

/* An error of this text, which may contain NUL. */
struct cel_value cel_error_text(struct arena *a, const struct buf *text);
/* A string with the content of the buffer, which is released. */
struct cel_value cel_string_take(struct arena *a, struct buf *b);

/* url.ParseRequestURI accepts the text; if not, appends why to *error. */
bool cel_is_request_uri(struct str text, struct buf *error);

#endif
