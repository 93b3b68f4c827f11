/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_volumes.h - volumes without controllers.
 *
 * Purpose:   a simulation without controllers completes at once what VolumeBinding asks for: a
 *            volume that got a claim is bound, a claim that got a node gets a volume that only this
 *            node reaches. Nothing else about volumes changes.
 * Ownership: none.
 * Threading: one thread.
 */
#ifndef BERTH_SIM_SIM_VOLUMES_H
#define BERTH_SIM_SIM_VOLUMES_H

#include "sim/sim_api.h"

/* A plugin has written the object; other kinds are ignored. */
void sim_volumes_complete(struct sim_api *api, const struct object *written);

#endif
