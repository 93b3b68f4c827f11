/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_responses.h - files in place of servers that plugins ask (--http-response).
 *
 * Purpose:   reads URL=FILE and keeps the content of the file.
 * Ownership: owns the texts. Initialize with {0}.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_SIMULATE_SIMULATE_RESPONSES_H
#define BERTH_CMD_SIMULATE_SIMULATE_RESPONSES_H

#include "base/vec.h"
#include "cmd/cli/flags.h"
#include "sim/sim.h"

struct simulate_responses {
    VEC(struct sim_response) v;
};

void simulate_responses_release(struct simulate_responses *r);
/* The value of --http-response. */
struct flag_custom simulate_responses_flag(struct simulate_responses *to);

#endif
