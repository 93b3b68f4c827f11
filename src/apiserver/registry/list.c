/* SPDX-License-Identifier: Apache-2.0 */
/* get and list: selectors, resource versions, pages from one snapshot. */
#include "apiserver/registry/registry_internal.h"
#include "codec/base64.h"

#define CONTINUE_INCONSISTENT                                                                    \
    "The provided continue parameter is too old to display a consistent list result. You can "   \
    "start a new list without the continue parameter, or use the continue token in this "        \
    "response to retrieve the remainder of the results. Continuing with the provided token "     \
    "results in an inconsistent list - objects that were created, modified, or deleted between " \
    "the time the first chunk was returned and now may show up in the list."

/* A token longer than this is not ours: namespace and name are at most a few hundred bytes. */
#define MAX_TOKEN 4096

/* --- continue tokens -------------------------------------------------------------------------- */

struct token {
    int64_t version;  /* -1: any */
    struct str start; /* "namespace/name\0" or "name\0": the first key is at least this */
};

/* base64 of RFC 4648 section 5, without padding, as upstream writes it. */
static struct str token_write(struct arena *a, int64_t version, struct str start)
{
    struct buf json = BUF_INIT, text = BUF_INIT;
    struct str result;

    buf_add_printf(&json, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%lld,\"start\":", (long long)version);
    json_write_str(&json, start);
    buf_add_char(&json, '}');
    base64_encode(buf_str(&json), &text);
    while (text.n > 0 && text.p[text.n - 1] == '=')
        text.n--;
    for (size_t i = 0; i < text.n; i++)
        text.p[i] = (char)(text.p[i] == '+' ? '-' : text.p[i] == '/' ? '_' : text.p[i]);
    result = arena_dup(a, buf_str(&text));
    buf_release(&json);
    buf_release(&text);
    return result;
}

static bool token_decode(struct str text, struct arena *a, struct json_value *ret_json)
{
    struct buf padded = BUF_INIT;
    char *bytes = arena_alloc(a, BASE64_DECODED_MAX(text.n + 4), 1);
    struct err err;
    size_t n;
    bool ok;

    for (size_t i = 0; i < text.n; i++)
        buf_add_char(&padded, (char)(text.p[i] == '-' ? '+' : text.p[i] == '_' ? '/' : text.p[i]));
    while (padded.n % 4)
        buf_add_char(&padded, '=');
    ok = base64_decode(buf_str(&padded), bytes, &n) &&
         json_parse((struct str){bytes, n}, 0, a, ret_json, &err) == 0;
    buf_release(&padded);
    return ok;
}

static int token_read(struct op *op, struct str text, struct token *ret_token)
{
    struct json_value json;
    struct token t;

    if (text.n > MAX_TOKEN || !token_decode(text, op->a, &json))
        return status_bad_request(op_status(op), op->a, "continue key is not valid");
    if (!str_is(json_text_at(&json, "v"), "meta.k8s.io/v1"))
        return status_bad_request(op_status(op), op->a,
                                  "continue key is not valid: server does not recognize this "
                                  "encoded version %.*s",
                                  STR_ARG(json_text_at(&json, "v")));
    t.version = json_int_at(&json, "rv", 0);
    t.start = json_text_at(&json, "start");
    if (t.version == 0)
        return status_bad_request(op_status(op), op->a,
                                  "continue key is not valid: incorrect encoded start "
                                  "resourceVersion (version meta.k8s.io/v1)");
    if (str_empty(t.start))
        return status_bad_request(op_status(op), op->a,
                                  "continue key is not valid: encoded start key empty (version "
                                  "meta.k8s.io/v1)");
    *ret_token = t;
    return 0;
}

/* Upstream's keys within a list: those of one namespace have no namespace. */
static struct store_key token_key(const struct op *op, struct str start, struct str namespace)
{
    struct store_key key = {namespace, {0}};

    if (start.n > 0 && start.p[start.n - 1] == '\0')
        start.n--;
    if (op->stored->namespaced && str_empty(namespace))
        str_split(&start, '/', &key.namespace);
    key.name = start.p ? start : STR("");
    return key;
}

/* --- pages ------------------------------------------------------------------------------------ */

/* Keeps the snapshot for the pages that follow; the one that was not used for longest goes. */
static void keep_page(struct registry *reg, struct snapshot *s)
{
    struct page *oldest = &reg->pages[0];

    for (size_t i = 0; i < REGISTRY_PAGES; i++) {
        struct page *p = &reg->pages[i];

        if (p->snapshot && p->version == snapshot_version(s)) {
            p->used = ++reg->page_uses;
            return;
        }
        if (!p->snapshot || (oldest->snapshot && p->used < oldest->used))
            oldest = p;
    }
    if (oldest->snapshot)
        snapshot_unref(oldest->snapshot);
    *oldest = (struct page){snapshot_ref(s), snapshot_version(s), ++reg->page_uses};
}

/* A reference to the snapshot of this version; NULL if it is not kept. */
static struct snapshot *find_page(struct registry *reg, uint64_t version)
{
    if (version == store_version(reg->store))
        return store_snapshot(reg->store);
    for (size_t i = 0; i < REGISTRY_PAGES; i++) {
        struct page *p = &reg->pages[i];

        if (p->snapshot && p->version == version) {
            p->used = ++reg->page_uses;
            return snapshot_ref(p->snapshot);
        }
    }
    return NULL;
}

/* --- resource versions ------------------------------------------------------------------------ */

static int too_large(struct op *op, uint64_t version)
{
    struct api_cause *cause = arena_new(op->a, struct api_cause);
    int code =
        status_of(op_status(op), 504, op->a, "Too large resource version: %llu, current: %llu",
                  (unsigned long long)version, (unsigned long long)store_version(op->reg->store));

    *cause = (struct api_cause){.reason = STR("ResourceVersionTooLarge"),
                                .message = STR("Too large resource version")};
    op_status(op)->causes = cause;
    op_status(op)->n_causes = 1;
    op_status(op)->retry_after = 1;
    return code;
}

/* 0: any. */
static int read_version(struct op *op, uint64_t *ret_version)
{
    struct str text = op->req->resource_version;
    uint64_t version = 0;

    if (!str_empty(text) && !str_to_u64(text, &version)) {
        struct field_errors errors = {.arena = op->a};
        struct field_path path = field_child(NULL, "resourceVersion");
        struct json_value value = json_text(text);

        field_error(&errors, FIELD_INVALID, &path, &value,
                    "strconv.ParseUint: parsing %.*s: invalid syntax",
                    STR_ARG(arena_quoted(op->a, text)));
        return status_invalid(op_status(op), STR(""), STR(""), STR(""), &errors);
    }
    if (version > store_version(op->reg->store))
        return too_large(op, version);
    *ret_version = version;
    return 0;
}

static int validate_options(struct op *op)
{
    static const char *const matches[] = {"Exact", "NotOlderThan", "", NULL};
    const struct api_request *req = op->req;
    struct field_errors errors = {.arena = op->a};
    struct field_path path = field_child(NULL, "resourceVersionMatch");
    struct json_value match = json_text(req->resource_version_match);

    if (!str_empty(match.text)) {
        if (str_empty(req->resource_version))
            field_error(&errors, FIELD_FORBIDDEN, &path, NULL,
                        "resourceVersionMatch is forbidden unless resourceVersion is provided");
        if (!str_empty(req->continue_token))
            field_error(&errors, FIELD_FORBIDDEN, &path, NULL,
                        "resourceVersionMatch is forbidden when continue is provided");
        if (!str_is(match.text, "Exact") && !str_is(match.text, "NotOlderThan"))
            field_not_supported(&errors, &path, &match, matches);
        if (str_is(match.text, "Exact") && str_is(req->resource_version, "0"))
            field_error(&errors, FIELD_FORBIDDEN, &path, NULL,
                        "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
    if (errors.n > 0)
        return status_invalid(op_status(op), STR("meta.k8s.io"), STR("ListOptions"), STR(""),
                              &errors);
    return 0;
}

/* --- the snapshot of a list ------------------------------------------------------------------- */

static int continue_snapshot(struct op *op, struct token *ret_token, struct snapshot **ret_snapshot)
{
    int code = token_read(op, op->req->continue_token, ret_token);

    if (code)
        return code;
    if (!str_empty(op->req->resource_version) && !str_is(op->req->resource_version, "0"))
        return status_bad_request(op_status(op), op->a,
                                  "specifying resource version is not allowed when using continue");
    if (ret_token->version < 0) {
        *ret_snapshot = store_snapshot(op->reg->store);
        return 0;
    }
    *ret_snapshot = find_page(op->reg, (uint64_t)ret_token->version);
    if (*ret_snapshot)
        return 0;
    code = status_of(op_status(op), 410, op->a, "%s", CONTINUE_INCONSISTENT);
    op_status(op)->continue_token = token_write(op->a, -1, ret_token->start);
    return code;
}

static int first_snapshot(struct op *op, struct snapshot **ret_snapshot)
{
    uint64_t version = 0;
    int code = read_version(op, &version);
    bool exact = str_is(op->req->resource_version_match, "Exact") ||
                 (version > 0 && op->req->limit > 0 && str_empty(op->req->resource_version_match));

    if (code)
        return code;
    *ret_snapshot = exact ? find_page(op->reg, version) : store_snapshot(op->reg->store);
    if (!*ret_snapshot)
        return status_of(op_status(op), 410, op->a, "%s",
                         "The resourceVersion for the provided list is too old.");
    return 0;
}

/* --- the list --------------------------------------------------------------------------------- */

struct found {
    struct revision **v;
    size_t n, cap;
};

static void add_found(struct found *f, struct revision *rev, struct arena *a)
{
    if (f->n == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 64;
        struct revision **v = arena_array(a, struct revision *, cap);

        if (f->n > 0)
            memcpy(v, f->v, f->n * sizeof(struct revision *));
        f->v = v;
        f->cap = cap;
    }
    f->v[f->n++] = rev;
}

static void set_continue(struct op *op, const struct store_range *range, struct str namespace,
                         const struct revision *last)
{
    const struct revision *more = NULL;
    struct store_range rest = *range;
    struct str start;
    bool selects = !str_empty(op->req->label_selector) || !str_empty(op->req->field_selector);

    more = store_range_next(&rest);
    if (!more)
        return;
    start = op->stored->namespaced && str_empty(namespace)
                ? arena_printf(op->a, "%.*s/%.*s", STR_ARG(last->namespace), STR_ARG(last->name))
                : arena_printf(op->a, "%.*s", STR_ARG(last->name));
    start.n++; /* the NUL that follows it */
    op->res->continue_token =
        token_write(op->a, (int64_t)snapshot_version(op->res->snapshot), start);
    if (!selects)
        op->res->remaining = (int64_t)store_range_left(range);
    keep_page(op->reg, op->res->snapshot);
}

static void collect(struct op *op, const struct revision_selector *selector,
                    const struct store_key *after)
{
    struct str namespace = op->r->namespaced ? op->req->namespace : STR("");
    struct store_range range;
    struct found found = {0};
    struct revision *rev = NULL;
    struct str name;

    op->res->code = 200;
    if (revision_selector_name(selector, &name) && (!op->r->namespaced || !str_empty(namespace)) &&
        !after) {
        rev = snapshot_get(op->res->snapshot, op->stored, namespace, name);
        if (rev && revision_selector_matches(selector, rev))
            add_found(&found, rev, op->a);
        op->res->items = found.v;
        op->res->n_items = found.n;
        return;
    }
    store_range_init(&range, op->res->snapshot, op->stored, namespace, after);
    while ((rev = store_range_next(&range))) {
        if (!revision_selector_matches(selector, rev))
            continue;
        add_found(&found, rev, op->a);
        if (op->req->limit > 0 && found.n == (size_t)op->req->limit)
            break;
    }
    if (rev)
        set_continue(op, &range, namespace, rev);
    op->res->items = found.v;
    op->res->n_items = found.n;
}

int serve_list(struct op *op)
{
    struct revision_selector *selector = revision_selector_parse(
        op->r, op->req->label_selector, op->req->field_selector, op->a, op_status(op));
    struct token token = {0};
    struct store_key after;
    bool continues = !str_empty(op->req->continue_token);
    int code;

    if (!selector)
        return op_status(op)->code;
    code = validate_options(op);
    if (!code)
        code = continues ? continue_snapshot(op, &token, &op->res->snapshot)
                         : first_snapshot(op, &op->res->snapshot);
    if (code)
        return code;
    if (continues)
        after = token_key(op, token.start, op->r->namespaced ? op->req->namespace : STR(""));
    collect(op, selector, continues ? &after : NULL);
    return 0;
}

int serve_get(struct op *op)
{
    struct revision *rev = op_find(op, op->req->namespace, op->req->name);
    uint64_t version;
    int code = read_version(op, &version);

    if (code)
        return code;
    if (!rev)
        return status_not_found(op_status(op), op->r, op->req->name, op->a);
    op_answer(op, rev, 200);
    return 0;
}
