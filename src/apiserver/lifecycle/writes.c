/* SPDX-License-Identifier: Apache-2.0 */
/* What the controllers write. */
#include "apiserver/lifecycle/lifecycle_internal.h"

struct life_target life_target(const struct revision *rev)
{
    return (struct life_target){rev->resource, rev->namespace, rev->name};
}

static struct writer_request request_of(struct lifecycle *l, enum writer_verb verb,
                                        const struct life_target *target)
{
    return (struct writer_request){.verb = verb,
                                   .group = target->resource->group,
                                   .plural = target->resource->plural,
                                   .namespace = target->namespace,
                                   .name = target->name,
                                   .body = buf_str(&l->body)};
}

void task_write(struct lifecycle *l, struct task *task, enum writer_verb verb,
                const struct life_target *target, const char *subresource)
{
    struct writer_request request = request_of(l, verb, target);
    request.subresource = str_of(subresource);
    work_write(&l->queue, &task->work, WORK_NOTHING, 0, &request);
}

void task_delete(struct lifecycle *l, struct task *task, const struct revision *rev,
                 const char *policy, bool exact)
{
    struct life_target target = life_target(rev);
    buf_clear(&l->body);
    buf_add_cstr(&l->body, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                           "\"preconditions\":{\"uid\":");
    json_write_str(&l->body, life_view(rev).uid);
    if (exact)
        buf_add_printf(&l->body, ",\"resourceVersion\":\"%llu\"", (unsigned long long)rev->version);
    buf_add_char(&l->body, '}');
    if (*policy)
        buf_add_printf(&l->body, ",\"propagationPolicy\":\"%s\"", policy);
    buf_add_char(&l->body, '}');
    task_write(l, task, WRITER_DELETE, &target, "");
}

void life_patch(struct lifecycle *l, const struct revision *rev)
{
    buf_clear(&l->body);
    buf_add_printf(&l->body, "{\"metadata\":{\"resourceVersion\":\"%llu\"",
                   (unsigned long long)rev->version);
}

void task_remove_finalizer(struct lifecycle *l, struct task *task, const struct revision *rev,
                           const struct json_value *object, const char *finalizer)
{
    struct json_items list = json_items_at(object, "metadata.finalizers");
    struct life_target target = life_target(rev);
    size_t n = 0;
    life_patch(l, rev);
    buf_add_cstr(&l->body, ",\"finalizers\":");
    size_t at = l->body.n;
    for (size_t i = 0; i < list.n; i++) {
        if (list.v[i].kind != JSON_STRING || str_is(list.v[i].text, finalizer))
            continue;
        buf_add_char(&l->body, n++ ? ',' : '[');
        json_write_str(&l->body, list.v[i].text);
    }
    buf_add_cstr(&l->body, l->body.n == at ? "null}}" : "]}}");
    task_write(l, task, WRITER_PATCH_MERGE, &target, "");
}

void task_patch_conditions(struct lifecycle *l, struct task *task, const struct revision *rev,
                           const struct json_value *object, const char *phase)
{
    struct life_target target = life_target(rev);
    const struct json_value *conditions = json_at(object, "status.conditions");
    life_patch(l, rev);
    buf_add_cstr(&l->body, "},\"status\":{");
    if (phase)
        buf_add_printf(&l->body, "\"phase\":\"%s\",", phase);
    buf_add_cstr(&l->body, "\"conditions\":");
    if (conditions)
        json_write(conditions, &l->body);
    else
        buf_add_cstr(&l->body, "[]");
    buf_add_cstr(&l->body, "}}");
    task_write(l, task, WRITER_PATCH_MERGE, &target, "status");
}

void life_event(struct lifecycle *l, const struct revision *about, const struct event_text *text)
{
    struct event_subject subject = {.api_version = about->resource->api_version,
                                    .kind = about->resource->kind,
                                    .namespace = about->namespace,
                                    .name = about->name,
                                    .uid = life_view(about).uid,
                                    .version = about->version};
    event_record(&l->events, &subject, text);
}
