/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration of any version, through conversion, validation and writing. */
#include "engine/config/config.h"
#include "engine/config/error_list.h"
#include "plugins/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A valid configuration is written, and the output reads as the same. */
static void write_and_read(const struct scheduler_config *config, const struct features *features)
{
    struct scheduler_config again;
    struct arena arena;
    struct buf first = BUF_INIT, second = BUF_INIT;
    struct err err;

    arena_init(&arena, 0);
    config_write(config, &in_tree_registry, features, &first);
    assert(config_load("again", buf_str(&first), &arena, &again, &err) == 0);
    config_write(&again, &in_tree_registry, features, &second);
    assert(str_eq(buf_str(&first), buf_str(&second)));
    buf_release(&first);
    buf_release(&second);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct scheduler_config config;
    struct error_list errors = {0};
    struct features features;
    struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    features_default(&features);
    if (config_load("file", text, &arena, &config, &err) == 0) {
        config_complain(&config, &in_tree_registry, &features, &errors);
        for (size_t i = 0; i < errors.v.n; i++)
            (void)config_line(&config, str_of(errors.v.v[i].text));
        if (errors.n == 0)
            write_and_read(&config, &features);
    } else {
        assert(err.code < 0 && err.msg[0]);
    }
    error_list_release(&errors);
    arena_release(&arena);
    return 0;
}
