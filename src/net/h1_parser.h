/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_parser.h - HTTP/1.1 messages out of bytes that arrive in any pieces.
 *
 * Purpose:   one parser for requests and responses. It is asked for the next event and so stops
 *            wherever its user wants to. Strict where leniency lets two parties read one message
 *            differently: bare LF, folded headers, blanks before the colon, Content-Length next to
 *            Transfer-Encoding, several Content-Lengths, codings other than chunked are refused.
 * Ownership: the caller owns the struct; the head's texts live in it until the next reset.
 * Threading: one thread at a time.
 */
#ifndef BERTH_NET_H1_PARSER_H
#define BERTH_NET_H1_PARSER_H

#include "base/buf.h"
#include "base/err.h"
#include "net/http.h"

enum h1_role { H1_REQUESTS, H1_RESPONSES };

enum h1_event {
    H1_MORE, /* everything was taken; more bytes are needed */
    H1_HEAD, /* method, target or status, and headers stand */
    H1_DATA, /* a piece of the body, part of the input */
    H1_END,  /* the message is complete; h1_parser_reset before the next */
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
    bool answers_head; /* the response to come answers HEAD: it has no body. The user's to set. */

    enum h1_state state;
    struct buf line; /* the head, or the line of a chunk, as far as it arrived */
    uint64_t left;   /* of the body or chunk */

    /* After H1_HEAD. */
    struct str method, target; /* requests */
    int status;                /* responses */
    int minor;                 /* HTTP/1.minor */
    struct http_headers headers;
    bool keep_alive;
    bool has_body; /* more than nothing may follow */
    bool expects_continue;
    struct arena arena;
};

void h1_parser_init(struct h1_parser *p, enum h1_role role, size_t max_head);
void h1_parser_release(struct h1_parser *p);
/* Ready for the next message. */
void h1_parser_reset(struct h1_parser *p);
/* Nothing of a message has arrived. */
bool h1_parser_is_idle(const struct h1_parser *p);

/*
 * Takes from the front of *in what belongs to the next event. 0, -EPROTO or -EMSGSIZE (the head is
 * larger than max_head); after a failure the parser is of no further use.
 */
int h1_parser_next(struct h1_parser *p, struct str *in, enum h1_event *ret_event,
                   struct str *ret_data, struct err *reterr) MUST_CHECK;
/* The stream ended. 0: between messages, or that was the end of a body without length (then
 * *ret_ended). -ECONNRESET: in the middle. */
int h1_parser_eof(struct h1_parser *p, bool *ret_ended, struct err *reterr) MUST_CHECK;

#endif
