/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ImageLocality: prefers nodes that have the pod's images, by their size and by the share of nodes
 * that have them, so that a rare image does not draw all pods to one node.
 */
#include "engine/framework/framework.h"
#include "plugins/common/go_math.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

#define MB                 ((int64_t)1024 * 1024)
#define MIN_SIZE           (23 * MB)   /* upstream: minThreshold */
#define MAX_CONTAINER_SIZE (1000 * MB) /* upstream: maxContainerThreshold */

#define FEW_IMAGES 16 /* up to this many images, the nodes of each are cached */

struct image_locality {
    const struct cache *cache;
    struct node_memos *memos;
    struct buf name, key; /* scratch */
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)host;
    (void)args;
    (void)error;
    struct image_locality *self = xnew(struct image_locality);
    self->cache = handle_cluster(h)->cache;
    self->memos = &handle_cluster(h)->memos;
    *ret_self = self;
    return 0;
}

static void destroy(void *ctx)
{
    struct image_locality *self = ctx;
    buf_release(&self->name);
    buf_release(&self->key);
    free(self);
}

/* --- images of the pod ------------------------------------------------------------------------ */

static size_t count_images(const struct pod_spec *spec)
{
    return spec->init_containers.n + spec->containers.n + spec->volumes.n;
}

/* The i-th image, of containers and then of volumes; false if the volume is no image. */
static bool image_at(const struct pod_spec *spec, size_t i, struct str *ret_image)
{
    if (i < spec->init_containers.n) {
        *ret_image = spec->init_containers.v[i].image;
        return true;
    }
    i -= spec->init_containers.n;
    if (i < spec->containers.n) {
        *ret_image = spec->containers.v[i].image;
        return true;
    }
    const struct image_volume_source *image = spec->volumes.v[i - spec->containers.n].source.image;
    if (image)
        *ret_image = image->reference;
    return image;
}

static size_t after_last(struct str s, char c)
{
    size_t n = s.n;
    while (n > 0 && s.p[n - 1] != c)
        n--;
    return n;
}

/* Upstream: normalizedImageName. Adds the default tag, as nodes report images. */
static struct str full_name(struct str image, struct buf *out)
{
    if (after_last(image, ':') > after_last(image, '/'))
        return image;
    buf_clear(out);
    buf_add_str(out, image);
    buf_add_cstr(out, ":latest");
    return buf_str(out);
}

/* --- score ------------------------------------------------------------------------------------ */

/* Upstream: scaledImageScore. The size, scaled by the share of nodes that have the image. */
static int64_t image_worth(const struct image_state *image, size_t total_nodes)
{
    double spread = (double)image->n_nodes / (double)total_nodes;
    return go_int64((double)image->size * spread);
}

/* Upstream: calculatePriority. */
static int64_t score_of(int64_t sum, const struct pod_spec *spec)
{
    int64_t max = MAX_CONTAINER_SIZE * (int64_t)(spec->init_containers.n + spec->containers.n);
    if (sum < MIN_SIZE)
        sum = MIN_SIZE;
    else if (sum > max)
        sum = max;
    return go_div(go_mul(MAX_NODE_SCORE, sum - MIN_SIZE), max - MIN_SIZE);
}

static bool has_image(const struct berth_node *node, const struct image_state *image)
{
    for (size_t i = 0; i < node->images.n; i++)
        if (node->images.v[i] == image)
            return true;
    return false;
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct image_locality *self = ctx;
    const struct pod_spec *spec = &pod->pod->spec;
    struct buf name = BUF_INIT;
    int64_t sum = 0;
    for (size_t i = 0; i < count_images(spec); i++) {
        struct str text;
        if (!image_at(spec, i, &text))
            continue;
        const struct image_state *image = map_get(&self->cache->images, full_name(text, &name));
        if (image && has_image(node, image))
            sum = go_add(sum, image_worth(image, self->cache->order.n));
    }
    buf_release(&name);
    *ret_score = score_of(sum, spec);
    return BERTH_SUCCESS;
}

static int64_t ask_has_image(const void *ask, const struct berth_node *node)
{
    return has_image(node, ask);
}

/* Adds the image's score to the nodes that have it. */
static void add_worth(struct image_locality *self, const struct image_state *image,
                      struct berth_score_batch *batch)
{
    /* The set of nodes is cached. The number changes with every node that pulls the image and is
     * read from the cache. */
    key_begin(&self->key, STR("ImageLocality"));
    key_add(&self->key, str_of(image->name));
    const uint64_t *has = node_memo_set(self->memos, buf_str(&self->key), ask_has_image, image);
    int64_t worth = image_worth(image, self->cache->order.n);
    for (size_t i = 0; i < batch->n; i++) {
        uint32_t slot = batch->slots[i];
        if (has[slot / 64] >> (slot % 64) & 1)
            batch->scores[i] = go_add(batch->scores[i], worth);
    }
}

/* The pod's i-th image; NULL if no node has it. */
static struct image_state *find_image(struct image_locality *self, const struct pod_spec *spec,
                                      size_t i)
{
    struct str text;
    return image_at(spec, i, &text) ? map_get(&self->cache->images, full_name(text, &self->name))
                                    : NULL;
}

/* Image by image; true if a node has one. */
static bool sum_few(struct image_locality *self, const struct pod_spec *spec,
                    struct berth_score_batch *batch)
{
    bool any = false;
    for (size_t i = 0; i < count_images(spec); i++) {
        const struct image_state *image = find_image(self, spec, i);
        if (image)
            add_worth(self, image, batch);
        any |= image != NULL;
    }
    return any;
}

/* For a pod with many images: sets the score of each image and sums them up by node. */
static bool sum_many(struct image_locality *self, const struct pod_spec *spec,
                     struct berth_score_batch *batch)
{
    bool any = false;
    for (size_t i = 0; i < count_images(spec); i++) {
        struct image_state *image = find_image(self, spec, i);
        if (image)
            image->worth = go_add(image->worth, image_worth(image, self->cache->order.n));
        any |= image != NULL;
    }
    for (size_t k = 0; any && k < batch->n; k++) {
        const struct berth_node *node = batch->columns->nodes[batch->slots[k]];
        for (size_t i = 0; i < node->images.n; i++)
            batch->scores[k] = go_add(batch->scores[k], node->images.v[i]->worth);
    }
    for (size_t i = 0; any && i < count_images(spec); i++) {
        struct image_state *image = find_image(self, spec, i);
        if (image)
            image->worth = 0;
    }
    return any;
}

static enum berth_code score_many(void *ctx, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status)
{
    (void)cycle;
    (void)status;
    struct image_locality *self = ctx;
    const struct pod_spec *spec = &pod->pod->spec;
    memset(batch->scores, 0, batch->n * sizeof(int64_t));
    bool any =
        count_images(spec) > FEW_IMAGES ? sum_many(self, spec, batch) : sum_few(self, spec, batch);
    int64_t none = score_of(0, spec);
    for (size_t i = 0; (any || none) && i < batch->n; i++)
        batch->scores[i] = batch->scores[i] ? score_of(batch->scores[i], spec) : none;
    return BERTH_SUCCESS;
}

const struct berth_plugin image_locality_plugin = {
    PLUGIN_HEAD("ImageLocality"), .create = create, .destroy = destroy,
    .events = no_events,          .score = score,   .score_many = score_many,
};
