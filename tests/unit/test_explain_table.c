/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations as tables for users. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "cmd/cli/term_text.h"
#include "cmd/explain/explain_output.h"
#include "cmd/explain/explain_table.h"
#include "objects.h"

static const struct explain_table_options narrow = {.width = 80, .max_nodes = 10};

/* The table of one attempt, as text. */
static struct str table_of(struct arena *a, const char *json, struct explain_table_options options)
{
    struct explanation x;
    struct err err;
    struct buf out = BUF_INIT;
    if (explanation_decode(json_quotes_str(json), a, &x, &err) < 0)
        fail_msg("%s", err.msg);
    explain_table(&x, &options, &out);
    struct str text = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return text;
}

static void expect(const char *json, struct explain_table_options options, const char *golden)
{
    struct arena a;
    arena_init(&a, 0);
    struct str text = table_of(&a, json, options);
    if (!str_is(text, golden))
        fail_msg("got:\n%.*s\nexpected:\n%s", STR_ARG(text), golden);
    arena_release(&a);
}

/* No line is wider than the options allow. */
static void expect_fits(struct str text, size_t width)
{
    struct str line;
    while (str_split(&text, '\n', &line))
        if (term_width(line) > width)
            fail_msg("%zu columns: %.*s", term_width(line), STR_ARG(line));
}

static void expect_contains(struct str text, const char *part)
{
    if (str_search(text, str_of(part)) == text.n)
        fail_msg("\"%s\" is not in:\n%.*s", part, STR_ARG(text));
}

static const char scheduled[] =
    "{'number':0,'attempt':1,'namespace':'default','pod':'web','uid':'u1',"
    "'profile':'default-scheduler','outcome':'scheduled','node':'b',"
    "'event':'UnschedulablePodAdd','allNodes':5,"
    "'preFilter':[{'name':'NodePorts','code':'Skip'},"
    "{'name':'NodeResourcesFit','code':'Success'}],"
    "'nodes':[{'name':'a','code':'Success'},{'name':'b','code':'Success'},"
    "{'name':'c','code':'UnschedulableAndUnresolvable','plugin':'TaintToleration',"
    "'reasons':['node(s) had untolerated taint(s)']},"
    "{'name':'d','code':'Unschedulable','plugin':'NodeResourcesFit',"
    "'reasons':['Insufficient cpu','Insufficient memory']}],"
    "'feasible':[{'name':'a','plugins':[{'name':'TaintToleration','raw':0,"
    "'normalized':100,'weight':3,'weighted':300},{'name':'ImageLocality','raw':7,"
    "'normalized':7,'weight':1,'weighted':7}],'total':307},"
    "{'name':'b','plugins':[{'name':'TaintToleration','raw':0,'normalized':100,"
    "'weight':3,'weighted':300},{'name':'ImageLocality','raw':50,'normalized':50,"
    "'weight':1,'weighted':50}],'total':350}]}\n";

static void a_scheduled_pod(void **state)
{
    (void)state;
    expect(scheduled, narrow,
           "default/web: scheduled to b (attempt 1)\n"
           "\n"
           "  Filters: 2 of 4 nodes passed; 1 other node was not checked\n"
           "    NODE  REFUSED BY        REASON\n"
           "  > b     -                 passed, chosen\n"
           "    a     -                 passed\n"
           "    d     NodeResourcesFit  Insufficient cpu, Insufficient memory\n"
           "    c     TaintToleration   node(s) had untolerated taint(s)\n"
           "    Skipped, nothing to check for this pod: NodePorts\n"
           "\n"
           "  Scores: normalized score * weight\n"
           "                      Taint     Image\n"
           "    NODE  TOTAL  Toleration  Locality\n"
           "  > b       350       100*3        50\n"
           "    a       307       100*3         7\n");
}

static void wide_output_has_raw_scores_codes_and_more(void **state)
{
    (void)state;
    expect(scheduled, (struct explain_table_options){.wide = true},
           "default/web: scheduled to b (attempt 1)\n"
           "  Event:       UnschedulablePodAdd\n"
           "  UID:         u1\n"
           "\n"
           "  Filters: 2 of 4 nodes passed; 1 other node was not checked\n"
           "    NODE  REFUSED BY        REASON\n"
           "  > b     -                 passed, chosen\n"
           "    a     -                 passed\n"
           "    d     NodeResourcesFit  Insufficient cpu, Insufficient memory (Unschedulable)\n"
           "    c     TaintToleration   node(s) had untolerated taint(s) "
           "(UnschedulableAndUnresolvable)\n"
           "    Skipped, nothing to check for this pod: NodePorts\n"
           "\n"
           "  Scores: normalized score * weight (raw score)\n"
           "                         Taint     Image\n"
           "    NODE  TOTAL     Toleration  Locality\n"
           "  > b       350  100*3 (raw 0)        50\n"
           "    a       307  100*3 (raw 0)         7\n");
}

static void colours_mark_the_result_and_the_choice(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    struct explain_table_options options = narrow;
    options.colour = true;
    struct str text = table_of(&a, scheduled, options);
    expect_contains(text, "\x1b[1mdefault/web\x1b[0m: \x1b[1;32mscheduled\x1b[0m to ");
    expect_contains(text, "\x1b[1m  > b     -                 passed, chosen\x1b[0m\n");
    arena_release(&a);
}

static void a_pod_that_preempts(void **state)
{
    (void)state;
    expect("{'attempt':2,'namespace':'prod','pod':'high','profile':'batch',"
           "'outcome':'unschedulable','nominatedNode':'n1',"
           "'message':'0/2 nodes are available: 2 Insufficient cpu.',"
           "'event':'AssignedPodDelete','queue':'backoff','allNodes':2,"
           "'postFilter':{'plugin':'DefaultPreemption','code':'Success','reasons':[],"
           "'nominatedNode':'n1','victims':['prod/low-1','prod/low-2'],"
           "'pdbViolations':1,'candidates':2,'offset':0},"
           "'nodes':[{'name':'n1','code':'Unschedulable','plugin':'NodeResourcesFit',"
           "'reasons':['Insufficient cpu']},{'name':'n2','code':'Unschedulable',"
           "'plugin':'NodeResourcesFit','reasons':['Insufficient cpu']}],"
           "'feasible':[]}",
           narrow,
           "prod/high: unschedulable (attempt 2, profile batch)\n"
           "  Message:     0/2 nodes are available: 2 Insufficient cpu.\n"
           "  Nominated:   n1\n"
           "  Evicts:      2 pods by DefaultPreemption, violating 1 PodDisruptionBudget:\n"
           "               prod/low-1, prod/low-2\n"
           "  Event:       AssignedPodDelete\n"
           "  Queue:       backoffQ: retried after the backoff\n"
           "\n"
           "  Filters: 0 of 2 nodes passed\n"
           "    NODE  REFUSED BY        REASON\n"
           "    n1    NodeResourcesFit  Insufficient cpu\n"
           "    n2    NodeResourcesFit  Insufficient cpu\n");
}

static void a_pod_that_pre_filter_refuses(void **state)
{
    (void)state;
    expect("{'attempt':1,'namespace':'default','pod':'p','outcome':'unschedulable',"
           "'queue':'unschedulable','allNodes':3,'preFilter':[{'name':'NodeAffinity',"
           "'code':'UnschedulableAndUnresolvable','reasons':['conflict']}],"
           "'nodes':[],'feasible':[]}",
           narrow,
           "default/p: unschedulable (attempt 1)\n"
           "  Queue:       unschedulablePods: retried when a cluster event may help\n"
           "  PreFilter:   NodeAffinity refused the pod: conflict\n"
           "\n"
           "  Filters: no node was checked\n");
}

static void a_cluster_without_nodes(void **state)
{
    (void)state;
    expect("{'attempt':1,'namespace':'default','pod':'p','outcome':'unschedulable',"
           "'message':'no nodes available to schedule pods','allNodes':0,'nodes':[],"
           "'feasible':[]}",
           narrow,
           "default/p: unschedulable (attempt 1)\n"
           "  Message:     no nodes available to schedule pods\n"
           "\n"
           "  Filters: the cluster has no nodes\n");
}

static void an_error_names_its_place(void **state)
{
    (void)state;
    expect("{'attempt':1,'namespace':'default','pod':'p','outcome':'error',"
           "'message':'it broke','queue':'errorBackoff','allNodes':1,"
           "'nodes':[{'name':'n','code':'Error','plugin':'Mine',"
           "'reasons':['it broke']}],'feasible':[]}",
           narrow,
           "default/p: error (attempt 1)\n"
           "  Message:     it broke\n"
           "  Queue:       backoffQ: retried after the backoff\n"
           "\n"
           "  Filters: 0 of 1 node passed\n"
           "    NODE  REFUSED BY  REASON\n"
           "    n     Mine        error: it broke\n");
}

static void a_survey_has_all_refusals_of_a_node(void **state)
{
    (void)state;
    expect("{'attempt':1,'namespace':'default','pod':'p','outcome':'scheduled',"
           "'node':'b','allNodes':2,'filters':{'asked':['NodeUnschedulable',"
           "'NodeResourcesFit'],'nodes':[{'name':'a','refused':["
           "{'name':'NodeUnschedulable','code':'UnschedulableAndUnresolvable',"
           "'reasons':['node(s) were unschedulable']},{'name':'NodeResourcesFit',"
           "'code':'Unschedulable','reasons':['Insufficient cpu']}]},{'name':'b'}]},"
           "'nodes':[{'name':'b','code':'Success'}],"
           "'feasible':[{'name':'b','plugins':[],'total':0}]}",
           narrow,
           "default/p: scheduled to b (attempt 1)\n"
           "\n"
           "  Filters: 1 of 2 nodes passed\n"
           "    NODE  REFUSED BY         REASON\n"
           "  > b     -                  passed, chosen\n"
           "    a     NodeUnschedulable  node(s) were unschedulable\n"
           "          NodeResourcesFit   Insufficient cpu\n"
           "\n"
           "  Scores: none, only one node passed the filters\n");
}

/* An attempt of another version of berth, or invalid data. */
static void missing_and_unknown_fields_do_not_matter(void **state)
{
    (void)state;
    expect("{'pod':'p','future':{'a':[1,2]},'nodes':[{'name':'n','more':1}]}", narrow,
           "/p: unknown (attempt 0)\n"
           "\n"
           "  Filters: 0 of 1 node passed\n"
           "    NODE  REFUSED BY  REASON\n"
           "    n\n");
    struct explanation x;
    struct arena a;
    struct err err;
    arena_init(&a, 0);
    assert_int_equal(explanation_decode(json_quotes_str("{'pod':1}"), &a, &x, &err), -EBADMSG);
    assert_int_equal(explanation_decode(STR("<html>"), &a, &x, &err), -EBADMSG);
    arena_release(&a);
}

/* Text from files and servers does not control the terminal. */
static void control_characters_are_shown_not_obeyed(void **state)
{
    (void)state;
    expect("{'attempt':1,'namespace':'default','pod':'p\\u001b[31m','outcome':'error',"
           "'message':'a\\nb\\tc\\u0007 \\u202ed','allNodes':1,'nodes':[{'name':"
           "'n\\u009b2J','code':'Error','plugin':'P\\u001b]0;x\\u0007',"
           "'reasons':['\\u001b[2J']}]}",
           narrow,
           "default/p\\x1b[31m: error (attempt 1)\n"
           "  Message:     a b c\\x07 \\u202ed\n"
           "\n"
           "  Filters: 0 of 1 node passed\n"
           "    NODE     REFUSED BY     REASON\n"
           "    n\\x9b2J  P\\x1b]0;x\\x07  error: \\x1b[2J\n");
}

static void wide_characters_line_up(void **state)
{
    (void)state;
    expect("{'attempt':1,'namespace':'default','pod':'p','outcome':'unschedulable',"
           "'allNodes':2,'nodes':[{'name':'节点','code':'Unschedulable','plugin':"
           "'Mine','reasons':['zu groß']},{'name':'e\\u0301a','code':"
           "'Unschedulable','plugin':'Übung','reasons':['x']}]}",
           narrow,
           "default/p: unschedulable (attempt 1)\n"
           "\n"
           "  Filters: 0 of 2 nodes passed\n"
           "    NODE  REFUSED BY  REASON\n"
           "    节点  Mine        zu groß\n"
           "    e\u0301a    Übung       x\n");
}

/* --- many nodes ------------------------------------------------------------------------------- */

/* Nodes that pass, then nodes rejected for two reasons; the chosen one is the last that passes. */
static const char *many(struct arena *a, size_t passed, size_t refused, const char *name)
{
    struct buf json = BUF_INIT;
    buf_add_printf(&json,
                   "{'attempt':1,'namespace':'default','pod':'p','outcome':"
                   "'scheduled','node':'%s%zu','allNodes':%zu,'nodes':[",
                   name, passed - 1, passed + refused);
    for (size_t i = 0; i < passed + refused; i++) {
        buf_add_printf(&json, "%s{'name':'%s%zu','code':", i ? "," : "", name, i);
        if (i < passed)
            buf_add_cstr(&json, "'Success'}");
        else
            buf_add_printf(&json, "'Unschedulable','plugin':'%s','reasons':['%s']}",
                           i % 2 ? "NodePorts" : "NodeResourcesFit",
                           i % 2 ? "node(s) didn\\'t have free ports for the requested pod ports"
                                 : "Insufficient cpu");
    }
    buf_add_cstr(&json, "],'feasible':[");
    for (size_t i = 0; i < passed; i++) {
        buf_add_printf(&json, "%s{'name':'%s%zu','plugins':[", i ? "," : "", name, i);
        static const char *const plugins[] = {"TaintToleration",
                                              "NodeAffinity",
                                              "PodTopologySpread",
                                              "InterPodAffinity",
                                              "NodeResourcesFit",
                                              "NodeResourcesBalancedAllocation",
                                              "https://extender.example:8443/scheduler"};
        for (size_t k = 0; k < ARRAY_LEN(plugins); k++)
            buf_add_printf(&json,
                           "%s{'name':'%s','raw':%zu,'normalized':%zu,'weight':2,"
                           "'weighted':%zu}",
                           k ? "," : "", plugins[k], k == 4 ? i : 5, k == 4 ? i : 5,
                           k == 4 ? 2 * i : 10);
        buf_add_printf(&json, "],'total':%zu}", 60 + 2 * i);
    }
    buf_add_cstr(&json, "]}");
    const char *text = arena_dup(a, buf_str(&json)).p;
    buf_release(&json);
    return text;
}

static void many_nodes_are_counted_by_verdict(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    expect(
        many(&a, 1000, 4000, "n"), (struct explain_table_options){.width = 100, .max_nodes = 4},
        "default/p: scheduled to n999 (attempt 1)\n"
        "\n"
        "  Filters: 1000 of 5000 nodes passed\n"
        "    NODE           REFUSED BY        REASON\n"
        "  > n999           -                 passed, chosen\n"
        "    ... 999 more   -                 passed\n"
        "    n1001          NodePorts         node(s) didn't have free ports for the requested pod "
        "ports\n"
        "    ... 1999 more  NodePorts         node(s) didn't have free ports for the requested pod "
        "ports\n"
        "    n1000          NodeResourcesFit  Insufficient cpu\n"
        "    n1002          NodeResourcesFit  Insufficient cpu\n"
        "    ... 1998 more  NodeResourcesFit  Insufficient cpu\n"
        "\n"
        "  Scores: normalized score * weight\n"
        "                                                                            Node\n"
        "                                            Pod     Inter       Node   Resources  "
        "https://extend\n"
        "                      Taint      Node  Topology       Pod  Resources    Balanced  "
        "er.example:844\n"
        "    NODE  TOTAL  Toleration  Affinity    Spread  Affinity        Fit  Allocation     "
        "3/scheduler\n"
        "  > n999   2058         5*2       5*2       5*2       5*2      999*2         5*2          "
        "   5*2\n"
        "    n998   2056         5*2       5*2       5*2       5*2      998*2         5*2          "
        "   5*2\n"
        "    n997   2054         5*2       5*2       5*2       5*2      997*2         5*2          "
        "   5*2\n"
        "    n996   2052         5*2       5*2       5*2       5*2      996*2         5*2          "
        "   5*2\n"
        "    ... 996 more nodes with a total of 2050 to 60\n");
    arena_release(&a);
}

/* Plugins with equal scores have no column. */
static void equal_scores_are_shown_once(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    expect(many(&a, 2, 2, "n"), narrow,
           "default/p: scheduled to n1 (attempt 1)\n"
           "\n"
           "  Filters: 2 of 4 nodes passed\n"
           "    NODE  REFUSED BY        REASON\n"
           "  > n1    -                 passed, chosen\n"
           "    n0    -                 passed\n"
           "    n3    NodePorts         node(s) didn't have free ports for the requested pod\n"
           "                            ports\n"
           "    n2    NodeResourcesFit  Insufficient cpu\n"
           "\n"
           "  Scores: normalized score * weight\n"
           "                      Node\n"
           "                 Resources\n"
           "    NODE  TOTAL        Fit\n"
           "  > n1       62        1*2\n"
           "    n0       60        0*2\n"
           "    The same on all nodes: TaintToleration 5*2, NodeAffinity 5*2,\n"
           "    PodTopologySpread 5*2, InterPodAffinity 5*2, NodeResourcesBalancedAllocation\n"
           "    5*2, https://extender.example:8443/scheduler 5*2\n");
    arena_release(&a);
}

static void everything_fits_the_width(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    for (size_t width = 60; width <= 160; width += 20) {
        struct explain_table_options options = {.width = width, .max_nodes = 10};
        expect_fits(table_of(&a, many(&a, 30, 30, "n"), options), width);
        expect_fits(
            table_of(&a, many(&a, 30, 30, "gke-a-very-long-name-of-a-pool-0123456789-"), options),
            width + 40); /* the headline has the whole name */
    }
    arena_release(&a);
}

static void all_nodes_are_shown_on_request(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    struct str text = table_of(&a, many(&a, 50, 50, "n"), (struct explain_table_options){0});
    assert_int_equal(str_search(text, STR("more")), text.n);
    for (size_t i = 0; i < 100; i++)
        expect_contains(text, arena_printf(&a, " n%zu ", i).p);
    arena_release(&a);
}

static void a_domain_that_all_names_share_is_left_out(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    const char *json = "{'attempt':1,'namespace':'default','pod':'p','outcome':'unschedulable',"
                       "'allNodes':2,'nodes':["
                       "{'name':'ip-10-0-12-34.eu-west-1.compute.internal','code':'Unschedulable',"
                       "'plugin':'NodeName','reasons':['x']},"
                       "{'name':'ip-10-0-12-35.eu-west-1.compute.internal','code':'Unschedulable',"
                       "'plugin':'NodeName','reasons':['x']}]}";
    expect(json, narrow,
           "default/p: unschedulable (attempt 1)\n"
           "  Nodes:       names are shown without .eu-west-1.compute.internal\n"
           "\n"
           "  Filters: 0 of 2 nodes passed\n"
           "    NODE           REFUSED BY  REASON\n"
           "    ip-10-0-12-34  NodeName    x\n"
           "    ip-10-0-12-35  NodeName    x\n");
    expect_contains(table_of(&a, json, (struct explain_table_options){.wide = true}),
                    "    ip-10-0-12-34.eu-west-1.compute.internal  NodeName");
    arena_release(&a);
}

/* --- texts ------------------------------------------------------------------------------------ */

static void long_text_is_cut_in_the_middle(void **state)
{
    (void)state;
    struct buf out = BUF_INIT;
    term_add_left(&out, STR("abcdefghijklmnop"), 9);
    buf_add_char(&out, '|');
    term_add_right(&out, STR("ab"), 4);
    buf_add_char(&out, '|');
    term_add_left(&out, STR("节点节点节点"), 8);
    buf_add_char(&out, '|');
    term_add_left(&out, STR("abcd"), 2);
    assert_string_equal(buf_cstr(&out), "abc...nop|  ab|节...点 |ab");
    buf_release(&out);
}

static void lines_are_broken_at_blanks(void **state)
{
    (void)state;
    struct str rest = STR("  one two  threefourfive six "), line;
    static const char *const lines[] = {"one two", "threefou", "rfive", "six"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        assert_true(term_next_line(&rest, 8, &line));
        assert_true(str_is(line, lines[i]));
    }
    assert_false(term_next_line(&rest, 8, &line));
}

static void pods_are_named_with_or_without_a_namespace(void **state)
{
    (void)state;
    struct str namespace, name;
    explain_split_pod(STR("prod/web"), STR("default"), &namespace, &name);
    assert_true(str_is(namespace, "prod") && str_is(name, "web"));
    explain_split_pod(STR("web"), STR("default"), &namespace, &name);
    assert_true(str_is(namespace, "default") && str_is(name, "web"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scheduled_pod),
        cmocka_unit_test(wide_output_has_raw_scores_codes_and_more),
        cmocka_unit_test(colours_mark_the_result_and_the_choice),
        cmocka_unit_test(a_pod_that_preempts),
        cmocka_unit_test(a_pod_that_pre_filter_refuses),
        cmocka_unit_test(a_cluster_without_nodes),
        cmocka_unit_test(an_error_names_its_place),
        cmocka_unit_test(a_survey_has_all_refusals_of_a_node),
        cmocka_unit_test(missing_and_unknown_fields_do_not_matter),
        cmocka_unit_test(control_characters_are_shown_not_obeyed),
        cmocka_unit_test(wide_characters_line_up),
        cmocka_unit_test(many_nodes_are_counted_by_verdict),
        cmocka_unit_test(equal_scores_are_shown_once),
        cmocka_unit_test(everything_fits_the_width),
        cmocka_unit_test(all_nodes_are_shown_on_request),
        cmocka_unit_test(a_domain_that_all_names_share_is_left_out),
        cmocka_unit_test(long_text_is_cut_in_the_middle),
        cmocka_unit_test(lines_are_broken_at_blanks),
        cmocka_unit_test(pods_are_named_with_or_without_a_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
