// SPDX-License-Identifier: Apache-2.0
// BlinkingLightScorer: nodes with more blinking lights are better. Their number is in the annotation
// example.com/blinking-lights of the node. In C++.
#include <berth/plugin.h>

#include <algorithm>
#include <charconv>
#include <new>

namespace {

constexpr int64_t max_score = 100;

class BlinkingLights {
  public:
    explicit BlinkingLights(const berth_host *host) : host_(host) {}

    // The number of lights: any number, not 0 to 100. normalize makes it one.
    int64_t score(const berth_node *node) const
    {
        berth_value value{};
        int64_t lights = 0;
        if (host_->node_field(node, BERTH_STR("metadata.annotations[example.com/blinking-lights]"),
                              &value) &&
            value.kind == BERTH_VALUE_STRING)
            std::from_chars(value.str.p, value.str.p + value.str.n, lights);
        return std::clamp<int64_t>(lights, 0, INT64_MAX / max_score);
    }

  private:
    const berth_host *host_;
};

int create(const berth_host *host, berth_handle *, berth_str, void **ret_self, berth_error *)
{
    *ret_self = new (std::nothrow) BlinkingLights(host);
    return *ret_self ? 0 : 1;
}

void destroy(void *self)
{
    delete static_cast<BlinkingLights *>(self);
}

berth_code score(void *self, const berth_cycle *, const berth_pod *, const berth_node *node,
                 int64_t *ret_score, berth_status *)
{
    *ret_score = static_cast<const BlinkingLights *>(self)->score(node);
    return BERTH_SUCCESS;
}

// The node with the most lights gets 100, one with half of them 50.
berth_code normalize(void *, const berth_cycle *, const berth_pod *, const uint32_t *,
                     int64_t *scores, size_t n, berth_status *)
{
    int64_t highest = n ? *std::max_element(scores, scores + n) : 0;
    for (size_t i = 0; i < n && highest > 0; i++)
        scores[i] = scores[i] * max_score / highest;
    return BERTH_SUCCESS;
}

constexpr berth_plugin plugin = {
    BERTH_PLUGIN_HEAD("BlinkingLightScorer", "1.0"),
    .create = create,
    .destroy = destroy,
    .score = score,
    .normalize = normalize,
};

} // namespace

BERTH_EXPORT_PLUGINS(&plugin);
