/* SPDX-License-Identifier: Apache-2.0 */
#include "net/proxy.h"

#include <arpa/inet.h>
#include <openssl/evp.h>

#define REPLY_MAX ((size_t)16 * 1024)

static bool is_socks(const struct url *url)
{
    return str_eq_fold(url->scheme, STR("socks5")) || str_eq_fold(url->scheme, STR("socks5h"));
}

bool proxy_scheme_known(struct str scheme)
{
    return str_eq_fold(scheme, STR("http")) || str_eq_fold(scheme, STR("https")) ||
           str_eq_fold(scheme, STR("socks5")) || str_eq_fold(scheme, STR("socks5h"));
}

/* Decodes user or password of the URL; url_parse has checked the escapes. */
static void add_decoded(struct buf *out, struct str text)
{
    if (url_decode(text, false, out) < 0)
        buf_add_str(out, text);
}

static void add_basic_auth(struct buf *out, const struct url *url)
{
    struct buf plain = BUF_INIT;
    buf_init(&plain, 4096);
    add_decoded(&plain, url->user);
    buf_add_char(&plain, ':');
    add_decoded(&plain, url->password);
    size_t room = (plain.n + 2) / 3 * 4 + 1;
    buf_add_cstr(out, "Proxy-Authorization: Basic ");
    if (buf_reserve(out, room))
        out->n += (size_t)EVP_EncodeBlock((unsigned char *)out->p + out->n,
                                          (const unsigned char *)plain.p, (int)plain.n);
    buf_add_cstr(out, "\r\n");
    buf_release(&plain);
}

static void connect_request(const struct proxy *p, struct buf *out)
{
    buf_add_cstr(out, "CONNECT ");
    url_add_authority(out, p->host, p->port);
    buf_add_cstr(out, " HTTP/1.1\r\nHost: ");
    url_add_authority(out, p->host, p->port);
    buf_add_cstr(out, "\r\n");
    if (p->url->user.n)
        add_basic_auth(out, p->url);
    buf_add_cstr(out, "\r\n");
}

void proxy_init(struct proxy *p, const struct url *url, struct str host, uint16_t port,
                struct buf *out)
{
    *p = (struct proxy){.url = url, .host = host, .port = port};
    buf_init(&p->in, REPLY_MAX);
    if (!is_socks(url)) {
        p->state = PROXY_CONNECT_REPLY;
        connect_request(p, out);
        return;
    }
    p->state = PROXY_SOCKS_METHOD;
    if (url->user.n)
        buf_add(out, "\x05\x02\x00\x02", 4); /* no authentication, or user name and password */
    else
        buf_add(out, "\x05\x01\x00", 3);
}

void proxy_release(struct proxy *p)
{
    buf_release(&p->in);
}

static int refused(const struct proxy *p, struct err *reterr, const char *why)
{
    return err_set(reterr, -ECONNREFUSED, "proxy %.*s: %s", STR_ARG(p->url->host), why);
}

/* --- HTTP ------------------------------------------------------------------------------------- */

static int on_connect_reply(struct proxy *p, struct err *reterr)
{
    struct str text = buf_str(&p->in);
    size_t end = str_search(text, STR("\r\n\r\n"));
    if (end == text.n)
        return p->in.overflow ? refused(p, reterr, "response to CONNECT too long") : 0;
    struct str line = str_slice(text, 0, str_search(text, STR("\r\n")));
    struct str status = str_slice(line, 9, 12);
    if (!str_starts(line, STR("HTTP/1.")) || status.n != 3)
        return refused(p, reterr, "does not speak HTTP");
    if (status.p[0] != '2')
        return err_set(reterr, -ECONNREFUSED, "proxy %.*s: CONNECT failed with \"%.*s\"",
                       STR_ARG(p->url->host), STR_ARG(str_slice(line, 9, 100)));
    if (end + 4 != text.n)
        return refused(p, reterr, "sent bytes before the tunnel was used");
    p->state = PROXY_DONE;
    return 1;
}

/* --- SOCKS5 (RFC 1928, 1929) ------------------------------------------------------------------ */

static void socks_request(struct proxy *p, struct buf *out)
{
    char host[256];
    unsigned char raw[16];
    size_t n = MIN(p->host.n, sizeof(host) - 1);
    memcpy(host, p->host.p, n);
    host[n] = 0;
    buf_add(out, "\x05\x01\x00", 3); /* version 5, connect */
    if (inet_pton(AF_INET, host, raw) == 1) {
        buf_add_char(out, 1);
        buf_add(out, raw, 4);
    } else if (inet_pton(AF_INET6, host, raw) == 1) {
        buf_add_char(out, 4);
        buf_add(out, raw, 16);
    } else {
        buf_add_char(out, 3);
        buf_add_char(out, (char)n);
        buf_add(out, host, n);
    }
    buf_add_char(out, (char)(p->port >> 8));
    buf_add_char(out, (char)(p->port & 255));
    p->state = PROXY_SOCKS_REPLY;
}

static int socks_credentials(struct proxy *p, struct buf *out, struct err *reterr)
{
    struct buf user = BUF_INIT, password = BUF_INIT;
    add_decoded(&user, p->url->user);
    add_decoded(&password, p->url->password);
    int r = 0;
    if (user.n > 255 || password.n > 255) {
        r = refused(p, reterr, "user name or password too long for SOCKS5");
    } else {
        buf_add_char(out, 1);
        buf_add_char(out, (char)user.n);
        buf_add_str(out, buf_str(&user));
        buf_add_char(out, (char)password.n);
        buf_add_str(out, buf_str(&password));
        p->state = PROXY_SOCKS_AUTH;
    }
    buf_release(&user);
    buf_release(&password);
    return r;
}

static int on_socks_method(struct proxy *p, struct buf *out, struct err *reterr)
{
    if (p->in.n < 2)
        return 0;
    char version = p->in.p[0], method = p->in.p[1];
    buf_consume(&p->in, 2);
    if (version != 5)
        return refused(p, reterr, "does not speak SOCKS5");
    if (method == 0) {
        socks_request(p, out);
        return 0;
    }
    if (method == 2 && p->url->user.n)
        return socks_credentials(p, out, reterr);
    return refused(p, reterr, "requires authentication; set user and password in the proxy URL");
}

static int on_socks_auth(struct proxy *p, struct buf *out, struct err *reterr)
{
    if (p->in.n < 2)
        return 0;
    char status = p->in.p[1];
    buf_consume(&p->in, 2);
    if (status != 0)
        return refused(p, reterr, "user name or password not accepted");
    socks_request(p, out);
    return 0;
}

static int on_socks_reply(struct proxy *p, struct err *reterr)
{
    static const char *const reasons[] = {
        "granted",
        "general failure",
        "connection not allowed",
        "network unreachable",
        "host unreachable",
        "connection refused by the target",
        "time to live expired",
        "command not supported",
        "address type not supported",
    };
    if (p->in.n < 5)
        return 0;
    const unsigned char *in = (const unsigned char *)p->in.p;
    size_t address = in[3] == 1 ? 4 : in[3] == 4 ? 16 : (size_t)in[4] + 1;
    if (in[0] != 5 || (in[3] != 1 && in[3] != 3 && in[3] != 4))
        return refused(p, reterr, "broken SOCKS5 answer");
    if (in[1] != 0)
        return refused(p, reterr, in[1] < ARRAY_LEN(reasons) ? reasons[in[1]] : "unknown reason");
    if (p->in.n < 4 + address + 2)
        return 0;
    if (p->in.n > 4 + address + 2)
        return refused(p, reterr, "sent bytes before the tunnel was used");
    p->state = PROXY_DONE;
    return 1;
}

int proxy_feed(struct proxy *p, struct str data, struct buf *out, struct err *reterr)
{
    buf_add_str(&p->in, data);
    if (p->in.overflow && p->state != PROXY_CONNECT_REPLY)
        return refused(p, reterr, "response too long");
    for (;;) {
        enum proxy_state before = p->state;
        int r = 0;
        if (before == PROXY_CONNECT_REPLY)
            r = on_connect_reply(p, reterr);
        else if (before == PROXY_SOCKS_METHOD)
            r = on_socks_method(p, out, reterr);
        else if (before == PROXY_SOCKS_AUTH)
            r = on_socks_auth(p, out, reterr);
        else if (before == PROXY_SOCKS_REPLY)
            r = on_socks_reply(p, reterr);
        if (r != 0 || p->state == before)
            return r;
    }
}
