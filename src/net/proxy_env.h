/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_env.h - the environment's proxy for a server.
 *
 * Purpose:   HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or their lower-case names, with the rules of
 *            Go's http.ProxyFromEnvironment: kubeadm passes them to the control plane's Pods.
 * Ownership: plain values; strings are borrowed.
 * Threading: any thread.
 */
#ifndef BERTH_NET_PROXY_ENV_H
#define BERTH_NET_PROXY_ENV_H

#include "net/url.h"

/*
 * Whether the proxy is used for that server. no_proxy is a comma-separated list of "*", addresses,
 * CIDR ranges ("10.0.0.0/8") and names. A name also matches its subdomains, with a leading dot only
 * these; a port may follow. Local addresses never use the proxy.
 */
bool proxy_env_applies(struct str no_proxy, struct str host, uint16_t port);

/* Appends the URL of the proxy for that server. False if there is none. */
bool proxy_env_find(const struct url *server, struct buf *out);

#endif
