/* SPDX-License-Identifier: Apache-2.0 */
#include "net/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>

#include "net/offload.h"

struct resolve {
    char *host;
    uint16_t port;
    resolve_fn *fn; /* NULL: cancelled. The loop's thread only. */
    void *ctx;
    union resolve_address addresses[RESOLVE_MAX];
    size_t n;
    struct err err;
};

socklen_t resolve_address_size(const union resolve_address *address)
{
    return address->sa.sa_family == AF_INET6 ? sizeof(address->v6) : sizeof(address->v4);
}

void resolve_address_format(const union resolve_address *address, struct buf *out)
{
    char text[INET6_ADDRSTRLEN] = "?";
    if (address->sa.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &address->v6.sin6_addr, text, sizeof(text));
        buf_add_printf(out, "[%s]:%u", text, ntohs(address->v6.sin6_port));
    } else {
        inet_ntop(AF_INET, &address->v4.sin_addr, text, sizeof(text));
        buf_add_printf(out, "%s:%u", text, ntohs(address->v4.sin_port));
    }
}

void resolve_address_unmap(union resolve_address *address)
{
    if (address->sa.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr))
        return;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = address->v6.sin6_port};
    memcpy(&v4.sin_addr, &address->v6.sin6_addr.s6_addr[12], sizeof(v4.sin_addr));
    *address = (union resolve_address){.v4 = v4};
}

bool resolve_address_same_host(const union resolve_address *a, const union resolve_address *b)
{
    if (a->sa.sa_family != b->sa.sa_family)
        return false;
    return a->sa.sa_family == AF_INET6 ? IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &b->v6.sin6_addr) != 0
                                       : a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
}

bool resolve_address_is_loopback(const union resolve_address *address)
{
    return address->sa.sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr) != 0
                                             : ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
}

bool resolve_literal(const char *host, uint16_t port, union resolve_address *ret_address)
{
    union resolve_address a = {0};
    if (inet_pton(AF_INET, host, &a.v4.sin_addr) == 1) {
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = htons(port);
    } else if (inet_pton(AF_INET6, host, &a.v6.sin6_addr) == 1) {
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = htons(port);
    } else {
        return false;
    }
    *ret_address = a;
    return true;
}

static void resolve_free(void *ctx)
{
    struct resolve *r = ctx;
    free(r->host);
    free(r);
}

static void lookup(void *ctx)
{
    struct resolve *r = ctx;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *list = NULL;
    int e = getaddrinfo(r->host, NULL, &hints, &list);
    for (const struct addrinfo *ai = list; e == 0 && ai && r->n < RESOLVE_MAX; ai = ai->ai_next) {
        union resolve_address *a = &r->addresses[r->n];
        if (ai->ai_family == AF_INET && ai->ai_addrlen >= sizeof(a->v4)) {
            memcpy(&a->v4, ai->ai_addr, sizeof(a->v4));
            a->v4.sin_port = htons(r->port);
        } else if (ai->ai_family == AF_INET6 && ai->ai_addrlen >= sizeof(a->v6)) {
            memcpy(&a->v6, ai->ai_addr, sizeof(a->v6));
            a->v6.sin6_port = htons(r->port);
        } else {
            continue;
        }
        r->n++;
    }
    if (list)
        freeaddrinfo(list);
    if (r->n == 0)
        err_set(&r->err, -EHOSTUNREACH, "lookup %s: %s", r->host,
                e ? gai_strerror(e) : "no addresses found");
}

static void deliver(void *ctx)
{
    struct resolve *r = ctx;
    if (r->fn)
        r->fn(r->ctx, r->addresses, r->n, &r->err);
    resolve_free(r);
}

static const struct offload lookup_job = {.work = lookup, .done = deliver, .gone = resolve_free};

struct resolve *resolve_start(struct loop *loop, const char *host, uint16_t port, resolve_fn *fn,
                              void *ctx)
{
    struct resolve *r = xnew(struct resolve);
    r->host = xstrdup(host);
    r->port = port;
    r->fn = fn;
    r->ctx = ctx;
    int e = offload_start(loop, &lookup_job, r);
    if (e < 0) {
        err_set(&r->err, e, "lookup %s: cannot start a thread: %s", host, strerror(-e));
        loop_post(loop, deliver, r);
    }
    return r;
}

void resolve_cancel(struct resolve *resolve)
{
    if (resolve)
        resolve->fn = NULL;
}
