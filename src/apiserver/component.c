/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/component.h"

#include "apiserver/kubelet/kubelets.h"
#include "apiserver/lifecycle/lifecycle.h"
#include "apiserver/workloads/workloads.h"

/* The calls of a module whose functions are NOUN_free, NOUN_changed, NOUN_run and so on. */
#define COMPONENT_CALLS(noun)                                                                 \
    static void noun##_component_free(void *self)                                             \
    {                                                                                         \
        noun##_free(self);                                                                    \
    }                                                                                         \
    static void noun##_component_changed(void *self, const struct store_event *event)         \
    {                                                                                         \
        noun##_changed(self, event);                                                          \
    }                                                                                         \
    static void noun##_component_run(void *self, int64_t now)                                 \
    {                                                                                         \
        noun##_run(self, now);                                                                \
    }                                                                                         \
    static void noun##_component_write_done(void *self, uint64_t id, int status, int64_t now) \
    {                                                                                         \
        noun##_write_done(self, id, status, now);                                             \
    }                                                                                         \
    static int64_t noun##_component_next(const void *self)                                    \
    {                                                                                         \
        return noun##_next(self);                                                             \
    }

#define COMPONENT_ROW(noun)                                                 \
    .free = noun##_component_free, .changed = noun##_component_changed,     \
    .run = noun##_component_run, .write_done = noun##_component_write_done, \
    .next = noun##_component_next

/* --- kubelets --------------------------------------------------------------------------------- */

COMPONENT_CALLS(kubelets)

static void *make_kubelets(const struct component_options *options)
{
    return kubelets_new(
        &(struct kubelets_options){.writer = options->writer, .seed = options->seed});
}

static const struct component kubelets_component = {
    .name = "kubelet", .user = "system:node", .make = make_kubelets, COMPONENT_ROW(kubelets)};

/* --- garbage collection, namespaces, service accounts, budgets -------------------------------- */

COMPONENT_CALLS(lifecycle)

static void *make_lifecycle(const struct component_options *options)
{
    return lifecycle_new(&(struct lifecycle_options){.writer = options->writer,
                                                     .store = options->store,
                                                     .resources = options->resources,
                                                     .root_ca = options->ca_pem});
}

static const struct component lifecycle_component = {.name = "kube-controller-manager",
                                                     .user = "system:kube-controller-manager",
                                                     .is_controller = true,
                                                     .make = make_lifecycle,
                                                     COMPONENT_ROW(lifecycle)};

/* --- Deployment, ReplicaSet and so on --------------------------------------------------------- */

COMPONENT_CALLS(workloads)

static void *make_workloads(const struct component_options *options)
{
    return workloads_new(&(struct workloads_options){
        .writer = options->writer, .store = options->store, .seed = options->seed});
}

static const struct component workloads_component = {.name = "kube-controller-manager",
                                                     .user = "system:kube-controller-manager",
                                                     .is_controller = true,
                                                     .make = make_workloads,
                                                     COMPONENT_ROW(workloads)};

/* --- the table -------------------------------------------------------------------------------- */

const struct component *const component_table[] = {
    &kubelets_component, &lifecycle_component,   &workloads_component,
    &volume_component,   &aggregation_component, NULL,
};
