/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_internal.h - the live world's two threads and what they exchange.
 *
 * Purpose:   world.c builds the world and receives watch events, world_life.c starts and stops it,
 *            world_engine.c is the engine's thread, world_writes.c sends the engine's writes,
 *            world_calls.c the requests of plugins to the API server, world_requests.c those to
 *            other servers and their watches, world_threads.c has the threads of plugins,
 *            world_reload.c switches configurations, world_dump.c logs the engine's state.
 * Ownership: an engine_msg goes from the loop's thread to the engine's, an api_write the other way.
 *            The thread that holds one owns it.
 * Threading: each function and member names its thread. Only the mailbox is shared.
 */
#ifndef BERTH_LIVE_WORLD_INTERNAL_H
#define BERTH_LIVE_WORLD_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/mailbox.h"
#include "kube/lease/lease.h"
#include "kube/lease/lease_candidate.h"
#include "kube/watch/informers.h"
#include "live/blocking.h"
#include "live/call_report.h"
#include "live/events.h"
#include "live/extender.h"
#include "live/pod_binding.h"
#include "live/pod_writes.h"
#include "live/world.h"
#include "live/write_metrics.h"
#include "live/write_queue.h"

/* A request for recorded attempts. Goes to the engine's thread and comes back with the answer. */
struct explain_request {
    struct world *world;
    char *namespace, *name; /* name NULL: all pods */
    world_explain_fn *fn;
    void *ctx;
    struct buf json;
    size_t attempts;
};

/* Messages to the engine's thread. */
enum engine_msg_kind {
    ENGINE_MSG_OBJECT,
    ENGINE_MSG_WRITE_DONE,
    ENGINE_MSG_EXTENDER_DONE,
    ENGINE_MSG_API_DONE,
    ENGINE_MSG_LISTED, /* the initial lists are complete */
    ENGINE_MSG_SCHEDULE,
    ENGINE_MSG_CLOSE, /* attempt no further pods; bindings in flight continue */
    ENGINE_MSG_EXPLAIN,
    ENGINE_MSG_DUMP,
    ENGINE_MSG_RELOAD,
    ENGINE_MSG_POSTED,
    ENGINE_MSG_WORK_DONE,
    ENGINE_MSG_HTTP_DONE,
    ENGINE_MSG_KIND_SYNCED,
};

struct engine_msg {
    struct mail mail;
    struct engine_msg *next; /* messages of one loop iteration form one mail */
    enum engine_msg_kind kind;
    struct object *before, *after; /* ENGINE_MSG_OBJECT; after: also ENGINE_MSG_API_DONE */
    uint64_t id;                   /* ENGINE_MSG_WRITE_DONE, ENGINE_MSG_API_DONE */
    bool of_binding;
    int status;
    char *reason, *message;          /* NULL: empty */
    struct extender_answer *answer;  /* ENGINE_MSG_EXTENDER_DONE */
    struct explain_request *explain; /* ENGINE_MSG_EXPLAIN */
    struct dump_snapshot *snapshot;  /* ENGINE_MSG_DUMP */
    struct world_setup *setup;       /* ENGINE_MSG_RELOAD; owned by the world */
    struct engine_post *post;        /* ENGINE_MSG_POSTED */
    struct engine_work *work;        /* ENGINE_MSG_WORK_DONE */
    const struct kind *synced;       /* ENGINE_MSG_KIND_SYNCED */
    char *body;                      /* ENGINE_MSG_HTTP_DONE; NULL: empty */
    size_t body_size;
};

/* One configuration with its extenders, on the loop's thread. Passed to the engine as its owner. */
struct world_setup {
    struct world *world;
    const struct scheduler_config *config;
    const struct registry *registry;
    void *owner;
    struct extenders *extenders; /* NULL: none */
    struct world_setup *next;    /* in world.setups */
    bool unused;                 /* retired by the engine before on_switched has run */
};

/* A write that the engine has submitted and the loop's thread sends. */
struct api_write {
    struct api_write *next;
    struct world *world;
    struct write write;         /* strings are in text; holds references to the objects */
    struct queued_write queued; /* in world.writes; not used for events */
    struct pod_binding *binding;
    struct pod_status_write *status_write;
    struct rest_call *deletion;   /* of a victim, after its condition has been written */
    struct api_write **prev_open; /* in world.open */
    struct api_write *next_open;
    int64_t began;
    char text[];
};

struct api_write_batch {
    struct world *world;
    struct api_write *first;
};

/* Stages of stopping, in order. From ENDING_RELEASE on, nothing is written for the engine. */
enum ending {
    ENDING_NONE,
    ENDING_DRAIN,   /* waiting for bindings in flight */
    ENDING_RELEASE, /* releasing the lease */
    ENDING_EVENTS,  /* writing the last events */
    ENDING_DONE,
};

struct world {
    struct loop *loop;
    const struct scheduler_config *config;
    struct metrics *metrics; /* NULL: no metrics */
    struct write_metrics write_metrics;
    const struct world_callbacks *callbacks;
    void *ctx;
    struct rest_client *client, *event_client;
    struct rest_client *lease_client; /* NULL: no leader election */
    struct informers *informers;
    struct event_recorder *recorder;
    struct world_setup *setups;    /* all in use, the newest first */
    struct world_setup *setup;     /* the engine's current one, as far as the loop's thread knows */
    struct world_setup *waiting;   /* waits for objects, not yet in setups; NULL: none */
    struct lease_elector *elector; /* NULL: no leader election */
    struct lease_candidature *candidature; /* NULL: not coordinated leader election */
    struct write_queue *writes;            /* all writes except events */
    struct api_write *open;                /* writes in flight */
    struct api_call *calls;                /* requests of plugins in flight */
    size_t n_calls;
    struct engine_msg *msgs_out, **msgs_end; /* messages of this loop iteration, not posted yet */
    struct loop_task post_msgs;
    bool leading, scheduling;
    bool lost;    /* the lease was lost */
    bool holding; /* writes are held until the lease is renewed */
    enum ending ending;
    bool drained; /* ENDING_DRAIN: the engine has no bindings left */
    int64_t stage_deadline;
    struct loop_timer end_timer;

    /* The engine's thread. */
    pthread_t thread;
    bool started, thread_runs;
    struct mailbox msgs;
    struct pool *pool; /* helper threads for filtering and scoring */
    struct engine *engine;
    /* Used by the engine's thread only. */
    bool may_schedule;
    bool closed, reported_drained;
    size_t bindings;   /* submitted and not answered */
    size_t n_requests; /* of plugins, not answered */
    struct api_write *outbox, **outbox_end;
    struct blocking *workers; /* NULL: no plugin has blocked yet */
    /* Any thread: which one is the engine's; before it starts and after it ends, the loop's. */
    atomic_uintptr_t engine_thread;

    int64_t call_limit;
    struct call_watch *watch; /* of the engine's thread; NULL: none */

    /* Kinds that plugins asked for before there were informers. */
    VEC(const struct kind *) wanted;
    bool finished_pods;     /* a plugin asked for pods that have ended */
    struct web_origin *web; /* of plugins' HTTP requests; the loop's thread */
};

/* --- world_life.c: the loop's thread ---------------------------------------------------------- */

int world_make_elector(struct world *w, const struct world_options *options,
                       struct err *reterr) MUST_CHECK;
void world_on_synced(void *world);
void world_on_end_timer(struct loop_timer *timer);
/* The engine has no bindings left. */
void world_on_drained(void *world);
void world_end_thread(struct world *w);
/*
 * The only place that decides whether this instance may change the cluster. Called right before
 * each write is sent. A refused write is held until the lease is renewed.
 */
bool world_may_write(void *world);
/* The same for events, which report completed actions and are also written after a release. */
bool world_may_record(void *world);

/* --- world_dump.c ----------------------------------------------------------------------------- */

/* The engine's thread: logs the cache and the queue, and the differences from the snapshot. */
void world_write_dump(const struct engine *engine, struct dump_snapshot *snapshot);
void world_dump_snapshot_free(struct dump_snapshot *snapshot); /* NULL is allowed */

/* --- world_engine.c --------------------------------------------------------------------------- */

/* The ports that this world provides to the engine. */
struct ports world_ports(struct world *w);
/* Main function of the engine's thread; arg is the world. */
void *world_engine_main(void *arg);

/* The loop's thread: queues a copy of msg. All messages of a loop iteration are posted together. */
void world_post_msg(struct world *w, const struct engine_msg *msg);
/* Passes a watch event to the engine's thread; the informers' sink. */
void world_on_object(void *world, enum watch_event_type type, struct object *old,
                     struct object *object);
void world_on_post_msgs(struct loop_task *task);
/* Frees msg and the messages linked behind it. NULL is allowed. */
void world_free_msgs(struct engine_msg *msg);

/* --- world_threads.c -------------------------------------------------------------------------- */

/* The calling thread is the engine's from now on. */
void world_is_engine_thread_now(struct world *w);
/* The engine's thread, when it starts: reports crashes and slow calls of plugins. */
void world_watch_calls(struct world *w);
/* Ports, for any thread. */
bool world_is_engine_thread(void *world);
void world_post(void *world, struct engine_post *post);
/* A port. */
void world_work(void *world, struct engine_work *work);
/* Returns false if a plugin's call does not return: what it uses must not be freed. */
bool world_end_workers(struct world *w);

/* --- world_requests.c ------------------------------------------------------------------------- */

/* Ports. */
void world_http_get(void *world, uint64_t id, const struct berth_http_get *get);
void world_watch(void *world, const struct kind *kind);
void world_watch_finished_pods(void *world);
/* The engine's thread. */
void world_answer_http(struct world *w, const struct engine_msg *msg);
/* The loop's thread. */
void world_on_kind_synced(void *world, const struct kind *kind);
void world_cancel_http(struct world *w);

/* --- world_reload.c --------------------------------------------------------------------------- */

/* Fails if the extenders cannot be created. */
int world_setup_new(struct world *w, const struct scheduler_config *config,
                    const struct registry *registry, void *owner, struct world_setup **ret_setup,
                    struct err *reterr) MUST_CHECK;
/* Frees all setups. The engine's thread must not run. */
void world_free_setups(struct world *w);
/* Sets the members of options that depend on the setup. */
void world_setup_options(const struct world_setup *setup, struct engine_options *options);
/* The enum object_flags required for this kind by all setups in use. */
unsigned world_object_flags(const struct world *w, enum kind_id kind);
/* Number of threads: the configured parallelism, at most the number of cores. */
size_t world_parallelism(const struct scheduler_config *config);
/* The loop's thread: the objects have been listed again. */
void world_on_refetched(void *world);
/* The engine's thread. */
void world_switch(struct world *w, struct world_setup *setup);
void world_retire(void *world, void *setup);

/* --- world_writes.c --------------------------------------------------------------------------- */

/* Copies the string to *at, makes it point there, and advances *at. Any thread. */
void world_move_text(struct str *text, char **at);
/* The engine's thread: copies the write. */
struct api_write *world_api_write_new(struct world *w, const struct write *write);
/* The loop's thread, or any when no other thread runs. */
void world_api_write_free(struct api_write *api_write);
/* The loop's thread: queues the writes of a struct api_write_batch and frees the batch. */
void world_run_api_writes(void *batch);

/* --- world_calls.c ---------------------------------------------------------------------------- */

/* The engine's thread: ports.call_api. */
void world_call_api(void *world, uint64_t id, const struct berth_api_call *call);
/* The engine's thread: passes an ENGINE_MSG_API_DONE to the engine. */
void world_answer_api_call(struct world *w, const struct engine_msg *msg);
/* The loop's thread: no answer follows. */
void world_cancel_api_calls(struct world *w);

#endif
