/* SPDX-License-Identifier: Apache-2.0 */
/* Says what the profiles are made of. */
#include "engine/internal.h"

static void write_point(const struct profile *p, enum point point, struct buf *out)
{
    const handle_list *list = &p->at[point];
    bool weighs = point == POINT_SCORE || point == POINT_PLACEMENT_SCORE;
    buf_add_printf(out, "\"%s\":{\"Enabled\":%s", point_table[point].name, list->n ? "[" : "null");
    for (size_t i = 0; i < list->n; i++)
        buf_add_printf(out, "%s{\"Name\":\"%s\",\"Weight\":%lld}", i ? "," : "",
                       list->v[i]->plugin->name, weighs ? (long long)list->v[i]->weight : 0LL);
    buf_add_printf(out, "%s,\"Disabled\":null}", list->n ? "]" : "");
}

static void write_plugins(const struct profile *p, struct buf *out)
{
    buf_add_char(out, '{');
    for (int i = 0; i < POINT_COUNT; i++) {
        if (i == POINT_PLACEMENT_GENERATE)
            buf_add_cstr(out, ",\"MultiPoint\":{\"Enabled\":null,\"Disabled\":null}");
        if (i)
            buf_add_char(out, ',');
        write_point(p, (enum point)i, out);
    }
    buf_add_char(out, '}');
}

void engine_log_plugins(const struct engine *e)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; engine_log_on(&e->log, 2) && i < e->setup->profiles.n; i++) {
        buf_clear(&text);
        write_plugins(e->setup->profiles.v[i], &text);
        engine_log(&e->log, 2, "the scheduler starts to work with those plugins",
                   KV_JSON("Plugins", buf_str(&text)));
    }
    buf_release(&text);
}
