#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""openapi_golden.py DIR FILE...: writes DIR/openapi_types.txt and DIR/openapi_paths.txt.

The structure of upstream's OpenAPI v3 documents, one line per type, property and operation:

    T NAME MAP-TYPE REQUIRED
    P NAME TYPE LIST-TYPE KEYS MERGE-KEY STRATEGY DEFAULT
    PATH METHOD ACTION KIND OPERATION-ID PARAMETERS

A TYPE is "string:byte", "@REF", "[TYPE]" or "{TYPE}"; "-" is nothing.
"""

import json
import sys


def form(schema):
    if "$ref" in schema:
        return "@" + schema["$ref"].rsplit("/", 1)[1]
    if "allOf" in schema:
        return form(schema["allOf"][0])
    if schema.get("type") == "array":
        return "[" + form(schema["items"]) + "]"
    if "additionalProperties" in schema:
        return "{" + form(schema["additionalProperties"]) + "}"
    return schema.get("type", "any") + (":" + schema["format"] if "format" in schema else "")


def main():
    types, paths = {}, []
    for name in sys.argv[2:]:
        with open(name) as f:
            document = json.load(f)
        types.update(document["components"]["schemas"])
        for path, item in document["paths"].items():
            if "/watch/" in path or path.endswith("/"):
                continue
            for method, op in item.items():
                if method != "parameters" and "x-kubernetes-action" in op:
                    kind = op["x-kubernetes-group-version-kind"]
                    both = op.get("parameters", []) + item.get("parameters", [])
                    names = ",".join(sorted(p["name"] for p in both))
                    connect = op["x-kubernetes-action"] == "connect" or path.endswith("/log")
                    paths.append(
                        f"{path} {method} {op['x-kubernetes-action']} "
                        f"{kind['group']}/{kind['version']}/{kind['kind']} {op['operationId']} "
                        f"{'-' if connect else names or '-'}"
                    )
    with open(sys.argv[1] + "/openapi_types.txt", "w") as f:
        for name, schema in sorted(types.items()):
            required = ",".join(sorted(schema.get("required", []))) or "-"
            print("T", name, schema.get("x-kubernetes-map-type", "-"), required, file=f)
            for field, value in sorted(schema.get("properties", {}).items()):
                print(
                    "P",
                    field,
                    form(value),
                    value.get("x-kubernetes-list-type", value.get("x-kubernetes-map-type", "-")).replace(
                        "granular", "-"  # the default
                    ),
                    ",".join(value.get("x-kubernetes-list-map-keys", [])) or "-",
                    value.get("x-kubernetes-patch-merge-key", "-"),
                    value.get("x-kubernetes-patch-strategy", "-"),
                    json.dumps(value["default"], separators=(",", ":")) if "default" in value else "-",
                    file=f,
                )
    with open(sys.argv[1] + "/openapi_paths.txt", "w") as f:
        print("\n".join(sorted(paths)), file=f)


main()
