/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addresses.h - IP addresses and networks in objects.
 *
 * Purpose:   upstream's checks with its messages: what its parser accepts, what the strict one
 *            refuses, and the canonical form.
 * Ownership: nothing is kept; errors are in the arena of their list.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_ADDRESSES_H
#define BERTH_APISERVER_STRATEGIES_ADDRESSES_H

#include "apiserver/strategies/names.h"
#include "cel/addr.h"

/* Whether it is an address; leading zeros of IPv4 are allowed, as Go once did. */
bool ip_parse_sloppy(struct str text, struct addr *ret_addr);
bool cidr_parse_sloppy(struct str text, struct addr *ret_addr, int *ret_bits);

/* True if the text is valid. canonical: it must be in the canonical form (upstream: IsValidIP). */
bool field_check_ip(struct field_errors *errors, const struct field_path *path, struct str text,
                    bool canonical);
bool field_check_cidr(struct field_errors *errors, const struct field_path *path, struct str text,
                      bool canonical);
/* An address with the length of its network's prefix, in canonical form: "10.9.8.7/24". */
bool field_check_interface_address(struct field_errors *errors, const struct field_path *path,
                                   struct str text);
/* The address of an endpoint: not unspecified, loopback or link-local. */
void field_check_endpoint_ip(struct field_errors *errors, const struct field_path *path,
                             struct str text);

#endif
