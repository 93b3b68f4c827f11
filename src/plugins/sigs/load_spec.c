/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/load_spec.h"

static const struct field metric_provider_fields[] = {
    F_ONE(struct metric_provider, type, "type", 0, STR),
    F_ONE(struct metric_provider, address, "address", 0, STR),
    F_ONE(struct metric_provider, token, "token", 0, STR),
    F_PTR(struct metric_provider, insecure_skip_verify, "insecureSkipVerify", 0, BOOL),
};
const struct type metric_provider_type =
    TYPE("MetricProviderSpec", struct metric_provider, metric_provider_fields);

void load_spec_fill(struct load_spec *spec, struct arena *a)
{
    struct metric_provider *p = &spec->metric_provider;
    if (!spec->watcher_address && str_empty(p->type))
        p->type = STR("KubernetesMetricsServer");
    if (str_is(p->type, "Prometheus") && !p->insecure_skip_verify) {
        p->insecure_skip_verify = arena_new(a, bool);
        *p->insecure_skip_verify = true;
    }
}

void load_spec_check(const struct load_spec *spec, struct error_list *c)
{
    struct str type = spec->metric_provider.type;
    if (spec->watcher_address && !str_empty(*spec->watcher_address))
        return;
    if (str_is(type, "SignalFx"))
        error_list_add(c,
                       "metricProvider.type: Unsupported value: \"SignalFx\": run a load watcher "
                       "for it and set watcherAddress");
    else if (!str_is(type, "KubernetesMetricsServer") && !str_is(type, "Prometheus"))
        error_list_add(c,
                       "metricProvider.type: Invalid value: \"%.*s\": invalid MetricProvider.Type, "
                       "got %.*s",
                       STR_ARG(type), STR_ARG(type));
}
