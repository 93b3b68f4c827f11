// @PLUGIN@: pods and nodes with the same label belong together.
#include <berth/plugin.h>

#include <new>
#include <string_view>

namespace {

// pluginConfig[].args of this plugin.
struct Args {
    berth_str label;
};

constexpr berth_arg args_table[] = {
    {.name = "label",
     .kind = BERTH_ARG_STRING,
     .flags = BERTH_ARG_NOT_EMPTY,
     .offset = offsetof(Args, label),
     .value = "\"disk\""},
    {.name = nullptr},
};

std::string_view view(berth_str s)
{
    return {s.p, s.n};
}

// An instance: one for each profile that enables the plugin. Exceptions must not leave a function
// that berth calls.
class @PLUGIN@ {
  public:
    @PLUGIN@(const berth_host *host, berth_handle *handle) : host_(host), handle_(handle) {}

    bool init(berth_str args, berth_error *error)
    {
        if (host_->args(handle_, args, args_table, &args_, error) != 0)
            return false;
        mismatch_ = host_->reason(handle_, BERTH_STR("node(s) had another label"));
        return true;
    }

    // Runs for each node, on several threads at once: hence const.
    berth_code filter(const berth_pod *pod, const berth_node *node, berth_status *status) const
    {
        berth_str wanted, found;
        if (!host_->pod_label(pod, args_.label, &wanted))
            return BERTH_SUCCESS;
        if (host_->node_label(node, args_.label, &found) && view(wanted) == view(found))
            return BERTH_SUCCESS;
        host_->status_reason(status, mismatch_);
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }

    // 0 to 100. Nodes without the label are best for pods without it.
    int64_t score(const berth_pod *pod, const berth_node *node) const
    {
        berth_str value;
        bool pod_has = host_->pod_label(pod, args_.label, &value);
        bool node_has = host_->node_label(node, args_.label, &value);
        return pod_has == node_has ? 100 : 0;
    }

    // What may make a pod schedulable that filter refused: new nodes, and changed labels.
    void events(berth_registrar *r) const
    {
        host_->register_event(r, BERTH_RESOURCE_NODE,
                              BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL, nullptr);
        host_->register_event(r, BERTH_RESOURCE_UNSCHEDULED_POD, BERTH_ACTION_UPDATE_POD_LABEL,
                              nullptr);
    }

  private:
    const berth_host *host_;
    berth_handle *handle_;
    Args args_{};
    berth_reason mismatch_ = 0;
};

@PLUGIN@ *instance(void *self)
{
    return static_cast<@PLUGIN@ *>(self);
}

int create(const berth_host *host, berth_handle *h, berth_str args, void **ret_self,
           berth_error *error)
{
    auto *self = new (std::nothrow) @PLUGIN@(host, h);
    if (!self || !self->init(args, error)) {
        delete self;
        return 1;
    }
    *ret_self = self;
    return 0;
}

void destroy(void *self)
{
    delete instance(self);
}

void events(void *self, berth_registrar *r)
{
    instance(self)->events(r);
}

berth_code filter(void *self, const berth_cycle *, const berth_pod *pod, const berth_node *node,
                  berth_status *status)
{
    return instance(self)->filter(pod, node, status);
}

berth_code score(void *self, const berth_cycle *, const berth_pod *pod, const berth_node *node,
                 int64_t *ret_score, berth_status *)
{
    *ret_score = instance(self)->score(pod, node);
    return BERTH_SUCCESS;
}

// Constant data: berth reads it before it runs any code of this file.
constexpr berth_plugin plugin = {
    BERTH_PLUGIN_HEAD("@PLUGIN@", "0.1"),
    .args = args_table,
    .create = create,
    .destroy = destroy,
    .events = events,
    .filter = filter,
    .score = score,
};

} // namespace

BERTH_EXPORT_PLUGINS(&plugin);
