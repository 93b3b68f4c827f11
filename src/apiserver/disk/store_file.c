/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/disk/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

#define APPLICATION_ID 0x62727468 /* "brth" */
#define LAYOUT         1

enum statement { PUT, DELETE, SET_VERSION, ADD_RESOURCE, BEGIN, COMMIT, ROLLBACK, N_STATEMENTS };

static const char *const texts[N_STATEMENTS] = {
    [PUT] = ("INSERT INTO objects (resource, namespace, name, version, sum, text)"
             " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (resource, namespace, name)"
             " DO UPDATE SET version = ?4, sum = ?5, text = ?6"),
    [DELETE] = "DELETE FROM objects WHERE resource = ?1 AND namespace = ?2 AND name = ?3",
    [SET_VERSION] = "UPDATE state SET version = ?1",
    [ADD_RESOURCE] = "INSERT INTO resources (id, api_group, plural) VALUES (?1, ?2, ?3)",
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
};

static const char layout[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE state (version INTEGER NOT NULL);"
    "INSERT INTO state VALUES (0);"
    "CREATE TABLE resources (id INTEGER PRIMARY KEY, api_group TEXT NOT NULL, plural TEXT NOT "
    "NULL);"
    "CREATE TABLE objects (id INTEGER PRIMARY KEY, resource INTEGER NOT NULL,"
    " namespace TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,"
    " sum INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE (resource, namespace, name));"
    "PRAGMA application_id = 1651668072;"
    "PRAGMA user_version = 1;"
    "COMMIT;";

/* A group and plural name; objects refer to it by its number. */
struct file_resource {
    int64_t id;
    bool stored;                     /* in the table of the last commit */
    const struct resource *resource; /* of the load */
    struct str group, plural;
    char text[];
};

struct pending {
    bool delete;
    struct revision *rev;
};

struct store_file {
    char *path;
    sqlite3 *db;
    sqlite3_stmt *statements[N_STATEMENTS];
    VEC(struct file_resource *) by_id;
    struct file_resource *last; /* that was found; NULL: none */
    VEC(struct pending) pending;
};

/* --- errors ----------------------------------------------------------------------------------- */

static int code_of(const struct store_file *f, int result)
{
    switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CONSTRAINT:
        return -EBADMSG;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_READONLY:
        return -EROFS;
    default: {
        int system = sqlite3_system_errno(f->db);
        return system ? -system : -EIO;
    }
    }
}

/* One line for the last error of the database. */
static int fail(const struct store_file *f, int result, struct err *reterr)
{
    int code = code_of(f, result);
    if (code == -EBUSY)
        return err_set(reterr, code, "%s: another process uses it", f->path);
    if (code == -EBADMSG)
        return err_set(reterr, code, "%s: the file is damaged: %s", f->path, sqlite3_errmsg(f->db));
    if (code == -ENOSPC)
        return err_set(reterr, code, "%s: the disk is full", f->path);
    int system = sqlite3_system_errno(f->db);
    return err_set(reterr, code, "%s: %s", f->path,
                   system ? strerror(system) : sqlite3_errmsg(f->db));
}

/* --- statements ------------------------------------------------------------------------------- */

/* Any string of the process; NULL would be another value. */
static void bind(sqlite3_stmt *s, int at, struct str text)
{
    sqlite3_bind_text64(s, at, text.p ? text.p : "", text.n, SQLITE_STATIC, SQLITE_UTF8);
}

static struct str column(sqlite3_stmt *s, int at)
{
    const char *p = (const char *)sqlite3_column_text(s, at);
    return (struct str){p ? p : "", (size_t)sqlite3_column_bytes(s, at)};
}

/* Runs a statement without rows. */
static int run(struct store_file *f, enum statement which)
{
    int result = sqlite3_step(f->statements[which]);
    sqlite3_reset(f->statements[which]);
    return result == SQLITE_DONE || result == SQLITE_ROW ? SQLITE_OK : result;
}

/* A PRAGMA with one number as its result. */
static int get_number(struct store_file *f, const char *sql, int64_t *ret_value)
{
    sqlite3_stmt *s;
    int result = sqlite3_prepare_v2(f->db, sql, -1, &s, NULL);
    if (result != SQLITE_OK)
        return result;
    result = sqlite3_step(s);
    if (result == SQLITE_ROW) {
        *ret_value = sqlite3_column_int64(s, 0);
        result = SQLITE_OK;
    }
    sqlite3_finalize(s);
    return result;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* SQLite would create a file that everyone can read; its log gets the mode of the file. */
static int make_file(const char *directory, const char *path, struct err *reterr)
{
    if (mkdir(directory, 0700) < 0 && errno != EEXIST)
        return err_set(reterr, -errno, "%s: %s", directory, strerror(errno));
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    close(fd);
    return 0;
}

static int check_layout(struct store_file *f, struct err *reterr)
{
    int64_t application = 0, version = 0, n_tables = 0;
    int result = get_number(f, "SELECT count(*) FROM sqlite_schema", &n_tables);
    if (result == SQLITE_OK)
        result = get_number(f, "PRAGMA application_id", &application);
    if (result == SQLITE_OK)
        result = get_number(f, "PRAGMA user_version", &version);
    if (result == SQLITE_OK && n_tables == 0)
        result = sqlite3_exec(f->db, layout, NULL, NULL, NULL);
    else if (result == SQLITE_OK && application != APPLICATION_ID)
        return err_set(reterr, -EBADMSG, "%s: not a database of berth", f->path);
    else if (result == SQLITE_OK && version != LAYOUT)
        return err_set(reterr, -ENOTSUP,
                       "%s: its layout is %lld, this version of berth reads and writes %d", f->path,
                       (long long)version, LAYOUT);
    return result == SQLITE_OK ? 0 : fail(f, result, reterr);
}

static struct file_resource *add_resource(struct store_file *f, struct str group, struct str plural,
                                          int64_t id)
{
    struct file_resource *r = xcalloc(1, sizeof(*r) + group.n + plural.n);
    memcpy(r->text, group.p ? group.p : "", group.n);
    memcpy(r->text + group.n, plural.p ? plural.p : "", plural.n);
    r->group = (struct str){r->text, group.n};
    r->plural = (struct str){r->text + group.n, plural.n};
    r->id = id;
    vec_push(&f->by_id, r);
    return r;
}

static int read_resources(struct store_file *f, struct err *reterr)
{
    sqlite3_stmt *s;
    int result = sqlite3_prepare_v2(
        f->db, "SELECT id, api_group, plural FROM resources ORDER BY id", -1, &s, NULL);
    if (result != SQLITE_OK)
        return fail(f, result, reterr);
    bool gap = false;
    while ((result = sqlite3_step(s)) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(s, 0);
        gap = gap || id != (int64_t)f->by_id.n;
        add_resource(f, column(s, 1), column(s, 2), id)->stored = true;
    }
    int code = result == SQLITE_DONE ? 0 : fail(f, result, reterr);
    sqlite3_finalize(s);
    if (code == 0 && gap)
        code =
            err_set(reterr, -EBADMSG, "%s: the file is damaged: bad table of resources", f->path);
    return code;
}

/* SQLite finds damage only in pages that it reads. */
static int check_pages(struct store_file *f, struct err *reterr)
{
    sqlite3_stmt *s;
    int result = sqlite3_prepare_v2(f->db, "PRAGMA quick_check(1)", -1, &s, NULL);
    if (result != SQLITE_OK)
        return fail(f, result, reterr);
    int code = 0;
    result = sqlite3_step(s);
    if (result != SQLITE_ROW)
        code = fail(f, result, reterr);
    else if (!str_is(column(s, 0), "ok"))
        code = err_set(reterr, -EBADMSG, "%s: the file is damaged: %.*s", f->path,
                       STR_ARG(column(s, 0)));
    sqlite3_finalize(s);
    return code;
}

int store_file_open(const char *directory, struct store_file **ret_file, struct err *reterr)
{
    /* The lock is taken by the first read and kept: the log's index is in memory, not in a file. */
    static const char setup[] = "PRAGMA locking_mode = EXCLUSIVE;"
                                "PRAGMA journal_mode = WAL;"
                                "PRAGMA synchronous = NORMAL;"
                                "PRAGMA wal_autocheckpoint = 4000;"
                                "BEGIN EXCLUSIVE; COMMIT;";
    struct store_file *f = xnew(struct store_file);
    f->path = xasprintf("%s/berth.db", directory);
    int code = make_file(directory, f->path, reterr);
    if (code < 0)
        goto out;
    int result =
        sqlite3_open_v2(f->path, &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(f->db, setup, NULL, NULL, NULL);
    code = result == SQLITE_OK ? check_layout(f, reterr) : fail(f, result, reterr);
    if (code == 0)
        code = check_pages(f, reterr);
    if (code == 0)
        code = read_resources(f, reterr);
    for (size_t i = 0; code == 0 && i < N_STATEMENTS; i++) {
        result = sqlite3_prepare_v3(f->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                    &f->statements[i], NULL);
        if (result != SQLITE_OK)
            code = fail(f, result, reterr);
    }
out:
    if (code == 0)
        *ret_file = f;
    else
        store_file_close(f);
    return code;
}

struct store_file *store_file_close(struct store_file *f)
{
    if (!f)
        return NULL;
    if (store_file_dirty(f) && store_file_commit(f, NULL) < 0)
        for (size_t i = 0; i < f->pending.n; i++)
            revision_unref(f->pending.v[i].rev);
    for (size_t i = 0; i < N_STATEMENTS; i++)
        sqlite3_finalize(f->statements[i]);
    sqlite3_close(f->db);
    for (size_t i = 0; i < f->by_id.n; i++)
        free(f->by_id.v[i]);
    vec_release(&f->by_id);
    vec_release(&f->pending);
    free(f->path);
    free(f);
    return NULL;
}

/* --- loading ---------------------------------------------------------------------------------- */

/* FNV-1a of the object, because SQLite has no sums of its own. */
static int64_t sum_of(struct str namespace, struct str name, uint64_t version, struct str text)
{
    uint64_t sum = 0xcbf29ce484222325 ^ version;
    const struct str parts[] = {namespace, name, text};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        for (size_t at = 0; at < parts[i].n; at++)
            sum = (sum ^ (unsigned char)parts[i].p[at]) * 0x100000001b3;
        sum = (sum ^ 0xff) * 0x100000001b3;
    }
    return (int64_t)sum;
}

struct loading {
    store_file_resource_fn *resource;
    store_file_load_fn *load;
    void *ctx;
};

static bool is_definition(const struct file_resource *r)
{
    return str_is(r->group, "apiextensions.k8s.io") &&
           str_is(r->plural, "customresourcedefinitions");
}

static int load_row(struct store_file *f, sqlite3_stmt *s, bool definitions,
                    const struct loading *l, struct err *reterr)
{
    int64_t id = sqlite3_column_int64(s, 0);
    struct str namespace = column(s, 1), name = column(s, 2), text = column(s, 5);
    uint64_t version = (uint64_t)sqlite3_column_int64(s, 3);
    if (id < 0 || (size_t)id >= f->by_id.n ||
        sqlite3_column_int64(s, 4) != sum_of(namespace, name, version, text))
        return err_set(reterr, -EBADMSG, "%s: the file is damaged: object %.*s/%.*s", f->path,
                       STR_ARG(namespace), STR_ARG(name));
    const struct file_resource *r = f->by_id.v[id];
    if (r->resource && is_definition(r) == definitions)
        l->load(l->ctx, r->resource, namespace, name, version, text);
    return 0;
}

/* Definitions are few and found by the index; the other objects are read in the order on disk. */
static int load_objects(struct store_file *f, bool definitions, const struct loading *l,
                        struct err *reterr)
{
    int64_t only = -1;
    for (size_t i = 0; i < f->by_id.n; i++) {
        struct file_resource *r = f->by_id.v[i];
        if (is_definition(r) != definitions)
            continue;
        r->resource = l->resource(l->ctx, r->group, r->plural);
        only = r->id;
    }
    if (definitions && only < 0)
        return 0;
    sqlite3_stmt *s;
    int result = sqlite3_prepare_v2(
        f->db,
        definitions ? "SELECT resource, namespace, name, version, sum, text FROM objects"
                      " WHERE resource = ?1"
                    : "SELECT resource, namespace, name, version, sum, text FROM objects"
                      " ORDER BY id",
        -1, &s, NULL);
    if (result != SQLITE_OK)
        return fail(f, result, reterr);
    if (definitions)
        sqlite3_bind_int64(s, 1, only);
    int code = 0;
    while (code == 0 && (result = sqlite3_step(s)) == SQLITE_ROW)
        code = load_row(f, s, definitions, l, reterr);
    if (code == 0 && result != SQLITE_DONE)
        code = fail(f, result, reterr);
    sqlite3_finalize(s);
    return code;
}

int store_file_load(struct store_file *f, store_file_resource_fn *resource,
                    store_file_load_fn *load, void *ctx, uint64_t *ret_version, struct err *reterr)
{
    const struct loading l = {resource, load, ctx};
    int64_t version = 0;
    int result = get_number(f, "SELECT version FROM state", &version);
    int code = result == SQLITE_OK ? 0 : fail(f, result, reterr);
    if (code == 0)
        code = load_objects(f, true, &l, reterr);
    if (code == 0)
        code = load_objects(f, false, &l, reterr);
    if (code == 0)
        *ret_version = (uint64_t)version;
    return code;
}

/* --- writing ---------------------------------------------------------------------------------- */

void store_file_write(struct store_file *f, const struct store_event *event)
{
    vec_push(&f->pending,
             (struct pending){event->change == STORE_DELETED, revision_ref(event->after)});
}

bool store_file_dirty(const struct store_file *f)
{
    return f->pending.n > 0;
}

static struct file_resource *find_resource(struct store_file *f, const struct resource *r)
{
    if (f->last && str_eq(f->last->plural, r->plural) && str_eq(f->last->group, r->group))
        return f->last;
    for (size_t i = 0; i < f->by_id.n; i++) {
        f->last = f->by_id.v[i];
        if (str_eq(f->last->plural, r->plural) && str_eq(f->last->group, r->group))
            return f->last;
    }
    return f->last = add_resource(f, r->group, r->plural, (int64_t)f->by_id.n);
}

static int store_resource(struct store_file *f, const struct file_resource *r)
{
    sqlite3_stmt *s = f->statements[ADD_RESOURCE];
    sqlite3_bind_int64(s, 1, r->id);
    bind(s, 2, r->group);
    bind(s, 3, r->plural);
    return run(f, ADD_RESOURCE);
}

static int write_one(struct store_file *f, const struct pending *p, int64_t resource)
{
    const struct revision *rev = p->rev;
    enum statement which = p->delete ? DELETE : PUT;
    sqlite3_stmt *s = f->statements[which];
    sqlite3_bind_int64(s, 1, resource);
    bind(s, 2, rev->namespace);
    bind(s, 3, rev->name);
    if (!p->delete) {
        sqlite3_bind_int64(s, 4, (int64_t)rev->version);
        sqlite3_bind_int64(s, 5, sum_of(rev->namespace, rev->name, rev->version, rev->text));
        bind(s, 6, rev->text);
    }
    return run(f, which);
}

static int write_all(struct store_file *f)
{
    uint64_t version = 0;
    int result = run(f, BEGIN);
    for (size_t i = 0; result == SQLITE_OK && i < f->pending.n; i++) {
        const struct pending *p = &f->pending.v[i];
        struct file_resource *r = find_resource(f, p->rev->resource);
        if (!r->stored) {
            result = store_resource(f, r);
            r->stored = true;
        }
        if (result == SQLITE_OK)
            result = write_one(f, p, r->id);
        version = MAX(version, p->rev->version);
    }
    if (result == SQLITE_OK) {
        sqlite3_bind_int64(f->statements[SET_VERSION], 1, (int64_t)version);
        result = run(f, SET_VERSION);
    }
    return result == SQLITE_OK ? run(f, COMMIT) : result;
}

/* Resources whose rows were in the transaction are not stored, either. */
static void roll_back(struct store_file *f)
{
    if (!sqlite3_get_autocommit(f->db))
        run(f, ROLLBACK);
    int64_t stored = 0;
    if (get_number(f, "SELECT count(*) FROM resources", &stored) != SQLITE_OK)
        return;
    for (size_t i = 0; i < f->by_id.n; i++)
        f->by_id.v[i]->stored = (int64_t)i < stored;
}

int store_file_commit(struct store_file *f, struct err *reterr)
{
    if (!store_file_dirty(f))
        return 0;
    int result = write_all(f);
    if (result != SQLITE_OK) {
        int code = fail(f, result, reterr);
        roll_back(f);
        return code;
    }
    for (size_t i = 0; i < f->pending.n; i++)
        revision_unref(f->pending.v[i].rev);
    vec_clear(&f->pending);
    return 0;
}
