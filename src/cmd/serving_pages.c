/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics, /configz, /flagz, /statusz. */
#include "base/time.h"
#include "cmd/serving_internal.h"
#include "codec/json.h"
#include "codec/yaml.h"

#define COMPONENT "kube-scheduler"
#define YAML_TEXT "application/yaml"
#define EMULATED  "1.36"
#define NOT_FOR_TOOLS                                                                 \
    "Warning: This endpoint is not meant to be machine parseable, has no formatting " \
    "compatibility guarantees and is for debugging purposes only.\n"

/* --- metrics ---------------------------------------------------------------------------------- */

void serve_metrics(struct serving_request *r)
{
    struct metrics *metrics = r->serving->options.metrics;
    struct buf text = BUF_INIT;
    if (str_is(r->x->method, "DELETE")) {
        if (metrics)
            metrics_reset(metrics);
        serving_respond(r, 200, PLAIN_TEXT, 0, STR("metrics reset\n"));
        return;
    }
    if (metrics)
        metrics_write(metrics, &text);
    serving_respond_metrics(r, buf_str(&text));
    buf_release(&text);
}

static struct serving_request *who_waits(const struct serving *s)
{
    struct serving_request *r = s->requests;
    while (r && !r->wants_resources)
        r = r->next;
    return r;
}

static void on_resources(void *ctx, struct str text)
{
    struct serving *s = ctx;
    struct serving_request *r;
    s->resources = NULL;
    /* An answer that cannot be written may end a connection, and others with it. */
    while ((r = who_waits(s)))
        serving_respond_metrics(r, text);
}

/* Who comes while the page is being written gets the same. */
void serve_resource_metrics(struct serving_request *r)
{
    struct serving *s = r->serving;
    if (!s->options.world) {
        serving_respond_metrics(r, STR(""));
        return;
    }
    r->wants_resources = true;
    if (!s->resources)
        s->resources = resource_metrics_start(s->loop, s->options.world, on_resources, s);
}

/* --- configuration ---------------------------------------------------------------------------- */

void serve_configz(struct serving_request *r)
{
    const struct serving_options *o = &r->serving->options;
    struct buf text = BUF_INIT;
    buf_add_cstr(&text, "{\"componentconfig\":");
    if (o->write_config)
        o->write_config(o->page_ctx, &text);
    else
        buf_add_cstr(&text, "null");
    buf_add_char(&text, '}');
    serving_respond(r, 200, JSON_TEXT, RESPOND_NOSNIFF, buf_str(&text));
    buf_release(&text);
}

/* --- z-pages ---------------------------------------------------------------------------------- */

enum form { FORM_TEXT, FORM_JSON, FORM_YAML, FORM_NONE };

/* Is `want` (";v=v1beta1") among the parameters of a media type? */
static bool has_parameter(struct str type, const char *name, const char *value)
{
    struct str rest = type, part;
    while (str_split(&rest, ';', &part)) {
        part = str_trim(part);
        size_t at = str_find(part, '=');
        if (str_is(str_slice(part, 0, at), name) && str_is(str_slice(part, at + 1, part.n), value))
            return true;
    }
    return false;
}

/* What the client takes: text, or JSON or YAML of a version that it names with group and kind. */
static enum form negotiate(const struct serving_request *r, const char *kind,
                           const char **ret_version)
{
    static const char *const versions[] = {"v1beta1", "v1alpha1"};
    struct str rest = str_trim(http_headers_get(&r->x->headers, "accept")), type;
    if (str_empty(rest))
        return FORM_TEXT;
    while (str_split(&rest, ',', &type)) {
        struct str media = str_trim(str_slice(type, 0, str_find(type, ';')));
        if (str_is(media, "*/*") || str_is(media, "text/plain") || str_is(media, "text/*"))
            return FORM_TEXT;
        bool yaml = str_is(media, YAML_TEXT);
        if ((!yaml && !str_is(media, JSON_TEXT)) || !has_parameter(type, "g", "config.k8s.io") ||
            !has_parameter(type, "as", kind))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
            if (has_parameter(type, "v", versions[i])) {
                *ret_version = versions[i];
                return yaml ? FORM_YAML : FORM_JSON;
            }
        }
    }
    return FORM_NONE;
}

static void add_yaml(struct serving_request *r, struct str json, struct buf *out)
{
    struct json_value tree;
    if (json_parse(json, 0, &r->arena, &tree, NULL) == 0)
        yaml_write(&tree, out);
}

static void respond_object(struct serving_request *r, const char *kind, const char *version,
                           enum form form, struct str json)
{
    struct buf text = BUF_INIT;
    struct str type = arena_printf(&r->arena, "%s;g=config.k8s.io;v=%s;as=%s",
                                   form == FORM_YAML ? YAML_TEXT : JSON_TEXT, version, kind);
    if (form == FORM_YAML)
        add_yaml(r, json, &text);
    else if (serving_is_person(r))
        serving_indent(json, &text);
    else
        buf_add_printf(&text, "%.*s\n", STR_ARG(json));
    serving_respond(r, 200, type.p, 0, buf_str(&text));
    buf_release(&text);
}

static void begin_json(struct buf *out, const char *kind, const char *version)
{
    buf_add_printf(out,
                   "{\"kind\":\"%s\",\"apiVersion\":\"config.k8s.io/%s\",\"metadata\":{\"name\":"
                   "\"" COMPONENT "\"}",
                   kind, version);
}

static void write_page(struct serving_request *r, const char *kind,
                       void (*write_text)(const struct serving *s, struct buf *out),
                       void (*write_json)(const struct serving *s, struct buf *out))
{
    const char *version = "v1beta1";
    struct buf out = BUF_INIT;
    enum form form = negotiate(r, kind, &version);
    switch (form) {
    case FORM_TEXT:
        write_text(r->serving, &out);
        serving_respond(r, 200, PLAIN_TEXT, 0, buf_str(&out));
        break;
    case FORM_JSON:
    case FORM_YAML:
        begin_json(&out, kind, version);
        write_json(r->serving, &out);
        buf_add_char(&out, '}');
        respond_object(r, kind, version, form, buf_str(&out));
        break;
    case FORM_NONE:
        serving_respond_status(r, 406, "NotAcceptable", false,
                               STR("only the following media types are accepted: "
                                   "application/json, application/yaml, text/plain"));
        break;
    }
    buf_release(&out);
}

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
    write_page(r, "Flagz", write_flags, write_flags_json);
}

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
    write_page(r, "Statusz", write_status, write_status_json);
}
