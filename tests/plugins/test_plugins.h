/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_plugins.h - plugins that end-to-end tests play with; build/berth-test has them.
 *
 * Purpose:   out-of-tree plugins as a user would write them: they know include/berth/plugin.h and
 *            nothing else of berth. Each file says what its plugin does. They tell what they do at
 *            log level 0, for tests to read.
 * Ownership: see struct test_plugin.
 * Threading: see berth/plugin.h.
 */
#ifndef BERTH_TESTS_PLUGINS_H
#define BERTH_TESTS_PLUGINS_H

#include <berth/plugin.h>

/* What they all have: the host, and their arguments as a copy that ends in NUL. */
struct test_plugin {
    const struct berth_host *host;
    struct berth_handle *handle;
    char *args;
};

#define TEST_PLUGIN(plugin_name)                                       \
    BERTH_PLUGIN_HEAD(plugin_name, "1"), .create = test_plugin_create, \
        .destroy = test_plugin_destroy

int test_plugin_create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                       void **ret_self, struct berth_error *error);
void test_plugin_destroy(void *self);

bool test_same(struct berth_str a, struct berth_str b);
/* A line in the log. */
void test_say(const struct test_plugin *self, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The text of a member of the arguments, cut to fit; empty where there is none. */
void test_arg(const struct test_plugin *self, const char *name, char *out, size_t size);
/* The value of the pod's label; empty where it has none. */
struct berth_str test_label(const struct test_plugin *self, const struct berth_pod *pod,
                            struct berth_str key);
/* Is the changed object the pod itself? */
bool test_about(const struct test_plugin *self, const struct berth_pod *pod,
                const struct berth_object *changed);

extern const struct berth_plugin test_pair_plugin;
extern const struct berth_plugin test_node_label_plugin;
extern const struct berth_plugin test_gates_plugin;
extern const struct berth_plugin test_only_plugin;
extern const struct berth_plugin test_pause_plugin;
extern const struct berth_plugin test_look_plugin;
extern const struct berth_plugin test_through_plugin;
extern const struct berth_plugin test_favourite_plugin;
extern const struct berth_plugin test_cpu_label_plugin;
extern const struct berth_plugin test_left_plugin;
extern const struct berth_plugin test_right_plugin;
extern const struct berth_plugin test_together_plugin;
extern const struct berth_plugin test_sleep_plugin;
extern const struct berth_plugin test_thread_plugin;
extern const struct berth_plugin test_fault_plugin;
extern const struct berth_plugin test_rack_plugin;

#endif
