/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ip.h - IP addresses and networks in fields.
 *
 * Purpose:   parses addresses and checks fields that hold them, with upstream's messages.
 * Ownership: plain values.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_IP_H
#define BERTH_APISERVER_STRATEGIES_IP_H

#include "apiserver/strategies/field_checks.h"

/* Big endian; an IPv4 address has 4 bytes. */
struct ip {
    unsigned char bytes[16];
    size_t n; /* 4, 16; 0: none */
};

bool ip_parse(struct str text, struct ip *ret_ip) MUST_CHECK;
/* 10.0.0.0/8 */
bool cidr_parse(struct str text, struct ip *ret_ip, unsigned *ret_bits) MUST_CHECK;

/* "must be a valid IP address, (e.g. …)". */
bool field_check_ip(struct field_errors *errors, const struct field_path *path, struct str text);
bool field_check_cidr(struct field_errors *errors, const struct field_path *path, struct str text);
/* An address that endpoints may have (upstream: ValidateEndpointIP). */
void field_check_endpoint_ip(struct field_errors *errors, const struct field_path *path,
                             struct str text);

#endif
