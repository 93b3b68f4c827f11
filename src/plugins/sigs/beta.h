/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beta.h - the beta distribution.
 *
 * Purpose:   how likely a load of a given mean and deviation stays below a threshold, for
 *            LowRiskOverCommitment.
 * Ownership: plain values.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_SIGS_BETA_H
#define BERTH_PLUGINS_SIGS_BETA_H

#include <stdbool.h>

struct beta {
    double a, b; /* both > 0 */
};

/* The distribution of this mean and standard deviation; false if there is none. */
bool beta_fit(double mu, double sigma, struct beta *ret_beta);
/*
 * The probability of a value <= x, 0 … 1 (the regularized incomplete beta function). Within 1e-10;
 * within 1e-4 if a + b is beyond 10^6.
 */
double beta_below(const struct beta *beta, double x);

#endif
