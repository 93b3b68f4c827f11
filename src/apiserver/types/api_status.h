/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_status.h - why a request fails: upstream's Status.
 *
 * Purpose:   one struct for every failure of the API, with its HTTP code, reason, message, details
 *            and causes in upstream's words. Field errors are collected in a list (field.ErrorList)
 *            and become one Invalid status.
 * Ownership: everything is in the arena of the request.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_TYPES_API_STATUS_H
#define BERTH_APISERVER_TYPES_API_STATUS_H

#include "apiserver/types/resource.h"
#include "codec/json_edit.h"

struct api_cause {
    struct str reason, message, field; /* "FieldValueInvalid", …, "spec.replicas" */
};

struct api_status {
    int code;           /* of HTTP; 0: success */
    const char *reason; /* "NotFound", "AlreadyExists", "Conflict", "Invalid", "Forbidden", … */
    struct str message;
    struct str group, kind, name, uid; /* details; kind is the resource's plural name where
                                          upstream does so */
    const struct api_cause *causes;
    size_t n_causes;
    int retry_after;           /* seconds; 0: none */
    struct str continue_token; /* of a list that expired: metadata.continue */
};

/* The Status object: {"kind":"Status","apiVersion":"v1",…}. */
void api_status_write(const struct api_status *status, struct buf *out);

/* Upstream's errors.New…: each sets *s and returns s->code. */
int status_not_found(struct api_status *s, const struct resource *r, struct str name,
                     struct arena *a);
int status_already_exists(struct api_status *s, const struct resource *r, struct str name,
                          struct arena *a);
int status_conflict(struct api_status *s, const struct resource *r, struct str name, struct str why,
                    struct arena *a);
int status_forbidden(struct api_status *s, const struct resource *r, struct str name,
                     struct str why, struct arena *a);
int status_bad_request(struct api_status *s, struct arena *a, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/*
 * Any code with its usual reason (401, 405, 406, 410, 413, 415, 429, 500, 503, 504) and upstream's
 * prefix: "Internal error occurred: " for 500, "Request entity too large: " for 413.
 */
int status_of(struct api_status *s, int code, struct arena *a, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* --- text ------------------------------------------------------------------------------------- */

/* "pods", "deployments.apps". */
struct str resource_qualified(const struct resource *r, struct arena *a);
/* Quoted as Go's %q does. */
void go_quote(struct buf *out, struct str s);
struct str arena_quoted(struct arena *a, struct str s);

/* --- field errors ----------------------------------------------------------------------------- */

enum field_error_type {
    FIELD_REQUIRED,
    FIELD_INVALID,
    FIELD_NOT_SUPPORTED,
    FIELD_DUPLICATE,
    FIELD_FORBIDDEN,
    FIELD_TOO_LONG,
    FIELD_TOO_MANY,
    FIELD_NOT_FOUND,
    FIELD_INTERNAL,
    FIELD_TYPE_INVALID,
    FIELD_TOO_FEW,
    FIELD_TOO_SHORT,
};

/* A path in an object, on the stack of its users: children point to their parent. */
struct field_path {
    const struct field_path *parent;
    struct str name; /* "spec"; empty: an index or a key */
    struct str key;  /* labels[app] */
    size_t index;    /* containers[0]; SIZE_MAX: none */
};
struct field_path field_child(const struct field_path *parent, const char *name);
struct field_path field_index(const struct field_path *parent, size_t i);
struct field_path field_key(const struct field_path *parent, struct str key);

struct field_errors {
    struct arena *arena;
    struct api_cause *v;
    size_t n, cap;
};

/*
 * Adds "PATH: Invalid value: VALUE: DETAIL" and the like. The value is written as upstream does
 * (strings quoted, objects as JSON); NULL is written as null, and not at all by types without a
 * value (Required, Forbidden, Too long) and by Too many. A detail of "" is left out.
 */
extern const struct json_value field_value_omitted; /* Invalid without a value */
void field_error(struct field_errors *errors, enum field_error_type type,
                 const struct field_path *path, const struct json_value *value, const char *fmt,
                 ...) PRINTF_LIKE(5, 6);
/* Adds an error of another list. */
void field_errors_add(struct field_errors *errors, struct api_cause cause);
/* "Unsupported value: \"x\": supported values: \"A\", \"B\"": the values end with NULL. */
void field_not_supported(struct field_errors *errors, const struct field_path *path,
                         const struct json_value *value, const char *const *supported);
/* KIND "NAME" is invalid: [ … , … ]: 422. kind: "Pod"; group: "" or "apps". */
int status_invalid(struct api_status *s, struct str group, struct str kind, struct str name,
                   const struct field_errors *errors);

#endif
