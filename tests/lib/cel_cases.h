/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cel_cases.h - expressions and what upstream makes of them.
 *
 * Purpose:   value or error, cost and estimate for the device of test_cel.c, and the messages of
 *            expressions that do not compile; all by k8s.io/dynamic-resource-allocation/cel.
 * Ownership: constants.
 * Threading: any thread.
 */
#ifndef BERTH_TESTS_CEL_CASES_H
#define BERTH_TESTS_CEL_CASES_H

#include "base/str.h"

struct evaluation {
    const char *expression;
    bool lists; /* DRAListTypeAttributes */
    bool matches;
    const char *error; /* NULL: none */
    uint64_t cost, max_cost;
};

static const struct evaluation evaluations[] = {
    /* expression, lists, matches, error, cost, largest cost */
    {"true", false, true, NULL, 0, 0u},
    {"!!-1 == -1", false, true, NULL, 1, 1u},
    {"device.driver == \"dra.example.com\"", false, true, NULL, 4, 4u},
    {"device.attributes[\"dra.example.com\"].model == \"a100\"", false, true, NULL, 5, 5u},
    {"device.attributes[\"nope\"].model == \"a100\"", false, false, "no such key: model", 5, 5u},
    {"device.attributes[\"dra.example.com\"].nope == 1", false, false, "no such key: nope", 5, 5u},
    {"has(device.attributes[\"dra.example.com\"].nope)", false, false, NULL, 3, 3u},
    {"has(device.attributes[\"dra.example.com\"].model)", false, true, NULL, 3, 3u},
    {"has(device.attributes.foo)", false, true, NULL, 2, 2u},
    {"\"dra.example.com\" in device.attributes", false, true, NULL, 3, 3u},
    {"device.attributes[\"dra.example.com\"].healthy", false, true, NULL, 4, 4u},
    {"device.attributes[\"dra.example.com\"].numa", false, false,
     "CEL result of type int could not be converted to bool: unsupported type conversion from "
     "'int' to bool",
     4, 4u},
    {"device.attributes[\"dra.example.com\"].model", false, false,
     "CEL result of type string could not be converted to bool: unsupported native conversion from "
     "string to 'bool'",
     4, 4u},
    {"device.attributes[\"dra.example.com\"].numa > 0", false, true, NULL, 5, 5u},
    {"device.attributes[\"dra.example.com\"].numa + 1 == 2", false, true, NULL, 6, 6u},
    {"device.attributes[\"dra.example.com\"].numa in [1,2,3]", false, true, NULL, 4, 17u},
    {"device.allowMultipleAllocations", false, true, NULL, 2, 2u},
    {"1 + 1 == 2", false, true, NULL, 2, 2u},
    {"[1,2,3].all(x, x > 0)", false, true, NULL, 16, 26u},
    {"[1,2,3].exists(x, x > 2)", false, true, NULL, 19, 29u},
    {"[1,2,3].exists_one(x, x > 2)", false, true, NULL, 10, 24u},
    {"[1,2,3].map(x, x * 2) == [2,4,6]", false, true, NULL, 44, 74u},
    {"[1,2,3].filter(x, x > 1) == [2,3]", false, true, NULL, 34, 77u},
    {"[1,2,3].map(x, x > 1, x * 2) == [4,6]", false, true, NULL, 36, 80u},
    {"cel.bind(d, device.attributes[\"dra.example.com\"], d.healthy && d.model == \"a100\")", false,
     true, NULL, 8, 18u},
    {"cel.bind(a, [], (a + [1]).size() + (a + [2]).size() == 3)", false, true, NULL, 8, 48u},
    {"device.attributes[\"dra.example.com\"].?model.orValue(\"x\") == \"a100\"", false, true, NULL,
     5, 6u},
    {"device.attributes[\"dra.example.com\"].?nope.orValue(\"x\") == \"x\"", false, true, NULL, 4,
     6u},
    {"device.attributes[?\"dra.example.com\"].?nope.hasValue()", false, false, NULL, 4, 5u},
    {"optional.of(1).optMap(x, x + 1).value() == 2", false, true, NULL, 9, 19u},
    {"optional.none().orValue(1) == 1", false, true, NULL, 2, 3u},
    {"{'a':1,'b':2}.all(k, v, v > 0)", false, true, NULL, 11, 41u},
    {"[1,2].transformList(i, v, i + v) == [1,3]", false, true, NULL, 32, 62u},
    {"[1,2].transformMap(i, v, i + v) == {0:1, 1:3}", false, true, NULL, 14, 84u},
    {"{'a':1}.transformMapEntry(k, v, {v: k}) == {1:'a'}", false, true, NULL, 36, 126u},
    {"true ? false : true", false, false, NULL, 0, 0u},
    {"(true ? device : device).driver == \"x\"", false, false, NULL, 2, 3u},
    {"device.driver.startsWith(\"dra\")", false, true, NULL, 4, 3u},
    {"device.driver.contains(\"example\")", false, true, NULL, 4, 9u},
    {"device.driver.size() > 5", false, true, NULL, 4, 4u},
    {"size(device.attributes) == 2", false, true, NULL, 4, 4u},
    {"type(device.driver) == string", false, true, NULL, 4, 1844674407370955268u},
    {"int(\"12\") == 12", false, true, NULL, 1, 2u},
    {"duration(\"1h\") > duration(\"1m\")", false, true, NULL, 1, 3u},
    {"timestamp(\"2020-01-01T00:00:00Z\").getFullYear() == 2020", false, true, NULL, 2, 3u},
    {"\"%s\".format([timestamp(\"2023-06-15T12:30:00.5+02:00\")]) == "
     "\"2023-06-15T12:30:00.5+02:00\"",
     false, true, NULL, 4, 15u},
    {"\"%s\".format([[timestamp(\"2023-06-15T12:30:00-03:30\"), duration(\"90m\")]]) == "
     "\"[timestamp(\\\"2023-06-15T12:30:00-03:30\\\"), duration(\\\"5400s\\\")]\"",
     false, true, NULL, 7, 29u},
    {"string(timestamp(\"2020-01-01T00:00:00+02:00\")) == \"2020-01-01T00:00:00+02:00\"", false,
     true, NULL, 3, 5u},
    {"1/0 == 1", false, false, "division by zero", 2, 2u},
    {"1/0 == 1 || true", false, true, NULL, 2, 2u},
    {"false && 1/0 == 1", false, false, NULL, 0, 2u},
    {"9223372036854775807 + 1 == 0", false, false, "integer overflow", 2, 2u},
    {"-9223372036854775808 == 0", false, false, NULL, 1, 1u},
    {"1u - 2u == 0u", false, false, "unsigned integer overflow", 2, 2u},
    {"1 < 1.5", false, true, NULL, 1, 1u},
    {"dyn(1) < 'a'", false, false, "no such overload", 1, 2u},
    {"dyn(1).foo == 1", false, false, "no such key: foo", 3, 2u},
    {"dyn([1])[\"a\"] == 1", false, false, "unsupported index type 'string' in list", 3, 13u},
    {"[1,2,3][5] == 1", false, false, "index out of bounds: 5", 3, 12u},
    {"[1,2][0] == 1", false, true, NULL, 3, 12u},
    {"{'a':1}.b == 1", false, false, "no such key: b", 3, 32u},
    {"{'a':1}['b'] == 1", false, false, "no such key: b", 3, 32u},
    {"\"abc\" + \"def\" == \"abcdef\"", false, true, NULL, 2, 2u},
    {"\"h\303\251llo\".size() == 5", false, true, NULL, 2, 2u},
    {"b\"abc\".size() == 3", false, true, NULL, 2, 2u},
    {"null == null", false, true, NULL, 1, 1u},
    {"device == null", false, false, NULL, 2, 1u},
    {"has(device.driver)", false, true, NULL, 1, 1u},
    {"[].size() == 0", false, true, NULL, 2, 12u},
    {"1 in []", false, false, NULL, 0, 10u},
    {"1 in [1]", false, true, NULL, 0, 11u},
    {"\"a\" in {\"a\":1}", false, true, NULL, 1, 31u},
    {"device.attributes.all(k, k != \"\")", false, true, NULL, 11, 131u},
    {"!device.allowMultipleAllocations", false, false, NULL, 3, 3u},
    {"-device.attributes[\"dra.example.com\"].numa == -1", false, true, NULL, 6, 6u},
    {"dyn(\"a\") || true", false, true, NULL, 0, 1u},
    {"dyn(\"a\") || false", false, false, "no such overload", 0, 1u},
    {"type(1) == int && type(1u) == uint && type([]) == list && type({}) == map", false, true, NULL,
     4, 7378697629483821104u},
    {"[?optional.of(1), ?optional.none()] == [1]", false, true, NULL, 13, 23u},
    {"{?\"a\": optional.of(1)} == {\"a\":1}", false, true, NULL, 32, 62u},
    {"\"\\u00e9\" == \"\303\251\"", false, true, NULL, 1, 1u},
    {"r\"\\d\" == \"\\\\d\"", false, true, NULL, 1, 1u},
    {"0x10 == 16", false, true, NULL, 1, 1u},
    {"1e3 == 1000.0", false, true, NULL, 1, 1u},
    {".5 == 0.5", false, true, NULL, 1, 1u},
    {"device.driver == \"a\" // comment", false, false, NULL, 3, 3u},
    {"[1,2,3].map(x, [x]).map(y, y[0]) == [1,2,3]", false, true, NULL, 114, 154u},
    {"[[1,2],[3]].all(l, l.all(x, x > 0))", false, true, NULL, 26, 61u},
    {"dyn(1u)", true, false,
     "CEL result of type uint could not be converted to bool: unsupported type conversion from "
     "'uint' to bool",
     0, 1u},
    {"dyn(1.5)", true, false,
     "CEL result of type double could not be converted to bool: type conversion error from Double "
     "to 'bool'",
     0, 1u},
    {"dyn(\"a\")", true, false,
     "CEL result of type string could not be converted to bool: unsupported native conversion from "
     "string to 'bool'",
     0, 1u},
    {"dyn(b\"a\")", true, false,
     "CEL result of type bytes could not be converted to bool: type conversion error from Bytes to "
     "'bool'",
     0, 1u},
    {"dyn([1])", true, false,
     "CEL result of type list could not be converted to bool: type conversion error from list to "
     "'bool'",
     0, 11u},
    {"dyn({1:1})", true, false,
     "CEL result of type map could not be converted to bool: type conversion error from map to "
     "'bool'",
     0, 31u},
    {"dyn(null)", true, false,
     "CEL result of type null_type could not be converted to bool: type conversion error from "
     "'null_type' to 'bool'",
     0, 1u},
    {"dyn(duration(\"1s\"))", true, false,
     "CEL result of type google.protobuf.Duration could not be converted to bool: type conversion "
     "error from 'Duration' to 'bool'",
     0, 2u},
    {"dyn(timestamp(\"2020-01-01T00:00:00Z\"))", true, false,
     "CEL result of type google.protobuf.Timestamp could not be converted to bool: type conversion "
     "error from 'Timestamp' to 'bool'",
     0, 2u},
    {"dyn(int)", true, false,
     "CEL result of type type could not be converted to bool: type conversion not supported for "
     "'type'",
     0, 2u},
    {"dyn(optional.of(true))", true, true, NULL, 2, 2u},
    {"dyn(optional.none())", true, false,
     "CEL result of type optional_type could not be converted to bool: optional.none() dereference",
     2, 2u},
    {"dyn(optional.of(1))", true, false,
     "CEL result of type optional_type could not be converted to bool: unsupported type conversion "
     "from 'int' to bool",
     2, 2u},
    {"dyn(device.capacity[\"dra.example.com\"].memory)", true, false,
     "CEL result of type kubernetes.Quantity could not be converted to bool: type conversion error "
     "from 'Quantity' to 'bool'",
     5, 5u},
    {"dyn(device.attributes[\"dra.other.com\"].ver)", true, false,
     "CEL result of type kubernetes.Semver could not be converted to bool: type conversion error "
     "from 'Semver' to 'bool'",
     5, 5u},
    {"dyn(device)", true, false,
     "CEL result of type map could not be converted to bool: type conversion error from map to "
     "'bool'",
     2, 2u},
    {"dyn(device.attributes)", true, false,
     "CEL result of type map could not be converted to bool: type conversion error from map to "
     "'bool'",
     3, 3u},
    {"dyn(device.attributes[\"dra.example.com\"])", true, false,
     "CEL result of type map could not be converted to bool: type conversion error from map to "
     "'bool'",
     4, 4u},
    {"dyn(device.capacity[\"dra.example.com\"])", true, false,
     "CEL result of type map could not be converted to bool: type conversion error from map to "
     "'bool'",
     4, 4u},
    {"device.capacity[\"dra.example.com\"].memory == device.capacity[\"dra.example.com\"].memory",
     true, true, NULL, 9, 9u},
    {"dyn(1).includes(1)", true, true, NULL, 1, 49u},
    {"[1,2].includes(2)", true, true, NULL, 1, 58u},
    {"google.protobuf.Timestamp == type(timestamp(\"2020-01-01T00:00:00Z\"))", true, true, NULL, 1,
     1844674407370955267u},
    {"optional_type == type(optional.none())", true, true, NULL, 3, 1844674407370955267u},
    {"net.IP == net.IP", true, true, NULL, 1, 1844674407370955266u},
    {"type(device) == map", true, true, NULL, 3, 1844674407370955267u},
    {"type(device.capacity[\"dra.example.com\"].memory) == int", true, false, NULL, 6,
     1844674407370955270u},
    {"dyn({})[1.5]", true, false, "no such key: 1.5", 2, 32u},
    {"dyn([1])[0.0] == 1", true, true, NULL, 3, 13u},
    {"dyn([1])[0.5] == 1", true, false, "unsupported index value 0.5 in list", 3, 13u},
    {"dyn([1])[0u] == 1", true, true, NULL, 3, 13u},
    {"{1u:2}[dyn(1)] == 2", true, true, NULL, 3, 33u},
    {"{1:2}[dyn(1.0)] == 2", true, true, NULL, 3, 33u},
    {"{null:1} == {}", true, false, NULL, 0, 60u},
    {"{[1]:1} == {}", true, false, NULL, 0, 70u},
    {"{1.5:1}[1.5] == 1", true, true, NULL, 3, 32u},
    {"dyn(1).all(x, true)", true, false, "got 'types.Int', expected iterable type", 0, 5u},
    {"dyn(\"abc\").all(x, true)", true, false, "got 'types.String', expected iterable type", 0,
     11u},
    {"dyn(1).all(x, y, true)", true, false, "unsupported comprehension range type: types.Int", 0,
     5u},
    {"dyn(\"a\") + 1 == 1", true, false, "no such overload", 2, 3u},
    {"dyn(true) + 1 == 1", true, false, "no such overload: _+_", 2, 3u},
    {"dyn(null) + 1 == 1", true, false, "no such overload: _+_", 2, 3u},
    {"dyn([1]) + 1 == 1", true, false, "no such overload", 2, 13u},
    {"dyn(\"a\") - 1 == 1", true, false, "no such overload", 2, 3u},
    {"-dyn(\"a\") == 1", true, false, "no such overload", 2, 3u},
    {"-dyn(true) == 1", true, false, "no such overload", 2, 3u},
    {"!dyn(1)", true, false, "no such overload", 1, 2u},
    {"dyn(1) && true", true, false, "no such overload", 0, 1u},
    {"dyn(1) ? true : false", true, false, "no such overload", 0, 1u},
    {"dyn(null) < 1", true, false, "no such overload: _<_", 1, 2u},
    {"dyn([1]) < 1", true, false, "no such overload: _<_", 1, 12u},
    {"dyn(1) < null", true, false, "no such overload", 1, 2u},
    {"double(\"NaN\") < 1.0", true, false, "NaN values cannot be ordered", 1, 2u},
    {"1 < double(\"NaN\")", true, false, "NaN values cannot be ordered", 1, 2u},
    {"dyn(1) in dyn(1)", true, false, "no such overload", 1, 3u},
    {"size(dyn(1)) == 1", true, false, "no such overload: size", 2, 3u},
    {"size(dyn(null)) == 1", true, false, "no such overload: size", 2, 3u},
    {"size(dyn(duration(\"1s\"))) == 1", true, false, "no such overload", 2, 4u},
    {"dyn(1).contains(\"a\")", true, false, "no such overload", 1, 2u},
    {"dyn(\"a\").contains(\"a\")", true, true, NULL, 1, 2u},
    {"dyn(\"a\").startsWith(dyn(1))", true, false, "no such overload", 1, 3u},
    {"timestamp(\"2020-01-01T00:00:00Z\").getHours(\"+02:00\") == 2", true, true, NULL, 2, 3u},
    {"timestamp(\"2020-01-01T00:00:00Z\").getHours(\"-02:30\") == 21", true, true, NULL, 2, 3u},
    {"timestamp(\"2020-01-01T00:00:00Z\").getHours(\"a:b\") == 21", true, false,
     "strconv.Atoi: parsing \"a\": invalid syntax", 2, 3u},
    {"timestamp(\"2020-01-01T00:00:00Z\").getHours(\"foo\") == 21", true, false,
     "unknown time zone foo", 2, 3u},
    {"timestamp(5) == timestamp(\"1970-01-01T00:00:05Z\")", true, true, NULL, 1, 3u},
    {"timestamp(\"2020-01-01T00:00:00.123456789Z\").getMilliseconds() == 123", true, true, NULL, 2,
     3u},
    {"timestamp(\"1900-03-01T00:00:00Z\").getDayOfYear() == 59", true, true, NULL, 2, 3u},
    {"timestamp(\"2000-12-31T00:00:00Z\").getDayOfYear() == 365", true, true, NULL, 2, 3u},
    {"timestamp(\"2020-02-29T00:00:00Z\").getDayOfWeek() == 6", true, true, NULL, 2, 3u},
    {"timestamp(\"0001-01-01T00:00:00Z\") - duration(\"1s\") == "
     "timestamp(\"0001-01-01T00:00:00Z\")",
     true, false, "timestamp overflow", 2, 5u},
    {"timestamp(\"9999-12-31T23:59:59Z\") + duration(\"1s\") == "
     "timestamp(\"0001-01-01T00:00:00Z\")",
     true, false, "timestamp overflow", 2, 5u},
    {"timestamp(\"9999-12-31T23:59:59Z\") - timestamp(\"0001-01-01T00:00:00Z\") == "
     "duration(\"1s\")",
     true, false, "integer overflow", 2, 5u},
    {"string(duration(\"1h1.5s\")) == \"3601.5s\"", true, true, NULL, 1, 3u},
    {"string(1.0) == \"1\"", true, true, NULL, 1, 2u},
    {"string(1e100) == \"1e+100\"", true, true, NULL, 1, 2u},
    {"string(123456789.0) == \"1.23456789e+08\"", true, true, NULL, 2, 3u},
    {"double(\"0x1p-2\") == 0.25", true, true, NULL, 1, 2u},
    {"double(\"1_0\") == 10.0", true, true, NULL, 1, 2u},
    {"double(\"inf\") > 1.0", true, true, NULL, 1, 2u},
    {"int(1.9) == 1 && int(-1.9) == -1", true, true, NULL, 2, 4u},
    {"uint(1.9) == 1u", true, true, NULL, 1, 2u},
    {"uint(\"5\") == 5u", true, true, NULL, 1, 2u},
    {"int(\"+5\") == 5", true, true, NULL, 1, 2u},
    {"bool(\"T\")", true, true, NULL, 0, 1u},
    {"bytes(\"abc\") == b\"abc\"", true, true, NULL, 1, 2u},
    {"string(bytes(\"\303\251\")) == \"\303\251\"", true, true, NULL, 1, 3u},
    {"dyn(\"a\").size() == 1", true, true, NULL, 2, 3u},
    {"[1,2,3].first().value() == 1", true, true, NULL, 3, 13u},
    {"[1,2,3].last().value() == 3", true, true, NULL, 3, 13u},
    {"[].last() == optional.none()", true, true, NULL, 3, 1844674407370955276u},
    {"optional.of(1).or(optional.of(2)).value() == 1", true, true, NULL, 3, 5u},
    {"optional.none().or(optional.of(2)).value() == 2", true, true, NULL, 4, 5u},
    {"optional.none().value() == 1", true, false, "optional.none() dereference", 3, 3u},
    {"optional.unwrap([optional.of(1), optional.none()]) == [1]", true, true, NULL, 14, 24u},
    {"[optional.of(1)].unwrapOpt() == [1]", true, true, NULL, 13, 23u},
    {"optional.ofNonZeroValue(0).hasValue()", true, false, NULL, 2, 2u},
    {"optional.of(optional.of(1)) == optional.of(optional.of(1))", true, true, NULL, 5, 5u},
    {"optional.of({'a':1}).a.value() == 1", true, true, NULL, 5, 33u},
    {"optional.of({'a':1}).?b.hasValue()", true, false, NULL, 3, 33u},
    {"optional.of([1])[0].value() == 1", true, true, NULL, 5, 14u},
    {"optional.of([1])[?5].hasValue()", true, false, NULL, 3, 13u},
    {"optional.of(device.attributes)[\"zzz\"].hasValue()", true, false, NULL, 5, 5u},
    {"device.?attributes[\"zzz\"].hasValue()", true, true, NULL, 4, 4u},
    {"has(optional.of({'a':1}).a)", true, true, NULL, 2, 31u},
    {"has(optional.of({'a':1}).b)", true, false, NULL, 1, 31u},
    {"optional.of(1).optFlatMap(x, optional.of(x+1)).value() == 2", true, true, NULL, 9, 19u},
    {"[3,1,2].sortBy(x, x) == [1,2,3]", true, true, NULL, 72, 112u},
    {"[1,2].transformMap(i, v, i == 0, v) == {0:1}", true, true, NULL, 10, 84u},
    {"[1,2].transformMapEntry(i, v, {\"a\": v}) == {}", true, false,
     "insert failed: key a already exists", 67, 137u},
    {"{'a':1}.existsOne(k, v, v == 1)", true, true, NULL, 6, 36u},
    {"{'a':1}.exists_one(k, v, v == 1)", true, true, NULL, 6, 36u},
    {"(device.driver == \"x\" ? [1] : [2])[0] == 2", true, true, NULL, 5, 15u},
    {"(device.driver == \"x\" ? {'a':1} : {'a':2}).a == 2", true, true, NULL, 5, 35u},
    {"[1,2,3][device.attributes[\"dra.example.com\"].numa] == 2", true, true, NULL, 6, 16u},
    {"[1,2,3][1 + 1] == 3", true, true, NULL, 4, 13u},
    {"[1,2,3][true ? 1 : 0] == 2", true, true, NULL, 3, 12u},
    {"{'a':{'b':1}}.a.b == 1", true, true, NULL, 4, 63u},
    {"{'a':[1,2]}.a[1] == 2", true, true, NULL, 4, 43u},
    {"[1,2,3][dyn(1)] == 2", true, true, NULL, 3, 13u},
    {"[1,2,3].map(x, x)[0] == 1", true, true, NULL, 43, 62u},
    {"{device.driver: 1}[device.driver] == 1", true, true, NULL, 36, 36u},
    {"[device.driver][0] == \"dra.example.com\"", true, true, NULL, 16, 15u},
    {"cel.bind(x, 1/0, true)", true, true, NULL, 0, 11u},
    {"cel.bind(x, 1/0, x == 1)", true, false, "division by zero", 3, 13u},
    {"cel.bind(x, 1/0, x == 1 || true)", true, true, NULL, 3, 13u},
    {"[1,2,3].all(x, x/0 == 1)", true, false, "division by zero", 19, 29u},
    {"[1,0].exists(x, 1/x == 1)", true, true, NULL, 11, 25u},
    {"[0,1].exists(x, 1/x == 1)", true, true, NULL, 15, 25u},
    {"[0,1].exists_one(x, 1/x == 1)", true, false, "division by zero", 10, 22u},
    {"[0,1].all(x, 1/x == 2)", true, false, NULL, 13, 23u},
    {"1/0 in [1,2]", true, false, "division by zero", 1, 13u},
    {"[1/0, 2] == [1]", true, false, "division by zero", 12, 22u},
    {"{1/0: 2} == {}", true, false, "division by zero", 31, 61u},
    {"{1: 1/0, 2: 3} == {}", true, false, "division by zero", 31, 61u},
    {"\"a\" in [1/0 == 1 ? \"a\" : \"b\"]", true, false, "division by zero", 13, 13u},
    {"(1/0 == 1) ? true : false", true, false, "division by zero", 2, 2u},
};

struct refusal {
    const char *expression;
    bool lists;
    const char *error;
};

static const struct refusal refusals[] = {
    {"!-1", false,
     "compilation failed: ERROR: <input>:1:1: found no matching overload for '!_' applied to "
     "'(int)'\n | !-1\n | ^"},
    {"device.foo", false,
     "compilation failed: ERROR: <input>:1:7: undefined field 'foo'\n | device.foo\n | ......^"},
    {"1", false, "must evaluate to bool or the unknown type, not int"},
    {"1 + \"a\"", false,
     "compilation failed: ERROR: <input>:1:3: found no matching overload for '_+_' applied to "
     "'(int, string)'\n | 1 + \"a\"\n | ..^"},
    {"int(\"x\") == 12", false,
     "program instantiation failed: type conversion error from 'string' to 'int'"},
    {"9223372036854775808 == 0", false,
     "compilation failed: ERROR: <input>:1:1: invalid int literal\n | 9223372036854775808 == 0\n | "
     "^"},
    {"1 == 1.0", false,
     "compilation failed: ERROR: <input>:1:3: found no matching overload for '_==_' applied to "
     "'(int, double)'\n | 1 == 1.0\n | ..^"},
    {"device", false, "must evaluate to bool or the unknown type, not kubernetes.DRADevice"},
    {"x", false,
     "compilation failed: ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | "
     "x\n | ^"},
    {"device.driver ==", false,
     "compilation failed: ERROR: <input>:1:17: Syntax error: mismatched input '<EOF>' expecting "
     "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
     "STRING, BYTES, IDENTIFIER}\n | device.driver ==\n | ................^"},
    {"device.driver = \"a\"", false,
     "compilation failed: ERROR: <input>:1:15: Syntax error: token recognition error at: '= '\n | "
     "device.driver = \"a\"\n | ..............^\nERROR: <input>:1:17: Syntax error: extraneous "
     "input '\"a\"' expecting <EOF>\n | device.driver = \"a\"\n | ................^"},
    {"\"abc", false,
     "compilation failed: ERROR: <input>:1:1: Syntax error: token recognition error at: '\"abc'\n "
     "| \"abc\n | ^\nERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting {'[', "
     "'{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
     "BYTES, IDENTIFIER}\n | \"abc\n | ....^"},
    {"@", false,
     "compilation failed: ERROR: <input>:1:1: Syntax error: token recognition error at: '@'\n | "
     "@\n | ^\nERROR: <input>:1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', "
     "'(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
     "IDENTIFIER}\n | @\n | .^"},
    {"[1,2", false,
     "compilation failed: ERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting "
     "{']', ','}\n | [1,2\n | ....^"},
    {"{1:2", false,
     "compilation failed: ERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting "
     "{'}', ','}\n | {1:2\n | ....^"},
    {"foo(1)", false,
     "compilation failed: ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')\n | "
     "foo(1)\n | ...^"},
    {"device.driver.foo()", false,
     "compilation failed: ERROR: <input>:1:18: undeclared reference to 'foo' (in container '')\n | "
     "device.driver.foo()\n | .................^"},
    {"device.driver.startsWith(1)", false,
     "compilation failed: ERROR: <input>:1:25: found no matching overload for 'startsWith' applied "
     "to 'string.(int)'\n | device.driver.startsWith(1)\n | ........................^"},
    {"has(device)", false,
     "compilation failed: ERROR: <input>:1:5: invalid argument to has() macro\n | has(device)\n | "
     "....^"},
    {"[1, \"a\"].size() == 2", false,
     "compilation failed: ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, "
     "\"a\"].size() == 2\n | ....^"},
    {"{\"a\": 1, 1: 2}.size() == 2", false,
     "compilation failed: ERROR: <input>:1:10: expected type 'string' but found 'int'\n | {\"a\": "
     "1, 1: 2}.size() == 2\n | .........^"},
    {"1 ? 2 : 3", false,
     "compilation failed: ERROR: <input>:1:3: found no matching overload for '_?_:_' applied to "
     "'(int, int, int)'\n | 1 ? 2 : 3\n | ..^"},
    {"\"a\" || true", false,
     "compilation failed: ERROR: <input>:1:1: expected type 'bool' but found 'string'\n | \"a\" || "
     "true\n | ^"},
    {"for", false,
     "compilation failed: ERROR: <input>:1:1: reserved identifier: for\n | for\n | ^"},
    {"`a`", false,
     "compilation failed: ERROR: <input>:1:1: Syntax error: mismatched input '`a`' expecting {'[', "
     "'{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
     "BYTES, IDENTIFIER}\n | `a`\n | ^"},
    {"device.`driver` == \"x\"", false,
     "compilation failed: ERROR: <input>:1:8: unsupported syntax: '`'\n | device.`driver` == "
     "\"x\"\n | .......^"},
    {"a.b.c", false,
     "compilation failed: ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | "
     "a.b.c\n | ^"},
    {"[?1]", false,
     "compilation failed: ERROR: <input>:1:3: expected type 'optional_type(int)' but found 'int'\n "
     "| [?1]\n | ..^"},
    {"'''a", false,
     "compilation failed: ERROR: <input>:1:3: Syntax error: token recognition error at: ''a'\n | "
     "'''a\n | ..^"},
    {"b''' == \"a\\nb\"", false,
     "compilation failed: ERROR: <input>:1:4: Syntax error: token recognition error at: '' == "
     "\"a\\nb\"'\n | b''' == \"a\\nb\"\n | ...^"},
    {"device.attributes", true,
     "must evaluate to bool or the unknown type, not map(string, map(string, dyn))"},
    {"device.capacity[\"dra.example.com\"].memory.foo == 1", true,
     "compilation failed: ERROR: <input>:1:42: unexpected failed resolution of "
     "'kubernetes.Quantity'\n | device.capacity[\"dra.example.com\"].memory.foo == 1\n | "
     ".........................................^"},
    {"kubernetes.Quantity == kubernetes.Quantity", true,
     "compilation failed: ERROR: <input>:1:1: undeclared reference to 'kubernetes' (in container "
     "'')\n | kubernetes.Quantity == kubernetes.Quantity\n | ^\nERROR: <input>:1:24: undeclared "
     "reference to 'kubernetes' (in container '')\n | kubernetes.Quantity == kubernetes.Quantity\n "
     "| .......................^"},
    {"dyn(1)[null]", true, "program instantiation failed: invalid qualifier type: types.Null"},
    {"dyn({1:1})[dyn(null)]", true,
     "program instantiation failed: invalid qualifier type: types.Null"},
    {"dyn([1])[null]", true, "program instantiation failed: invalid qualifier type: types.Null"},
    {"{1:2}[1u] == 2", true,
     "compilation failed: ERROR: <input>:1:6: found no matching overload for '_[_]' applied to "
     "'(map(int, int), uint)'\n | {1:2}[1u] == 2\n | .....^"},
    {"int(dyn(null)) == 1", true, "program instantiation failed: no such overload: int(null_type)"},
    {"int(dyn([1])) == 1", true, "program instantiation failed: no such overload: int(list)"},
    {"string(dyn(null)) == \"\"", true,
     "program instantiation failed: no such overload: string(null_type)"},
    {"string(dyn([1])) == \"\"", true,
     "program instantiation failed: no such overload: string(list)"},
    {"bool(dyn(1))", true, "program instantiation failed: no such overload: bool(int)"},
    {"dyn(\"a\").contains(1)", true,
     "compilation failed: ERROR: <input>:1:18: found no matching overload for 'contains' applied "
     "to 'dyn.(int)'\n | dyn(\"a\").contains(1)\n | .................^"},
    {"duration(5) == duration(\"5s\")", true,
     "compilation failed: ERROR: <input>:1:10: invalid duration argument\n | duration(5) == "
     "duration(\"5s\")\n | .........^"},
    {"double(\"1e400\") > 1.0", true,
     "program instantiation failed: type conversion error from 'string' to 'double'"},
    {"int(1e19) == 1", true, "program instantiation failed: integer overflow"},
    {"uint(-1) == 1u", true, "program instantiation failed: unsigned integer overflow"},
    {"uint(\"+5\") == 5u", true,
     "program instantiation failed: type conversion error from 'string' to 'uint'"},
    {"int(\"0x5\") == 5", true,
     "program instantiation failed: type conversion error from 'string' to 'int'"},
    {"bool(\"yes\")", true,
     "program instantiation failed: type conversion error from 'string' to 'bool'"},
    {"string(b\"\\xff\") == \"a\"", true,
     "program instantiation failed: invalid UTF-8 in bytes, cannot convert to string"},
    {"has({'a':1}.?a.b)", true,
     "compilation failed: ERROR: <input>:1:4: type 'int' does not support field selection\n | "
     "has({'a':1}.?a.b)\n | ...^"},
    {"optional.of(1).optMap(1, 2)", true,
     "compilation failed: ERROR: <input>:1:23: optMap() variable name must be a simple "
     "identifier\n | optional.of(1).optMap(1, 2)\n | ......................^"},
    {"[1].all(1, true)", true,
     "compilation failed: ERROR: <input>:1:9: argument must be a simple name\n | [1].all(1, "
     "true)\n | ........^"},
    {"[1].all(x.y, true)", true,
     "compilation failed: ERROR: <input>:1:10: argument must be a simple name\n | [1].all(x.y, "
     "true)\n | .........^"},
    {"[1].map(__result__, 1) == [1]", true,
     "compilation failed: ERROR: <input>:1:9: iteration variable overwrites accumulator variable\n "
     "| [1].map(__result__, 1) == [1]\n | ........^"},
    {"[1].all(a, a, true)", true,
     "compilation failed: ERROR: <input>:1:12: duplicate variable name: a\n | [1].all(a, a, "
     "true)\n | ...........^"},
    {"cel.bind(1, 2, 3)", true,
     "compilation failed: ERROR: <input>:1:10: cel.bind() variable names must be simple "
     "identifiers\n | cel.bind(1, 2, 3)\n | .........^"},
    {"cel.bind(x.y, 2, 3)", true,
     "compilation failed: ERROR: <input>:1:11: cel.bind() variable names must be simple "
     "identifiers\n | cel.bind(x.y, 2, 3)\n | ..........^"},
    {"foo.bind(x, 2, 3)", true,
     "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | "
     "foo.bind(x, 2, 3)\n | ^\nERROR: <input>:1:9: undeclared reference to 'bind' (in container "
     "'')\n | foo.bind(x, 2, 3)\n | ........^\nERROR: <input>:1:10: undeclared reference to 'x' "
     "(in container '')\n | foo.bind(x, 2, 3)\n | .........^"},
    {"[1,2,3].existsOne(x, x == 1)", true,
     "compilation failed: ERROR: <input>:1:18: undeclared reference to 'existsOne' (in container "
     "'')\n | [1,2,3].existsOne(x, x == 1)\n | .................^\nERROR: <input>:1:19: undeclared "
     "reference to 'x' (in container '')\n | [1,2,3].existsOne(x, x == 1)\n | "
     "..................^\nERROR: <input>:1:22: undeclared reference to 'x' (in container '')\n | "
     "[1,2,3].existsOne(x, x == 1)\n | .....................^"},
};

#endif
