/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/sha256.h"

#include <openssl/sha.h>

void sha256(struct str bytes, char out[SHA256_BYTES])
{
    SHA256((const unsigned char *)bytes.p, bytes.n, (unsigned char *)out);
}
