// Unit tests of @PLUGIN@ on a fake host: no cluster, and no berth either.
#include "@NAME@.cc"

#include <cassert>
#include <cstdio>
#include <cstring>

// The plugin does not know what is in these structs, so a test may choose.
struct berth_pod {
    const char *label; // null: none
};
struct berth_node {
    const char *label;
};
struct berth_status {
    berth_reason reason;
};

namespace {

bool give(const char *label, berth_str *ret)
{
    if (label)
        *ret = {label, strlen(label)};
    return label != nullptr;
}

berth_host fake_host()
{
    berth_host h{};
    h.abi = BERTH_ABI;
    h.struct_size = sizeof(h);
    h.args = [](berth_handle *, berth_str, const berth_arg *table, void *ret_args, berth_error *) {
        assert(strcmp(table[0].name, "label") == 0);
        static_cast<Args *>(ret_args)->label = BERTH_STR("disk");
        return 0;
    };
    h.reason = [](berth_handle *, berth_str) { return berth_reason(7); };
    h.status_reason = [](berth_status *status, berth_reason id) { status->reason = id; };
    h.pod_label = [](const berth_pod *pod, berth_str key, berth_str *ret) {
        assert(view(key) == "disk");
        return give(pod->label, ret);
    };
    h.node_label = [](const berth_node *node, berth_str key, berth_str *ret) {
        assert(view(key) == "disk");
        return give(node->label, ret);
    };
    return h;
}

void test(void *self, const char *pod_disk, const char *node_disk, berth_code code, int64_t wanted)
{
    berth_pod pod{pod_disk};
    berth_node node{node_disk};
    berth_status status{};
    int64_t got = -1;
    assert(plugin.filter(self, nullptr, &pod, &node, &status) == code);
    assert(status.reason == (code == BERTH_SUCCESS ? 0u : 7u));
    assert(plugin.score(self, nullptr, &pod, &node, &got, &status) == BERTH_SUCCESS);
    assert(got == wanted);
}

} // namespace

int main()
{
    berth_host host = fake_host();
    berth_error error{};
    void *self = nullptr;
    int failed = plugin.create(&host, nullptr, BERTH_STR(""), &self, &error);
    assert(!failed);
    test(self, nullptr, nullptr, BERTH_SUCCESS, 100);
    test(self, nullptr, "ssd", BERTH_SUCCESS, 0);
    test(self, "ssd", "ssd", BERTH_SUCCESS, 100);
    test(self, "ssd", "hdd", BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, 100);
    test(self, "ssd", nullptr, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, 0);
    plugin.destroy(self);
    puts("unit tests passed");
    return failed;
}
