/* SPDX-License-Identifier: Apache-2.0 */
#include "net/offload.h"

#include <pthread.h>

#define STACK_SIZE ((size_t)256 * 1024)

struct task {
    struct loop_handle *handle;
    const struct offload *job;
    void *ctx;
};

static void *thread_main(void *arg)
{
    struct task *t = arg;
    t->job->work(t->ctx);
    if (!loop_handle_post(t->handle, t->job->done, t->ctx))
        t->job->gone(t->ctx);
    loop_handle_put(t->handle);
    free(t);
    return NULL;
}

int offload_start(struct loop *loop, const struct offload *job, void *ctx)
{
    struct task *t = xnew(struct task);
    pthread_attr_t attr;
    pthread_t thread;
    *t = (struct task){loop_handle_get(loop), job, ctx};
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    int e = pthread_create(&thread, &attr, thread_main, t);
    pthread_attr_destroy(&attr);
    if (e) {
        loop_handle_put(t->handle);
        free(t);
    }
    return -e;
}
