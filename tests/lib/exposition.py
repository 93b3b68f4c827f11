# SPDX-License-Identifier: Apache-2.0
"""Pages of metrics in Prometheus' text format, parsed strictly.

    families = parse(text)
    families["scheduler_pending_pods"].samples[0].labels["queue"]

ValueError names the error and its line: bad syntax, a family that occurs twice or in pieces, a
duplicate series, a histogram whose buckets do not ascend, shrink, or disagree with its count,
families out of order.
"""

import collections
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
SAMPLE = re.compile(r"(" + NAME + r")(?:\{(.*)\})? (\S+)")
NUMBER = re.compile(r"[+-]?Inf|NaN|-?\d+(\.\d+)?(e[+-]\d+)?")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count"),
            "counter": ("",), "gauge": ("",), "untyped": ("",)}

Sample = collections.namedtuple("Sample", "name labels value")


class Family:
    def __init__(self, name, help):
        self.name, self.help, self.kind, self.samples = name, help, None, []

    @property
    def stability(self):
        """"ALPHA" of "[ALPHA] Help"; None if there is none."""
        found = re.match(r"\[([A-Z]+)\] ", self.help)
        return found and found[1]

    def label_names(self):
        """The sets of label names of its series, without le and quantile; exactly one if the
        page is valid."""
        return {frozenset(s.labels) - {"le", "quantile"} for s in self.samples}

    def values_of(self, label):
        return {s.labels[label] for s in self.samples if label in s.labels}

    def bounds(self):
        """The buckets of a histogram, as written; those of all series must be the same."""
        found = collections.defaultdict(list)
        for s in self.samples:
            if "le" in s.labels:
                found[series(s)].append(s.labels["le"])
        check(len({tuple(b) for b in found.values()}) <= 1, f"{self.name}: series differ in buckets")
        return next(iter(found.values()), [])

    def value(self, suffix="", **labels):
        """The value of the one sample with exactly these labels; None if there is none."""
        for s in self.samples:
            if s.name == self.name + suffix and s.labels == labels:
                return s.value
        return None


def series(sample):
    return tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))


def check(condition, otherwise):
    if not condition:
        raise ValueError(otherwise)


def parse_labels(text):
    labels, at = {}, 0
    while at < len(text):
        found = LABEL.match(text, at)
        check(found, f"labels: {text!r}")
        check(found[1] not in labels, f"label {found[1]} is there twice: {text!r}")
        labels[found[1]] = re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), found[2])
        at = found.end()
    check(not text.endswith(","), f"labels: {text!r}")
    return labels


def parse_sample(line):
    found = SAMPLE.fullmatch(line)
    check(found, f"sample: {line!r}")
    check(NUMBER.fullmatch(found[3]), f"number: {line!r}")
    return Sample(found[1], parse_labels(found[2] or ""), float(found[3]))


def check_histogram(family):
    groups = collections.defaultdict(dict)
    for s in family.samples:
        kind = s.name[len(family.name):]
        groups[series(s)].setdefault(kind, []).append(s)
    for key, parts in groups.items():
        where = f"{family.name}{dict(key)}"
        check(set(parts) == {"_bucket", "_sum", "_count"}, f"{where}: {sorted(parts)}")
        bounds = [float(s.labels["le"]) for s in parts["_bucket"]]
        counts = [s.value for s in parts["_bucket"]]
        check(bounds == sorted(set(bounds)) and bounds[-1] == float("inf"), f"{where}: {bounds}")
        check(counts == sorted(counts), f"{where}: buckets shrink: {counts}")
        check(counts[-1] == parts["_count"][0].value, f"{where}: the count is another than +Inf's")


def check_family(family):
    check(family.samples, f"{family.name}: no samples")
    for s in family.samples:
        check(family.kind != "counter" or s.value >= 0, f"{s}: below zero")
        check(len(s.labels) == len(family.samples[0].labels) or family.kind in ("histogram", "summary"),
              f"{family.name}: series differ in labels")
    check(len({(s.name, tuple(sorted(s.labels.items()))) for s in family.samples})
          == len(family.samples), f"{family.name}: a series is there twice")
    check(len(family.label_names()) == 1, f"{family.name}: {family.label_names()}")
    if family.kind == "histogram":
        check_histogram(family)
        family.bounds()


def parse_line(line, families, current):
    """Returns the family that the next line may belong to."""
    found = re.fullmatch(r"# (HELP|TYPE) (" + NAME + r") (.*)", line)
    if found and found[1] == "HELP":
        check(found[2] not in families, "a second HELP")
        families[found[2]] = Family(found[2], found[3])
        return families[found[2]]
    if found:
        check(current and found[2] == current.name and current.kind is None, "TYPE without HELP")
        check(found[3] in SUFFIXES, "no such type")
        current.kind = found[3]
        return current
    sample = parse_sample(line)
    check(current and current.kind and sample.name in
          [current.name + suffix for suffix in SUFFIXES[current.kind]], "a sample of no family")
    current.samples.append(sample)
    return current


def parse(text):
    """The families of a page by name."""
    families, current = {}, None
    check(not text or text.endswith("\n"), "the last line has no end")
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            current = parse_line(line, families, current)
        except ValueError as e:
            raise ValueError(f"line {number}: {e}\n{line}") from None
    check(list(families) == sorted(families), "families are not in order")
    for family in families.values():
        check_family(family)
    return families
