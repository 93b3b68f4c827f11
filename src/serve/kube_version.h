/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_version.h - versions of Kubernetes as flags name them.
 *
 * Purpose:   --version in its three forms, --emulated-version and --min-compatibility-version,
 *            with upstream's words where they are wrong.
 * Ownership: values; texts point to where they came from.
 * Threading: any.
 */
#ifndef BERTH_SERVE_KUBE_VERSION_H
#define BERTH_SERVE_KUBE_VERSION_H

#include "base/go_text.h"
#include "engine/config/features.h"

/* What `kube-scheduler --version` says that berth stands in for. */
#define KUBE_GIT_VERSION "v1.36.3"

struct version_flag {
    enum { VERSION_NOT_ASKED, VERSION_ASKED, VERSION_RAW, VERSION_SET } asked;
    struct str reported; /* of --version=vX.Y.Z…; empty: KUBE_GIT_VERSION */
};

/* A value of --version: true, false, raw, or the version to report, of the same three numbers. */
int version_flag_set(struct version_flag *flag, struct str text, struct err *reterr) MUST_CHECK;
void version_flag_write(const struct version_flag *flag, struct buf *out);
/* Where --version asks for it: the line to print. False: it does not. */
bool version_flag_answer(const struct version_flag *flag, struct buf *out);

/* "1.35" or "kube=1.35" of a list that may hold one version of kube. *ret_given: it does. */
int kube_versions_parse(const struct go_strings *list, struct kube_version *ret_version,
                        bool *ret_given, struct err *reterr) MUST_CHECK;
/* < 0, 0 or > 0. */
int kube_version_cmp(struct kube_version a, struct kube_version b);

#endif
