/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_env.h - the proxy that the environment names for a server.
 *
 * Purpose:   HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or the same in lower case, read as Go's client
 *            does: kubeadm hands them on to the control plane's Pods.
 * Ownership: values; texts are borrowed.
 * Threading: any.
 */
#ifndef BERTH_NET_PROXY_ENV_H
#define BERTH_NET_PROXY_ENV_H

#include "net/url.h"

/*
 * Whether no_proxy leaves that server to the proxy. It is a list, by commas, of "*", addresses,
 * ranges of addresses ("10.0.0.0/8") and names, which mean those below them as well, with a dot in
 * front only those; a port may follow. Who is on this very machine is always spoken to directly.
 */
bool proxy_env_applies(struct str no_proxy, struct str host, uint16_t port);

/* Appends the URL of the proxy for that server; false where there is none. */
bool proxy_env_find(const struct url *server, struct buf *out);

#endif
