/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from the loop's thread to the engine's: they leave together, once per iteration. */
#include "live/world_internal.h"

void world_on_post_msgs(struct loop_task *task)
{
    struct world *w = CONTAINER_OF(task, struct world, post_msgs);
    mailbox_post(&w->msgs, &TAKE(w->msgs_out)->mail);
    w->msgs_end = &w->msgs_out;
}

/* The engine's thread is woken once per loop iteration, not once per event. */
void world_post_msg(struct world *w, const struct engine_msg *msg)
{
    struct engine_msg *copy = xmalloc(sizeof(*copy));
    *copy = *msg;
    *w->msgs_end = copy;
    w->msgs_end = &copy->next;
    loop_task_schedule(w->loop, &w->post_msgs);
}
