/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_templates.h - the files that `berth plugin new` creates.
 *
 * Purpose:   the files of templates/, compiled in. In their names and texts @NAME@ stands for the
 *            name given, @PLUGIN@ for the plugin's name in a configuration and @IDENT@ for its
 *            identifier in source code.
 * Ownership: constant.
 * Threading: any.
 */
#ifndef BERTH_CMD_PLUGIN_PLUGIN_TEMPLATES_H
#define BERTH_CMD_PLUGIN_PLUGIN_TEMPLATES_H

#include "base/str.h"

struct plugin_template {
    const char *lang; /* "c", "c++", "rust"; NULL: all languages */
    const char *path; /* in the new directory */
    const char *text, *end;
};

extern const struct plugin_template plugin_templates[];
extern const size_t n_plugin_templates;

#endif
