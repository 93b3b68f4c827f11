# SPDX-License-Identifier: Apache-2.0
"""Decodes the CBOR that Kubernetes writes: one item, definite lengths, byte strings for text."""

import struct

SELF_DESCRIBED = b"\xd9\xd9\xf7"


def _number(data, at, info):
    if info < 24:
        return info, at
    size = 1 << (info - 24)
    if info > 27:
        raise ValueError(f"length {info} at {at}")
    return int.from_bytes(data[at:at + size], "big"), at + size


def _item(data, at):
    major, info = data[at] >> 5, data[at] & 31
    if major == 7:
        simple = {20: False, 21: True, 22: None}
        if info in simple:
            return simple[info], at + 1
        form = {25: ">e", 26: ">f", 27: ">d"}[info]
        end = at + 1 + struct.calcsize(form)
        return struct.unpack(form, data[at + 1:end])[0], end
    n, at = _number(data, at + 1, info)
    if major in (0, 1):
        return (n if major == 0 else -1 - n), at
    if major in (2, 3):
        return data[at:at + n].decode(), at + n
    if major == 4:
        items = []
        for _ in range(n):
            item, at = _item(data, at)
            items.append(item)
        return items, at
    if major == 5:
        members = {}
        for _ in range(n):
            key, at = _item(data, at)
            members[key], at = _item(data, at)
        return members, at
    raise ValueError(f"type {major} at {at}")


def loads(data):
    """Decodes a self-described document of one item."""
    if not data.startswith(SELF_DESCRIBED):
        raise ValueError("no self-described CBOR")
    value, end = _item(data, len(SELF_DESCRIBED))
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes too many")
    return value
