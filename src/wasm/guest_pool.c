/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/guest_pool.h"

static void give_back(struct guest_pool *p, struct guest *g)
{
    pthread_mutex_lock(&p->lock);
    bool keep = !g->broken && p->free.n < GUEST_POOL_FREE;
    if (keep)
        vec_push(&p->free, g);
    else
        p->alive--;
    pthread_mutex_unlock(&p->lock);
    if (!keep)
        guest_free(g);
}

/* The guest that was free last: it is the one that the cache of the processor knows. */
static struct guest *obtain(struct guest_pool *p, struct buf *error)
{
    pthread_mutex_lock(&p->lock);
    struct guest *g = p->free.n ? vec_pop(&p->free) : NULL;
    bool make = !g && p->alive < GUEST_POOL_MAX;
    if (make)
        p->alive++;
    pthread_mutex_unlock(&p->lock);
    if (make) {
        g = guest_new(p->settings, error);
        if (!g) {
            pthread_mutex_lock(&p->lock);
            p->alive--;
            pthread_mutex_unlock(&p->lock);
        }
    } else if (!g) {
        buf_add_printf(error, "wasm: %d guests are in use, one for each pod that is being bound",
                       GUEST_POOL_MAX);
    }
    return g;
}

int guest_pool_init(struct guest_pool *p, const struct guest_settings *settings, struct buf *error)
{
    *p = (struct guest_pool){.settings = settings};
    pthread_mutex_init(&p->lock, NULL);
    struct guest *g = obtain(p, error);
    if (!g)
        return -EINVAL;
    give_back(p, g);
    return 0;
}

void guest_pool_release(struct guest_pool *p)
{
    for (size_t i = 0; i < p->free.n; i++)
        guest_free(p->free.v[i]);
    vec_release(&p->free);
    pthread_mutex_destroy(&p->lock);
}

void guest_seat_init(struct guest_seat *s, struct guest_pool *pool)
{
    *s = (struct guest_seat){.pool = pool};
    pthread_mutex_init(&s->lock, NULL);
}

void guest_seat_release(struct guest_seat *s)
{
    if (s->guest)
        give_back(s->pool, TAKE(s->guest));
    pthread_mutex_destroy(&s->lock);
}

struct guest *guest_seat_enter(struct guest_seat *s, struct buf *error)
{
    pthread_mutex_lock(&s->lock);
    if (s->guest && s->guest->broken)
        give_back(s->pool, TAKE(s->guest));
    if (!s->guest)
        s->guest = obtain(s->pool, error);
    if (!s->guest)
        pthread_mutex_unlock(&s->lock);
    return s->guest;
}

void guest_seat_leave(struct guest_seat *s)
{
    pthread_mutex_unlock(&s->lock);
}
