/* SPDX-License-Identifier: Apache-2.0 */
/* Modes of authorization. */
#include "apiserver/access/authorization.h"

static const struct {
    const char *name;
    enum authorization_mode mode;
} modes_by_name[] = {
    {"RBAC", AUTHORIZATION_RBAC},
    {"AlwaysAllow", AUTHORIZATION_ALWAYS_ALLOW},
    {"AlwaysDeny", AUTHORIZATION_ALWAYS_DENY},
    {"Node", AUTHORIZATION_NODE},
};

int authorization_parse(struct str names, unsigned *ret_modes, struct err *reterr)
{
    unsigned modes = 0;
    struct str name;

    if (str_empty(names))
        return err_set(reterr, -EINVAL, "at least one mode is required");
    while (names.n && str_split(&names, ',', &name)) {
        size_t i = 0;

        while (i < ARRAY_LEN(modes_by_name) && !str_is(name, modes_by_name[i].name))
            i++;
        if (i == ARRAY_LEN(modes_by_name))
            return err_set(reterr, -EINVAL,
                           "\"%.*s\" is not a mode: RBAC, AlwaysAllow, AlwaysDeny and Node are",
                           STR_ARG(name));
        if (modes & modes_by_name[i].mode)
            return err_set(reterr, -EINVAL, "\"%.*s\" is given more than once", STR_ARG(name));
        modes |= modes_by_name[i].mode;
    }
    *ret_modes = modes;
    return 0;
}

bool authorization_allows(unsigned modes, const struct rbac *rbac, const struct api_user *user,
                          const struct access_attributes *what, struct arena *a,
                          struct str *ret_why)
{
    struct str why = STR("");
    bool allowed = modes & AUTHORIZATION_RBAC ? rbac_allows(rbac, user, what, a, &why)
                                              : api_user_in_group(user, STR("system:masters"));

    if (!allowed && modes & AUTHORIZATION_ALWAYS_ALLOW) {
        allowed = true;
        why = STR("");
    }
    if (!allowed && modes & AUTHORIZATION_ALWAYS_DENY)
        why = arena_printf(a, "%.*s%sEverything is forbidden.", STR_ARG(why), why.n ? "\n" : "");
    *ret_why = why;
    return allowed;
}
