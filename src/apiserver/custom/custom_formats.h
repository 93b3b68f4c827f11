/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_formats.h - formats of strings in OpenAPI.
 *
 * Purpose:   date-time, ipv4 and so on, as upstream's strfmt checks them. A format that is not
 *            listed is ignored, as upstream does.
 * Ownership: none.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_CUSTOM_CUSTOM_FORMATS_H
#define BERTH_APISERVER_CUSTOM_CUSTOM_FORMATS_H

#include "base/str.h"

/* True for a format that is not known. */
bool custom_format_matches(struct str format, struct str text);

#endif
