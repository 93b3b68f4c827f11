/* SPDX-License-Identifier: Apache-2.0 */
/* Probes and lifecycle handlers of containers. */
#include "apiserver/strategies/pod_internal.h"

void port_number_or_name_validate(const struct json_value *port, const struct field_path *path,
                                  struct field_errors *errors)
{
    int64_t number = 0;

    if (port && port->kind == JSON_STRING) {
        field_check_port_name(errors, path, port->text);
        return;
    }
    if (port && port->kind == JSON_NUMBER && !str_to_i64(port->text, &number))
        number = 0;
    field_check_port(errors, path, number);
}

static bool is_header_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '-' && !(s.p[i] >= '0' && s.p[i] <= '9') &&
            !(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= 'A' && s.p[i] <= 'Z'))
            return false;
    return s.n > 0;
}

static void check_http(const struct json_value *http, const struct field_path *path,
                       struct field_errors *errors)
{
    static const char *const schemes[] = {"HTTP", "HTTPS", NULL};
    struct json_items headers = json_items_at(http, "httpHeaders");
    struct field_path port = field_child(path, "port"), scheme = field_child(path, "scheme");

    if (str_empty(json_get_text(http, STR("path"))))
        field_required(errors, path, "path");
    port_number_or_name_validate(json_get(http, STR("port")), &port, errors);
    field_check_enum(errors, &scheme, json_get_text(http, STR("scheme")), schemes);
    for (size_t i = 0; i < headers.n; i++) {
        struct json_value name = field_text(&headers.v[i], "name");

        if (!is_header_name(name.text))
            field_error_at(errors, FIELD_INVALID, path, "httpHeaders", &name,
                           "a valid HTTP header must consist of alphanumeric characters or '-' "
                           "(e.g. 'X-Header-Name', regex used for validation is "
                           "'[-A-Za-z0-9]+')");
    }
}

static void check_action(const struct pod_check *check, const char *kind,
                         const struct json_value *action, const struct field_path *path)
{
    struct field_errors *errors = check->errors;
    struct field_path port = field_child(path, "port");
    struct json_value seconds = field_number(action, "seconds");
    int64_t n = json_int_at(action, "seconds", 0);

    if (strcmp(kind, "exec") == 0) {
        if (json_items_at(action, "command").n == 0)
            field_required(errors, path, "command");
    } else if (strcmp(kind, "httpGet") == 0) {
        check_http(action, path, errors);
    } else if (strcmp(kind, "sleep") != 0) {
        port_number_or_name_validate(json_get(action, STR("port")), &port, errors);
    } else if (check->grace_period && (n < 0 || n > *check->grace_period)) {
        field_error(errors, FIELD_INVALID, path, &seconds,
                    "must be non-negative and less than terminationGracePeriodSeconds (%lld)",
                    (long long)*check->grace_period);
    }
}

static void check_handler(const struct pod_check *check, const struct json_value *handler,
                          bool lifecycle, const struct field_path *path)
{
    static const char *const kinds[] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct json_value *action = json_get(handler, str_of(kinds[i]));
        struct field_path at = field_child(path, kinds[i]);

        if (!action || (i == 3 && lifecycle) || (i == 4 && !lifecycle))
            continue;
        if (n++ > 0)
            field_error(check->errors, FIELD_FORBIDDEN, &at, NULL,
                        "may not specify more than 1 handler type");
        else
            check_action(check, kinds[i], action, &at);
    }
    if (n == 0)
        field_error(check->errors, FIELD_REQUIRED, path, NULL, "must specify a handler type");
}

static void check_probe(const struct pod_check *check, const struct json_value *probe,
                        const struct field_path *path)
{
    static const char *const numbers[] = {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                          "successThreshold", "failureThreshold"};
    const struct json_value *grace = json_get(probe, STR("terminationGracePeriodSeconds"));

    check_handler(check, probe, false, path);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        struct field_path at = field_child(path, numbers[i]);

        field_check_nonnegative(check->errors, &at, json_get(probe, str_of(numbers[i])));
    }
    if (grace && json_int_at(probe, "terminationGracePeriodSeconds", 0) <= 0)
        field_error_at(check->errors, FIELD_INVALID, path, "terminationGracePeriodSeconds", grace,
                       "must be greater than 0");
}

void container_probes_validate(const struct pod_check *check, const struct json_value *container,
                               const struct field_path *path)
{
    static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"};

    for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
        const struct json_value *probe = json_get(container, str_of(probes[i]));
        const struct json_value *grace = json_get(probe, STR("terminationGracePeriodSeconds"));
        struct json_value threshold = field_number(probe, "successThreshold");
        struct field_path at = field_child(path, probes[i]);

        if (!probe)
            continue;
        check_probe(check, probe, &at);
        if (i == 1 && grace)
            field_error_at(check->errors, FIELD_INVALID, &at, "terminationGracePeriodSeconds",
                           grace, "must not be set for readinessProbes");
        if (i != 1 && json_int_at(probe, "successThreshold", 0) != 1)
            field_error_at(check->errors, FIELD_INVALID, &at, "successThreshold", &threshold,
                           "must be 1");
    }
}

/* --- lifecycle -------------------------------------------------------------------------------- */

/* Sorted by name. */
static const char *const linux_signals[] = {
    "SIGABRT",     "SIGALRM",     "SIGBUS",      "SIGCHLD",     "SIGCLD",      "SIGCONT",
    "SIGFPE",      "SIGHUP",      "SIGILL",      "SIGINT",      "SIGIO",       "SIGIOT",
    "SIGKILL",     "SIGPIPE",     "SIGPOLL",     "SIGPROF",     "SIGPWR",      "SIGQUIT",
    "SIGRTMAX",    "SIGRTMAX-1",  "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13",
    "SIGRTMAX-14", "SIGRTMAX-2",  "SIGRTMAX-3",  "SIGRTMAX-4",  "SIGRTMAX-5",  "SIGRTMAX-6",
    "SIGRTMAX-7",  "SIGRTMAX-8",  "SIGRTMAX-9",  "SIGRTMIN",    "SIGRTMIN+1",  "SIGRTMIN+10",
    "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2",
    "SIGRTMIN+3",  "SIGRTMIN+4",  "SIGRTMIN+5",  "SIGRTMIN+6",  "SIGRTMIN+7",  "SIGRTMIN+8",
    "SIGRTMIN+9",  "SIGSEGV",     "SIGSTKFLT",   "SIGSTOP",     "SIGSYS",      "SIGTERM",
    "SIGTRAP",     "SIGTSTP",     "SIGTTIN",     "SIGTTOU",     "SIGURG",      "SIGUSR1",
    "SIGUSR2",     "SIGVTALRM",   "SIGWINCH",    "SIGXCPU",     "SIGXFSZ",     NULL,
};
static const char *const windows_signals[] = {"SIGKILL", "SIGTERM", NULL};

void container_lifecycle_validate(const struct pod_check *check, const struct json_value *container,
                                  const struct field_path *path)
{
    static const char *const hooks[] = {"postStart", "preStop"};
    const struct json_value *lifecycle = json_get(container, STR("lifecycle"));
    const struct json_value *signal = json_get(lifecycle, STR("stopSignal"));
    struct field_path at = field_child(path, "lifecycle"), stop = field_child(&at, "stopSignal");
    struct str os = json_get_text(check->os, STR("name"));

    if (!lifecycle)
        return;
    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        const struct json_value *hook = json_get(lifecycle, str_of(hooks[i]));
        struct field_path child = field_child(&at, hooks[i]);

        if (hook)
            check_handler(check, hook, true, &child);
    }
    if (!signal)
        return;
    if (!check->os)
        field_error(check->errors, FIELD_FORBIDDEN, &stop, NULL,
                    "may not be set for containers with empty `spec.os.name`");
    else if (str_is(os, "windows"))
        field_check_enum(check->errors, &stop, signal->text, windows_signals);
    else if (str_is(os, "linux"))
        field_check_enum(check->errors, &stop, signal->text, linux_signals);
}
