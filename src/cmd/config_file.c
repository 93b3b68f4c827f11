/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/config_file.h"

#include "cmd/cmd.h"
#include "cmd/config_hint.h"
#include "engine/complaints.h"

/* "f.yaml: line 3, column 7: x" becomes "f.yaml:3: x", which editors can follow. */
static int put_line_first(const char *path, struct err *reterr)
{
    struct err as_told = *reterr;
    struct str file = str_of(path), rest = str_of(as_told.msg);
    uint64_t line;
    if (!str_starts(rest, file))
        return reterr->code;
    rest = str_slice(rest, file.n + strlen(": "), rest.n);
    size_t colon = str_find(rest, ':'), comma = str_find(rest, ',');
    if (!str_starts(rest, STR("line ")) ||
        !str_to_u64(str_slice(rest, strlen("line "), MIN(colon, comma)), &line))
        return reterr->code;
    return err_set(reterr, reterr->code, "%s:%llu: %.*s", path, (unsigned long long)line,
                   STR_ARG(str_trim(str_slice(rest, colon + 1, rest.n))));
}

int config_text_load(const char *path, struct str text, struct arena *a,
                     struct scheduler_config *ret_config, struct err *reterr)
{
    int r = config_load(path, text, a, ret_config, reterr);
    return r < 0 ? put_line_first(path, reterr) : 0;
}

int config_file_load(const char *path, struct arena *a, struct scheduler_config *ret_config,
                     struct err *reterr)
{
    struct str text;
    int r = cmd_read_file(path, a, &text, reterr);
    if (r < 0)
        return r == -EFBIG ? r : cmd_file_error(r == -EISDIR ? "read" : "open", path, r, reterr);
    return config_text_load(path, text, a, ret_config, reterr);
}

static void add_line(const struct scheduler_config *config, const struct registry *registry,
                     const char *complaint, struct buf *lines)
{
    uint32_t line = config_line(config, str_of(complaint));
    if (config->file && line)
        buf_add_printf(lines, "%s:%u: ", config->file, line);
    else if (config->file)
        buf_add_printf(lines, "%s: ", config->file);
    buf_add_cstr(lines, complaint);
    config_hint(registry, str_of(complaint), lines);
    buf_add_char(lines, '\n');
}

bool config_file_check(const struct scheduler_config *config, const struct registry *registry,
                       const struct features *features, struct buf *lines)
{
    struct complaints complaints = {0};
    config_complain(config, registry, features, &complaints);
    bool ok = complaints.n == 0;
    for (size_t i = 0; i < complaints.v.n; i++)
        add_line(config, registry, complaints.v.v[i], lines);
    complaints_release(&complaints);
    return ok;
}

bool config_file_use(const char *path, const struct registry *registry,
                     const struct features *features, struct arena *a,
                     struct scheduler_config *ret_config, struct buf *lines)
{
    struct err err;
    if (config_file_load(path, a, ret_config, &err) < 0) {
        buf_add_printf(lines, "%s\n", err.msg);
        return false;
    }
    return config_file_check(ret_config, registry, features, lines);
}

void config_file_tell(const struct buf *lines)
{
    struct str rest = buf_str(lines), line;
    while (rest.n && str_split(&rest, '\n', &line))
        fprintf(stderr, "berth: %.*s\n", STR_ARG(line));
}
