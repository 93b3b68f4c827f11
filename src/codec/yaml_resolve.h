/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_resolve.h - the meaning of plain YAML scalars. Private to codec.
 *
 * Purpose:   the rules of YAML 1.1 as in go-yaml v2, which sigs.k8s.io/yaml uses.
 * Ownership: plain values.
 * Threading: any thread.
 */
#ifndef BERTH_CODEC_YAML_RESOLVE_H
#define BERTH_CODEC_YAML_RESOLVE_H

#include "base/buf.h"

enum yaml_meaning {
    YAML_STR,
    YAML_NULL,
    YAML_BOOL,
    YAML_INT,
    YAML_UINT, /* beyond int64 */
    YAML_FLOAT,
    YAML_TIMESTAMP, /* read as a string, but written in quotes */
};

struct yaml_scalar {
    enum yaml_meaning meaning;
    union {
        bool boolean;
        int64_t whole;
        uint64_t large;
        double real; /* may be infinite or NaN */
    };
};

struct yaml_scalar yaml_resolve(struct str text);

/*
 * Base 60 numbers are not read as numbers, but old parsers may do so: they are written in quotes.
 */
bool yaml_is_base60(struct str text);

/* A map key in the form of sigs.k8s.io/yaml. False for values that it refuses (null). */
bool yaml_key(const struct yaml_scalar *scalar, struct str text, struct buf *out);

#endif
