/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/explain/explain_output.h"

enum explain_format explain_format_of(const char *text)
{
    static const struct {
        const char *name;
        enum explain_format format;
    } formats[] = {{"table", EXPLAIN_FORMAT_TABLE},
                   {"wide", EXPLAIN_FORMAT_WIDE},
                   {"json", EXPLAIN_FORMAT_JSON}};
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (strcmp(text, formats[i].name) == 0)
            return formats[i].format;
    return EXPLAIN_FORMAT_NONE;
}

void explain_split_pod(struct str pod, struct str otherwise, struct str *ret_namespace,
                       struct str *ret_name)
{
    size_t slash = str_find(pod, '/');
    bool whole = slash < pod.n;
    *ret_namespace = whole ? str_slice(pod, 0, slash) : otherwise;
    *ret_name = whole ? str_slice(pod, slash + 1, pod.n) : pod;
}

void explain_output_init(struct explain_output *o, enum explain_format format, size_t max_nodes)
{
    *o = (struct explain_output){.format = format};
    o->options = explain_table_for_stdout(max_nodes, format == EXPLAIN_FORMAT_WIDE);
    arena_init(&o->arena, 0);
    buf_init(&o->text, 0);
}

static void add_table(struct explain_output *o, struct str line)
{
    struct explanation x;
    if (explanation_decode(line, &o->arena, &x, &o->err) < 0) {
        o->bad++;
        return;
    }
    if (o->n)
        buf_add_char(&o->text, '\n');
    explain_table(&x, &o->options, &o->text);
    o->n++;
}

void explain_output_add(struct explain_output *o, struct str line)
{
    line = str_trim(line);
    if (!line.n)
        return;
    if (o->format == EXPLAIN_FORMAT_JSON) {
        buf_add_str(&o->text, line);
        buf_add_char(&o->text, '\n');
        o->n++;
    } else {
        add_table(o, line);
    }
    fwrite(o->text.p, 1, o->text.n, stdout);
    buf_clear(&o->text);
    arena_reset(&o->arena);
}

static void on_line(void *ctx, struct str line)
{
    explain_output_add(ctx, line);
}

struct explain_reader explain_output_reader(struct explain_output *o)
{
    return (struct explain_reader){on_line, o};
}

size_t explain_output_end(struct explain_output *o)
{
    buf_release(&o->text);
    arena_release(&o->arena);
    return o->n;
}
