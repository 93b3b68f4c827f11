/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_internal.h - the live world's two threads and what they hand each other.
 *
 * Purpose:   world.c makes it and sees the cluster, world_life.c begins and ends its work,
 *            world_engine.c is the engine's thread, world_writes.c carries out on the loop's thread
 *            what that one wants written, world_dump.c tells what the engine believes.
 * Ownership: msgs go from the loop to the engine's thread, api_writes the other way; whoever holds
 *            one owns it.
 * Threading: each function and member says whose it is; nothing is shared but the mailbox.
 */
#ifndef BERTH_LIVE_WORLD_INTERNAL_H
#define BERTH_LIVE_WORLD_INTERNAL_H

#include <pthread.h>

#include "base/mailbox.h"
#include "kube/lease/lease.h"
#include "kube/lease/lease_candidate.h"
#include "kube/watch/informers.h"
#include "live/events.h"
#include "live/extender.h"
#include "live/pod_binding.h"
#include "live/pod_writes.h"
#include "live/world.h"
#include "live/write_metrics.h"
#include "live/write_queue.h"

/* Somebody wants to know why; goes to the engine's thread and comes back with the answer. */
struct question {
    struct world *world;
    char *namespace, *name; /* of one pod; name NULL: of all */
    world_explain_fn *fn;
    void *ctx;
    struct buf json;
    size_t attempts;
};

/* What the engine's thread is told. */
enum engine_msg_kind {
    ENGINE_MSG_OBJECT,
    ENGINE_MSG_WRITE_DONE,
    ENGINE_MSG_EXTENDER_DONE,
    ENGINE_MSG_SCHEDULE,
    ENGINE_MSG_CLOSE, /* no further pod is tried; bindings under way end as they will */
    ENGINE_MSG_EXPLAIN,
    ENGINE_MSG_DUMP,
    ENGINE_MSG_RELOAD,
};

struct engine_msg {
    struct mail mail;
    struct engine_msg *next; /* those of one round of the loop travel together, behind the first */
    enum engine_msg_kind kind;
    struct object *before, *after; /* ENGINE_MSG_OBJECT */
    uint64_t id;                   /* ENGINE_MSG_WRITE_DONE */
    bool of_binding;
    int status;
    char *reason, *message;         /* NULL: empty */
    struct extender_answer *answer; /* ENGINE_MSG_EXTENDER_DONE */
    struct question *question;      /* ENGINE_MSG_EXPLAIN */
    struct dump_snapshot *snapshot; /* ENGINE_MSG_DUMP */
    struct world_setup *setup;      /* ENGINE_MSG_RELOAD; the world's */
};

/* One configuration, and what belongs to it on the loop's thread. The engine's owner. */
struct world_setup {
    struct world *world;
    const struct scheduler_config *config;
    void *owner;
    struct extenders *extenders; /* NULL: there are none */
    struct world_setup *next;    /* in world.setups */
    bool unused;                 /* the engine has said so, before it said what replaces it */
};

/* What the loop's thread is told to write. */
struct api_write {
    struct api_write *next;
    struct world *world;
    struct write write;         /* its texts are in text; the pod's reference is owned */
    struct queued_write queued; /* in world.writes; not of an event */
    struct pod_binding *binding;
    struct pod_status_write *status_write;
    struct rest_call *deletion;   /* of a victim whose condition has been written */
    struct api_write **prev_open; /* in world.open */
    struct api_write *next_open;
    int64_t began;
    char text[];
};

struct api_write_batch {
    struct world *world;
    struct api_write *first;
};

/* How far the end has come; from ENDING_RELEASES on nothing is written for the engine. */
enum ending {
    ENDING_NOT,
    ENDING_DRAINS,   /* bindings under way are waited for */
    ENDING_RELEASES, /* the lease is given back */
    ENDING_EVENTS,   /* what happened last is told */
    ENDING_OVER,
};

struct world {
    struct loop *loop;
    const struct scheduler_config *config;
    struct metrics *metrics; /* NULL: nothing is counted */
    struct write_metrics write_metrics;
    const struct world_callbacks *callbacks;
    void *ctx;
    struct rest_client *client, *event_client;
    struct rest_client *lease_client; /* NULL: there is no election */
    struct informers *informers;
    struct event_recorder *recorder;
    struct world_setup *setups;              /* all that are in use, the newest first */
    struct world_setup *setup;               /* that the engine has, as far as is known */
    struct world_setup *waiting;             /* for objects; NULL: none. Not among setups yet */
    struct lease_elector *elector;           /* NULL: no election */
    struct lease_candidature *candidature;   /* NULL: the election is not coordinated */
    struct write_queue *writes;              /* all but events */
    struct api_write *open;                  /* writes under way */
    struct engine_msg *msgs_out, **msgs_end; /* of this round, not posted yet */
    struct loop_task post_msgs;
    bool leading, scheduling;
    bool lost;    /* the lease, to another or by not renewing it */
    bool holding; /* writes wait until the lease is renewed */
    enum ending ending;
    bool drained; /* ENDING_DRAINS: the engine waits for nothing more */
    int64_t patience_ends;
    struct loop_timer end_timer;

    /* The engine's thread. */
    pthread_t thread;
    bool started, thread_runs;
    struct mailbox msgs;
    struct pool *pool; /* helps the engine's thread to filter and score */
    const struct registry *registry;
    struct engine *engine;
    /* Engine's thread only. */
    bool may_schedule;
    bool closed, told_drained;
    size_t bindings; /* written and not answered */
    struct api_write *outbox, **outbox_end;
};

/* --- world_life.c: the loop's thread ---------------------------------------------------------- */

int world_make_elector(struct world *w, const struct world_options *options,
                       struct err *reterr) MUST_CHECK;
void world_on_synced(void *world);
void world_on_end_timer(struct loop_timer *timer);
/* The engine waits for no binding any more. */
void world_on_drained(void *world);
void world_end_thread(struct world *w);
/*
 * The one place that decides whether this instance may change the cluster: asked right before each
 * write is sent, whoever wants it. What it refuses is held until the lease is renewed.
 */
bool world_may_write(void *world);
/* The same for events, which tell what has been done and are also written after a release. */
bool world_may_tell(void *world);

/* --- world_dump.c ----------------------------------------------------------------------------- */

/* The engine's thread: logs what it believes, and compares it with what the reflectors have. */
void world_write_dump(const struct engine *engine, struct dump_snapshot *snapshot);
void world_dump_snapshot_free(struct dump_snapshot *snapshot); /* NULL is fine */

/* --- world_engine.c --------------------------------------------------------------------------- */

/* What the engine asks of this world. */
struct ports world_ports(struct world *w);
/* The body of the engine's thread; arg is the world. */
void *world_engine_main(void *arg);

/* The loop's thread: to the engine's, at the end of this round, all of a round at once. */
void world_post_msg(struct world *w, const struct engine_msg *msg);
void world_on_post_msgs(struct loop_task *task);
/* With those that travel behind it. NULL is fine. */
void world_free_msgs(struct engine_msg *msg);

/* --- world_reload.c --------------------------------------------------------------------------- */

/* Fails where extenders cannot be made. */
int world_setup_new(struct world *w, const struct scheduler_config *config, void *owner,
                    struct world_setup **ret_setup, struct err *reterr) MUST_CHECK;
/* Whatever is left; no thread runs any more. */
void world_free_setups(struct world *w);
/* What the engine wants to know of it. */
void world_setup_options(const struct world_setup *setup, struct engine_options *options);
/* With which flags objects of the kind have to be fetched for all setups in use. */
unsigned world_object_flags(const struct world *w, enum kind_id kind);
/* As many threads as the configuration wants and the machine has. */
size_t world_parallelism(const struct scheduler_config *config);
/* The loop's thread: objects have been fetched anew. */
void world_on_refetched(void *world);
/* The engine's thread. */
void world_switch(struct world *w, struct world_setup *setup);
void world_retire(void *world, void *setup);

/* --- world_writes.c --------------------------------------------------------------------------- */

/* The engine's thread: a copy of what is to be written. */
struct api_write *world_api_write_new(struct world *w, const struct write *write);
/* The loop's thread, or where no thread runs any more. */
void world_api_write_free(struct api_write *api_write);
/* The loop's thread: carries out a struct api_write_batch. */
void world_run_api_writes(void *batch);

#endif
