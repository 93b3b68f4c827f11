/* SPDX-License-Identifier: Apache-2.0 */
/*
 * score.c - PreScore, Score and NormalizeScore of PodTopologySpread (upstream: scoring.go).
 *
 * The raw score of a node is the sum over the ScheduleAnyway constraints of
 * pods in its domain * log(number of domains + 2) + maxSkew - 1; fewer pods are better.
 */
#include <math.h>

#include "plugins/common/go_math.h"
#include "plugins/pod_topology_spread/spread.h"

#define INVALID_SCORE (-1)
#define BLOCK         256 /* nodes per pass: their sums are on the stack */

struct state {
    struct arena arena; /* contains the state, too */
    struct spread_constraints constraints;
    struct spread_domains *domains;
    double *weights;
    bool all_keys; /* nodes without a key are ignored */
    bool ignores_all;
    uint64_t *ignored; /* a set of slots; NULL: none (upstream: IgnoredNodes) */
};

static void free_state(void *data)
{
    struct arena arena = ((struct state *)data)->arena;
    arena_release(&arena);
}

static inline bool ignores(const struct state *s, uint32_t slot)
{
    return s->ignored && s->ignored[slot / 64] >> (slot % 64) & 1;
}

/* The slots to be scored that lack a key. */
static void find_ignored(struct state *s, size_t n_all, const uint32_t *slots, size_t n)
{
    s->ignored = arena_array(&s->arena, uint64_t, BITSET_WORDS(n_all));
    if (s->ignores_all) {
        memset(s->ignored, 0xff, BITSET_WORDS(n_all) * sizeof(*s->ignored));
        return;
    }
    for (size_t i = 0; i < s->constraints.list.n; i++)
        for (size_t k = 0; k < n; k++)
            if (!topology_domain(s->domains[i].topology, slots[k]))
                s->ignored[slots[k] / 64] |= (uint64_t)1 << (slots[k] % 64);
}

/* --- weights ---------------------------------------------------------------------------------- */

/*
 * The natural logarithm with the same bits as Go's math.Log, which libm's log does not have. x is
 * at least 1. With x = 2^k (1 + f), and 1 + f between sqrt(1/2) and sqrt(2), and s = f / (2 + f):
 * log(1 + f) = 2s + 2/3 s^3 + 2/5 s^5 + …, of which the polynomial is the best approximation with
 * seven terms (Sun's fdlibm, whence also the split of log 2 into two numbers).
 */
static double natural_log(double x)
{
    static const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    static const double c[] = {
        6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
        2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
        1.479819860511658591e-01,
    };
    int exponent;
    double f = frexp(x, &exponent);
    if (f < M_SQRT1_2) {
        f *= 2;
        exponent--;
    }
    f -= 1;
    double k = exponent, s = f / (2 + f), s2 = s * s, s4 = s2 * s2;
    double odd = s2 * (c[0] + s4 * (c[2] + s4 * (c[4] + s4 * c[6])));
    double even = s4 * (c[1] + s4 * (c[3] + s4 * c[5]));
    double half_square = 0.5 * f * f;
    double series = s * (half_square + (odd + even)) + k * ln2_low;
    return k * ln2_high - ((half_square - series) - f);
}

/* The number of domains with feasible nodes (upstream: topoSize of initPreScoreState). */
static size_t count_domains(struct state *s, size_t i, const uint32_t *slots, size_t n)
{
    const struct topology *t = s->domains[i].topology;
    bool *seen = arena_array(&s->arena, bool, t->n_domains);
    /* Upstream: a missing label counts as an empty value. */
    uint32_t without = topology_find(t, STR(""));
    size_t count = 0;
    for (size_t k = 0; k < n; k++) {
        if (ignores(s, slots[k]))
            continue;
        uint32_t domain = topology_domain(t, slots[k]);
        domain = domain ? domain : without;
        count += !seen[domain];
        seen[domain] = true;
    }
    return count;
}

/* Upstream: topologyNormalizingWeight. */
static void find_weights(struct state *s, const uint32_t *slots, size_t n)
{
    size_t n_ignored = 0;
    for (size_t k = 0; s->ignored && k < n; k++)
        n_ignored += ignores(s, slots[k]);
    for (size_t i = 0; i < s->constraints.list.n; i++) {
        size_t size = spread_is_per_node(&s->constraints.list.v[i]) ? n - n_ignored
                                                                    : count_domains(s, i, slots, n);
        s->weights[i] = natural_log((double)(size + 2));
    }
}

/* --- pre_score -------------------------------------------------------------------------------- */

static void fill_state(struct spread *self, const struct berth_pod *pod, const uint32_t *slots,
                       size_t n_slots, struct state *s)
{
    const struct cache *cache = self->cluster->cache;
    size_t n = s->constraints.list.n;
    bool some_lack_keys = false;
    struct spread_scope scope = {
        .constraints = s->constraints,
        .pod = pod,
        .all_keys = s->all_keys,
        .for_scores = true,
    };
    s->domains = arena_array(&s->arena, struct spread_domains, n);
    s->weights = arena_array(&s->arena, double, n);
    s->ignores_all = !spread_domains_fill(self, &scope, &s->arena, s->domains);
    for (size_t i = 0; s->all_keys && i < n; i++)
        some_lack_keys |= s->domains[i].topology->n_nodes < cache->tree.n_nodes;
    if (some_lack_keys || s->ignores_all)
        find_ignored(s, cache->columns.n, slots, n_slots);
    if (!s->ignores_all)
        find_weights(s, slots, n_slots);
}

enum berth_code spread_pre_score(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    struct spread *self = ctx;
    struct arena arena;
    struct spread_constraints constraints;
    struct buf why = BUF_INIT;
    enum berth_code code = BERTH_SUCCESS;
    arena_init(&arena, 1024);
    if (spread_constraints_compile(self, pod->pod, SPREAD_SCHEDULE_ANYWAY, &arena, &constraints,
                                   &why) < 0)
        code = spread_fail(self, status, "calculating preScoreState", &why);
    else if (constraints.list.n == 0)
        code = BERTH_SKIP;
    if (code == BERTH_SUCCESS) {
        struct state *s = arena_new(&arena, struct state);
        s->arena = arena;
        s->constraints = constraints;
        /* Upstream: requireAllTopologies. System defaults also apply to nodes without a zone. */
        s->all_keys = pod->pod->spec.topology_spread_constraints.n > 0 || !self->system_defaults;
        fill_state(self, pod, slots, n, s);
        self->host->state_write(cycle, self->score_key, s, NULL, free_state);
    } else {
        arena_release(&arena);
    }
    buf_release(&why);
    return code;
}

/* --- score ------------------------------------------------------------------------------------ */

/* As Go's math.Round and conversion to int64: halves away from zero. */
static int64_t round_score(double x)
{
    if (x <= -0x1p52 || x >= 0x1p52)
        return go_int64(x);
    int64_t whole = (int64_t)x;
    double rest = x - (double)whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

/* One constraint's part of the score of a node (upstream: scoreForCount). */
static double share(const struct state *s, size_t i, uint32_t slot)
{
    const struct spread_constraint *c = &s->constraints.list.v[i];
    const struct spread_domains *d = &s->domains[i];
    uint32_t domain = topology_domain(d->topology, slot), pods;
    if (!domain)
        return 0;
    if (spread_is_per_node(c))
        pods = d->pods ? pod_count_at(d->pods, slot) : 0;
    else
        pods = domain < d->n ? d->counts[domain] : 0;
    double weighted = (double)pods * s->weights[i];
    return weighted + (double)(int32_t)((uint32_t)c->max_skew - 1);
}

static int64_t score_of(const struct state *s, uint32_t slot)
{
    double sum = 0;
    if (ignores(s, slot))
        return 0;
    for (size_t i = 0; i < s->constraints.list.n; i++)
        sum += share(s, i, slot);
    return round_score(sum);
}

/* The profile enables Score without PreScore. */
static enum berth_code unprepared(const struct spread *self, struct berth_status *status)
{
    self->host->status_text(
        status,
        BERTH_STR("error reading \"PreScorePodTopologySpread\" from cycleState: not found"));
    return BERTH_ERROR;
}

enum berth_code spread_score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)pod;
    const struct spread *self = ctx;
    const struct state *s = self->host->state_read(cycle, self->score_key);
    if (!s)
        return unprepared(self, status);
    *ret_score = score_of(s, node->slot);
    return BERTH_SUCCESS;
}

/* Adds the parts of one constraint; called in the order of constraints, so that sums round alike.
 */
static void add_shares(const struct state *s, size_t i, const uint32_t *slots, size_t n,
                       double *sums)
{
    const struct spread_constraint *c = &s->constraints.list.v[i];
    const struct spread_domains *d = &s->domains[i];
    const struct topology *t = d->topology;
    double weight = s->weights[i], skew = (double)(int32_t)((uint32_t)c->max_skew - 1);
    bool per_node = spread_is_per_node(c);
    for (size_t k = 0; k < n; k++) {
        uint32_t slot = slots[k], domain = topology_domain(t, slot);
        if (!domain)
            continue;
        uint32_t pods = !per_node ? (domain < d->n ? d->counts[domain] : 0)
                        : d->pods ? pod_count_at(d->pods, slot)
                                  : 0;
        double weighted = (double)pods * weight;
        sums[k] += weighted + skew;
    }
}

enum berth_code spread_score_many(void *ctx, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status)
{
    (void)pod;
    const struct spread *self = ctx;
    struct state *s = self->host->state_read(cycle, self->score_key);
    if (!s)
        return unprepared(self, status);
    if (s->ignores_all) {
        memset(batch->scores, 0, batch->n * sizeof(*batch->scores));
        return BERTH_SUCCESS;
    }
    for (size_t from = 0; from < batch->n; from += BLOCK) {
        const uint32_t *slots = &batch->slots[from];
        size_t n = MIN(batch->n - from, (size_t)BLOCK);
        double sums[BLOCK] = {0};
        for (size_t i = 0; i < s->constraints.list.n; i++)
            add_shares(s, i, slots, n, sums);
        for (size_t k = 0; k < n; k++)
            batch->scores[from + k] = ignores(s, slots[k]) ? 0 : round_score(sums[k]);
    }
    return BERTH_SUCCESS;
}

/* --- normalize -------------------------------------------------------------------------------- */

/* 100 * a / b in whole numbers. In double for exactly representable operands: a division is faster.
 */
static int64_t scale(int64_t a, int64_t b)
{
    const int64_t exact = (int64_t)1 << 45;
    if (a > -exact && a < exact && b < exact)
        return (int64_t)((double)(MAX_NODE_SCORE * a) / (double)b);
    return go_div(go_mul(MAX_NODE_SCORE, a), b);
}

/* Upstream: NormalizeScore. Fewer pods score higher; ignored nodes score 0. */
enum berth_code spread_normalize(void *ctx, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status)
{
    (void)pod;
    (void)status;
    const struct spread *self = ctx;
    const struct state *s = self->host->state_read(cycle, self->score_key);
    int64_t lowest = INT64_MAX, highest = 0;
    for (size_t k = 0; s && k < n; k++) {
        if (ignores(s, slots[k])) {
            scores[k] = INVALID_SCORE;
            continue;
        }
        lowest = MIN(lowest, scores[k]);
        highest = MAX(highest, scores[k]);
    }
    for (size_t k = 0; s && k < n; k++) {
        if (scores[k] == INVALID_SCORE)
            scores[k] = 0;
        else if (highest == 0)
            scores[k] = MAX_NODE_SCORE;
        else
            scores[k] = scale(go_sub(go_add(highest, lowest), scores[k]), highest);
    }
    return BERTH_SUCCESS;
}
