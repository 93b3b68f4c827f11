/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of the version and the feature gates. */
#include <sys/utsname.h>

#include "serve/process_metrics.h"

static const struct metric_desc build_desc = {
    .name = "kubernetes_build_info",
    .help = "A metric with a constant '1' value labeled by major, minor, git version, git commit, "
            "git tree state, build date, Go version, and compiler from which Kubernetes was built, "
            "and platform on which it is running.",
    .stability = "BETA",
    .kind = METRIC_GAUGE,
    .labels = {"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date",
               "go_version", "compiler", "platform"}};
static const struct metric_desc version_desc = {
    .name = "version_info",
    .help = "A metric with a constant '1' value labeled by the binary version, the component, the "
            "emulated version and the minimum compatible version.",
    .stability = "ALPHA",
    .kind = METRIC_GAUGE,
    .labels = {"binary", "component", "emulation", "min_compat"}};
static const struct metric_desc feature_desc = {
    .name = "kubernetes_feature_enabled",
    .help = "This metric records the data about the stage and enablement of a k8s feature.",
    .stability = "BETA",
    .kind = METRIC_GAUGE,
    .labels = {"name", "stage"}};

/* Go's name of the architecture. */
static const char *architecture(const char *machine)
{
    static const char *const names[][2] = {
        {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"armv7l", "arm"}, {"i686", "386"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strcmp(machine, names[i][0]))
            return names[i][1];
    return machine;
}

static void add_build(struct metrics *m, struct str git_version)
{
    struct utsname host = {0};
    char platform[128];
    (void)uname(&host);
    snprintf(platform, sizeof(platform), "linux/%s", architecture(host.machine));
    struct str rest = str_slice(git_version, 1, git_version.n), major, minor;
    str_split(&rest, '.', &major);
    str_split(&rest, '.', &minor);
    struct str values[] = {major,   minor,       git_version, STR(""),         STR("clean"),
                           STR(""), STR("none"), STR("gcc"),  str_of(platform)};
    metric_set(metric_with(metrics_add(m, &build_desc), values), 1);
}

static void add_version(struct metrics *m, const struct features *f, struct str git_version)
{
    char emulation[32], min_compat[32];
    snprintf(emulation, sizeof(emulation), "%u.%u", f->emulated.major, f->emulated.minor);
    snprintf(min_compat, sizeof(min_compat), "%u.%u", f->min_compatible.major,
             f->min_compatible.minor);
    struct str values[] = {str_slice(git_version, 1, git_version.n), STR("kube"), str_of(emulation),
                           str_of(min_compat)};
    metric_set(metric_with(metrics_add(m, &version_desc), values), 1);
}

static void add_feature(void *ctx, struct str name, const char *stage, bool on)
{
    metric_set(metric_with(ctx, (struct str[]){name, str_of(stage)}), on);
}

void build_metrics_add(struct metrics *m, const struct features *features, struct str git_version)
{
    add_build(m, git_version);
    add_version(m, features, git_version);
    features_each(features, add_feature, metrics_add(m, &feature_desc));
}
