/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/conditions.h"

#define REASON_TEXT                                                                             \
    "a condition reason must start with alphabetic character, optionally followed by a string " \
    "of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' "  \
    "(e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or "                 \
    "'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"

static bool letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool word(char c)
{
    return letter(c) || (c >= '0' && c <= '9') || c == '_';
}

static bool reason_valid(struct str s)
{
    if (s.n == 0 || !letter(s.p[0]) || !word(s.p[s.n - 1]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!word(s.p[i]) && s.p[i] != ',' && s.p[i] != ':')
            return false;
    return true;
}

static void check_condition(const struct spot *condition)
{
    static const char *const statuses[] = {"False", "True", "Unknown", NULL};
    struct spot type = spot_text(condition, "type"), status = spot_text(condition, "status");
    struct spot generation = spot_number(condition, "observedGeneration");
    struct spot time = spot_get(condition, "lastTransitionTime");
    struct spot reason = spot_text(condition, "reason"), message = spot_text(condition, "message");

    spot_check_name(&type, NAME_QUALIFIED);
    spot_check_one_of(&status, statuses);
    if (spot_int(&generation) < 0)
        spot_invalid(&generation, "must be greater than or equal to zero");
    if (!spot_has(&time))
        spot_required(&time, "");
    if (spot_empty(&reason))
        spot_required(&reason, "");
    else if (!reason_valid(spot_str(&reason)))
        spot_invalid(&reason, REASON_TEXT);
    if (spot_str(&reason).n > 1 << 10)
        spot_too_long(&reason, 1 << 10);
    if (spot_str(&message).n > 32 << 10)
        spot_too_long(&message, 32 << 10);
}

void conditions_validate(const struct spot *list)
{
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < spot_count(list); i++) {
        struct spot condition = spot_item(list, i), type = spot_text(&condition, "type");

        if (map_put(&seen, spot_str(&type), list->errors))
            spot_duplicate(&type);
        check_condition(&condition);
    }
    map_release(&seen);
}
