/* Unit tests of @PLUGIN@ on a fake host: no cluster, and no berth either. */
#include <assert.h>
#include <stdio.h>

#include "@NAME@.c"

/* The plugin does not know what is in these structs, so a test may choose. */
struct berth_pod {
    const char *label; /* NULL: none */
};
struct berth_node {
    const char *label;
};
struct berth_status {
    berth_reason reason;
};

static bool give(const char *label, struct berth_str *ret)
{
    if (label)
        *ret = (struct berth_str){label, strlen(label)};
    return label != NULL;
}

static bool pod_label(const struct berth_pod *pod, struct berth_str key, struct berth_str *ret)
{
    assert(same(key, BERTH_STR("disk")));
    return give(pod->label, ret);
}

static bool node_label(const struct berth_node *node, struct berth_str key, struct berth_str *ret)
{
    assert(same(key, BERTH_STR("disk")));
    return give(node->label, ret);
}

static berth_reason reason(struct berth_handle *h, struct berth_str text)
{
    (void)h;
    assert(text.n > 0);
    return 7;
}

static void status_reason(struct berth_status *status, berth_reason id)
{
    status->reason = id;
}

static int args(struct berth_handle *h, struct berth_str text, const struct berth_arg *table,
                void *ret_args, struct berth_error *error)
{
    struct @IDENT@_args *to = ret_args;
    (void)h;
    (void)text;
    (void)error;
    assert(strcmp(table[0].name, "label") == 0);
    to->label = BERTH_STR("disk");
    return 0;
}

static const struct berth_host host = {
    .abi = BERTH_ABI,
    .struct_size = sizeof(struct berth_host),
    .args = args,
    .reason = reason,
    .status_reason = status_reason,
    .pod_label = pod_label,
    .node_label = node_label,
};

static void test(void *self, const char *pod_disk, const char *node_disk, enum berth_code code,
                 int64_t wanted)
{
    struct berth_pod pod = {pod_disk};
    struct berth_node node = {node_disk};
    struct berth_status status = {0};
    int64_t got = -1;
    assert(@IDENT@_plugin.filter(self, NULL, &pod, &node, &status) == code);
    assert(status.reason == (code == BERTH_SUCCESS ? 0 : 7));
    assert(@IDENT@_plugin.score(self, NULL, &pod, &node, &got, &status) == BERTH_SUCCESS);
    assert(got == wanted);
}

int main(void)
{
    struct berth_error error = {""};
    void *self = NULL;
    assert(@IDENT@_plugin.create(&host, NULL, BERTH_STR(""), &self, &error) == 0);
    test(self, NULL, NULL, BERTH_SUCCESS, 100);
    test(self, NULL, "ssd", BERTH_SUCCESS, 0);
    test(self, "ssd", "ssd", BERTH_SUCCESS, 100);
    test(self, "ssd", "hdd", BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, 100);
    test(self, "ssd", NULL, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, 0);
    @IDENT@_plugin.destroy(self);
    puts("unit tests passed");
    return 0;
}
