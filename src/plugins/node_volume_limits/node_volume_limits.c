/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeVolumeLimits: rejects nodes that cannot attach the pod's volumes in addition to those they
 * have, by the limits of CSI drivers in CSINode objects.
 *
 * Filter over all nodes reads what is known about each (volume_index.h); filter of one node, which
 * may be a "what if", counts the volumes of the pods it is given.
 */
#include "engine/cycle/cycle.h"
#include "plugins/common/claims.h"
#include "plugins/common/csi_translation.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/node_volume_limits/hints.h"
#include "plugins/node_volume_limits/volume_index.h"

struct node_volume_limits {
    struct plain_plugin base; /* first: hints.c */
    struct cluster *cluster;
    struct volume_index *index;
    berth_reason exceeded;
    berth_state_key state;
    bool scaling; /* VolumeLimitScaling */
};

/* The pod's volumes of one driver. */
struct wanted_driver {
    const struct csi_volume *volume; /* the first of them in `list` */
    size_t first;                    /* index of by_driver */
    int64_t n;                       /* that many */
    bool required;                   /* the driver must be installed on the node */
};

/* The pod's volumes, on nodes with or without a CSINode. */
struct wanted_volumes {
    enum volume_fault fault;
    struct buf why;
    struct volume_list list; /* sorted */
    VEC(const struct csi_volume *) by_driver;
    VEC(struct wanted_driver) drivers; /* in the order of their first volumes in `list` */
    berth_reason refusal;              /* filter_many: why as a number, once it is needed */
};

struct wanted {
    struct wanted_volumes on[2]; /* index: whether there is a CSINode */
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args;
    (void)error;
    struct node_volume_limits *self = xnew(struct node_volume_limits);
    self->base = (struct plain_plugin){host, h, handle_log(h)};
    self->cluster = handle_cluster(h);
    self->index = host->shared(h, &volume_index_type);
    self->exceeded = host->reason(h, BERTH_STR("node(s) exceed max volume count"));
    self->state = host->state_key(h, BERTH_STR("NodeVolumeLimits"));
    self->scaling = handle_feature(h, FEATURE_VOLUME_LIMIT_SCALING);
    *ret_self = self;
    return 0;
}

/* --- the pod's volumes ------------------------------------------------------------------------ */

/* Does the CSIDriver want pods to wait for nodes that have it? */
static bool is_required(const struct node_volume_limits *self, struct str driver)
{
    const struct object *o = objects_get(&self->cluster->objects, KIND_CSI_DRIVER, STR(""), driver);
    const struct csi_driver *d = o ? object_body(o) : NULL;
    return d && d->spec.prevent_pod_scheduling_if_missing &&
           *d->spec.prevent_pod_scheduling_if_missing;
}

static int by_driver(const void *a, const void *b)
{
    const struct csi_volume *const *x = a, *const *y = b;
    int c = str_cmp((*x)->driver, (*y)->driver);
    return c != 0 ? c : (*x > *y) - (*x < *y);
}

static int by_first_volume(const void *a, const void *b)
{
    const struct wanted_driver *x = a, *y = b;
    return (x->volume > y->volume) - (x->volume < y->volume);
}

static void find_drivers(const struct node_volume_limits *self, struct wanted_volumes *w)
{
    for (size_t i = 0; i < w->list.volumes.n; i++)
        vec_push(&w->by_driver, &w->list.volumes.v[i]);
    if (w->by_driver.n > 1)
        qsort(w->by_driver.v, w->by_driver.n, sizeof(w->by_driver.v[0]), by_driver);
    for (size_t i = 0; i < w->by_driver.n; i++) {
        const struct csi_volume *v = w->by_driver.v[i];
        if (w->drivers.n && str_eq(vec_last(&w->drivers).volume->driver, v->driver)) {
            vec_last(&w->drivers).n++;
            continue;
        }
        bool required = self->scaling && is_required(self, v->driver);
        vec_push(&w->drivers, (struct wanted_driver){v, i, 1, required});
    }
    if (w->drivers.n > 1)
        qsort(w->drivers.v, w->drivers.n, sizeof(w->drivers.v[0]), by_first_volume);
}

static void find_volumes(const struct node_volume_limits *self, const struct pod *pod,
                         bool migrated, struct wanted_volumes *w)
{
    struct volume_lookup lookup = {
        .objects = &self->cluster->objects, .migrated = migrated, .is_new = true};
    volume_list_init(&w->list);
    w->fault = volume_list_add_pod(&w->list, &lookup, pod, &w->why);
    volume_list_sort(&w->list);
    if (w->fault == VOLUME_OK)
        find_drivers(self, w);
}

static struct wanted *find_wanted(const struct node_volume_limits *self, const struct pod *pod)
{
    struct wanted *wanted = xnew(struct wanted);
    for (int i = 0; i < 2; i++)
        find_volumes(self, pod, i, &wanted->on[i]);
    return wanted;
}

static void free_wanted(void *data)
{
    struct wanted *wanted = data;
    for (int i = 0; i < 2; i++) {
        volume_list_release(&wanted->on[i].list);
        vec_release(&wanted->on[i].drivers);
        vec_release(&wanted->on[i].by_driver);
        buf_release(&wanted->on[i].why);
    }
    free(wanted);
}

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    (void)status;
    const struct node_volume_limits *self = ctx;
    const struct pod_spec *spec = &pod->pod->spec;
    for (size_t i = 0; i < spec->volumes.n; i++)
        if (volume_is_attachable(&spec->volumes.v[i])) {
            self->base.host->state_write(cycle, self->state, find_wanted(self, pod->pod), NULL,
                                         free_wanted);
            return BERTH_SUCCESS;
        }
    return BERTH_SKIP;
}

/* --- one node --------------------------------------------------------------------------------- */

enum judgement {
    FITS,
    EXCEEDED,       /* too many volumes */
    NOT_INSTALLED,  /* *ret_driver is missing */
    POD_FAULT,      /* the pod's volumes are unknown */
    EXISTING_FAULT, /* those of a pod on the node are */
};

/* Volumes of a driver that pods on the node use already are not new. */
static int64_t count_shared(const struct wanted_volumes *w, const struct wanted_driver *d,
                            const struct node_volumes *node)
{
    int64_t n = 0;
    for (size_t i = 0; i < (size_t)d->n; i++)
        n += volume_list_has(&node->list, w->by_driver.v[d->first + i]);
    return n;
}

static bool fits_limit(const struct wanted_volumes *w, const struct wanted_driver *d,
                       const struct node_volumes *node)
{
    const struct node_driver *limit = node_volumes_driver(node, d->volume->driver);
    if (!limit || !limit->limited || limit->attached + d->n <= limit->max)
        return true;
    int64_t added = d->n - count_shared(w, d, node);
    return added == 0 || limit->attached + added <= limit->max;
}

static enum judgement judge(const struct wanted_volumes *w, const struct node_volumes *node,
                            struct str *ret_driver)
{
    if (w->fault != VOLUME_OK)
        return POD_FAULT;
    for (size_t i = 0; i < w->drivers.n; i++)
        if (w->drivers.v[i].required &&
            !node_volumes_driver(node, w->drivers.v[i].volume->driver)) {
            *ret_driver = w->drivers.v[i].volume->driver;
            return NOT_INSTALLED;
        }
    if (!w->drivers.n || !node->n_limited)
        return FITS;
    if (node->failed)
        return EXISTING_FAULT;
    for (size_t i = 0; i < w->drivers.n; i++)
        if (!fits_limit(w, &w->drivers.v[i], node))
            return EXCEEDED;
    return FITS;
}

static enum berth_code report(const struct node_volume_limits *self, enum judgement judgement,
                              const struct wanted_volumes *w, const struct node_volumes *node,
                              struct str driver, struct berth_status *status)
{
    const struct berth_host *host = self->base.host;
    switch (judgement) {
    case FITS:
        return BERTH_SUCCESS;
    case EXCEEDED:
        host->status_reason(status, self->exceeded);
        return BERTH_UNSCHEDULABLE;
    case NOT_INSTALLED:
        status_printf(host, status, "%.*s CSI driver is not installed on the node",
                      STR_ARG(driver));
        return BERTH_UNSCHEDULABLE;
    case POD_FAULT:
        host->status_text(status, abi_str(buf_str(&w->why)));
        return w->fault == VOLUME_NO_CLAIM ? BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE : BERTH_ERROR;
    case EXISTING_FAULT:
        host->status_text(status, abi_str(buf_str(&node->why)));
        return BERTH_ERROR;
    }
    return BERTH_SUCCESS;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct node_volume_limits *self = ctx;
    struct wanted *own = NULL;
    const struct wanted *wanted = self->base.host->state_read(cycle, self->state);
    struct node_volumes volumes;
    struct str driver = {0};
    /* Filter may be enabled without PreFilter. */
    if (!wanted)
        wanted = own = find_wanted(self, pod->pod);
    node_volumes_init(&volumes);
    node_volumes_collect(self->index, node, NULL, NULL, &volumes);
    const struct wanted_volumes *w = &wanted->on[volumes.csi_node != NULL];
    enum judgement judgement = judge(w, &volumes, &driver);
    enum berth_code code = report(self, judgement, w, &volumes, driver, status);
    node_volumes_release(&volumes);
    if (own)
        free_wanted(own);
    return code;
}

/* --- all nodes -------------------------------------------------------------------------------- */

/* The reason of a refusal that has a text of its own. */
static berth_reason text_reason(const struct node_volume_limits *self,
                                const struct berth_cycle *cycle, enum judgement judgement,
                                struct wanted_volumes *w, struct str driver,
                                struct berth_status *status)
{
    if (judgement == POD_FAULT && w->refusal)
        return w->refusal;
    status_clear(status);
    report(self, judgement, w, NULL, driver, status);
    berth_reason reason = status_reason(status, &cycle->framework->reasons);
    status_clear(status);
    if (judgement == POD_FAULT)
        w->refusal = reason;
    return reason;
}

struct batch_filter {
    const struct node_volume_limits *self;
    const struct berth_cycle *cycle;
    struct wanted *wanted;
    struct berth_filter_batch *batch;
    struct berth_status *status;
    uint64_t *broken; /* nodes with an error; NULL: none */
};

static void filter_slot(struct batch_filter *b, uint32_t slot)
{
    const struct node_volume_limits *self = b->self;
    const struct node_volumes *node = volume_index_node(self->index, slot);
    struct wanted_volumes *w = &b->wanted->on[node->csi_node != NULL];
    struct str driver = {0};
    enum judgement judgement = judge(w, node, &driver);
    uint64_t bit = (uint64_t)1 << slot % 64;
    if (judgement == FITS)
        return;
    if (judgement == EXCEEDED) {
        batch_refuse(b->batch, slot / 64, bit, BERTH_UNSCHEDULABLE, self->exceeded);
    } else if (judgement == EXISTING_FAULT ||
               (judgement == POD_FAULT && w->fault == VOLUME_ERROR)) {
        if (!b->broken)
            b->broken = xcalloc(BITSET_WORDS(b->batch->columns->n), sizeof(uint64_t));
        word_set(b->broken, slot);
        batch_refuse(b->batch, slot / 64, bit, BERTH_ERROR, 0);
    } else {
        batch_refuse(b->batch, slot / 64, bit,
                     judgement == POD_FAULT ? BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE
                                            : BERTH_UNSCHEDULABLE,
                     text_reason(self, b->cycle, judgement, w, driver, b->status));
    }
}

/* The first node in the order of the attempt ends it; its error is the status. */
static void report_broken(const struct batch_filter *b)
{
    size_t i = 0;
    while (i < b->cycle->n_nodes && !word_bit(b->broken, cycle_slot(b->cycle, i)))
        i++;
    if (i == b->cycle->n_nodes)
        return; /* not a node of the attempt */
    uint32_t slot = cycle_slot(b->cycle, i);
    const struct node_volumes *node = volume_index_node(b->self->index, slot);
    const struct wanted_volumes *w = &b->wanted->on[node->csi_node != NULL];
    status_clear(b->status);
    report(b->self, w->fault != VOLUME_OK ? POD_FAULT : EXISTING_FAULT, w, node, (struct str){0},
           b->status);
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    const struct node_volume_limits *self = ctx;
    struct wanted *own = NULL;
    struct batch_filter b = {self,  cycle,  self->base.host->state_read(cycle, self->state),
                             batch, status, NULL};
    if (!b.wanted)
        b.wanted = own = find_wanted(self, pod->pod);
    for (size_t w = 0; w < BITSET_WORDS(batch->columns->n); w++)
        for (uint64_t bits = batch->feasible[w]; bits; bits &= bits - 1)
            filter_slot(&b, (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(bits));
    if (b.broken)
        report_broken(&b);
    free(b.broken);
    if (own)
        free_wanted(own);
    return BERTH_SUCCESS;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct node_volume_limits *self = ctx;
    volume_limits_register(self->base.host, r);
}

const struct berth_plugin node_volume_limits_plugin = {
    PLUGIN_HEAD("NodeVolumeLimits"),
    .create = create,
    .destroy = free,
    .events = events,
    .pre_filter = pre_filter,
    .filter = filter,
    .filter_many = filter_many,
};
