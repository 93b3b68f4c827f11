/* SPDX-License-Identifier: Apache-2.0 */
/* /flagz and /statusz: text, or an object of the requested version as JSON, YAML or CBOR. */
#include "base/log.h"
#include "base/time.h"
#include "codec/cbor.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "net/media_type.h"
#include "serve/serving_internal.h"

#define COMPONENT "kube-scheduler"
#define GROUP     "config.k8s.io"
#define EMULATED  "1.36"
#define NOT_FOR_TOOLS                                                                 \
    "Warning: This endpoint is not meant to be machine parseable, has no formatting " \
    "compatibility guarantees and is for debugging purposes only.\n"

/* --- forms ------------------------------------------------------------------------------------ */

enum form { FORM_JSON, FORM_YAML, FORM_TEXT, FORM_CBOR, FORMS };

static const struct media_type forms[FORMS] = {
    [FORM_JSON] = {STR_INIT("application"), STR_INIT("json"), true},
    [FORM_YAML] = {STR_INIT("application"), STR_INIT("yaml"), false},
    [FORM_TEXT] = {STR_INIT("text"), STR_INIT("plain"), false},
    [FORM_CBOR] = {STR_INIT("application"), STR_INIT("cbor"), true},
};

/* One of the two pages. */
struct page {
    const char *kind, *path;
    void (*write_text)(const struct serving *s, struct buf *out);
    void (*write_json)(const struct serving *s, struct buf *out);
};

static bool is_version(struct str version)
{
    return str_is(version, "v1beta1") || str_is(version, "v1alpha1");
}

/* Text has no kind; all other forms must be of the page's kind. */
static bool page_allows(const void *ctx, const struct media_type *type,
                        const struct media_choice *choice)
{
    const struct page *page = ctx;
    if (type == &forms[FORM_TEXT])
        return !choice->converts;
    return str_is(choice->group, GROUP) && is_version(choice->version) &&
           str_is(choice->kind, page->kind);
}

/* A Status is never converted. */
static bool status_allows(const void *ctx, const struct media_type *type,
                          const struct media_choice *choice)
{
    (void)ctx;
    (void)type;
    return !choice->converts;
}

static size_t n_forms(const struct serving_request *r)
{
    return r->serving->options.cbor ? FORMS : FORM_CBOR;
}

/* Writes compact JSON in the given form. False if it cannot be converted. */
static bool write_form(struct serving_request *r, enum form form, bool pretty, struct str json,
                       struct buf *out)
{
    struct json_value tree;
    if (form == FORM_JSON) {
        if (pretty)
            serving_indent(json, out);
        else
            buf_add_printf(out, "%.*s\n", STR_ARG(json));
        return true;
    }
    if (json_parse(json, 0, &r->arena, &tree, NULL) < 0)
        return false;
    if (form == FORM_YAML)
        yaml_write(&tree, out);
    return form == FORM_YAML || cbor_write(&tree, out) == 0;
}

static const char *media_text(struct serving_request *r, enum form form)
{
    return arena_printf(&r->arena, "%.*s/%.*s", STR_ARG(forms[form].type),
                        STR_ARG(forms[form].subtype))
        .p;
}

/* --- responses -------------------------------------------------------------------------------- */

static void respond_not_acceptable(struct serving_request *r, struct str accept)
{
    struct media_page status = {
        .types = forms, .n = n_forms(r), .allows = status_allows, .watches = true};
    struct media_choice choice = {.index = FORM_JSON, .pretty = true};
    struct buf message = BUF_INIT, json = BUF_INIT, body = BUF_INIT;
    buf_add_cstr(&message, "only the following media types are accepted: ");
    for (size_t i = 0; i < n_forms(r); i++)
        buf_add_printf(&message, "%s%s", i ? ", " : "", media_text(r, (enum form)i));
    log_error("Unhandled Error", KV_STR("err", buf_str(&message)),
              KV_CSTR("logger", "UnhandledError"));
    serving_write_status(&json, 406, "NotAcceptable", false, buf_str(&message));
    /* If the client accepts no form at all, it gets indented JSON. */
    if (media_negotiate(accept, &status, &r->arena, &choice))
        choice.pretty |= serving_is_person(r);
    if (!write_form(r, (enum form)choice.index, choice.pretty, buf_str(&json), &body))
        buf_add_str(&body, buf_str(&json));
    serving_respond(r, 406, media_text(r, (enum form)choice.index), 0, buf_str(&body));
    buf_release(&message);
    buf_release(&json);
    buf_release(&body);
}

static void respond_object(struct serving_request *r, const struct page *page,
                           const struct media_choice *choice)
{
    struct buf json = BUF_INIT, body = BUF_INIT;
    buf_add_printf(&json,
                   "{\"kind\":\"%s\",\"apiVersion\":\"" GROUP "/%.*s\",\"metadata\":{\"name\":"
                   "\"" COMPONENT "\"}",
                   page->kind, STR_ARG(choice->version));
    page->write_json(r->serving, &json);
    buf_add_char(&json, '}');
    struct str type =
        arena_printf(&r->arena, "%s;g=" GROUP ";v=%.*s;as=%s",
                     media_text(r, (enum form)choice->index), STR_ARG(choice->version), page->kind);
    if (str_is(choice->version, "v1alpha1"))
        r->warning = arena_printf(&r->arena,
                                  "299 - \"This version of the %s endpoint is deprecated. Please "
                                  "use a newer version.\"",
                                  page->path);
    if (write_form(r, (enum form)choice->index, choice->pretty || serving_is_person(r),
                   buf_str(&json), &body))
        serving_respond(r, 200, type.p, 0, buf_str(&body));
    else
        serving_respond_status(r, 500, "InternalError", false, STR("failed to encode the object"));
    buf_release(&json);
    buf_release(&body);
}

static void respond_page(struct serving_request *r, const struct page *page)
{
    struct str accept = http_headers_get(&r->x->headers, "accept");
    struct media_page negotiated = {
        .types = forms, .n = n_forms(r), .allows = page_allows, .ctx = page};
    struct media_choice choice = {.index = FORM_TEXT};
    if (!str_empty(str_trim(accept)) && !media_negotiate(accept, &negotiated, &r->arena, &choice)) {
        respond_not_acceptable(r, accept);
        return;
    }
    if (choice.index != FORM_TEXT) {
        respond_object(r, page, &choice);
        return;
    }
    struct buf text = BUF_INIT;
    page->write_text(r->serving, &text);
    serving_respond(r, 200, PLAIN_TEXT, 0, buf_str(&text));
    buf_release(&text);
}

/* --- /flagz ----------------------------------------------------------------------------------- */

static void write_flags(const struct serving *s, struct buf *out)
{
    buf_add_cstr(out, "\n" COMPONENT " flagz\n" NOT_FOR_TOOLS);
    for (size_t i = 0; i < s->options.n_flags; i++)
        buf_add_printf(out, "%s: %.*s\n", s->options.flags[i].name,
                       STR_ARG(s->options.flags[i].value));
}

static void write_flags_json(const struct serving *s, struct buf *out)
{
    buf_add_cstr(out, ",\"flags\":{");
    for (size_t i = 0; i < s->options.n_flags; i++) {
        buf_add_cstr(out, i ? "," : "");
        json_write_str(out, str_of(s->options.flags[i].name));
        buf_add_char(out, ':');
        json_write_str(out, s->options.flags[i].value);
    }
    buf_add_char(out, '}');
}

void serve_flagz(struct serving_request *r)
{
    static const struct page page = {"Flagz", "flagz", write_flags, write_flags_json};
    respond_page(r, &page);
}

/* --- /statusz --------------------------------------------------------------------------------- */

static int64_t uptime(const struct serving *s)
{
    return MAX(0, (time_wall() - s->started) / NSEC_PER_SEC);
}

static void write_status(const struct serving *s, struct buf *out)
{
    time_t at = (time_t)(s->started / NSEC_PER_SEC);
    int64_t up = uptime(s);
    struct tm tm;
    char started[64];
    gmtime_r(&at, &tm);
    strftime(started, sizeof(started), "%a %b %e %H:%M:%S UTC %Y", &tm);
    buf_add_printf(out,
                   "\n" COMPONENT " statusz\n" NOT_FOR_TOOLS "\nStarted: %s\n"
                   "Up: %lld hr %02d min %02d sec\nGo version: none\n"
                   "Binary version: " BERTH_VERSION "\nEmulation version: " EMULATED "\nPaths:",
                   started, (long long)(up / 3600), (int)(up / 60 % 60), (int)(up % 60));
    for (size_t i = 0; serving_listed_paths[i]; i++)
        buf_add_printf(out, " %s", serving_listed_paths[i]);
    buf_add_char(out, '\n');
}

static void write_status_json(const struct serving *s, struct buf *out)
{
    time_t at = (time_t)(s->started / NSEC_PER_SEC);
    struct tm tm;
    char started[64];
    gmtime_r(&at, &tm);
    strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &tm);
    buf_add_printf(out,
                   ",\"startTime\":\"%s\",\"uptimeSeconds\":%lld,\"goVersion\":\"none\","
                   "\"binaryVersion\":\"" BERTH_VERSION "\",\"emulationVersion\":\"" EMULATED
                   "\",\"paths\":[",
                   started, (long long)uptime(s));
    for (size_t i = 0; serving_listed_paths[i]; i++)
        buf_add_printf(out, "%s\"%s\"", i ? "," : "", serving_listed_paths[i]);
    buf_add_char(out, ']');
}

void serve_statusz(struct serving_request *r)
{
    static const struct page page = {"Statusz", "statusz", write_status, write_status_json};
    respond_page(r, &page);
}
