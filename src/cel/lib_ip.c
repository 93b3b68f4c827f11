/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' libraries of IP addresses and networks. */
#include "cel/addr.h"
#include "cel/lib.h"

#include "base/log.h"

const struct cel_type cel_ip_type = CEL_OPAQUE_TYPE("net.IP");
const struct cel_type cel_cidr_type = CEL_OPAQUE_TYPE("net.CIDR");

struct addr_object {
    struct cel_object base;
    struct addr addr;
    int bits; /* of a network */
};

static const struct addr_object *object_in(struct cel_value v)
{
    return (const struct addr_object *)(const void *)v.object;
}

static enum cel_equality objects_equal(const struct cel_object *a, struct cel_value b)
{
    if (b.kind != CEL_OBJECT || b.object->class != a->class)
        return CEL_NOT_COMPARABLE;
    const struct addr_object *x = (const struct addr_object *)(const void *)a, *y = object_in(b);
    return addr_equal(&x->addr, &y->addr) && x->bits == y->bits ? CEL_EQUAL : CEL_UNEQUAL;
}

static uint64_t ip_size(const struct cel_object *o)
{
    return ((const struct addr_object *)(const void *)o)->addr.is4 ? 4 : 16;
}

static uint64_t cidr_size(const struct cel_object *o)
{
    return (uint64_t)((((const struct addr_object *)(const void *)o)->bits + 7) / 8);
}

static const struct cel_object_class ip_class = {&cel_ip_type, objects_equal, ip_size};
static const struct cel_object_class cidr_class = {&cel_cidr_type, objects_equal, cidr_size};

static struct cel_value new_object(const struct cel_call *call,
                                   const struct cel_object_class *class, struct addr addr, int bits)
{
    struct addr_object *o = arena_new(call->eval->arena, struct addr_object);
    *o = (struct addr_object){{class}, addr, bits};
    return cel_object(&o->base);
}

static bool refuse(struct buf *error, const char *before, struct str text, const char *after)
{
    buf_add_cstr(error, before);
    log_quote(error, text);
    buf_add_cstr(error, after);
    return false;
}

/* No zone, no IPv4 address in the form of IPv6. */
static bool parse_ip(struct str text, struct addr *ret_addr, struct buf *error)
{
    struct buf why = BUF_INIT;
    if (!addr_parse(text, ret_addr, &why)) {
        refuse(error, "IP Address ", text, " parse error during conversion from string: ");
        buf_add_str(error, buf_str(&why));
        buf_release(&why);
        return false;
    }
    if (ret_addr->zone.n > 0)
        return refuse(error, "IP address ", text, " with zone value is not allowed");
    if (addr_is_4_in_6(ret_addr))
        return refuse(error, "IPv4-mapped IPv6 address ", text, " is not allowed");
    return true;
}

static bool parse_cidr(struct str text, struct addr *ret_addr, int *ret_bits, struct buf *error)
{
    struct buf why = BUF_INIT;
    if (!addr_parse_prefix(text, ret_addr, ret_bits, &why)) {
        buf_add_cstr(error, "network address parse error during conversion from string: ");
        buf_add_str(error, buf_str(&why));
        buf_release(&why);
        return false;
    }
    if (addr_is_4_in_6(ret_addr))
        return refuse(error, "IPv4-mapped IPv6 address ", text, " is not allowed");
    return true;
}

/* --- addresses -------------------------------------------------------------------------------- */

static struct cel_value ip_of(const struct cel_call *call, struct str text)
{
    struct buf error = BUF_INIT;
    struct addr addr;
    struct cel_value v = parse_ip(text, &addr, &error) ? new_object(call, &ip_class, addr, 0)
                                                       : cel_error_text(call->eval->arena, &error);
    buf_release(&error);
    return v;
}

static struct cel_value to_ip(const struct cel_call *call)
{
    return ip_of(call, call->args[0].s);
}

static struct cel_value is_ip(const struct cel_call *call)
{
    struct buf error = BUF_INIT;
    struct addr addr;
    bool valid = parse_ip(call->args[0].s, &addr, &error);
    buf_release(&error);
    return cel_bool(valid);
}

static struct cel_value ip_to_string(const struct cel_call *call)
{
    struct buf b = BUF_INIT;
    addr_write(&object_in(call->args[0])->addr, &b);
    return cel_string_take(call->eval->arena, &b);
}

static struct cel_value is_canonical(const struct cel_call *call)
{
    struct cel_value ip = ip_of(call, call->args[0].s);
    if (cel_is_error(ip))
        return ip;
    struct buf b = BUF_INIT;
    addr_write(&object_in(ip)->addr, &b);
    bool same = str_eq(buf_str(&b), call->args[0].s);
    buf_release(&b);
    return cel_bool(same);
}

static struct cel_value family(const struct cel_call *call)
{
    return cel_int(object_in(call->args[0])->addr.is4 ? 4 : 6);
}

/* All bytes but the last are zero, and that is `last`. */
static bool is_only(const struct addr *a, uint8_t last)
{
    size_t n = a->is4 ? 4 : 16;
    for (size_t i = 0; i + 1 < n; i++) {
        if (a->bytes[i] != 0)
            return false;
    }
    return a->bytes[n - 1] == last;
}

static bool loopback(const struct addr *a)
{
    return a->is4 ? a->bytes[0] == 127 : is_only(a, 1);
}

static bool multicast(const struct addr *a)
{
    return a->is4 ? (a->bytes[0] & 0xF0) == 0xE0 : a->bytes[0] == 0xFF;
}

static bool link_local(const struct addr *a)
{
    return a->is4 ? a->bytes[0] == 169 && a->bytes[1] == 254
                  : a->bytes[0] == 0xFE && (a->bytes[1] & 0xC0) == 0x80;
}

static bool broadcast(const struct addr *a)
{
    static const uint8_t all[4] = {255, 255, 255, 255};
    return a->is4 && memcmp(a->bytes, all, 4) == 0;
}

static struct cel_value is_unspecified(const struct cel_call *call)
{
    return cel_bool(is_only(&object_in(call->args[0])->addr, 0));
}

static struct cel_value is_loopback(const struct cel_call *call)
{
    return cel_bool(loopback(&object_in(call->args[0])->addr));
}

static struct cel_value is_link_local_multicast(const struct cel_call *call)
{
    const struct addr *a = &object_in(call->args[0])->addr;
    return cel_bool(a->is4 ? a->bytes[0] == 224 && a->bytes[1] == 0 && a->bytes[2] == 0
                           : a->bytes[0] == 0xFF && (a->bytes[1] & 0x0F) == 2);
}

static struct cel_value is_link_local_unicast(const struct cel_call *call)
{
    return cel_bool(link_local(&object_in(call->args[0])->addr));
}

static struct cel_value is_global_unicast(const struct cel_call *call)
{
    const struct addr *a = &object_in(call->args[0])->addr;
    return cel_bool(!is_only(a, 0) && !broadcast(a) && !loopback(a) && !multicast(a) &&
                    !link_local(a));
}

/* --- networks --------------------------------------------------------------------------------- */

static struct cel_value cidr_of(const struct cel_call *call, struct str text)
{
    struct buf error = BUF_INIT, why = BUF_INIT;
    struct addr addr;
    int bits;
    struct cel_value v;
    if (parse_cidr(text, &addr, &bits, &why)) {
        v = new_object(call, &cidr_class, addr, bits);
    } else {
        /* Upstream says it twice. */
        buf_add_cstr(&error, "network address parse error during conversion from string: ");
        buf_add_str(&error, buf_str(&why));
        v = cel_error_text(call->eval->arena, &error);
    }
    buf_release(&error);
    buf_release(&why);
    return v;
}

static struct cel_value to_cidr(const struct cel_call *call)
{
    return cidr_of(call, call->args[0].s);
}

static struct cel_value is_cidr(const struct cel_call *call)
{
    struct buf error = BUF_INIT;
    struct addr addr;
    int bits;
    bool valid = parse_cidr(call->args[0].s, &addr, &bits, &error);
    buf_release(&error);
    return cel_bool(valid);
}

static struct cel_value cidr_to_string(const struct cel_call *call)
{
    struct buf b = BUF_INIT;
    addr_write(&object_in(call->args[0])->addr, &b);
    buf_add_printf(&b, "/%d", object_in(call->args[0])->bits);
    return cel_string_take(call->eval->arena, &b);
}

static struct cel_value contains_ip(const struct cel_call *call)
{
    const struct addr_object *cidr = object_in(call->args[0]);
    struct cel_value ip = call->args[1];
    if (ip.kind == CEL_STRING)
        ip = ip_of(call, ip.s);
    if (cel_is_error(ip)) /* upstream loses the reason */
        return cel_no_such_overload();
    const struct addr *a = &object_in(ip)->addr;
    return cel_bool(a->is4 == cidr->addr.is4 && addr_same_prefix(a, &cidr->addr, cidr->bits));
}

static struct cel_value contains_cidr(const struct cel_call *call)
{
    const struct addr_object *cidr = object_in(call->args[0]);
    struct cel_value other = call->args[1];
    if (other.kind == CEL_STRING)
        other = cidr_of(call, other.s);
    if (cel_is_error(other))
        return other;
    const struct addr_object *part = object_in(other);
    return cel_bool(part->addr.is4 == cidr->addr.is4 && cidr->bits <= part->bits &&
                    addr_same_prefix(&part->addr, &cidr->addr, cidr->bits));
}

static struct cel_value cidr_ip(const struct cel_call *call)
{
    return new_object(call, &ip_class, object_in(call->args[0])->addr, 0);
}

static struct cel_value prefix_length(const struct cel_call *call)
{
    return cel_int(object_in(call->args[0])->bits);
}

static struct cel_value masked(const struct cel_call *call)
{
    const struct addr_object *cidr = object_in(call->args[0]);
    struct addr addr = cidr->addr;
    addr_mask(&addr, cidr->bits);
    return new_object(call, &cidr_class, addr, cidr->bits);
}

/* --- costs ------------------------------------------------------------------------------------ */

/* The text of an argument is charged only if the checker knew that it is one. */
static uint64_t text_cost(const struct cel_call *call)
{
    return call->overload && call->overload->args[1]->kind == CEL_T_STRING
               ? cel_cost_scaled(cel_size_of(call->args[1]), CEL_TRAVERSAL)
               : 0;
}

/* The address of a network; ip() of a text has its own cost. */
static uint64_t cost_access(const struct cel_call *call UNUSED, struct cel_value result UNUSED)
{
    return 1;
}

static uint64_t cost_contains_ip(const struct cel_call *call, struct cel_value result UNUSED)
{
    return cel_cost_scaled(2 * cel_size_of(call->args[0]), CEL_TRAVERSAL) + text_cost(call);
}

static uint64_t cost_contains_cidr(const struct cel_call *call, struct cel_value result UNUSED)
{
    uint64_t size = cel_size_of(call->args[0]);
    return cel_cost_scaled(2 * size, CEL_TRAVERSAL) + cel_cost_scaled(size, CEL_TRAVERSAL) + 1 +
           text_cost(call);
}

static struct cel_range text_estimate(const struct cel_estimate_call *call, struct cel_range cost)
{
    if (call->overload->args[1]->kind == CEL_T_STRING)
        cost = cel_range_add(cost, cel_range_scale(call->args[0].size, CEL_TRAVERSAL));
    return cost;
}

static bool estimate_contains_ip(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    ret->cost = text_estimate(call, cel_range_scale((struct cel_range){8, 32}, CEL_TRAVERSAL));
    return true;
}

static bool estimate_contains_cidr(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    struct cel_range cost = cel_range_scale((struct cel_range){8, 32}, CEL_TRAVERSAL);
    cost = cel_range_add(cost, cel_range_scale((struct cel_range){4, 16}, CEL_TRAVERSAL));
    ret->cost = text_estimate(call, cel_range_add(cost, cel_fixed(1)));
    return true;
}

static bool estimate_canonical(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    ret->cost = cel_range_scale(call->args[0].size, 2 * CEL_TRAVERSAL);
    return true;
}

/* --- tables ----------------------------------------------------------------------------------- */

#define ROW(name, row_id, self, type, function_) \
    {.function = name,                           \
     .id = row_id,                               \
     .flags = CEL_MEMBER,                        \
     .n_args = 1,                                \
     .args = {&(self)},                          \
     .result = &(type),                          \
     .fn = (function_)}
#define READ_ROW(name, row_id, type, function_, cost_, estimate_) \
    {.function = name,                                            \
     .id = row_id,                                                \
     .flags = CEL_COST_BY_NAME,                                   \
     .n_args = 1,                                                 \
     .args = {&cel_string_type},                                  \
     .result = &(type),                                           \
     .fn = (function_),                                           \
     .cost = (cost_),                                             \
     .estimate = (estimate_)}
#define CONTAINS_ROW(name, row_id, other, function_, cost_, estimate_) \
    {.function = name,                                                 \
     .id = row_id,                                                     \
     .flags = CEL_MEMBER | CEL_COST_BY_NAME,                           \
     .n_args = 2,                                                      \
     .args = {&cel_cidr_type, &(other)},                               \
     .result = &cel_bool_type,                                         \
     .fn = (function_),                                                \
     .cost = (cost_),                                                  \
     .estimate = (estimate_)}
#define STRING_ROW(row_id, type, function_) \
    {.function = "string",                  \
     .id = row_id,                          \
     .n_args = 1,                           \
     .args = {&(type)},                     \
     .result = &cel_string_type,            \
     .fn = (function_)}

static const struct cel_overload ip_overloads[] = {
    READ_ROW("ip", "string_to_ip", cel_ip_type, to_ip, cel_cost_read, cel_estimate_read_arg),
    ROW("family", "ip_family", cel_ip_type, cel_int_type, family),
    READ_ROW("ip.isCanonical", "ip_is_canonical", cel_bool_type, is_canonical, cel_cost_read_twice,
             estimate_canonical),
    ROW("isUnspecified", "ip_is_unspecified", cel_ip_type, cel_bool_type, is_unspecified),
    ROW("isLoopback", "ip_is_loopback", cel_ip_type, cel_bool_type, is_loopback),
    ROW("isLinkLocalMulticast", "ip_is_link_local_multicast", cel_ip_type, cel_bool_type,
        is_link_local_multicast),
    ROW("isLinkLocalUnicast", "ip_is_link_local_unicast", cel_ip_type, cel_bool_type,
        is_link_local_unicast),
    ROW("isGlobalUnicast", "ip_is_global_unicast", cel_ip_type, cel_bool_type, is_global_unicast),
    READ_ROW("isIP", "is_ip", cel_bool_type, is_ip, cel_cost_read, cel_estimate_read_arg),
    STRING_ROW("ip_to_string", cel_ip_type, ip_to_string),
};
static const struct cel_type *const ip_types[] = {&cel_ip_type};
const struct cel_library cel_lib_ip = {ip_overloads, ARRAY_LEN(ip_overloads), ip_types, 1};

static const struct cel_overload cidr_overloads[] = {
    READ_ROW("cidr", "string_to_cidr", cel_cidr_type, to_cidr, cel_cost_read,
             cel_estimate_read_arg),
    CONTAINS_ROW("containsIP", "cidr_contains_ip_string", cel_string_type, contains_ip,
                 cost_contains_ip, estimate_contains_ip),
    CONTAINS_ROW("containsIP", "cidr_contains_ip_ip", cel_ip_type, contains_ip, cost_contains_ip,
                 estimate_contains_ip),
    CONTAINS_ROW("containsCIDR", "cidr_contains_cidr_string", cel_string_type, contains_cidr,
                 cost_contains_cidr, estimate_contains_cidr),
    CONTAINS_ROW("containsCIDR", "cidr_contains_cidr", cel_cidr_type, contains_cidr,
                 cost_contains_cidr, estimate_contains_cidr),
    {.function = "ip",
     .id = "cidr_ip",
     .flags = CEL_MEMBER,
     .n_args = 1,
     .args = {&cel_cidr_type},
     .result = &cel_ip_type,
     .fn = cidr_ip,
     .cost = cost_access},
    ROW("prefixLength", "cidr_prefix_length", cel_cidr_type, cel_int_type, prefix_length),
    ROW("masked", "cidr_masked", cel_cidr_type, cel_cidr_type, masked),
    READ_ROW("isCIDR", "is_cidr", cel_bool_type, is_cidr, cel_cost_read, cel_estimate_read_arg),
    STRING_ROW("cidr_to_string", cel_cidr_type, cidr_to_string),
};
static const struct cel_type *const cidr_types[] = {&cel_cidr_type};
const struct cel_library cel_lib_cidr = {cidr_overloads, ARRAY_LEN(cidr_overloads), cidr_types, 1};
