/* SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptors.h"

#include <sys/resource.h>

static struct rlimit original, raised;
static bool is_raised;

void descriptors_raise(void)
{
    if (is_raised || getrlimit(RLIMIT_NOFILE, &original) < 0 ||
        original.rlim_cur == original.rlim_max)
        return;
    raised = original;
    raised.rlim_cur = original.rlim_max;
    is_raised = setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

size_t descriptors_limit(void)
{
    struct rlimit now;
    return getrlimit(RLIMIT_NOFILE, &now) == 0 ? (size_t)now.rlim_cur : 0;
}

void descriptors_before_child(void)
{
    if (is_raised)
        (void)setrlimit(RLIMIT_NOFILE, &original);
}

void descriptors_after_child(void)
{
    if (is_raised)
        (void)setrlimit(RLIMIT_NOFILE, &raised);
}
