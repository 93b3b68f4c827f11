/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/setup.h"

/* --- extenders -------------------------------------------------------------------------------- */

static int add_extender(struct setup *s, const struct setup_options *options, size_t i,
                        struct err *reterr)
{
    const struct extender *spec = &options->extenders[i];
    int id = framework_plugin_id(s->framework, spec->name);
    if (id < 0)
        return err_set(reterr, id, "extender \"%.*s\": too many plugins and extenders",
                       STR_ARG(spec->name));
    vec_push(&s->extenders, (struct engine_extender){*spec, i, (uint16_t)id});
    return 0;
}

/* Those that matter are asked first. */
static int make_extenders(struct setup *s, const struct setup_options *options, struct err *reterr)
{
    int r = 0;
    if (!options->n_extenders)
        return 0;
    if (!s->framework->ports.call_extender)
        return err_set(reterr, -EINVAL, "there are extenders and nobody to call them");
    for (int ignorable = 0; ignorable < 2; ignorable++)
        for (size_t i = 0; r == 0 && i < options->n_extenders; i++)
            if (options->extenders[i].ignorable == (ignorable == 1))
                r = add_extender(s, options, i, reterr);
    return r;
}

/*
 * The plugin that pods blame when extenders turned nodes down. It does nothing; having no word on
 * events, it is told of all of them.
 */
static int add_extender_plugin(struct setup *s, struct profile *p, struct err *reterr)
{
    static const struct berth_plugin plugin = {.name = EXTENDER_PLUGIN};
    int id = framework_plugin_id(s->framework, STR(EXTENDER_PLUGIN));
    if (id < 0)
        return err_set(reterr, id, "too many plugins and extenders");
    struct berth_handle *h = xnew(struct berth_handle);
    *h = (struct berth_handle){.plugin = &plugin,
                               .framework = s->framework,
                               .profile = p,
                               .id = (uint16_t)id,
                               .weight = 1};
    vec_push(&p->instances, h);
    s->extender_plugin = h->id;
    return 0;
}

/* --- profiles --------------------------------------------------------------------------------- */

static struct str sort_args(const struct setup *s, size_t profile, const char *plugin)
{
    const struct profile_config *config = &s->config->profiles.v[profile];
    for (size_t i = 0; i < config->plugin_config.n; i++)
        if (str_is(config->plugin_config.v[i].name, plugin))
            return config->plugin_config.v[i].args;
    return STR("");
}

/* There is one queue: all profiles have to agree on its order. */
static int check_queue_sort(const struct setup *s, size_t i, struct err *reterr)
{
    const struct profile *p = s->profiles.v[i];
    const char *sort = p->at[POINT_QUEUE_SORT].v[0]->plugin->name;
    const char *first = s->profiles.v[0]->at[POINT_QUEUE_SORT].v[0]->plugin->name;
    if (strcmp(sort, first) != 0)
        return err_set(reterr, -EINVAL,
                       "different queue sort plugins for profile \"%.*s\": \"%s\", first: \"%s\"",
                       STR_ARG(p->scheduler_name), sort, first);
    if (!str_eq(sort_args(s, i, sort), sort_args(s, 0, sort)))
        return err_set(reterr, -EINVAL, "different queue sort plugin args for profile \"%.*s\"",
                       STR_ARG(p->scheduler_name));
    return 0;
}

static int make_profile(struct setup *s, const struct registry *registry, size_t i,
                        struct err *reterr)
{
    struct profile *p;
    int r = profile_new(s, registry, &s->config->profiles.v[i], &p, reterr);
    if (r < 0)
        return r;
    if (setup_profile(s, p->scheduler_name)) {
        r = err_set(reterr, -EINVAL, "duplicate profile with scheduler name \"%.*s\"",
                    STR_ARG(p->scheduler_name));
        profile_free(p);
        return r;
    }
    vec_push(&s->profiles, p);
    return check_queue_sort(s, i, reterr);
}

static int make_profiles(struct setup *s, const struct registry *registry, struct err *reterr)
{
    for (size_t i = 0; i < s->config->profiles.n; i++) {
        int r = make_profile(s, registry, i, reterr);
        if (r == 0 && s->extenders.n)
            r = add_extender_plugin(s, s->profiles.v[i], reterr);
        if (r < 0) {
            err_prefix(reterr, r, "profiles[%zu]", i);
            return s->config->file ? err_prefix(reterr, r, "%s", s->config->file) : r;
        }
        struct profile *p = s->profiles.v[i];
        for (size_t k = 0; k < p->instances.n; k++)
            s->handles[p->instances.v[k]->id] = p->instances.v[k];
    }
    return 0;
}

struct profile *setup_profile(const struct setup *s, struct str scheduler_name)
{
    for (size_t i = 0; i < s->profiles.n; i++)
        if (str_eq(s->profiles.v[i]->scheduler_name, scheduler_name))
            return s->profiles.v[i];
    return NULL;
}

/* --- extender calls and log ------------------------------------------------------------------- */

void setup_call_extender(const struct setup *s, const struct engine_extender *x,
                         struct extender_call *call)
{
    const struct ports *ports = &s->framework->ports;
    call->extender = x->given;
    call->owner = s->owner;
    ports->call_extender(ports->ctx, call);
}

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

void setup_log_plugins(const struct setup *s)
{
    const struct engine_log *log = &s->framework->log;
    struct buf text = BUF_INIT;
    for (size_t i = 0; engine_log_on(log, 2) && i < s->profiles.n; i++) {
        buf_clear(&text);
        write_plugins(s->profiles.v[i], &text);
        engine_log(log, 2, "the scheduler starts to work with those plugins",
                   KV_JSON("Plugins", buf_str(&text)));
    }
    buf_release(&text);
}

/* --- making and ending ------------------------------------------------------------------------ */

int setup_new(struct framework *fw, const struct setup_options *options, struct setup **ret_setup,
              struct err *reterr)
{
    struct setup *s = xnew(struct setup);
    s->framework = fw;
    s->config = options->config;
    s->owner = options->owner;
    int r = make_extenders(s, options, reterr);
    if (r == 0)
        r = make_profiles(s, options->registry, reterr);
    if (r < 0) {
        setup_free(s);
        return r;
    }
    *ret_setup = s;
    return 0;
}

struct setup *setup_free(struct setup *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->profiles.n; i++)
        profile_free(s->profiles.v[i]);
    vec_release(&s->profiles);
    vec_release(&s->extenders);
    free(s);
    return NULL;
}
