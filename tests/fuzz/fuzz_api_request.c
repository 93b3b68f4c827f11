/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a line "METHOD TARGET" and a body: routing is the same twice, and a body in protobuf
 * becomes a tree or an error.
 */
#include <stdint.h>

#include "api/schema.h"
#include "apiserver/http/route.h"
#include "codec/proto.h"
#include "codec/schema_proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_route(struct str line, struct arena *a)
{
    struct str rest = line, method = {0}, path = {0};
    struct api_query query;
    struct api_route route, again;

    str_split(&rest, ' ', &method);
    str_split(&rest, '?', &path);
    api_query_parse(rest, a, &query);
    api_route_parse(method, path, &query, a, &route);
    api_route_parse(method, path, &query, a, &again);
    if (route.is_resource != again.is_resource || !str_eq(route.verb, again.verb) ||
        !str_eq(route.plural, again.plural) || !str_eq(route.rest, again.rest))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str input = {(const char *)data, n}, line = {0}, body;
    struct proto_envelope envelope;
    const struct schema_kind *kind;
    struct json_value v;
    struct arena a;

    arena_init(&a, 0);
    body = input;
    str_split(&body, '\n', &line);
    check_route(line, &a);
    if (body.n > 0 && proto_open_envelope(body, &envelope, NULL) == 0) {
        kind = schema_kind_find(envelope.api_version, envelope.kind);
        if (kind && kind->type &&
            schema_proto_decode(schema_types, kind->type, envelope.raw, &a, &v, NULL) == 0 &&
            v.kind != JSON_OBJECT)
            abort();
    }
    arena_release(&a);
    return 0;
}
