/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of pod specs (upstream: ValidatePodSpec, ValidatePodTemplateSpec). */
#include "apiserver/strategies/pod_internal.h"

static const char *const restart_policies[] = {"Always", "Never", "OnFailure", NULL};
static const char *const dns_policies[] = {"ClusterFirst", "ClusterFirstWithHostNet", "Default",
                                           "None", NULL};

void pod_spec_validate(const struct pod_check *check, const struct json_value *spec,
                       const struct field_path *path, struct field_errors *errors)
{
    struct field_path restart = field_child(path, "restartPolicy");
    struct field_path dns = field_child(path, "dnsPolicy");
    struct field_path selector = field_child(path, "nodeSelector");

    (void)check;
    if (!json_get(spec, STR("terminationGracePeriodSeconds")))
        field_required(errors, path, "terminationGracePeriodSeconds");
    field_check_enum(errors, &restart, json_get_text(spec, STR("restartPolicy")), restart_policies);
    field_check_enum(errors, &dns, json_get_text(spec, STR("dnsPolicy")), dns_policies);
    field_check_labels(errors, &selector, json_get(spec, STR("nodeSelector")));
}

void pod_template_validate(const struct json_value *template, const struct field_path *path,
                           struct field_errors *errors)
{
    const struct json_value *meta = json_get(template, STR("metadata"));
    struct pod_check check = {.meta = NULL};
    struct field_path labels = field_child(path, "labels");
    struct field_path annotations = field_child(path, "annotations");
    struct field_path spec = field_child(path, "spec");

    field_check_labels(errors, &labels, json_get(meta, STR("labels")));
    field_check_annotations(errors, &annotations, json_get(meta, STR("annotations")));
    pod_spec_validate(&check, json_get(template, STR("spec")), &spec, errors);
    if (json_items_at(template, "spec.ephemeralContainers").n > 0)
        field_error_at(errors, FIELD_FORBIDDEN, &spec, "ephemeralContainers", NULL,
                       "ephemeral containers not allowed in pod template");
}
