/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth-bench - how fast berth decodes.
 *
 *   berth-bench decode FILE...
 *
 * Every FILE is a PodList, as JSON or as protobuf. It is decoded object by object, each pod into
 * its own arena, as the reflector does it; then all pods are freed. Prints the best and the median
 * of RUNS runs per file, in CPU time of the single thread, which depends less on the load of the
 * machine.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/object.h"
#include "base/time.h"
#include "base/vec.h"

#define RUNS 20

static bool read_file(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && buf_reserve(out, (size_t)st.st_size);
    while (ok && out->n < (size_t)st.st_size) {
        ssize_t n = read(fd, out->p + out->n, (size_t)st.st_size - out->n);
        ok = n > 0;
        out->n += ok ? (size_t)n : 0;
    }
    if (!ok)
        fprintf(stderr, "berth-bench: %s: %m\n", path);
    if (fd >= 0)
        close(fd);
    return ok;
}

struct objects {
    VEC(struct object *) all;
};

static int keep(void *ctx, struct object *object)
{
    struct objects *objects = ctx;
    vec_push(&objects->all, object);
    return 0;
}

static int64_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* One run: nanoseconds, or -1. The objects live until all are decoded, as in a cache. */
static int64_t run(const struct wire *wire, struct str bytes, struct objects *objects,
                   size_t *ret_memory, struct err *reterr)
{
    struct object_list list;
    int64_t began = cpu_time();
    int ret = object_decode_list(wire, bytes, keep, objects, &list, reterr);
    int64_t took = cpu_time() - began;
    if (ret == 0)
        object_list_release(&list);
    *ret_memory = 0;
    for (size_t i = 0; i < objects->all.n; i++) {
        *ret_memory += object_size(objects->all.v[i]);
        object_unref(objects->all.v[i]);
    }
    return ret < 0 ? -1 : took;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool decode_file(const char *path)
{
    struct buf bytes = {.max = (size_t)1 << 32};
    struct objects objects = {0};
    bool ok = read_file(path, &bytes);
    struct wire wire = {.kind = kind_get(KIND_POD),
                        .encoding = bytes.n && bytes.p[0] == '{' ? ENCODING_JSON : ENCODING_PROTO};
    int64_t took[RUNS];
    size_t memory = 0;
    struct err err;
    for (size_t i = 0; i < RUNS && ok; i++) {
        vec_clear(&objects.all);
        took[i] = run(&wire, buf_str(&bytes), &objects, &memory, &err);
        ok = took[i] >= 0;
        if (!ok)
            fprintf(stderr, "berth-bench: %s: %s\n", path, err.msg);
    }
    if (ok) {
        qsort(took, RUNS, sizeof(took[0]), compare);
        double best = (double)took[0] / 1e6, median = (double)took[RUNS / 2] / 1e6;
        printf("%-8s  %5zu pods  %6.1f MB  best %7.2f ms  median %7.2f ms  %6.0f MB/s  %5.1f KB a "
               "pod\n",
               wire.encoding == ENCODING_JSON ? "JSON" : "protobuf", objects.all.n,
               (double)bytes.n / 1e6, best, median, (double)bytes.n / 1e3 / best,
               (double)memory / 1e3 / (double)MAX(objects.all.n, (size_t)1));
    }
    vec_release(&objects.all);
    buf_release(&bytes);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc < 3 || strcmp(argv[1], "decode") != 0) {
        fprintf(stderr, "usage: berth-bench decode FILE...\n");
        return 2;
    }
    bool ok = true;
    for (int i = 2; i < argc; i++)
        ok = decode_file(argv[i]) && ok;
    return ok ? 0 : 1;
}
