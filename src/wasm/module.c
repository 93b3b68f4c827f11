/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/module.h"

#include "wasm/imports.h"

/* --- exports ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *results; /* as in struct import_row */
} exports[GUEST_EXPORT_COUNT] = {
    [GUEST_ENQUEUE] = {"enqueue", ""},
    [GUEST_PREFILTER] = {"prefilter", "i"},
    [GUEST_ADDPOD] = {"addpod", "i"},
    [GUEST_REMOVEPOD] = {"removepod", "i"},
    [GUEST_FILTER] = {"filter", "i"},
    [GUEST_POSTFILTER] = {"postfilter", "l"},
    [GUEST_PRESCORE] = {"prescore", "i"},
    [GUEST_SCORE] = {"score", "l"},
    [GUEST_NORMALIZESCORE] = {"normalizescore", "i"},
    [GUEST_RESERVE] = {"reserve", "i"},
    [GUEST_UNRESERVE] = {"unreserve", ""},
    [GUEST_PERMIT] = {"permit", "l"},
    [GUEST_PREBIND] = {"prebind", "i"},
    [GUEST_BIND] = {"bind", "i"},
    [GUEST_POSTBIND] = {"postbind", ""},
};

const char *guest_export_name(enum guest_export fn)
{
    return exports[fn].name;
}

static struct str text_of(const struct wasm_bytes *name)
{
    return (struct str){name->data, name->size};
}

static bool has_types(const struct wasmtime *wt, const struct wasm_valtypes *types,
                      const char *kinds)
{
    if (types->size != strlen(kinds))
        return false;
    for (size_t i = 0; i < types->size; i++)
        if (wt->wasm_valtype_kind(types->data[i]) != (kinds[i] == 'l' ? WASM_I64 : WASM_I32))
            return false;
    return true;
}

static bool has_signature(const struct wasmtime *wt, const wasm_functype_t *type,
                          const char *params, const char *results)
{
    return has_types(wt, wt->wasm_functype_params(type), params) &&
           has_types(wt, wt->wasm_functype_results(type), results);
}

static int check_export(struct wasm_module *m, const wasm_exporttype_t *e, bool *has_memory,
                        struct err *reterr)
{
    const struct wasmtime *wt = m->wt;
    struct str name = text_of(wt->wasm_exporttype_name(e));
    const wasm_externtype_t *type = wt->wasm_exporttype_type(e);
    uint8_t kind = wt->wasm_externtype_kind(type);
    if (kind == WASM_EXTERN_MEMORY && str_is(name, "memory"))
        *has_memory = true;
    for (int i = 0; kind == WASM_EXTERN_FUNC && i < GUEST_EXPORT_COUNT; i++) {
        if (!str_is(name, exports[i].name))
            continue;
        const char *results = exports[i].results;
        if (!has_signature(wt, wt->wasm_externtype_as_functype_const(type), "", results))
            return err_set(reterr, -EINVAL,
                           "wasm: guest exports the wrong signature for func[%s]. should be () -> "
                           "(%s)",
                           exports[i].name,
                           !*results         ? ""
                           : *results == 'l' ? "i64"
                                             : "i32");
        m->exports |= 1U << i;
    }
    return 0;
}

/* prescore and normalizescore do nothing alone; upstream asks for more of some other guests. */
static int check_exports(struct wasm_module *m, struct err *reterr)
{
    struct wasm_exporttypes types;
    const unsigned only_more = 1U << GUEST_PRESCORE | 1U << GUEST_NORMALIZESCORE |
                               1U << GUEST_ADDPOD | 1U << GUEST_REMOVEPOD;
    bool has_memory = false;
    int r = 0;
    m->wt->wasmtime_module_exports(m->code, &types);
    for (size_t i = 0; r == 0 && i < types.size; i++)
        r = check_export(m, types.data[i], &has_memory, reterr);
    m->wt->wasm_exporttype_vec_delete(&types);
    if (r < 0)
        return r;
    if (!has_memory)
        return err_set(reterr, -EINVAL, "wasm: guest doesn't export memory[memory]");
    if (!(m->exports & ~(1U << GUEST_ENQUEUE)))
        return err_set(reterr, -EINVAL, "wasm: guest does not export any plugin functions");
    if (!(m->exports & ~(only_more | 1U << GUEST_ENQUEUE)))
        return err_set(reterr, -EINVAL,
                       "wasm: filter, score, reserve, permit or bind must be exported");
    return 0;
}

/* --- imports ---------------------------------------------------------------------------------- */

static int link_import(struct wasm_module *m, const wasm_importtype_t *import, struct err *reterr)
{
    const struct wasmtime *wt = m->wt;
    struct str module = text_of(wt->wasm_importtype_module(import));
    struct str name = text_of(wt->wasm_importtype_name(import));
    const wasm_externtype_t *type = wt->wasm_importtype_type(import);
    bool known = false;
    if (wt->wasm_externtype_kind(type) != WASM_EXTERN_FUNC)
        return err_set(reterr, -EINVAL, "wasm: guest imports %.*s.%.*s, which is not a function",
                       STR_ARG(module), STR_ARG(name));
    const wasm_functype_t *fn = wt->wasm_externtype_as_functype_const(type);
    const struct import_row *row = import_find(module, name, &known);
    if (!row && known)
        return err_set(reterr, -EINVAL,
                       "wasm: instantiate error: \"%.*s\" is not exported in module \"%.*s\"",
                       STR_ARG(name), STR_ARG(module));
    if (!row)
        return err_set(reterr, -EINVAL, "wasm: instantiate error: module[%.*s] not instantiated",
                       STR_ARG(module));
    if (*row->name && !has_signature(wt, fn, row->params, row->results))
        return err_set(reterr, -EINVAL,
                       "wasm: instantiate error: import func[%.*s.%.*s]: signature mismatch",
                       STR_ARG(module), STR_ARG(name));
    wasmtime_error_t *error = wt->wasmtime_linker_define_func_unchecked(
        m->linker, module.p, module.n, name.p, name.n, fn, import_call,
        (void *)(uintptr_t)(const void *)row, NULL);
    return error ? wasmtime_fail(wt, error, reterr) : 0;
}

static int link_imports(struct wasm_module *m, struct err *reterr)
{
    struct wasm_importtypes types;
    int r = 0;
    m->linker = m->wt->wasmtime_linker_new(m->wt->engine);
    m->wt->wasmtime_module_imports(m->code, &types);
    for (size_t i = 0; r == 0 && i < types.size; i++)
        r = link_import(m, types.data[i], reterr);
    m->wt->wasm_importtype_vec_delete(&types);
    if (r < 0)
        return r;
    wasmtime_error_t *error = m->wt->wasmtime_linker_instantiate_pre(m->linker, m->code, &m->pre);
    return error ? wasmtime_fail(m->wt, error, reterr) : 0;
}

/* --- life ------------------------------------------------------------------------------------- */

static int compile(struct wasm_module *m, struct err *reterr)
{
    m->wt = wasmtime_get(reterr);
    if (!m->wt)
        return err_prefix(reterr, -ENOENT, "wasm");
    wasmtime_error_t *error = wasmtime_compile(m->wt, m->bytes, &m->code);
    if (!error)
        return 0;
    wasmtime_fail(m->wt, error, reterr);
    return err_prefix(reterr, -EINVAL, "wasm: error compiling guest");
}

int wasm_module_new(struct str name, struct str url, struct str bytes,
                    struct wasm_module **ret_module, struct err *reterr)
{
    struct wasm_module *m = xnew(struct wasm_module);
    m->refs = 1;
    m->name = str_dup(name);
    m->url = str_dup(url);
    m->bytes = (struct str){str_dup(bytes), bytes.n};
    int r = compile(m, reterr);
    if (r == 0)
        r = check_exports(m, reterr);
    if (r == 0)
        r = link_imports(m, reterr);
    if (r < 0)
        wasm_module_unref(m);
    else
        *ret_module = m;
    return r;
}

struct wasm_module *wasm_module_ref(struct wasm_module *m)
{
    m->refs++;
    return m;
}

struct wasm_module *wasm_module_unref(struct wasm_module *m)
{
    if (!m || --m->refs)
        return NULL;
    if (m->pre)
        m->wt->wasmtime_instance_pre_delete(m->pre);
    if (m->linker)
        m->wt->wasmtime_linker_delete(m->linker);
    if (m->code)
        m->wt->wasmtime_module_delete(m->code);
    free((void *)(uintptr_t)m->bytes.p);
    free(m->name);
    free(m->url);
    free(m);
    return NULL;
}
