/* SPDX-License-Identifier: Apache-2.0 */
/* Queueing hints of the volume plugins: compared with upstream's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "golden.h"
#include "plugin_trial.h"

struct row {
    struct str kind, action;
    struct str pod, before, after; /* JSON in single quotes; empty: none */
    str_map hints;                 /* by plugin: Queue, QueueSkip; absent: it did not register */
};
static const struct field row_fields[] = {
    F_ONE(struct row, kind, "kind", 1, STR),   F_ONE(struct row, action, "action", 2, STR),
    F_ONE(struct row, pod, "pod", 3, STR),     F_ONE(struct row, before, "before", 4, STR),
    F_ONE(struct row, after, "after", 5, STR), F_STR_MAP(struct row, hints, "hints", 6),
};
static const struct type row_type = TYPE("row", struct row, row_fields);

struct table {
    LIST(struct row) rows;
};
static const struct field table_fields[] = {
    F_LIST_MSG(struct table, rows, "rows", 1, struct row, &row_type),
};
static const struct type table_type = TYPE("table", struct table, table_fields);

static const struct {
    const char *kind;
    enum kind_id id;
    enum berth_resource resource;
} kinds[] = {
    {"Pod", KIND_POD, BERTH_RESOURCE_POD},
    {"PersistentVolume", KIND_PERSISTENT_VOLUME, BERTH_RESOURCE_PERSISTENT_VOLUME},
    {"PersistentVolumeClaim", KIND_PERSISTENT_VOLUME_CLAIM, BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM},
    {"StorageClass", KIND_STORAGE_CLASS, BERTH_RESOURCE_STORAGE_CLASS},
    {"CSINode", KIND_CSI_NODE, BERTH_RESOURCE_CSI_NODE},
    {"CSIDriver", KIND_CSI_DRIVER, BERTH_RESOURCE_CSI_DRIVER},
    {"CSIStorageCapacity", KIND_CSI_STORAGE_CAPACITY, BERTH_RESOURCE_CSI_STORAGE_CAPACITY},
    {"VolumeAttachment", KIND_VOLUME_ATTACHMENT, BERTH_RESOURCE_VOLUME_ATTACHMENT},
};

static const char *const plugins[] = {"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding",
                                      "VolumeZone"};

static struct object *object_of(enum kind_id kind, struct str text)
{
    return text.n ? object_jsonf(kind, "%.*s", STR_ARG(text)) : NULL;
}

static void check(const struct fixture *f, size_t at, const struct row *row, const char *plugin)
{
    size_t k = 0;
    while (!str_is(row->kind, kinds[k].kind))
        assert_true(++k < ARRAY_LEN(kinds));
    unsigned action = str_is(row->action, "Add")      ? (unsigned)BERTH_ACTION_ADD
                      : str_is(row->action, "Delete") ? (unsigned)BERTH_ACTION_DELETE
                                                      : (unsigned)BERTH_ACTION_UPDATE_OTHER;
    const struct str *want = str_map_get(&row->hints, str_of(plugin));
    if (trial_is_told(f, plugin, kinds[k].resource, action) != (want != NULL))
        fail_msg("row %zu: %s must %sregister for this", at, plugin, want ? "" : "not ");
    if (!want)
        return;
    struct trial_change change = {kinds[k].resource, action, object_of(kinds[k].id, row->before),
                                  object_of(kinds[k].id, row->after)};
    enum berth_hint got = trial_hint(f, plugin, object_of(KIND_POD, row->pod), change);
    if ((got == BERTH_QUEUE) != str_is(*want, "Queue"))
        fail_msg("row %zu: %s: upstream says %.*s", at, plugin, STR_ARG(*want));
}

static void hints_are_those_of_upstream(void **state)
{
    (void)state;
    struct arena a;
    struct table table = {0};
    struct fixture f;
    arena_init(&a, 0);
    golden_load("volume_hints.json", &table_type, &a, &table);
    assert_true(table.rows.n > 300);
    fixture_init(&f, NULL, NULL);
    for (size_t i = 0; i < table.rows.n; i++)
        for (size_t k = 0; k < ARRAY_LEN(plugins); k++)
            check(&f, i, &table.rows.v[i], plugins[k]);
    fixture_release(&f);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hints_are_those_of_upstream)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
