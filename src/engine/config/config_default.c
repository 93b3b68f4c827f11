/* SPDX-License-Identifier: Apache-2.0 */
#include "api/pod.h"
#include "base/time.h"
#include "engine/config/args_kind.h"
#include "engine/config/config_internal.h"

#define SET_DEFAULT(a, ptr, value)                                                  \
    do {                                                                            \
        if (!(ptr)) {                                                               \
            (ptr) = arena_alloc((a), sizeof(*(ptr)), _Alignof(__typeof__(*(ptr)))); \
            *(ptr) = (value);                                                       \
        }                                                                           \
    } while (0)

static void default_str(struct str *s, const char *value)
{
    if (str_empty(*s))
        *s = str_of(value);
}

static void default_duration(int64_t *ns, int64_t seconds)
{
    if (*ns == 0)
        *ns = seconds * NSEC_PER_SEC;
}

static void default_leader_election(struct leader_election_config *le, struct arena *a)
{
    SET_DEFAULT(a, le->leader_elect, true);
    default_duration(&le->lease_duration, 15);
    default_duration(&le->renew_deadline, 10);
    default_duration(&le->retry_period, 2);
    default_str(&le->resource_lock, "leases");
    default_str(&le->resource_name, "kube-scheduler");
    default_str(&le->resource_namespace, "kube-system");
}

static void default_profiles(struct scheduler_config *c, struct arena *a)
{
    if (c->profiles.n == 0) {
        c->profiles.v = arena_new(a, struct profile_config);
        c->profiles.n = 1;
    }
    /* Upstream: only a single profile has a default name. */
    if (c->profiles.n == 1)
        SET_DEFAULT(a, c->profiles.v[0].scheduler_name, STR(DEFAULT_SCHEDULER_NAME));
}

void config_fill(struct scheduler_config *c, struct arena *a)
{
    c->kind = STR(CONFIG_KIND);
    c->api_version = STR(CONFIG_API_VERSION);
    if (str_empty(c->version))
        c->version = c->api_version;
    SET_DEFAULT(a, c->parallelism, 16);
    default_leader_election(&c->leader_election, a);
    default_str(&c->client_connection.content_type, "application/vnd.kubernetes.protobuf");
    SET_DEFAULT(a, c->enable_profiling, true);
    SET_DEFAULT(a, c->enable_contention_profiling, *c->enable_profiling);
    SET_DEFAULT(a, c->percentage_of_nodes_to_score, 0);
    SET_DEFAULT(a, c->pod_initial_backoff_seconds, 1);
    SET_DEFAULT(a, c->pod_max_backoff_seconds, 10);
    default_profiles(c, a);
}

void config_default(struct scheduler_config *config, struct arena *a)
{
    *config = (struct scheduler_config){0};
    config_fill(config, a);
}
