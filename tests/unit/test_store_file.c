/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apiserver/disk/store_file.h"
#include "base/vec.h"
#include "prop.h"

static const struct resource pods = {.group = STR_INIT(""), .plural = STR_INIT("pods")};
static const struct resource widgets = {.group = STR_INIT("example.com"),
                                        .plural = STR_INIT("widgets")};
static const struct resource definitions = {.group = STR_INIT("apiextensions.k8s.io"),
                                            .plural = STR_INIT("customresourcedefinitions")};

/* --- a directory, a store on it --------------------------------------------------------------- */

static char directory[64], file[96];

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int setup(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/berth-store-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(file, sizeof(file), "%s/berth.db", directory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void on_change(void *ctx, const struct store_event *event)
{
    store_file_write(ctx, event);
}

static struct store *store_on(struct store_file *f)
{
    return store_new(&(struct store_options){.changed = on_change, .ctx = f});
}

static struct revision *make(const struct resource *r, const char *name, struct str text,
                             uint64_t version)
{
    return revision_new(&(struct revision_source){
        .resource = r,
        .namespace = r == &definitions ? STR("") : STR("default"),
        .name = str_of(name),
        .text = text,
        .version = version,
    });
}

static void put(struct store *store, const struct resource *r, const char *name, struct str text)
{
    store_put(store, make(r, name, text, store_next_version(store)));
}

static struct store_file *must_open(void)
{
    struct store_file *f;
    struct err e = {0};
    if (store_file_open(directory, &f, &e) < 0)
        fail_msg("%s", e.msg);
    return f;
}

/* What a load reads, in its order. */
struct loaded {
    VEC(struct revision *) revs;
    bool known; /* a definition was read: widgets are served */
    uint64_t version;
};

static const struct resource *find(void *ctx, struct str group, struct str plural)
{
    struct loaded *l = ctx;
    if (str_empty(group) && str_is(plural, "pods"))
        return &pods;
    if (str_is(plural, "widgets"))
        return l->known ? &widgets : NULL;
    return str_is(plural, "customresourcedefinitions") ? &definitions : NULL;
}

static void add(void *ctx, const struct resource *r, struct str namespace, struct str name,
                uint64_t version, struct str text)
{
    struct loaded *l = ctx;
    l->known = l->known || r == &definitions;
    vec_push(&l->revs, revision_new(&(struct revision_source){.resource = r,
                                                              .namespace = namespace,
                                                              .name = name,
                                                              .version = version,
                                                              .text = text}));
}

static int load(struct store_file *f, struct loaded *l, struct err *reterr)
{
    return store_file_load(f, find, add, l, &l->version, reterr);
}

static void release(struct loaded *l)
{
    for (size_t i = 0; i < l->revs.n; i++)
        revision_unref(l->revs.v[i]);
    vec_release(&l->revs);
}

/* --- what is kept ----------------------------------------------------------------------------- */

static void committed_changes_are_loaded(void **state)
{
    (void)state;
    struct store_file *f = must_open();
    struct store *store = store_on(f);
    assert_false(store_file_dirty(f));
    put(store, &pods, "a", STR("{\"v\":1}"));
    put(store, &pods, "b", STR("{}"));
    assert_true(store_file_dirty(f));
    assert_int_equal(store_file_commit(f, NULL), 0);
    assert_false(store_file_dirty(f));
    put(store, &pods, "a", STR("{\"v\":\"\xc3\xa4\"}"));
    store_delete(store, make(&pods, "b", STR("{}"), store_next_version(store)));
    store_free(store);
    store_file_close(f);

    f = must_open();
    struct loaded l = {0};
    assert_int_equal(load(f, &l, NULL), 0);
    assert_int_equal(l.version, 5);
    assert_int_equal(l.revs.n, 1);
    assert_true(str_is(l.revs.v[0]->name, "a"));
    assert_true(str_is(l.revs.v[0]->namespace, "default"));
    assert_true(str_is(l.revs.v[0]->text, "{\"v\":\"\xc3\xa4\"}"));
    assert_int_equal(l.revs.v[0]->version, 4);
    release(&l);
    store_file_close(f);
    struct stat st;
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void definitions_are_loaded_first(void **state)
{
    (void)state;
    struct store_file *f = must_open();
    struct store *store = store_on(f);
    put(store, &widgets, "w", STR("{}"));
    put(store, &definitions, "widgets.example.com", STR("{}"));
    store_free(store);
    store_file_close(f);
    f = must_open();
    struct loaded l = {0};
    assert_int_equal(load(f, &l, NULL), 0);
    assert_int_equal(l.revs.n, 2);
    assert_ptr_equal(l.revs.v[0]->resource, &definitions);
    assert_ptr_equal(l.revs.v[1]->resource, &widgets);
    release(&l);
    store_file_close(f);
}

/* Objects of a resource that is not served stay in the file. */
static void unknown_resources_are_kept(void **state)
{
    (void)state;
    struct store_file *f = must_open();
    struct store *store = store_on(f);
    put(store, &widgets, "w", STR("{}"));
    store_file_close(f);
    for (size_t round = 0; round < 2; round++) {
        f = must_open();
        struct loaded l = {.known = round == 1};
        assert_int_equal(load(f, &l, NULL), 0);
        assert_int_equal(l.revs.n, round);
        release(&l);
        store_file_close(f);
    }
    store_free(store);
}

/* --- errors ----------------------------------------------------------------------------------- */

static void a_second_process_is_refused(void **state)
{
    (void)state;
    struct store_file *f = must_open();
    pid_t pid = fork();
    if (pid == 0) {
        struct store_file *again;
        struct err e = {0};
        int code = store_file_open(directory, &again, &e);
        _exit(code == -EBUSY && strstr(e.msg, "berth.db: another process uses it") ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    store_file_close(f);
    store_file_close(must_open());
}

static void expect_failure(int code, const char *text)
{
    struct store_file *f = NULL;
    struct err e = {0};
    struct loaded l = {0};
    int got = store_file_open(directory, &f, &e);
    if (got == 0)
        got = load(f, &l, &e);
    release(&l);
    store_file_close(f);
    assert_int_equal(got, code);
    if (!strstr(e.msg, text))
        fail_msg("%s", e.msg);
}

static void overwrite(off_t at, const char *text)
{
    int fd = open(file, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, text, strlen(text), at), (ssize_t)strlen(text));
    close(fd);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    overwrite(0, "this is a text file and certainly not a database of any kind, is it? It goes on "
                 "for more than one hundred bytes.");
    expect_failure(-EBADMSG, "the file is damaged: file is not a database");
}

static void a_newer_layout_is_refused(void **state)
{
    (void)state;
    store_file_close(must_open());
    overwrite(60, "\x01\x02\x03\x04"); /* user_version */
    expect_failure(-ENOTSUP, "its layout is 16909060, this version of berth reads and writes 1");
    store_file_close(NULL);
    overwrite(68, "\x01\x02\x03\x04"); /* application_id */
    expect_failure(-EBADMSG, "not a database of berth");
}

static void a_missing_parent_is_reported(void **state)
{
    (void)state;
    struct store_file *f;
    struct err e = {0};
    assert_int_equal(store_file_open("/nonexistent/x", &f, &e), -ENOENT);
    assert_string_equal(e.msg, "/nonexistent/x: No such file or directory");
}

/* One byte of an object's text, then whole pages. */
static void damage_is_found(void **state)
{
    (void)state;
    struct store_file *f = must_open();
    struct store *store = store_on(f);
    for (size_t i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%zu", i);
        put(store, &pods, name, STR("{\"needle\":\"0123456789 0123456789 0123456789\"}"));
    }
    store_free(store);
    store_file_close(f);
    static char content[1 << 20];
    int fd = open(file, O_RDONLY);
    ssize_t n = read(fd, content, sizeof(content));
    close(fd);
    assert_true(n > 8192);
    const char *needle = memmem(content + n / 2, (size_t)n / 2, "needle", 6);
    assert_non_null(needle);
    overwrite(needle - content, "noodle");
    expect_failure(-EBADMSG, "the file is damaged: object default/p");
    overwrite(needle - content, "needle");
    f = must_open();
    store_file_close(f);
    static char zeros[4097];
    memset(zeros, 'z', 4096);
    overwrite(3 * 4096, zeros);
    expect_failure(-EBADMSG, "the file is damaged: ");
}

/* --- a full disk ------------------------------------------------------------------------------ */

/* Runs in a process of its own: files may not grow beyond a limit, then they may. */
static int fill_disk(void)
{
    signal(SIGXFSZ, SIG_IGN);
    struct store_file *f = must_open();
    struct store *store = store_on(f);
    put(store, &pods, "first", STR("{}"));
    if (store_file_commit(f, NULL) < 0)
        return 1;
    struct rlimit limit = {200000, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    static char text[10000];
    memset(text, 'x', sizeof(text));
    int code = 0;
    struct err e = {0};
    for (size_t i = 0; code == 0 && i < 100; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%zu", i);
        put(store, i % 2 ? &pods : &widgets, name, (struct str){text, sizeof(text)});
        code = store_file_commit(f, &e);
    }
    if (code >= 0 || !strstr(e.msg, "berth.db: ") || !store_file_dirty(f))
        return 2;
    put(store, &pods, "last", STR("{}"));
    if (store_file_commit(f, &e) >= 0)
        return 3;
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (store_file_commit(f, &e) < 0)
        return 4;
    size_t count = store_count(store, &pods) + store_count(store, &widgets);
    uint64_t version = store_version(store);
    store_file_close(f);
    f = must_open();
    struct loaded l = {.known = true};
    if (load(f, &l, &e) < 0 || l.revs.n != count || l.version != version)
        return 5;
    release(&l);
    store_file_close(f);
    store_free(store);
    return 0;
}

static void a_full_disk_loses_nothing(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(fill_disk());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* --- kill -9 ---------------------------------------------------------------------------------- */

#define OBJECTS 40

/* Changes objects at random and reports each commit: the version that is on disk. */
static void write_until_killed(struct rand *r, int pipe)
{
    struct store_file *f = must_open();
    struct loaded l = {.known = true};
    if (load(f, &l, NULL) < 0)
        _exit(1);
    struct store *store = store_on(f);
    for (size_t i = 0; i < l.revs.n; i++)
        store_load(store, revision_ref(l.revs.v[i]));
    store_set_version(store, MAX(l.version, (uint64_t)1));
    for (;;) {
        for (size_t n = 1 + rand_below(r, 20); n > 0; n--) {
            char name[16], text[3000];
            uint64_t version = store_next_version(store);
            int length = snprintf(name, sizeof(name), "p%u", (unsigned)rand_below(r, OBJECTS));
            memset(text, 'x', sizeof(text));
            snprintf(text, sizeof(text), "%llu ", (unsigned long long)version);
            struct revision *rev = make(
                &pods, name, (struct str){text, 30 + rand_below(r, sizeof(text) - 30)}, version);
            if (rand_below(r, 4) == 0 &&
                store_get(store, &pods, STR("default"), (struct str){name, (size_t)length}))
                store_delete(store, rev);
            else
                store_put(store, rev);
        }
        if (store_file_commit(f, NULL) < 0)
            _exit(2);
        uint64_t version = store_version(store);
        if (write(pipe, &version, sizeof(version)) != sizeof(version))
            _exit(3);
    }
}

/* The same random changes without a disk, up to a version: which objects exist. */
struct expected {
    uint64_t version[OBJECTS];
};

static void replay(struct rand *r, uint64_t from, uint64_t until, struct expected *x)
{
    for (uint64_t version = from; version < until;) {
        for (size_t n = 1 + rand_below(r, 20); n > 0; n--) {
            size_t i = rand_below(r, OBJECTS);
            rand_below(r, 3000 - 30);
            bool delete = rand_below(r, 4) == 0 && x->version[i];
            version++;
            x->version[i] = delete ? 0 : version;
        }
        if (version > until)
            fail_msg("a commit is only half there");
    }
}

struct ledger {
    uint64_t version;
    struct expected x;
};

/*
 * One process is killed at a random moment. Everything that it reported is there, and what is there
 * is the state after one of its commits, not between two.
 */
static bool survives_kill(struct rand *r, size_t size, void *ctx)
{
    (void)size;
    struct ledger *ledger = ctx;
    struct rand child;
    rand_seed(&child, rand_u64(r));
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        write_until_killed(&child, fds[1]);
    }
    close(fds[1]);
    struct timespec wait = {.tv_nsec = (long)(1000000 + rand_below(r, 40000000))};
    nanosleep(&wait, NULL);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    uint64_t reported = 0, version;
    while (read(fds[0], &version, sizeof(version)) == sizeof(version))
        reported = version;
    close(fds[0]);

    struct store_file *f = must_open();
    struct loaded l = {.known = true};
    bool ok = load(f, &l, NULL) == 0 && l.version >= reported && l.version >= ledger->version;
    replay(&child, MAX(ledger->version, (uint64_t)1), l.version, &ledger->x);
    size_t n = 0;
    for (size_t i = 0; i < OBJECTS; i++)
        n += ledger->x.version[i] != 0;
    ok = ok && n == l.revs.n;
    for (size_t i = 0; i < l.revs.n && ok; i++) {
        int64_t at;
        ok = str_to_i64(str_slice(l.revs.v[i]->name, 1, SIZE_MAX), &at) && at < OBJECTS &&
             l.revs.v[i]->version == ledger->x.version[at];
    }
    ledger->version = l.version;
    release(&l);
    store_file_close(f);
    return ok;
}

static void kill_loses_nothing(void **state)
{
    (void)state;
    struct ledger ledger = {0};
    assert_true(prop_run("kill -9", 20, survives_kill, &ledger));
    assert_true(ledger.version > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(committed_changes_are_loaded, setup, teardown),
        cmocka_unit_test_setup_teardown(definitions_are_loaded_first, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_resources_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_second_process_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(other_files_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_newer_layout_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_parent_is_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_loses_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(kill_loses_nothing, setup, teardown),
    };
    return cmocka_run_group_tests_name("store_file", tests, NULL, NULL);
}
