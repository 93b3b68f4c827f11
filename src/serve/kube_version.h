/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_version.h - versions of Kubernetes in flags.
 *
 * Purpose:   parses --version in its three forms, --emulated-version and
 *            --min-compatibility-version, with upstream's errors.
 * Ownership: values; texts point into the flags.
 * Threading: any.
 */
#ifndef BERTH_SERVE_KUBE_VERSION_H
#define BERTH_SERVE_KUBE_VERSION_H

#include "base/go_text.h"
#include "engine/config/features.h"

/* The version of kube-scheduler that berth is compatible with. */
#define KUBE_GIT_VERSION "v1.36.3"

struct version_flag {
    enum { VERSION_NOT_ASKED, VERSION_ASKED, VERSION_RAW, VERSION_SET } asked;
    struct str reported; /* of --version=vX.Y.Z…; empty: KUBE_GIT_VERSION */
};

/* Sets --version: true, false, raw, or the version to report, with the same three numbers. */
int version_flag_set(struct version_flag *flag, struct str text, struct err *reterr) MUST_CHECK;
void version_flag_write(const struct version_flag *flag, struct buf *out);
/* Writes the line that --version prints; false if it was not requested. */
bool version_flag_answer(const struct version_flag *flag, struct buf *out);

/* Parses a list with at most one "1.35" or "kube=1.35". *ret_given: whether there is one. */
int kube_versions_parse(const struct go_strings *list, struct kube_version *ret_version,
                        bool *ret_given, struct err *reterr) MUST_CHECK;
/* < 0, 0 or > 0. */
int kube_version_cmp(struct kube_version a, struct kube_version b);

#endif
