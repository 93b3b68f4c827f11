/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha256.h - SHA-256, FIPS 180-4.
 *
 * Purpose:   hashes that clients compare with upstream's, for folders that may not include OpenSSL.
 * Ownership: nothing is kept.
 * Threading: any thread.
 */
#ifndef BERTH_CODEC_SHA256_H
#define BERTH_CODEC_SHA256_H

#include "base/str.h"

#define SHA256_BYTES 32

void sha256(struct str bytes, char out[SHA256_BYTES]);

#endif
