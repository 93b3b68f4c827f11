/* SPDX-License-Identifier: Apache-2.0 */
#include "api/container.h"

static const struct field container_port_fields[] = {
    F_ONE(struct container_port, host_port, "hostPort", 2, INT32),
    F_ALWAYS(struct container_port, container_port, "containerPort", 3, INT32),
    F_ONE(struct container_port, protocol, "protocol", 4, STR),
    F_ONE(struct container_port, host_ip, "hostIP", 5, STR),
};
const struct type container_port_type =
    TYPE("k8s.io.api.core.v1.ContainerPort", struct container_port, container_port_fields);

static const struct field container_resource_claim_fields[] = {
    F_ALWAYS(struct container_resource_claim, name, "name", 1, STR),
    F_ONE(struct container_resource_claim, request, "request", 2, STR),
};
const struct type container_resource_claim_type =
    TYPE("k8s.io.api.core.v1.ResourceClaim", struct container_resource_claim,
         container_resource_claim_fields);

static const struct field resource_requirements_fields[] = {
    F_MAP(struct resource_requirements, limits, "limits", 1, struct quantity_entry,
          &quantity_entry_type),
    F_MAP(struct resource_requirements, requests, "requests", 2, struct quantity_entry,
          &quantity_entry_type),
    F_LIST_MSG(struct resource_requirements, claims, "claims", 3, struct container_resource_claim,
               &container_resource_claim_type),
};
const struct type resource_requirements_type =
    TYPE("k8s.io.api.core.v1.ResourceRequirements", struct resource_requirements,
         resource_requirements_fields);

static const struct field container_restart_rule_on_exit_codes_fields[] = {
    F_ONE(struct container_restart_rule_on_exit_codes, operator, "operator", 1, STR),
    F_LIST(struct container_restart_rule_on_exit_codes, values, "values", 2, INT32),
};
const struct type container_restart_rule_on_exit_codes_type =
    TYPE("k8s.io.api.core.v1.ContainerRestartRuleOnExitCodes",
         struct container_restart_rule_on_exit_codes, container_restart_rule_on_exit_codes_fields);

static const struct field container_restart_rule_fields[] = {
    F_ONE(struct container_restart_rule, action, "action", 1, STR),
    F_PTR_MSG(struct container_restart_rule, exit_codes, "exitCodes", 2,
              struct container_restart_rule_on_exit_codes,
              &container_restart_rule_on_exit_codes_type),
};
const struct type container_restart_rule_type =
    TYPE("k8s.io.api.core.v1.ContainerRestartRule", struct container_restart_rule,
         container_restart_rule_fields);

static const struct field container_fields[] = {
    F_ALWAYS(struct container, name, "name", 1, STR),
    F_ONE(struct container, image, "image", 2, STR),
    F_LIST_MSG(struct container, ports, "ports", 6, struct container_port, &container_port_type),
    F_MSG(struct container, resources, "resources", 8, struct resource_requirements,
          &resource_requirements_type),
    F_ONE(struct container, restart_policy, "restartPolicy", 24, STR),
    F_LIST_MSG(struct container, restart_policy_rules, "restartPolicyRules", 25,
               struct container_restart_rule, &container_restart_rule_type),
};
const struct type container_type =
    TYPE("k8s.io.api.core.v1.Container", struct container, container_fields);

static const struct field container_status_fields[] = {
    F_ALWAYS(struct container_status, name, "name", 1, STR),
    F_MAP(struct container_status, allocated_resources, "allocatedResources", 10,
          struct quantity_entry, &quantity_entry_type),
    F_PTR_MSG(struct container_status, resources, "resources", 11, struct resource_requirements,
              &resource_requirements_type),
};
const struct type container_status_type =
    TYPE("k8s.io.api.core.v1.ContainerStatus", struct container_status, container_status_fields);
