/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/store/tree.h"

/* A node has MIN_ITEMS to MAX_ITEMS revisions, the root 1 to MAX_ITEMS. */
#define MAX_ITEMS 31
#define MIN_ITEMS 15

struct tree_node {
    unsigned refs;
    unsigned n; /* revisions */
    bool leaf;
    size_t count; /* revisions in the node and below it */
    /* One more than MAX_ITEMS: a node may be too large until it is split. */
    struct revision *revs[MAX_ITEMS + 1];
    struct tree_node *children[]; /* n + 1, not in leaves */
};

/* --- order ------------------------------------------------------------------------------------ */

static int resource_cmp(const struct resource *a, const struct resource *b)
{
    if (a == b)
        return 0;
    int c = str_cmp(a->group, b->group);
    return c ? c : str_cmp(a->plural, b->plural);
}

/* Upstream's keys are NAMESPACE/NAME: "a-b" is before "a", because '-' is before '/'. */
static int namespace_cmp(struct str a, struct str b)
{
    size_t n = MIN(a.n, b.n);
    int c = n ? memcmp(a.p, b.p, n) : 0;
    if (c || a.n == b.n)
        return c;
    if (a.n < b.n)
        return (unsigned char)b.p[n] < '/' ? 1 : -1;
    return (unsigned char)a.p[n] < '/' ? -1 : 1;
}

/* Negative: the place is before the revision. */
static int place_cmp(const struct tree_place *place, const struct revision *rev)
{
    int c = resource_cmp(place->resource, rev->resource);
    if (c || place->depth == TREE_RESOURCE)
        return c ? c : place->side;
    c = namespace_cmp(place->namespace, rev->namespace);
    if (c || place->depth == TREE_NAMESPACE)
        return c ? c : place->side;
    c = str_cmp(place->name, rev->name);
    return c ? c : place->side;
}

struct tree_place tree_place_of(const struct revision *rev)
{
    return (struct tree_place){rev->resource, rev->namespace, rev->name, TREE_NAME, 0};
}

/* The index of the first revision that is not before the place; *ret_found: it is equal to it. */
static unsigned search(const struct tree_node *node, const struct tree_place *place,
                       bool *ret_found)
{
    unsigned low = 0, high = node->n;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        int c = place_cmp(place, node->revs[middle]);
        if (c == 0) {
            *ret_found = true;
            return middle;
        }
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    *ret_found = false;
    return low;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static struct tree_node *node_new(bool leaf)
{
    size_t children = leaf ? 0 : (MAX_ITEMS + 2) * sizeof(struct tree_node *);
    struct tree_node *node = xmalloc(sizeof(*node) + children);
    node->refs = 1;
    node->n = 0;
    node->leaf = leaf;
    node->count = 0;
    return node;
}

static void node_unref(struct tree_node *node)
{
    if (--node->refs > 0)
        return;
    for (unsigned i = 0; i < node->n; i++)
        revision_unref(node->revs[i]);
    if (!node->leaf)
        for (unsigned i = 0; i <= node->n; i++)
            node_unref(node->children[i]);
    free(node);
}

/* Makes the node one that may be changed: a shared one is replaced by a copy. */
static struct tree_node *own(struct tree_node **slot)
{
    struct tree_node *node = *slot;
    if (node->refs == 1)
        return node;
    struct tree_node *copy = node_new(node->leaf);
    copy->n = node->n;
    copy->count = node->count;
    for (unsigned i = 0; i < node->n; i++)
        copy->revs[i] = revision_ref(node->revs[i]);
    if (!node->leaf) {
        for (unsigned i = 0; i <= node->n; i++) {
            copy->children[i] = node->children[i];
            copy->children[i]->refs++;
        }
    }
    node->refs--;
    *slot = copy;
    return copy;
}

static void recount(struct tree_node *node)
{
    node->count = node->n;
    if (!node->leaf)
        for (unsigned i = 0; i <= node->n; i++)
            node->count += node->children[i]->count;
}

/* Inserts the revision at i and, in an inner node, the child behind it. */
static void insert_at(struct tree_node *node, unsigned i, struct revision *rev,
                      struct tree_node *right)
{
    memmove(&node->revs[i + 1], &node->revs[i], (node->n - i) * sizeof(struct revision *));
    node->revs[i] = rev;
    if (!node->leaf) {
        memmove(&node->children[i + 2], &node->children[i + 1],
                (node->n - i) * sizeof(struct tree_node *));
        node->children[i + 1] = right;
    }
    node->n++;
}

/* Removes the revision at i and, in an inner node, the child behind it. */
static struct revision *remove_at(struct tree_node *node, unsigned i)
{
    struct revision *rev = node->revs[i];
    node->n--;
    memmove(&node->revs[i], &node->revs[i + 1], (node->n - i) * sizeof(struct revision *));
    if (!node->leaf)
        memmove(&node->children[i + 1], &node->children[i + 2],
                (node->n - i) * sizeof(struct tree_node *));
    return rev;
}

/* --- trees ------------------------------------------------------------------------------------ */

struct tree tree_copy(const struct tree *t)
{
    if (t->root)
        t->root->refs++;
    return *t;
}

void tree_release(struct tree *t)
{
    if (t->root)
        node_unref(t->root);
    t->root = NULL;
}

struct revision *tree_get(const struct tree *t, const struct tree_place *place)
{
    const struct tree_node *node = t->root;
    while (node) {
        bool found;
        unsigned i = search(node, place, &found);
        if (found)
            return node->revs[i];
        node = node->leaf ? NULL : node->children[i];
    }
    return NULL;
}

size_t tree_rank(const struct tree *t, const struct tree_place *place)
{
    size_t rank = 0;
    const struct tree_node *node = t->root;
    while (node) {
        bool found;
        unsigned i = search(node, place, &found);
        rank += i;
        if (node->leaf)
            break;
        for (unsigned child = 0; child < i; child++)
            rank += node->children[child]->count;
        if (found)
            return rank + node->children[i]->count;
        node = node->children[i];
    }
    return rank;
}

/* --- insertion -------------------------------------------------------------------------------- */

/* What a node that was too large gives to its parent. */
struct split {
    struct revision *rev;
    struct tree_node *right; /* NULL: it was not split */
};

static void split_node(struct tree_node *node, struct split *ret_split)
{
    unsigned middle = node->n / 2;
    struct tree_node *right = node_new(node->leaf);
    right->n = node->n - middle - 1;
    memcpy(right->revs, &node->revs[middle + 1], right->n * sizeof(struct revision *));
    if (!node->leaf)
        memcpy(right->children, &node->children[middle + 1],
               (right->n + 1) * sizeof(struct tree_node *));
    node->n = middle;
    recount(node);
    recount(right);
    *ret_split = (struct split){node->revs[middle], right};
}

static struct revision *put(struct tree_node **slot, struct revision *rev,
                            const struct tree_place *place, struct split *ret_split)
{
    struct tree_node *node = own(slot);
    ret_split->right = NULL;
    bool found;
    unsigned i = search(node, place, &found);
    if (found) {
        struct revision *before = node->revs[i];
        node->revs[i] = rev;
        return before;
    }
    if (node->leaf) {
        insert_at(node, i, rev, NULL);
    } else {
        struct split split;
        struct revision *before = put(&node->children[i], rev, place, &split);
        if (before)
            return before;
        if (split.right)
            insert_at(node, i, split.rev, split.right);
    }
    node->count++;
    if (node->n > MAX_ITEMS)
        split_node(node, ret_split);
    return NULL;
}

struct revision *tree_put(struct tree *t, struct revision *rev)
{
    if (!t->root)
        t->root = node_new(true);
    struct tree_place place = tree_place_of(rev);
    struct split split;
    struct revision *before = put(&t->root, rev, &place, &split);
    if (split.right) {
        struct tree_node *root = node_new(false);
        root->n = 1;
        root->revs[0] = split.rev;
        root->children[0] = t->root;
        root->children[1] = split.right;
        recount(root);
        t->root = root;
    }
    return before;
}

/* --- deletion --------------------------------------------------------------------------------- */

/* Child i gets the revision before it; its left neighbour's last one takes that place. */
static void borrow_left(struct tree_node *node, unsigned i)
{
    struct tree_node *left = own(&node->children[i - 1]), *child = node->children[i];
    size_t moved = 1;
    memmove(&child->revs[1], &child->revs[0], child->n * sizeof(struct revision *));
    child->revs[0] = node->revs[i - 1];
    if (!child->leaf) {
        memmove(&child->children[1], &child->children[0],
                (child->n + 1) * sizeof(struct tree_node *));
        child->children[0] = left->children[left->n];
        moved += child->children[0]->count;
    }
    child->n++;
    node->revs[i - 1] = left->revs[--left->n];
    child->count += moved;
    left->count -= moved;
}

static void borrow_right(struct tree_node *node, unsigned i)
{
    struct tree_node *right = own(&node->children[i + 1]), *child = node->children[i];
    size_t moved = 1;
    child->revs[child->n++] = node->revs[i];
    node->revs[i] = right->revs[0];
    if (!child->leaf) {
        child->children[child->n] = right->children[0];
        moved += right->children[0]->count;
        memmove(&right->children[0], &right->children[1], right->n * sizeof(struct tree_node *));
    }
    right->n--;
    memmove(&right->revs[0], &right->revs[1], right->n * sizeof(struct revision *));
    child->count += moved;
    right->count -= moved;
}

/* Child i, the revision after it and child i + 1 become one node. */
static void merge(struct tree_node *node, unsigned i)
{
    struct tree_node *left = own(&node->children[i]), *right = own(&node->children[i + 1]);
    left->revs[left->n] = remove_at(node, i);
    memcpy(&left->revs[left->n + 1], right->revs, right->n * sizeof(struct revision *));
    if (!left->leaf)
        memcpy(&left->children[left->n + 1], right->children,
               (right->n + 1) * sizeof(struct tree_node *));
    left->n += right->n + 1;
    left->count += right->count + 1;
    free(right);
}

/* Child i has lost a revision: fills it up if it has too few. */
static void refill(struct tree_node *node, unsigned i)
{
    if (node->children[i]->n >= MIN_ITEMS)
        return;
    if (i > 0 && node->children[i - 1]->n > MIN_ITEMS)
        borrow_left(node, i);
    else if (i < node->n && node->children[i + 1]->n > MIN_ITEMS)
        borrow_right(node, i);
    else
        merge(node, i > 0 ? i - 1 : i);
}

static struct revision *take_last(struct tree_node **slot)
{
    struct tree_node *node = own(slot);
    node->count--;
    if (node->leaf)
        return node->revs[--node->n];
    unsigned last = node->n;
    struct revision *rev = take_last(&node->children[last]);
    refill(node, last);
    return rev;
}

/* The revision exists. */
static struct revision *take(struct tree_node **slot, const struct tree_place *place)
{
    struct tree_node *node = own(slot);
    bool found;
    unsigned i = search(node, place, &found);
    node->count--;
    if (node->leaf) {
        assert(found);
        return remove_at(node, i);
    }
    struct revision *rev;
    if (found) {
        rev = node->revs[i];
        node->revs[i] = take_last(&node->children[i]);
    } else {
        rev = take(&node->children[i], place);
    }
    refill(node, i);
    return rev;
}

struct revision *tree_take(struct tree *t, const struct tree_place *place)
{
    if (!tree_get(t, place))
        return NULL;
    struct revision *rev = take(&t->root, place);
    if (t->root->n == 0) {
        struct tree_node *old = t->root;
        t->root = old->leaf ? NULL : old->children[0];
        free(old);
    }
    return rev;
}

/* --- ranges ----------------------------------------------------------------------------------- */

void tree_seek(const struct tree *t, const struct tree_place *place, struct store_range *range)
{
    range->n_steps = 0;
    for (const struct tree_node *node = t->root; node;) {
        bool found;
        unsigned i = search(node, place, &found);
        if (found)
            i++;
        assert(range->n_steps < ARRAY_LEN(range->steps));
        range->steps[range->n_steps++] = (struct store_step){node, i};
        node = node->leaf ? NULL : node->children[i];
    }
}

struct revision *tree_next(struct store_range *range)
{
    while (range->n_steps > 0) {
        struct store_step *step = &range->steps[range->n_steps - 1];
        const struct tree_node *node = step->node;
        if (step->at == node->n) {
            range->n_steps--;
            continue;
        }
        struct revision *rev = node->revs[step->at++];
        if (!node->leaf) {
            for (node = node->children[step->at];; node = node->children[0]) {
                assert(range->n_steps < ARRAY_LEN(range->steps));
                range->steps[range->n_steps++] = (struct store_step){node, 0};
                if (node->leaf)
                    break;
            }
        }
        return rev;
    }
    return NULL;
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool valid(const struct tree_node *node, bool root, size_t depth, size_t *leaf_depth,
                  const struct revision **last)
{
    if (node->refs == 0 || node->n > MAX_ITEMS || node->n < (root ? 1 : MIN_ITEMS))
        return false;
    if (node->leaf && *leaf_depth && *leaf_depth != depth)
        return false;
    if (node->leaf)
        *leaf_depth = depth;
    size_t count = node->n;
    for (unsigned i = 0; i <= node->n; i++) {
        if (!node->leaf && !valid(node->children[i], false, depth + 1, leaf_depth, last))
            return false;
        count += node->leaf ? 0 : node->children[i]->count;
        if (i == node->n)
            break;
        struct tree_place place = tree_place_of(node->revs[i]);
        if (*last && place_cmp(&place, *last) <= 0)
            return false;
        *last = node->revs[i];
    }
    return count == node->count;
}

bool tree_valid(const struct tree *t)
{
    size_t leaf_depth = 0;
    const struct revision *last = NULL;
    return !t->root || valid(t->root, true, 1, &leaf_depth, &last);
}
