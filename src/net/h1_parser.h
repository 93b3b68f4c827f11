/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_parser.h - parses HTTP/1.1 messages from bytes that arrive in any pieces.
 *
 * Purpose:   one parser for requests and responses. The caller asks for the next event, so it can
 *            stop anywhere. Strict wherever two parties could read a message differently: bare LF,
 *            folded headers, blanks before the colon, Content-Length together with
 *            Transfer-Encoding, several Content-Lengths, and codings other than chunked are
 *            refused.
 * Ownership: the caller owns the struct; strings of the head are valid until the next reset.
 * Threading: one thread at a time.
 */
#ifndef BERTH_NET_H1_PARSER_H
#define BERTH_NET_H1_PARSER_H

#include "base/buf.h"
#include "base/err.h"
#include "net/http.h"

enum h1_role { H1_REQUESTS, H1_RESPONSES };

enum h1_event {
    H1_MORE, /* all input was consumed; more bytes are needed */
    H1_HEAD, /* method, target or status, and headers are set */
    H1_DATA, /* a piece of the body, part of the input */
    H1_END,  /* the message is complete; call h1_parser_reset before the next */
};

enum h1_state {
    H1_STATE_HEAD,
    H1_STATE_LENGTH,
    H1_STATE_UNTIL_EOF,
    H1_STATE_CHUNK_SIZE,
    H1_STATE_CHUNK_DATA,
    H1_STATE_CHUNK_END,
    H1_STATE_TRAILERS,
    H1_STATE_END,
    H1_STATE_DONE,
    H1_STATE_FAILED,
};

#define H1_MAX_HEADERS    512
#define H1_MAX_CHUNK_LINE ((size_t)1024)

struct h1_parser {
    enum h1_role role;
    size_t max_head;
    bool answers_head; /* set by the caller: the next response answers HEAD and has no body */

    enum h1_state state;
    struct buf line; /* the head, or the line of a chunk, as far as received */
    uint64_t left;   /* bytes of the body or chunk */

    /* After H1_HEAD. */
    struct str method, target; /* requests */
    int status;                /* responses */
    int minor;                 /* HTTP/1.minor */
    struct http_headers headers;
    bool keep_alive;
    bool has_body; /* a body may follow */
    bool expects_continue;
    struct arena arena;
};

void h1_parser_init(struct h1_parser *p, enum h1_role role, size_t max_head);
void h1_parser_release(struct h1_parser *p);
/* Prepares for the next message. */
void h1_parser_reset(struct h1_parser *p);
/* True if nothing of a message has arrived. */
bool h1_parser_is_idle(const struct h1_parser *p);

/*
 * Takes from the front of *in what belongs to the next event. Returns 0, -EPROTO or -EMSGSIZE (the
 * head is larger than max_head). After a failure the parser must not be used.
 */
int h1_parser_next(struct h1_parser *p, struct str *in, enum h1_event *ret_event,
                   struct str *ret_data, struct err *reterr) MUST_CHECK;
/*
 * The stream ended. Returns 0 between messages, or if this ends a body without length (then
 * *ret_ended); -ECONNRESET within a message.
 */
int h1_parser_eof(struct h1_parser *p, bool *ret_ended, struct err *reterr) MUST_CHECK;

#endif
