/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openapi.h - the documents of /openapi/v2 and /openapi/v3.
 *
 * Purpose:   kubectl explain, validation and apply read them; they are made from the tables of
 *            types (api/schema.h) and of resources (types/resource.h), and from the schemas of
 *            custom resources (struct resource.schema).
 * Ownership: writes into the caller's buffer; nothing is kept. A document costs milliseconds: the
 *            caller keeps it until a CustomResourceDefinition changes.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_OPENAPI_OPENAPI_H
#define BERTH_APISERVER_OPENAPI_OPENAPI_H

#include "apiserver/types/resource.h"
#include "base/buf.h"

/*
 * {"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=…"}}}: one entry per
 * group and version. The hash changes with the document.
 */
void openapi_v3_index(const struct resources *rs, struct buf *out);
/* The document of a group and version. False: nothing of it is served. */
bool openapi_v3(const struct resources *rs, struct str group, struct str version, struct buf *out);
/* Everything, as swagger 2.0. */
void openapi_v2(const struct resources *rs, struct buf *out);
/* The same as protobuf, gnostic's openapi.v2.Document. False: nothing is written. */
bool openapi_v2_proto(const struct resources *rs, struct buf *out);

#endif
