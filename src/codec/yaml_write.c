/* SPDX-License-Identifier: Apache-2.0 */
/* Writing: converts a JSON tree to libyaml's events, in the styles that go-yaml chooses. */
#include <inttypes.h>
#include <yaml.h>

#include "base/num.h"
#include "codec/json_private.h"
#include "codec/yaml.h"
#include "codec/yaml_resolve.h"

static int on_output(void *ctx, unsigned char *bytes, size_t n)
{
    buf_add(ctx, bytes, n);
    return 1;
}

/* Takes over the event, as libyaml does. */
static bool emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
    return yaml_emitter_emit(emitter, event);
}

static bool write_scalar(yaml_emitter_t *emitter, struct str text, yaml_scalar_style_t style)
{
    yaml_event_t e;
    const yaml_char_t *bytes = (const yaml_char_t *)(text.n ? text.p : "");
    return yaml_scalar_event_initialize(&e, NULL, NULL, bytes, (int)text.n, 1, 1, style) &&
           emit(emitter, &e);
}

static bool write_string(yaml_emitter_t *emitter, struct str text)
{
    yaml_scalar_style_t style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (str_find(text, '\n') < text.n)
        style = YAML_LITERAL_SCALAR_STYLE;
    else if (yaml_resolve(text).meaning == YAML_STR && !yaml_is_base60(text))
        style = YAML_PLAIN_SCALAR_STYLE;
    return write_scalar(emitter, text, style);
}

/* go-yaml writes the key << bare and then reads it as a merge; here it stays a key. */
static bool write_key(yaml_emitter_t *emitter, struct str key)
{
    return str_is(key, "<<") ? write_scalar(emitter, key, YAML_DOUBLE_QUOTED_SCALAR_STYLE)
                             : write_string(emitter, key);
}

/* 1.0 and 1e3 are normalized as numbers, not kept as written. */
static bool write_number(yaml_emitter_t *emitter, struct str text)
{
    struct buf out = BUF_INIT;
    struct yaml_scalar s = yaml_resolve(text);
    if (s.meaning == YAML_FLOAT)
        num_format(s.real, NUM_STYLE_G, &out);
    else
        buf_add_str(&out, text);
    bool ok = write_scalar(emitter, buf_str(&out), YAML_PLAIN_SCALAR_STYLE);
    buf_release(&out);
    return ok;
}

static bool write_value(yaml_emitter_t *emitter, const struct json_value *v);

static bool write_array(yaml_emitter_t *emitter, const struct json_value *v)
{
    yaml_event_t e;
    bool ok = yaml_sequence_start_event_initialize(&e, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE) &&
              emit(emitter, &e);
    for (size_t i = 0; i < v->n && ok; i++)
        ok = write_value(emitter, &v->items[i]);
    return ok && yaml_sequence_end_event_initialize(&e) && emit(emitter, &e);
}

static bool write_object(yaml_emitter_t *emitter, const struct json_value *v)
{
    yaml_event_t e;
    bool ok = yaml_mapping_start_event_initialize(&e, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE) &&
              emit(emitter, &e);
    struct json_member **sorted = json_sorted_members(v);
    for (size_t i = 0; i < v->n_members && ok; i++)
        ok = write_key(emitter, sorted[i]->key) && write_value(emitter, &sorted[i]->value);
    free(sorted);
    return ok && yaml_mapping_end_event_initialize(&e) && emit(emitter, &e);
}

static bool write_value(yaml_emitter_t *emitter, const struct json_value *v)
{
    switch (v->kind) {
    case JSON_NULL:
        return write_scalar(emitter, STR("null"), YAML_PLAIN_SCALAR_STYLE);
    case JSON_BOOL:
        return write_scalar(emitter, v->boolean ? STR("true") : STR("false"),
                            YAML_PLAIN_SCALAR_STYLE);
    case JSON_NUMBER:
        return write_number(emitter, v->text);
    case JSON_STRING:
        return write_string(emitter, v->text);
    case JSON_ARRAY:
        return write_array(emitter, v);
    case JSON_OBJECT:
        return write_object(emitter, v);
    }
    return false;
}

static bool write_document(yaml_emitter_t *emitter, const struct json_value *v)
{
    yaml_event_t e;
    if (!yaml_stream_start_event_initialize(&e, YAML_UTF8_ENCODING) || !emit(emitter, &e) ||
        !yaml_document_start_event_initialize(&e, NULL, NULL, NULL, 1) || !emit(emitter, &e) ||
        !write_value(emitter, v) || !yaml_document_end_event_initialize(&e, 1) ||
        !emit(emitter, &e))
        return false;
    /* No "..." after a string that ends in empty lines: there is only one document. */
    emitter->open_ended = 0;
    return yaml_stream_end_event_initialize(&e) && emit(emitter, &e);
}

void yaml_write(const struct json_value *v, struct buf *out)
{
    yaml_emitter_t emitter;
    if (!yaml_emitter_initialize(&emitter)) {
        out->overflow = true;
        return;
    }
    yaml_emitter_set_output(&emitter, on_output, out);
    yaml_emitter_set_unicode(&emitter, 1);
    /* Fails only if a string is not UTF-8 or memory is exhausted: the text is then incomplete. */
    if (!write_document(&emitter, v))
        out->overflow = true;
    yaml_emitter_delete(&emitter);
}
