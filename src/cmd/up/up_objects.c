/* SPDX-License-Identifier: Apache-2.0 */
/* Files of objects: -f and --node-template. */
#include "cmd/up/up_objects.h"

#include <stdio.h>

#include "base/time.h"
#include "cmd/cli/manifest_files.h"
#include "codec/manifest.h"

struct file_reading {
    const char *file;
    struct arena arena; /* of one object */
    size_t n;           /* objects so far */
    size_t n_documents; /* of the file */
    bool located;       /* the error names file and line */
    int (*object)(struct file_reading *r, struct json_value *object, struct err *reterr);
    /* One of these. */
    struct node_templates *templates;
    struct control_plane *plane;
    struct up_importer *importer;
    size_t n_refused;
    size_t line; /* of the object */
};

/* The kind of a list's items, if they do not say: PodList has Pods. */
static void inherit_kind(struct json_value *object, const struct manifest_part *part,
                         struct arena *a)
{
    struct str suffix = STR("List");
    if (part->what != YAML_ITEM || str_is(part->kind, "List") || !str_ends(part->kind, suffix))
        return;
    json_set_default(object, STR("apiVersion"), json_text(part->api_version), a);
    json_set_default(object, STR("kind"),
                     json_text(str_slice(part->kind, 0, part->kind.n - suffix.n)), a);
}

static int on_part(void *ctx, const struct manifest_part *part, struct err *reterr)
{
    struct file_reading *r = ctx;
    struct json_value object;
    r->n_documents += part->what != YAML_ITEM;
    if (part->what == YAML_LIST)
        return 0;
    arena_reset(&r->arena);
    r->line = part->locate ? part->locate(part->locate_ctx, 0) : 0;
    int ret = json_parse(arena_dup(&r->arena, part->json), 0, &r->arena, &object, reterr);
    if (ret == 0 && object.kind == JSON_NULL)
        return 0; /* an empty document */
    if (ret == 0 && object.kind != JSON_OBJECT)
        ret = err_set(reterr, -EINVAL, "not an object");
    if (ret == 0) {
        inherit_kind(&object, part, &r->arena);
        r->n++;
        ret = r->object(r, &object, reterr);
    }
    if (ret < 0 && r->line) {
        r->located = true;
        return err_prefix(reterr, ret, "%s:%zu", r->file, r->line);
    }
    return ret;
}

static int read_file(void *ctx, const char *path, const struct yaml_source *source,
                     struct err *reterr)
{
    struct file_reading *r = ctx;
    r->file = strcmp(path, "-") == 0 ? "standard input" : path;
    r->n_documents = 0;
    r->located = false;
    int ret = manifest_read(source, 0, on_part, r, reterr);
    if (ret < 0 && !r->located)
        return err_prefix(reterr, ret, "%s", r->file);
    return ret == 0 && r->n_documents == 0 ? -ENODATA : ret;
}

static size_t count(void *ctx)
{
    return ((const struct file_reading *)ctx)->n;
}

static int read_path(struct file_reading *r, const char *path, bool recursive, struct err *reterr)
{
    struct manifest_reader reader = {.ctx = r, .read = read_file, .n_objects = count};
    arena_init(&r->arena, (size_t)16 << 10);
    int ret = manifest_files_read(&reader, path, recursive, reterr);
    arena_release(&r->arena);
    return ret;
}

/* --- --node-template -------------------------------------------------------------------------- */

static int add_template(struct file_reading *r, struct json_value *object, struct err *reterr)
{
    return node_templates_add(r->templates, object, reterr);
}

int up_read_templates(const char *path, struct node_templates *templates, struct err *reterr)
{
    struct file_reading r = {.object = add_template, .templates = templates};
    int ret = read_path(&r, path, false, reterr);
    if (ret == 0 && templates->v.n == 0)
        return err_set(reterr, -ENODATA, "%s: contains no Node", path);
    return ret;
}

/* --- -f --------------------------------------------------------------------------------------- */

/* Others may need what controllers make of these: the service account of a namespace, say. */
static bool has_followers(struct str kind)
{
    static const char *const kinds[] = {"Namespace", "ServiceAccount", "CustomResourceDefinition"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(kind, kinds[i]))
            return true;
    return false;
}

static int create_object(struct file_reading *r, struct json_value *object,
                         struct err *reterr UNUSED)
{
    struct api_status status = {0};
    struct str kind = json_get_text(object, STR("kind"));
    struct str name = json_text_at(object, "metadata.name");
    int64_t now = time_wall();
    if (str_empty(name))
        name = json_text_at(object, "metadata.generateName");
    int code = control_plane_create(r->plane, object, now, &r->arena, &status);
    /* A cluster that goes on has the objects of its first start. */
    if (code == 409 && !control_plane_is_new(r->plane))
        return 0;
    if (code) {
        r->n_refused++;
        fprintf(stderr, "berth: %s:%zu: %.*s/%.*s: %.*s\n", r->file, r->line, STR_ARG(kind),
                STR_ARG(name), STR_ARG(status.message));
        return 0;
    }
    if (has_followers(kind))
        control_plane_settle(r->plane, now);
    return 0;
}

int up_create_files(struct control_plane *plane, const char *path, bool recursive,
                    size_t *ret_refused, struct err *reterr)
{
    struct file_reading r = {.object = create_object, .plane = plane};
    int ret = read_path(&r, path, recursive, reterr);
    if (ret == 0)
        *ret_refused = r.n_refused;
    return ret;
}

/* --- a dump ----------------------------------------------------------------------------------- */

static int import_object(struct file_reading *r, struct json_value *object, struct err *reterr)
{
    return up_import_object(r->importer, object, STR(""), STR(""), reterr);
}

int up_import_dump(struct up_importer *im, const char *path, struct err *reterr)
{
    struct file_reading r = {.object = import_object, .importer = im};
    return read_path(&r, path, true, reterr);
}
