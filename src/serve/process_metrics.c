/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/process_metrics.h"

#include <dirent.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* --- /proc ------------------------------------------------------------------------------------ */

/* Fields of /proc/self/stat by their numbers in proc(5). */
enum stat_field {
    STAT_STATE = 3,
    STAT_UTIME = 14,
    STAT_STIME = 15,
    STAT_THREADS = 20,
    STAT_STARTED = 22,
    STAT_VSIZE = 23,
    STAT_RSS = 24,
    STAT_FIELDS,
};

/* False if the file is missing or too short. */
static bool read_stat(double fields[STAT_FIELDS])
{
    FILE *file = fopen("/proc/self/stat", "re");
    char text[1024];
    size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[n] = '\0';
    /* The second field is the program's name, which may contain spaces and parentheses. */
    const char *at = strrchr(text, ')');
    if (!at || !at[1])
        return false;
    struct str rest = str_of(at + 2), one;
    int i = STAT_STATE;
    for (; i < STAT_FIELDS && str_split(&rest, ' ', &one); i++)
        fields[i] = strtod(one.p, NULL);
    return i == STAT_FIELDS;
}

static double ticks(void)
{
    return (double)sysconf(_SC_CLK_TCK);
}

static double boot_time(void)
{
    FILE *file = fopen("/proc/stat", "re");
    char *line = NULL;
    size_t room = 0;
    double at = 0;
    while (file && at == 0 && getline(&line, &room, file) > 0)
        if (!strncmp(line, "btime ", 6))
            at = strtod(line + 6, NULL);
    free(line);
    if (file)
        fclose(file);
    return at;
}

double process_start_time(void)
{
    double stat[STAT_FIELDS], boot = boot_time();
    return boot > 0 && read_stat(stat) ? boot + stat[STAT_STARTED] / ticks() : 0;
}

static double count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    double n = -3; /* ".", ".." and the directory itself */
    if (!dir)
        return 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* The value of a named column, from a line of names and a line of numbers. */
static double column(const char *names, const char *numbers, const char *name)
{
    struct str heads = str_of(names), values = str_of(numbers), head, value;
    while (str_split(&heads, ' ', &head) && str_split(&values, ' ', &value))
        if (str_is(str_trim(head), name))
            return strtod(value.p, NULL);
    return 0;
}

/* Of the whole network namespace, as in Prometheus' Go client. */
static void read_network(double *received, double *sent)
{
    FILE *file = fopen("/proc/self/net/netstat", "re");
    char *names = NULL, *numbers = NULL;
    size_t room[2] = {0};
    *received = *sent = 0;
    while (file && getline(&names, &room[0], file) > 0 && getline(&numbers, &room[1], file) > 0) {
        if (strncmp(names, "IpExt:", 6) != 0)
            continue;
        *received = column(names, numbers, "InOctets");
        *sent = column(names, numbers, "OutOctets");
    }
    free(names);
    free(numbers);
    if (file)
        fclose(file);
}

static double soft_limit(int resource)
{
    struct rlimit limit;
    return getrlimit((__rlimit_resource_t)resource, &limit) == 0 ? (double)limit.rlim_cur : 0;
}

/* --- families --------------------------------------------------------------------------------- */

enum family {
    CPU,
    MAX_FDS,
    RECEIVED,
    SENT,
    OPEN_FDS,
    RESIDENT,
    STARTED,
    VIRTUAL,
    MAX_VIRTUAL,
    GOROUTINES,
    THREADS,
    PROCESSORS,
    ALLOC,
    HEAP_ALLOC,
    HEAP_IDLE,
    HEAP_INUSE,
    HEAP_SYS,
    SYS,
    FAMILY_COUNT,
};

/* Metrics of Prometheus' Go client have no stability level. */
#define RAW(text, what, how) {.name = (text), .help = (what), .kind = (how)}

static const struct metric_desc families[FAMILY_COUNT] = {
    [CPU] = RAW("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
                METRIC_COUNTER),
    [MAX_FDS] = RAW("process_max_fds", "Maximum number of open file descriptors.", METRIC_GAUGE),
    [RECEIVED] = RAW("process_network_receive_bytes_total",
                     "Number of bytes received by the process over the network.", METRIC_COUNTER),
    [SENT] = RAW("process_network_transmit_bytes_total",
                 "Number of bytes sent by the process over the network.", METRIC_COUNTER),
    [OPEN_FDS] = RAW("process_open_fds", "Number of open file descriptors.", METRIC_GAUGE),
    [RESIDENT] =
        RAW("process_resident_memory_bytes", "Resident memory size in bytes.", METRIC_GAUGE),
    [STARTED] = RAW("process_start_time_seconds",
                    "Start time of the process since unix epoch in seconds.", METRIC_GAUGE),
    [VIRTUAL] = RAW("process_virtual_memory_bytes", "Virtual memory size in bytes.", METRIC_GAUGE),
    [MAX_VIRTUAL] = RAW("process_virtual_memory_max_bytes",
                        "Maximum amount of virtual memory available in bytes.", METRIC_GAUGE),
    [GOROUTINES] =
        RAW("go_goroutines", "Number of threads; berth has no goroutines.", METRIC_GAUGE),
    [THREADS] = RAW("go_threads", "Number of OS threads created.", METRIC_GAUGE),
    [PROCESSORS] =
        RAW("go_sched_gomaxprocs_threads", "Number of processors available.", METRIC_GAUGE),
    [ALLOC] = RAW("go_memstats_alloc_bytes", "Number of bytes allocated and currently in use.",
                  METRIC_GAUGE),
    [HEAP_ALLOC] = RAW("go_memstats_heap_alloc_bytes",
                       "Number of heap bytes allocated and currently in use.", METRIC_GAUGE),
    [HEAP_IDLE] =
        RAW("go_memstats_heap_idle_bytes", "Number of heap bytes that are free.", METRIC_GAUGE),
    [HEAP_INUSE] =
        RAW("go_memstats_heap_inuse_bytes", "Number of heap bytes that are in use.", METRIC_GAUGE),
    [HEAP_SYS] = RAW("go_memstats_heap_sys_bytes", "Number of heap bytes obtained from system.",
                     METRIC_GAUGE),
    [SYS] = RAW("go_memstats_sys_bytes", "Number of bytes obtained from system.", METRIC_GAUGE),
};

struct state {
    struct metric *series[FAMILY_COUNT];
};

static void set(struct state *s, enum family family, double value)
{
    metric_set(s->series[family], value);
}

static void write_heap(struct state *s)
{
    struct mallinfo2 info = mallinfo2();
    double used = (double)(info.uordblks + info.hblkhd);
    double all = (double)(info.arena + info.hblkhd);
    set(s, ALLOC, used);
    set(s, HEAP_ALLOC, used);
    set(s, HEAP_INUSE, used);
    set(s, HEAP_IDLE, (double)info.fordblks);
    set(s, HEAP_SYS, all);
    set(s, SYS, all);
}

static void on_write(void *state)
{
    struct state *s = state;
    double stat[STAT_FIELDS], received, sent;
    if (read_stat(stat)) {
        set(s, CPU, (stat[STAT_UTIME] + stat[STAT_STIME]) / ticks());
        set(s, THREADS, stat[STAT_THREADS]);
        set(s, GOROUTINES, stat[STAT_THREADS]);
        set(s, VIRTUAL, stat[STAT_VSIZE]);
        set(s, RESIDENT, stat[STAT_RSS] * (double)sysconf(_SC_PAGESIZE));
    }
    read_network(&received, &sent);
    set(s, RECEIVED, received);
    set(s, SENT, sent);
    set(s, OPEN_FDS, count_fds());
    set(s, MAX_FDS, soft_limit(RLIMIT_NOFILE));
    set(s, MAX_VIRTUAL, soft_limit(RLIMIT_AS));
    set(s, PROCESSORS, (double)sysconf(_SC_NPROCESSORS_ONLN));
    write_heap(s);
}

static void init(void *state, struct metrics *m)
{
    struct state *s = state;
    for (enum family i = 0; i < FAMILY_COUNT; i++)
        s->series[i] = metric_with(metrics_add(m, &families[i]), NULL);
    set(s, STARTED, process_start_time());
}

void process_metrics_add(struct metrics *metrics)
{
    static const struct metrics_part part = {
        .size = sizeof(struct state), .init = init, .on_write = on_write};
    metrics_part(metrics, &part);
}

/* --- version and feature gates ---------------------------------------------------------------- */

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
