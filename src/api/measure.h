/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.h - how much memory an encoded object will take.
 *
 * Purpose:   an object lives in one allocation that should hold it and little else. How much that
 *            is cannot be told from the size of its bytes: most of a pod on the wire (managed
 *            fields, environment, probes) is not kept. So the tags are read once in advance.
 * Ownership: nothing is kept.
 * Threading: any.
 */
#ifndef BERTH_API_MEASURE_H
#define BERTH_API_MEASURE_H

#include "codec/desc.h"

/*
 * What decoding these bytes allocates beyond the struct itself, and a little more: room for
 * alignment. Where the bytes are malformed it counts up to there.
 */
size_t measure_proto(struct str bytes, const struct type *type);

#endif
