/* SPDX-License-Identifier: Apache-2.0 */
#include "api/labels.h"

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
    return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

/* Letters, digits, '-', '_', '.', with a letter or digit at both ends. */
static bool name_valid(struct str s)
{
    if (s.n == 0 || s.n > 63 || !is_alnum(s.p[0]) || !is_alnum(s.p[s.n - 1]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '_' && s.p[i] != '.')
            return false;
    return true;
}

bool dns_subdomain_valid(struct str name)
{
    if (!name.p || name.n == 0 || name.n > 253)
        return false;
    char last = '.';
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool at_edge = last == '.' || i + 1 == name.n || name.p[i + 1] == '.';
        if (!is_lower_alnum(c) && (at_edge || (c != '-' && c != '.')))
            return false;
        last = c;
    }
    return true;
}

const char *label_key_fault(struct str key)
{
    size_t slash = str_find(key, '/');
    struct str name = key;
    if (slash < key.n) {
        if (!dns_subdomain_valid(str_slice(key, 0, slash)))
            return "the prefix before '/' must be a lowercase DNS subdomain";
        name = str_slice(key, slash + 1, key.n);
    }
    return name_valid(name) ? NULL
                            : "the name must be 1 to 63 letters, digits, '-', '_' or '.', with a "
                              "letter or digit at both ends";
}

const char *label_value_fault(struct str value)
{
    return value.n == 0 || name_valid(value) ? NULL
                                             : "a value must be empty, or up to 63 letters, "
                                               "digits, '-', '_' or '.', with a letter or digit at "
                                               "both ends";
}
