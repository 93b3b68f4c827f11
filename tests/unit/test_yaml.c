/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/yaml.h"
#include "codec_schema.h"
#include "json_random.h"
#include "objects.h"
#include "prop.h"

/* --- results of sigs.k8s.io/yaml v1.6.0 for odd documents ------------------------------------- */

static const struct {
    const char *in, *json; /* NULL: rejected */
    bool strict;           /* accepted in strict mode */
} documents[] = {
    {"a: y\n", "{'a':true}", true},
    {"a: Y\n", "{'a':true}", true},
    {"a: yes\n", "{'a':true}", true},
    {"a: Yes\n", "{'a':true}", true},
    {"a: YES\n", "{'a':true}", true},
    {"a: true\n", "{'a':true}", true},
    {"a: True\n", "{'a':true}", true},
    {"a: TRUE\n", "{'a':true}", true},
    {"a: on\n", "{'a':true}", true},
    {"a: On\n", "{'a':true}", true},
    {"a: ON\n", "{'a':true}", true},
    {"a: n\n", "{'a':false}", true},
    {"a: N\n", "{'a':false}", true},
    {"a: no\n", "{'a':false}", true},
    {"a: No\n", "{'a':false}", true},
    {"a: NO\n", "{'a':false}", true},
    {"a: false\n", "{'a':false}", true},
    {"a: False\n", "{'a':false}", true},
    {"a: FALSE\n", "{'a':false}", true},
    {"a: off\n", "{'a':false}", true},
    {"a: Off\n", "{'a':false}", true},
    {"a: OFF\n", "{'a':false}", true},
    {"a: ~\n", "{'a':null}", true},
    {"a: null\n", "{'a':null}", true},
    {"a: Null\n", "{'a':null}", true},
    {"a: NULL\n", "{'a':null}", true},
    {"a: nUll\n", "{'a':'nUll'}", true},
    {"a: yEs\n", "{'a':'yEs'}", true},
    {"a: tRue\n", "{'a':'tRue'}", true},
    {"a: 0\n", "{'a':0}", true},
    {"a: 1\n", "{'a':1}", true},
    {"a: -1\n", "{'a':-1}", true},
    {"a: +1\n", "{'a':1}", true},
    {"a: 00\n", "{'a':0}", true},
    {"a: 01\n", "{'a':1}", true},
    {"a: 07\n", "{'a':7}", true},
    {"a: 08\n", "{'a':8}", true},
    {"a: 09\n", "{'a':9}", true},
    {"a: 010\n", "{'a':8}", true},
    {"a: 0777\n", "{'a':511}", true},
    {"a: 0o17\n", "{'a':15}", true},
    {"a: 0O17\n", "{'a':15}", true},
    {"a: 0x1f\n", "{'a':31}", true},
    {"a: 0X1F\n", "{'a':31}", true},
    {"a: 0x\n", "{'a':'0x'}", true},
    {"a: 0xg\n", "{'a':'0xg'}", true},
    {"a: 0b101\n", "{'a':5}", true},
    {"a: 0B11\n", "{'a':3}", true},
    {"a: 0b102\n", "{'a':'0b102'}", true},
    {"a: 0b\n", "{'a':'0b'}", true},
    {"a: -0b11\n", "{'a':-3}", true},
    {"a: +0x10\n", "{'a':16}", true},
    {"a: -0x10\n", "{'a':-16}", true},
    {"a: -010\n", "{'a':-8}", true},
    {"a: 0b-1\n", "{'a':-1}", true},
    {"a: 0b+1\n", "{'a':1}", true},
    {"a: 1_000\n", "{'a':1000}", true},
    {"a: _1\n", "{'a':'_1'}", true},
    {"a: 1_\n", "{'a':1}", true},
    {"a: 1__0\n", "{'a':10}", true},
    {"a: 0x_1f\n", "{'a':31}", true},
    {"a: 0_7\n", "{'a':7}", true},
    {"a: -_1\n", "{'a':-1}", true},
    {"a: 9223372036854775807\n", "{'a':9223372036854775807}", true},
    {"a: 9223372036854775808\n", "{'a':9223372036854775808}", true},
    {"a: -9223372036854775808\n", "{'a':-9223372036854775808}", true},
    {"a: -9223372036854775809\n", "{'a':-9223372036854776000}", true},
    {"a: 18446744073709551615\n", "{'a':18446744073709551615}", true},
    {"a: 18446744073709551616\n", "{'a':18446744073709552000}", true},
    {"a: 1.0\n", "{'a':1}", true},
    {"a: 1.\n", "{'a':1}", true},
    {"a: .5\n", "{'a':0.5}", true},
    {"a: -.5\n", "{'a':-0.5}", true},
    {"a: +.5\n", "{'a':0.5}", true},
    {"a: .\n", "{'a':'.'}", true},
    {"a: ..\n", "{'a':'..'}", true},
    {"a: .e1\n", "{'a':'.e1'}", true},
    {"a: 1e3\n", "{'a':1000}", true},
    {"a: 1E3\n", "{'a':1000}", true},
    {"a: 1e+3\n", "{'a':1000}", true},
    {"a: 1e-3\n", "{'a':0.001}", true},
    {"a: 1.5e3\n", "{'a':1500}", true},
    {"a: 1e\n", "{'a':'1e'}", true},
    {"a: 1e400\n", "{'a':'1e400'}", true},
    {"a: -1e400\n", "{'a':'-1e400'}", true},
    {"a: 1e-400\n", "{'a':0}", true},
    {"a: 1.5_0\n", "{'a':1.5}", true},
    {"a: 1e2_1\n", "{'a':1e+21}", true},
    {"a: .5_0\n", "{'a':0.5}", true},
    {"a: ._5\n", "{'a':'._5'}", true},
    {"a: 0.1\n", "{'a':0.1}", true},
    {"a: 1.10\n", "{'a':1.1}", true},
    {"a: 100000000000000000000000\n", "{'a':1e+23}", true},
    {"a: 123456789.123\n", "{'a':123456789.123}", true},
    {"a: 1e21\n", "{'a':1e+21}", true},
    {"a: 1e20\n", "{'a':100000000000000000000}", true},
    {"a: 1e-7\n", "{'a':1e-7}", true},
    {"a: 0.000001\n", "{'a':0.000001}", true},
    {"a: -0\n", "{'a':0}", true},
    {"a: -0.0\n", "{'a':-0}", true},
    {"a: +0\n", "{'a':0}", true},
    {"a: .inf\n", NULL, false},
    {"a: .Inf\n", NULL, false},
    {"a: .INF\n", NULL, false},
    {"a: -.inf\n", NULL, false},
    {"a: +.inf\n", NULL, false},
    {"a: .nan\n", NULL, false},
    {"a: .NaN\n", NULL, false},
    {"a: .NAN\n", NULL, false},
    {"a: -.nan\n", "{'a':'-.nan'}", true},
    {"a: .iNF\n", "{'a':'.iNF'}", true},
    {"a: inf\n", "{'a':'inf'}", true},
    {"a: nan\n", "{'a':'nan'}", true},
    {"a: 2001-01-01\n", "{'a':'2001-01-01'}", true},
    {"a: 2001-1-1\n", "{'a':'2001-1-1'}", true},
    {"a: 2001-13-01\n", "{'a':'2001-13-01'}", true},
    {"a: 2001-02-30\n", "{'a':'2001-02-30'}", true},
    {"a: 2001-12-14T21:59:43.10-05:00\n", "{'a':'2001-12-14T21:59:43.10-05:00'}", true},
    {"a: 2001-12-14t21:59:43Z\n", "{'a':'2001-12-14t21:59:43Z'}", true},
    {"a: 2001-01-01x\n", "{'a':'2001-01-01x'}", true},
    {"a: 12:30\n", "{'a':'12:30'}", true},
    {"a: 1:30:45\n", "{'a':'1:30:45'}", true},
    {"a: 190:20:30\n", "{'a':'190:20:30'}", true},
    {"a: 1:60\n", "{'a':'1:60'}", true},
    {"a: 12:30:45.5\n", "{'a':'12:30:45.5'}", true},
    {"a: <<\n", "{'a':'\\u003c\\u003c'}", true},
    {"a: =\n", "{'a':'='}", true},
    {"a: a-b\n", "{'a':'a-b'}", true},
    {"a: a:b\n", "{'a':'a:b'}", true},
    {"a: a#b\n", "{'a':'a#b'}", true},
    {"a: 1a\n", "{'a':'1a'}", true},
    {"a: 0x1g\n", "{'a':'0x1g'}", true},
    {"a: 1.2.3\n", "{'a':'1.2.3'}", true},
    {"a: 1,000\n", "{'a':'1,000'}", true},
    {"a: 12e\n", "{'a':'12e'}", true},
    {"a: 1.e3\n", "{'a':1000}", true},
    {"a: +\n", "{'a':'+'}", true},
    {"a: -\n", NULL, false},
    {"a: -a\n", "{'a':'-a'}", true},
    {"a: 1-1\n", "{'a':'1-1'}", true},
    {"a: v1\n", "{'a':'v1'}", true},
    {"a: 100m\n", "{'a':'100m'}", true},
    {"a: 1Gi\n", "{'a':'1Gi'}", true},
    {"a: 0.5Gi\n", "{'a':'0.5Gi'}", true},
    {"a: 0123abc\n", "{'a':'0123abc'}", true},
    {"a: '1'\n", "{'a':'1'}", true},
    {"a: \"1\"\n", "{'a':'1'}", true},
    {"a: 'yes'\n", "{'a':'yes'}", true},
    {"a: \"no\"\n", "{'a':'no'}", true},
    {"a: \"\"\n", "{'a':''}", true},
    {"a: ''\n", "{'a':''}", true},
    {"a: '~'\n", "{'a':'~'}", true},
    {"a: \"a\\tb\"\n", "{'a':'a\\tb'}", true},
    {"a: \"\\u00e4\"\n", "{'a':'\303\244'}", true},
    {"a: 'it''s'\n", "{'a':'it\\'s'}", true},
    {"a: \"\\x41\"\n", "{'a':'A'}", true},
    {"a: !!str\\\n", NULL, false},
    {"a: 1\n", "{'a':1}", true},
    {"a: |\n", "{'a':''}", true},
    {"- 1\n- a\n", "[1,'a']", true},
    {"a:\n- b\n- c\n", "{'a':['b','c']}", true},
    {"a: {b: 1, c: [1, 2, {d: e}]}\n", "{'a':{'b':1,'c':[1,2,{'d':'e'}]}}", true},
    {"a: [1, 2,]\n", "{'a':[1,2]}", true},
    {"a: |\n  x\n  y\n", "{'a':'x\\ny\\n'}", true},
    {"a: |-\n  x\n", "{'a':'x'}", true},
    {"a: |+\n  x\n\n", "{'a':'x\\n\\n'}", true},
    {"a: >\n  x\n  y\n\n  z\n", "{'a':'x y\\nz\\n'}", true},
    {"a: >-\n  x\n  y\n", "{'a':'x y'}", true},
    {"a: !!str 1\n", "{'a':'1'}", true},
    {"a: !!int \"1\"\n", "{'a':1}", true},
    {"a: !!int x\n", NULL, false},
    {"a: !!float 1\n", "{'a':1}", true},
    {"a: !!float 0x10\n", "{'a':16}", true},
    {"a: !!bool yes\n", "{'a':true}", true},
    {"a: !!bool 1\n", NULL, false},
    {"a: !!null ~\n", "{'a':null}", true},
    {"a: !!null x\n", NULL, false},
    {"a: !!binary aGk=\n", "{'a':'hi'}", true},
    {"a: !!binary '*'\n", NULL, false},
    {"a: !foo 1\n", "{'a':'1'}", true},
    {"a: !!foo 1\n", "{'a':'1'}", true},
    {"a: ! 1\n", "{'a':'1'}", true},
    {"a: !!timestamp 2001-01-01\n", "{'a':'2001-01-01'}", true},
    {"a: !!timestamp x\n", NULL, false},
    {"a: !!int 18446744073709551615\n", "{'a':18446744073709551615}", true},
    {"a: !!str\n", "{'a':''}", true},
    {"a: !!map {}\n", "{'a':{}}", true},
    {"a: !!seq []\n", "{'a':[]}", true},
    {"1: a\n", "{'1':'a'}", true},
    {"1.5: a\n", "{'1.5':'a'}", true},
    {"true: a\n", "{'true':'a'}", true},
    {"yes: a\n", "{'true':'a'}", true},
    {"~: a\n", NULL, false},
    {"null: a\n", NULL, false},
    {": a\n", NULL, false},
    {"\"\": a\n", "{'':'a'}", true},
    {"0x10: a\n", "{'16':'a'}", true},
    {"1e3: a\n", "{'1000':'a'}", true},
    {"123456789.5: a\n", "{'1.2345679e+08':'a'}", true},
    {"16777217.0: a\n", "{'1.6777216e+07':'a'}", true},
    {"0.1: a\n", "{'0.1':'a'}", true},
    {".inf: a\n", "{'.inf':'a'}", true},
    {"-.inf: a\n", "{'-.inf':'a'}", true},
    {".nan: a\n", "{'.nan':'a'}", true},
    {"18446744073709551615: a\n", NULL, false},
    {"2001-01-01: a\n", "{'2001-01-01':'a'}", true},
    {"[1]: a\n", NULL, false},
    {"{a: b}: c\n", NULL, false},
    {"? a\n: b\n", "{'a':'b'}", true},
    {"? |\n  x\n: b\n", "{'x\\n':'b'}", true},
    {"08: a\n", "{'8':'a'}", true},
    {"1_000: a\n", "{'1000':'a'}", true},
    {"a: 1\na: 2\n", "{'a':2}", false},
    {"a: 1\n\"a\": 2\n", "{'a':2}", false},
    {"a: {b: 1, b: 2}\n", "{'a':{'b':2}}", false},
    {"a: &x 1\nb: *x\n", "{'a':1,'b':1}", true},
    {"a: &x {p: 1}\nb: *x\n", "{'a':{'p':1},'b':{'p':1}}", true},
    {"a: *x\n", NULL, false},
    {"a: &x [*x]\n", NULL, false},
    {"&k a: 1\nb: *k\n", "{'a':1,'b':'a'}", true},
    {"a: &x k\n*x : v\n", "{'a':'k','k':'v'}", true},
    {"a: &x 1\nb: &x 2\nc: *x\n", "{'a':1,'b':2,'c':2}", true},
    {"a: &x [1]\n*x : 2\n", NULL, false},
    {"d: &d {a: 1, b: 2}\ne:\n  <<: *d\n  b: 3\n", "{'d':{'a':1,'b':2},'e':{'a':1,'b':3}}", false},
    {"d: &d {a: 1, b: 2}\ne:\n  b: 3\n  <<: *d\n", "{'d':{'a':1,'b':2},'e':{'a':1,'b':2}}", false},
    {"a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc:\n  <<: [*a, *b]\n",
     "{'a':{'x':1},'b':{'true':2,'x':2},'c':{'true':2,'x':1}}", false},
    {"c:\n  <<: {x: 1}\n  y: 2\n", "{'c':{'true':2,'x':1}}", true},
    {"c:\n  <<: 1\n", NULL, false},
    {"c:\n  <<: [1]\n", NULL, false},
    {"c:\n  \"<<\": {x: 1}\n", "{'c':{'\\u003c\\u003c':{'x':1}}}", true},
    {"c:\n  !!merge <<: {x: 1}\n", "{'c':{'x':1}}", true},
    {"- <<\n", "['\\u003c\\u003c']", true},
    {"c:\n  <<: []\n", "{'c':{}}", true},
    {"c:\n  <<: {}\n", "{'c':{}}", true},
    {"c:\n  <<: ~\n", NULL, false},
    {"", "null", true},
    {"# c\n", "null", true},
    {"---\n", "null", true},
    {"---\na: 1\n", "{'a':1}", true},
    {"a: 1\n...\n", "{'a':1}", true},
    {"%YAML 1.1\n---\na: 1\n", "{'a':1}", true},
    {"a: 1 # c\n", "{'a':1}", true},
    {"a: 'x\n  y'\n", "{'a':'x y'}", true},
    {"a: \"x\n  y\"\n", "{'a':'x y'}", true},
    {"a: x\n  y\n", "{'a':'x y'}", true},
    {"a:\n  b:\n    c: d\n", "{'a':{'b':{'c':'d'}}}", true},
    {"a: b: c\n", NULL, false},
    {"a:\n\011- b\n", NULL, false},
    {"a: [1\n", NULL, false},
    {"a: {b\n", NULL, false},
    {"a: 'x\n", NULL, false},
    {"- a\nb: c\n", NULL, false},
    {"a: @x\n", NULL, false},
    {"a: `x\n", NULL, false},
    {"a: %x\n", NULL, false},
    {"a: \"\\q\"\n", NULL, false},
    {"{\"a\": [1, null, true, \"x\"], \"b\": {\"c\": 1.50}}\n",
     "{'a':[1,null,true,'x'],'b':{'c':1.5}}", true},
    {"[]\n", "[]", true},
    {"{}\n", "{}", true},
    {"a: {}\nb: []\n", "{'a':{},'b':[]}", true},
    {"\"x\"\n", "'x'", true},
    {"x\n", "'x'", true},
    {"1\n", "1", true},
    {"a: \"\\ud83d\\ude00\"\n", NULL, false},
    {"a: \303\244\360\237\230\200\n", "{'a':'\303\244\360\237\230\200'}", true},
    {"a: \"\\0\"\n", "{'a':'\\u0000'}", true},
    {"a: \"\\e\\a\\_\\N\\L\\P\"\n", "{'a':'\\u001b\\u0007\302\240\302\205\\u2028\\u2029'}", true},
    {"a:   spaced   \n", "{'a':'spaced'}", true},
    {"a: - b\n", NULL, false},
    {"a: 'b' c\n", NULL, false},
    {"a: |2\n    x\n   y\n", "{'a':'  x\\n y\\n'}", true},
    {"a: >2-\n   x\n", "{'a':' x'}", true},
    {"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguratio"
     "n\nprofiles:\n- schedulerName: default-scheduler\n  plugins:\n    score:\n "
     "     disabled:\n      - name: '*'\n",
     "{'apiVersion':'kubescheduler.config.k8s.io/v1','kind':'KubeScheduler"
     "Configuration','profiles':[{'plugins':{'score':{'disabled':[{'nam"
     "e':'*'}]}},'schedulerName':'default-scheduler'}]}",
     true},
};

static void check_document(size_t i, unsigned flags, bool accepted)
{
    struct arena a;
    arena_init(&a, 0);
    struct json_value *docs, want;
    size_t n;
    struct err err = {.msg = ""};
    int ret = yaml_parse(str_of(documents[i].in), flags, &a, &docs, &n, &err);
    if (ret != (accepted ? 0 : -EBADMSG))
        print_error("%s: %d %s\n", documents[i].in, ret, err.msg);
    assert_int_equal(ret, accepted ? 0 : -EBADMSG);
    if (accepted) {
        assert_int_equal(json_parse(json_quotes_str(documents[i].json), 0, &a, &want, &err), 0);
        struct json_value null = {.kind = JSON_NULL};
        struct buf got = BUF_INIT;
        json_write(n ? &docs[0] : &null, &got);
        if (!json_value_equal(n ? &docs[0] : &null, &want))
            assert_string_equal(buf_cstr(&got), json_quotes(documents[i].json));
        buf_release(&got);
    }
    arena_release(&a);
}

static void test_documents_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
        check_document(i, 0, documents[i].json != NULL);
        check_document(i, JSON_STRICT, documents[i].strict);
    }
}

/* --- its results for JSON --------------------------------------------------------------------- */

static const struct {
    const char *json, *yaml;
} written[] = {
    {"{'k': 'a b'}", "k: a b\n"},
    {"{'k': 'a: b'}", "k: 'a: b'\n"},
    {"{'k': 'a #b'}", "k: 'a #b'\n"},
    {"{'k': '- a'}", "k: '- a'\n"},
    {"{'k': ''}", "k: \"\"\n"},
    {"{'k': '~'}", "k: \"~\"\n"},
    {"{'k': 'true'}", "k: \"true\"\n"},
    {"{'k': '1'}", "k: \"1\"\n"},
    {"{'k': '0x10'}", "k: \"0x10\"\n"},
    {"{'k': '1.5'}", "k: \"1.5\"\n"},
    {"{'k': '2001-01-01'}", "k: \"2001-01-01\"\n"},
    {"{'k': '12:30'}", "k: \"12:30\"\n"},
    {"{'k': '1:60'}", "k: 1:60\n"},
    {"{'k': 'it\\'s'}", "k: it's\n"},
    {"{'k': 'a`b'}", "k: a\"b\n"},
    {"{'k': 'a\\nb'}", "k: |-\n  a\n  b\n"},
    {"{'k': 'a\\nb\\n'}", "k: |\n  a\n  b\n"},
    {"{'k': 'a\\nb\\n\\n'}", "k: |+\n  a\n  b\n\n"},
    {"{'k': '\\n'}", "k: |2+\n\n"},
    {"{'k': '\\na'}", "k: |2-\n\n  a\n"},
    {"{'k': '  lead'}", "k: '  lead'\n"},
    {"{'k': 'trail '}", "k: 'trail '\n"},
    {"{'k': 'tab\\there'}", "k: \"tab\\there\"\n"},
    {"{'k': 'a\\n trail \\nb'}", "k: \"a\\n trail \\nb\"\n"},
    {"{'k': '*a'}", "k: '*a'\n"},
    {"{'k': '&a'}", "k: '&a'\n"},
    {"{'k': '!a'}", "k: '!a'\n"},
    {"{'k': '|'}", "k: '|'\n"},
    {"{'k': '%a'}", "k: '%a'\n"},
    {"{'k': '@a'}", "k: '@a'\n"},
    {"{'k': '\\`a'}", "k: '`a'\n"},
    {"{'k': '?'}", "k: '?'\n"},
    {"{'k': '? a'}", "k: '? a'\n"},
    {"{'k': '-'}", "k: '-'\n"},
    {"{'k': '--- a'}", "k: '--- a'\n"},
    {"{'k': '...'}", "k: '...'\n"},
    {"{'k': '#a'}", "k: '#a'\n"},
    {"{'k': '{a'}", "k: '{a'\n"},
    {"{'k': '[a'}", "k: '[a'\n"},
    {"{'k': '}a'}", "k: '}a'\n"},
    {"{'k': 'a,b'}", "k: a,b\n"},
    {"{'k': 'a]'}", "k: a]\n"},
    {"{'k': '='}", "k: =\n"},
    {"{'k': '<<'}", "k: <<\n"},
    {"{'k': 'y'}", "k: \"y\"\n"},
    {"{'k': 'n'}", "k: \"n\"\n"},
    {"{'k': 'off'}", "k: \"off\"\n"},
    {"{'k': 'null'}", "k: \"null\"\n"},
    {"{'k': '\303\244'}", "k: \303\244\n"},
    {"{'k': '\360\237\230\200'}", "k: \"\\U0001F600\"\n"},
    {"{'k': '\342\200\250x'}", "k: '\342\200\250  x'\n"},
    {"{'k': '\\u0007'}", "k: \"\\a\"\n"},
    {"{'k': '\\\\'}", "k: \\\n"},
    {"{'k': 'a\\\\b'}", "k: a\\b\n"},
    {"{'k': ':'}", "k: ':'\n"},
    {"{'k': 'a:'}", "k: 'a:'\n"},
    {"{'k': ':a'}", "k: :a\n"},
    {"{'k': "
     "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "xxxxxxxxx'}",
     "k: "
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "xxxxxxx\n"},
    {"{'k': 'word word word word word word word word word word word word word "
     "word word word word word word word word word word word word word word word "
     "word word '}",
     "k: 'word word word word word word word word word word word word word word w"
     "ord word\n  word word word word word word word word word word word word wor"
     "d word '\n"},
    {"{'k': 'word word word word word word word word word word word word word "
     "word word word word word word word word word word word word word word word "
     "word word \\nline'}",
     "k: \"word word word word word word word word word word word word word word "
     "word word\n  word word word word word word word word word word word word wo"
     "rd word \\nline\"\n"},
    {"{'k': "
     "'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
     "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk'}",
     "k: "
     "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
     "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n"},
    {"{'k': '1_000'}", "k: \"1_000\"\n"},
    {"{'k': '0b1'}", "k: \"0b1\"\n"},
    {"{'k': '0o7'}", "k: \"0o7\"\n"},
    {"{'k': '+1'}", "k: \"+1\"\n"},
    {"{'k': '.5'}", "k: \".5\"\n"},
    {"{'k': '1e3'}", "k: \"1e3\"\n"},
    {"{'k': '1e400'}", "k: 1e400\n"},
    {"{'k': '.inf'}", "k: \".inf\"\n"},
    {"{'k': '!!str'}", "k: '!!str'\n"},
    {"{'k': 'a\\tb'}", "k: \"a\\tb\"\n"},
    {"{'k': '\\ta'}", "k: \"\\ta\"\n"},
    {"{'k': 'a\\r\\nb'}", "k: \"a\\r\\nb\"\n"},
    {"{'k': '\346\227\245\346\234\254\350\252\236'}", "k: \346\227\245\346\234\254\350\252\236\n"},
    {"{'a b': 1}", "a b: 1\n"},
    {"{'a: b': 1}", "'a: b': 1\n"},
    {"{'a #b': 1}", "'a #b': 1\n"},
    {"{'- a': 1}", "'- a': 1\n"},
    {"{'~': 1}", "\"~\": 1\n"},
    {"{'true': 1}", "\"true\": 1\n"},
    {"{'1': 1}", "\"1\": 1\n"},
    {"{'0x10': 1}", "\"0x10\": 1\n"},
    {"{'1.5': 1}", "\"1.5\": 1\n"},
    {"{'2001-01-01': 1}", "\"2001-01-01\": 1\n"},
    {"{'12:30': 1}", "\"12:30\": 1\n"},
    {"{'1:60': 1}", "1:60: 1\n"},
    {"{'it\\'s': 1}", "it's: 1\n"},
    {"{'a`b': 1}", "a\"b: 1\n"},
    {"{'a\\nb': 1}", "? |-\n  a\n  b\n: 1\n"},
    {"{'a\\nb\\n': 1}", "? |\n  a\n  b\n: 1\n"},
    {"{'a\\nb\\n\\n': 1}", "? |+\n  a\n  b\n\n: 1\n"},
    {"{'\\n': 1}", "? |2+\n\n: 1\n"},
    {"{'\\na': 1}", "? |2-\n\n  a\n: 1\n"},
    {"{'  lead': 1}", "'  lead': 1\n"},
    {"{'trail ': 1}", "'trail ': 1\n"},
    {"{'tab\\there': 1}", "\"tab\\there\": 1\n"},
    {"{'a\\n trail \\nb': 1}", "? \"a\\n trail \\nb\"\n: 1\n"},
    {"{'*a': 1}", "'*a': 1\n"},
    {"{'&a': 1}", "'&a': 1\n"},
    {"{'!a': 1}", "'!a': 1\n"},
    {"{'|': 1}", "'|': 1\n"},
    {"{'%a': 1}", "'%a': 1\n"},
    {"{'@a': 1}", "'@a': 1\n"},
    {"{'\\`a': 1}", "'`a': 1\n"},
    {"{'?': 1}", "'?': 1\n"},
    {"{'? a': 1}", "'? a': 1\n"},
    {"{'-': 1}", "'-': 1\n"},
    {"{'--- a': 1}", "'--- a': 1\n"},
    {"{'...': 1}", "'...': 1\n"},
    {"{'#a': 1}", "'#a': 1\n"},
    {"{'{a': 1}", "'{a': 1\n"},
    {"{'[a': 1}", "'[a': 1\n"},
    {"{'}a': 1}", "'}a': 1\n"},
    {"{'a,b': 1}", "a,b: 1\n"},
    {"{'a]': 1}", "a]: 1\n"},
    {"{'=': 1}", "=: 1\n"},
    {"{'y': 1}", "\"y\": 1\n"},
    {"{'n': 1}", "\"n\": 1\n"},
    {"{'off': 1}", "\"off\": 1\n"},
    {"{'null': 1}", "\"null\": 1\n"},
    {"{'\303\244': 1}", "\303\244: 1\n"},
    {"{'\360\237\230\200': 1}", "\"\\U0001F600\": 1\n"},
    {"{'\\u0007': 1}", "\"\\a\": 1\n"},
    {"{'\\\\': 1}", "\\: 1\n"},
    {"{'a\\\\b': 1}", "a\\b: 1\n"},
    {"{':': 1}", "':': 1\n"},
    {"{'a:': 1}", "'a:': 1\n"},
    {"{':a': 1}", ":a: 1\n"},
    {"{'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "xxxxxxxxxx': 1}",
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "xxxxxxx: 1\n"},
    {"{'word word word word word word word word word word word word word word wo"
     "rd word word word word word word word word word word word word word word wo"
     "rd ': 1}",
     "? 'word word word word word word word word word word word word word word wo"
     "rd word\n  word word word word word word word word word word word word word"
     " word '\n: 1\n"},
    {"{'word word word word word word word word word word word word word word wo"
     "rd word word word word word word word word word word word word word word wo"
     "rd \\nline': 1}",
     "? \"word word word word word word word word word word word word word word w"
     "ord word\n  word word word word word word word word word word word word wor"
     "d word \\nline\"\n: 1\n"},
    {"{'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
     "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk': 1}",
     "? "
     "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
     "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n: 1\n"},
    {"{'1_000': 1}", "\"1_000\": 1\n"},
    {"{'0b1': 1}", "\"0b1\": 1\n"},
    {"{'0o7': 1}", "\"0o7\": 1\n"},
    {"{'+1': 1}", "\"+1\": 1\n"},
    {"{'.5': 1}", "\".5\": 1\n"},
    {"{'1e3': 1}", "\"1e3\": 1\n"},
    {"{'1e400': 1}", "1e400: 1\n"},
    {"{'.inf': 1}", "\".inf\": 1\n"},
    {"{'!!str': 1}", "'!!str': 1\n"},
    {"{'a\\tb': 1}", "\"a\\tb\": 1\n"},
    {"{'\\ta': 1}", "\"\\ta\": 1\n"},
    {"{'a\\r\\nb': 1}", "? \"a\\r\\nb\"\n: 1\n"},
    {"{'\346\227\245\346\234\254\350\252\236': 1}", "\346\227\245\346\234\254\350\252\236: 1\n"},
    {"[[1, 2], [3]]", "- - 1\n  - 2\n- - 3\n"},
    {"{'a': [[1], {'b': []}, {}]}", "a:\n- - 1\n- b: []\n- {}\n"},
    {"{'b': 1, 'a': {'d': [{'x': 1, 'y': 2}, {'z': null}], 'c': true}}",
     "a:\n  c: true\n  d:\n  - x: 1\n    \"y\": 2\n  - z: null\nb: 1\n"},
    {"1", "1\n"},
    {"'x'", "x\n"},
    {"null", "null\n"},
    {"true", "true\n"},
    {"[]", "[]\n"},
    {"{}", "{}\n"},
    {"1.5", "1.5\n"},
    {"1e+21", "1e+21\n"},
    {"1e-07", "1e-07\n"},
    {"123456789012345678", "123456789012345678\n"},
    {"[null, [[]]]", "- null\n- - []\n"},
    {"{'a': 1000000.0, 'b': 12345678.9, 'c': 1e-05}", "a: 1e+06\nb: 1.23456789e+07\nc: 1e-05\n"},
};

static void test_write(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(written); i++) {
        struct arena a;
        arena_init(&a, 0);
        struct json_value v;
        struct buf out = BUF_INIT;
        assert_int_equal(json_parse(json_quotes_str(written[i].json), 0, &a, &v, NULL), 0);
        yaml_write(&v, &out);
        assert_false(out.overflow);
        assert_string_equal(buf_cstr(&out), written[i].yaml);
        buf_release(&out);
        arena_release(&a);
    }
}

/* --- properties ------------------------------------------------------------------------------- */

static bool round_trip(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, 0);
    struct json_value before, *docs;
    size_t n;
    json_random(r, size, &a, &before);
    struct buf text = BUF_INIT;
    yaml_write(&before, &text);
    struct err err = {.msg = "not equal"};
    bool ok = !text.overflow && yaml_parse(buf_str(&text), JSON_STRICT, &a, &docs, &n, &err) == 0;
    if (ok && before.kind == JSON_NULL)
        ok = n == 0;
    else
        ok = ok && n == 1 && json_value_equal(&before, &docs[0]);
    if (!ok)
        print_error("%s\n%.*s", err.msg, STR_ARG(buf_str(&text)));
    buf_release(&text);
    arena_release(&a);
    return ok;
}

/* Characters that JSON allows and YAML does not: they would have to be escaped. */
static bool beyond_yaml(struct str text)
{
    return str_search(text, STR("\x7f")) < text.n || str_search(text, STR("\xC2\x85")) < text.n ||
           str_search(text, STR("\uFEFF")) < text.n;
}

/* JSON is YAML. */
static bool reads_json(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, 0);
    struct json_value before, *docs;
    size_t n;
    json_random(r, size, &a, &before);
    struct buf text = BUF_INIT;
    json_write(&before, &text);
    bool ok = beyond_yaml(buf_str(&text));
    ok = ok || (yaml_parse(buf_str(&text), JSON_STRICT, &a, &docs, &n, NULL) == 0 &&
                n == (before.kind != JSON_NULL) && (n == 0 || json_value_equal(&before, &docs[0])));
    if (!ok)
        print_error("%.*s\n", STR_ARG(buf_str(&text)));
    buf_release(&text);
    arena_release(&a);
    return ok;
}

static void test_properties(void **state)
{
    (void)state;
    assert_true(prop_run("yaml round trip", 1500, round_trip, NULL));
    assert_true(prop_run("yaml reads json", 500, reads_json, NULL));
}

/* --- documents, lines, bounds ----------------------------------------------------------------- */

static void test_documents(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    struct json_value *docs;
    size_t n;
    struct err err;
    assert_int_equal(yaml_parse(STR("# none\n---\na: 1\n---\n---\n- b\n...\n---\n~\n--- c\n"), 0,
                                &a, &docs, &n, &err),
                     0);
    assert_int_equal(n, 3);
    assert_int_equal(docs[0].kind, JSON_OBJECT);
    assert_int_equal(docs[1].kind, JSON_ARRAY);
    assert_true(str_is(docs[2].text, "c"));
    assert_int_equal(docs[0].members[0].value.line, 3);
    assert_int_equal(docs[1].items[0].line, 6);
    /* Anchors end with their document. */
    assert_int_equal(yaml_parse(STR("a: &x 1\n---\nb: *x\n"), 0, &a, &docs, &n, &err), -EBADMSG);
    assert_string_equal(err.msg, "line 3, column 4: unknown anchor 'x' referenced");
    assert_int_equal(yaml_parse(STR(""), 0, &a, &docs, &n, &err), 0);
    assert_int_equal(n, 0);
    arena_release(&a);
}

static const struct {
    const char *in, *message;
} errors[] = {
    {"a: 1\nb: [1, 2\n", "line 3, column 1: did not find expected ',' or ']'"},
    {"a: 1\nb: c: d\n", "line 2, column 5: mapping values are not allowed in this context"},
    {"a:\n  b: 1\n  c: 2\n  b: 3\n", "line 4, column 1: key \"b\" is already set"},
    {"a: .inf\n", "line 1, column 4: the number \".inf\" cannot be written as JSON"},
    {"a: !!int x\n", "line 1, column 4: \"x\" is not a !!int"},
    {"a: &x [*x]\n", "line 1, column 8: anchor 'x' value contains itself"},
    {"[1]: 2\n", "line 1, column 1: a key must be a string, number or boolean"},
    {"a: \xff\n", "byte 3: invalid leading UTF-8 octet"},
    {"<<: 1\n", "line 1, column 5: map merge requires map or sequence of maps as the value"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        struct arena a;
        arena_init(&a, 0);
        struct json_value *docs;
        size_t n;
        struct err err = {0};
        assert_int_equal(yaml_parse(str_of(errors[i].in), JSON_STRICT, &a, &docs, &n, &err),
                         -EBADMSG);
        assert_string_equal(err.msg, errors[i].message);
        arena_release(&a);
    }
}

/* Lines of the file appear in errors of the typed decoder, even through aliases. */
static void test_typed(void **state)
{
    (void)state;
    static const struct {
        const char *in, *message;
    } cases[] = {
        {"s: text\ni32: 5\nleaves:\n- name: a\n- name: b\n  port: x\n",
         "line 6: leaves[1].port: expected a whole number"},
        {"leaf:\n  name: a\n  colour: red\n", "line 3: leaf.colour: unknown field"},
        {"leaf: &l\n  name: 7\npleaf: *l\n", "line 2: leaf.name: expected a string"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        arena_init(&a, 0);
        struct json_value *docs;
        size_t n;
        struct err err = {0};
        struct everything v;
        assert_int_equal(yaml_parse(str_of(cases[i].in), 0, &a, &docs, &n, &err), 0);
        assert_int_equal(json_value_decode(&docs[0], &everything_type, JSON_STRICT, &a, &v, &err),
                         -EBADMSG);
        assert_string_equal(err.msg, cases[i].message);
        arena_release(&a);
    }
}

static int parse_quietly(const struct buf *text, size_t *ret_memory)
{
    struct arena a;
    arena_init(&a, 0);
    struct json_value *docs;
    size_t n;
    struct err err;
    int ret = yaml_parse(buf_str(text), 0, &a, &docs, &n, &err);
    *ret_memory = a.total;
    arena_release(&a);
    return ret;
}

static void test_bounds(void **state)
{
    (void)state;
    size_t memory;
    /* Ten to the power of thirty in a few lines. */
    struct buf bomb = BUF_INIT, merges = BUF_INIT, deep = BUF_INIT, tower = BUF_INIT;
    buf_add_cstr(&bomb, "a0: &a0 [x]\n");
    for (int i = 1; i <= 30; i++)
        buf_add_printf(&bomb, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i,
                       i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    assert_int_equal(parse_quietly(&bomb, &memory), -EBADMSG);
    assert_true(memory < 1 << 20);
    /* The same members merged more than a thousand times. */
    buf_add_cstr(&merges, "a: &a {");
    for (int i = 0; i < 2000; i++)
        buf_add_printf(&merges, "k%d: 1, ", i);
    buf_add_cstr(&merges, "}\nb:\n");
    for (int i = 0; i < 2000; i++)
        buf_add_cstr(&merges, "- <<: *a\n");
    assert_int_equal(parse_quietly(&merges, &memory), -EBADMSG);
    /* Depth, directly and by nested aliases. */
    for (int i = 0; i < 900; i++)
        buf_add_char(&deep, '[');
    for (int i = 0; i < 900; i++)
        buf_add_char(&deep, ']');
    assert_int_equal(parse_quietly(&deep, &memory), -EBADMSG);
    buf_add_cstr(&tower, "a0: &a0 [x]\n");
    for (int i = 1; i <= 250; i++)
        buf_add_printf(&tower, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    assert_int_equal(parse_quietly(&tower, &memory), -EBADMSG);
    buf_release(&bomb);
    buf_release(&merges);
    buf_release(&deep);
    buf_release(&tower);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents_table), cmocka_unit_test(test_write),
        cmocka_unit_test(test_properties),      cmocka_unit_test(test_documents),
        cmocka_unit_test(test_errors),          cmocka_unit_test(test_typed),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
