/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/beta.h"

#include <math.h>

/* The continued fraction needs about the square root of a + b steps: this bounds them. */
#define LARGE     1e6
#define MAX_STEPS 20000
#define TINY      1e-300
#define PRECISION 1e-15

bool beta_fit(double mu, double sigma, struct beta *ret_beta)
{
    /* Upstream's way of writing sigma squared: the same roundings. */
    double variance = (sigma * sigma + mu * mu) - mu * mu;
    if (mu < 0 || mu > 1 || variance < 0 || variance >= mu * (1 - mu))
        return false;
    double sum = fmax(mu * (1 - mu) / variance - 1, 4.9406564584124654e-324);
    *ret_beta = (struct beta){mu * sum, (1 - mu) * sum};
    return true;
}

static double not_tiny(double x)
{
    return fabs(x) < TINY ? TINY : x;
}

/*
 * The continued fraction of the incomplete beta function, evaluated from the front (modified Lentz;
 * Abramowitz and Stegun, 26.5.8). Converges fast for x < (a + 1) / (a + b + 2).
 */
static double continued_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / not_tiny(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m <= MAX_STEPS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / not_tiny(1 + even * d);
        c = not_tiny(1 + even / c);
        value *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_tiny(1 + odd * d);
        c = not_tiny(1 + odd / c);
        value *= d * c;
        if (fabs(d * c - 1) < PRECISION)
            break;
    }
    return value;
}

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* For x < (a + 1) / (a + b + 2). */
static double lower_part(double a, double b, double x)
{
    double front = log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x);
    return exp(front) * continued_fraction(a, b, x) / a;
}

/* Abramowitz and Stegun, 26.5.22: close to a normal distribution if a and b are large. */
static double by_normal(double a, double b, double x)
{
    double u = cbrt(b * x), v = cbrt(a * (1 - x));
    double y = 3 * (u * (1 - 1 / (9 * b)) - v * (1 - 1 / (9 * a))) / sqrt(u * u / b + v * v / a);
    return erfc(-y / sqrt(2)) / 2;
}

double beta_below(const struct beta *beta, double x)
{
    double a = beta->a, b = beta->b, p;
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    if (a + b > LARGE && a > 1000 && b > 1000)
        p = by_normal(a, b, x);
    else if (x < (a + 1) / (a + b + 2))
        p = lower_part(a, b, x);
    else
        p = 1 - lower_part(b, a, 1 - x);
    return p >= 0 && p <= 1 ? p : p > 1 ? 1 : 0;
}
