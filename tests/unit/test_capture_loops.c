/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops found online: instruction sequences written by hand, of which each
 * node's loop is known, and random reducible graphs against the definition
 * (dominators, natural loops).
 */
#include "tests/unit/test.h"

#include "capture/valgrind/loops_online.h"
#include "formats/base/rng.h"

enum { NODES_MAX = 40 };
#define NONE PSNAP_FLOW_NONE

/* Runs the nodes named by letters one after the other, 'a' the first; behind a blank it begins
 * elsewhere. */
static void run(struct psnap_flow *flow, uint32_t function, const char *sequence)
{
    uint32_t previous = NONE;

    for (; *sequence; sequence++) {
        uint32_t node = (uint32_t)(*sequence - 'a');
        if (*sequence == ' ') {
            previous = NONE;
            continue;
        }
        while (flow->node_count <= node)
            assert_int_not_equal(psnap_flow_add_node(flow, function), NONE);
        if (previous != NONE)
            assert_true(psnap_flow_add_edge(flow, previous, node));
        previous = node;
    }
}

static void update(struct psnap_flow *flow)
{
    uint32_t function;

    do
        assert_true(psnap_flow_update(flow, &function));
    while (function != NONE);
}

/* `loops`: for each node the letter of its innermost loop's header, or '.'. */
static void expect(const char *sequence, const char *loops)
{
    struct psnap_flow flow = {0};

    assert_int_equal(psnap_flow_add_function(&flow), 0);
    run(&flow, 0, sequence);
    update(&flow);
    assert_int_equal(flow.node_count, strlen(loops));
    for (uint32_t n = 0; n < flow.node_count; n++) {
        uint32_t header = psnap_flow_loop(&flow, n);
        assert_int_equal(header == NONE ? '.' : (char)('a' + header), loops[n]);
    }
    psnap_flow_release(&flow);
}

TEST(shapes)
{
    expect("abcd", "....");
    expect("aaab", "a.");                   /* one instruction: a string operation */
    expect("abcbcbcd", ".bb.");             /* a loop with its test at the end */
    expect("abcbd", ".bb.");                /* with its test at the start */
    expect("abcdcdebcdcdef", ".bccb.");     /* two nested */
    expect("abcdddcdddcbcdddef", ".bcd.."); /* three, that begin one after the other */
    expect("abcdcbcde", ".bcc.");           /* and e leaves both */
    expect("abcbdbcbde", ".bbb.");          /* two jumps back to one header: one loop */
    expect("abcdbecdbe", ".bbbb");          /* and without an end */
    expect("abcbabca", "abb");              /* the function's first instruction is a header */
    expect("abcbdedf", ".bb"
                       "d"
                       "d.");         /* one after the other */
    expect("abcdefbcfbg", ".bbbbb."); /* a conditional part */
    expect("abcd bec", ".....");      /* a jump back to a part behind the end: no loop */
    expect("abcbcd acb", ".cc.");     /* entered in its middle: following headers ends */
}

TEST(growth)
{
    struct psnap_flow flow = {0};
    uint32_t function;

    psnap_flow_add_function(&flow);
    run(&flow, 0, "abcdcd");
    update(&flow);
    assert_int_equal(psnap_flow_loop(&flow, 2), 2);
    assert_int_equal(flow.nodes[2].inner, NONE);
    run(&flow, 0, "de"); /* the outer loop is found later: the inner one stays, around it changes */
    run(&flow, 0, "ebcd");
    update(&flow);
    assert_int_equal(psnap_flow_loop(&flow, 3), 2);
    assert_int_equal(flow.nodes[2].inner, 1);
    assert_true(psnap_flow_is_inside(&flow, 3, 1));
    assert_false(psnap_flow_is_inside(&flow, 0, 1));
    run(&flow, 0, "abcdcde"); /* nothing new */
    assert_true(psnap_flow_update(&flow, &function));
    assert_int_equal(function, NONE);
    psnap_flow_release(&flow);
}

TEST(functions_apart)
{
    struct psnap_flow flow = {0};
    uint32_t function;

    psnap_flow_add_function(&flow);
    psnap_flow_add_function(&flow);
    for (uint32_t n = 0; n < 6; n++)
        assert_int_equal(psnap_flow_add_node(&flow, n & 1), n);
    psnap_flow_add_edge(&flow, 0, 2);
    psnap_flow_add_edge(&flow, 2, 4);
    psnap_flow_add_edge(&flow, 4, 2);
    psnap_flow_add_edge(&flow, 1, 3);
    assert_true(psnap_flow_update(&flow, &function));
    assert_true(psnap_flow_update(&flow, &function));
    assert_true(psnap_flow_update(&flow, &function));
    assert_int_equal(function, NONE);
    assert_int_equal(psnap_flow_loop(&flow, 4), 2);
    assert_int_equal(psnap_flow_loop(&flow, 3), NONE);
    psnap_flow_release(&flow);
}

/* The definition. */
struct graph {
    bool edge[NODES_MAX][NODES_MAX];
    bool reached[NODES_MAX], dominates[NODES_MAX][NODES_MAX];
    uint32_t count;
};

static void walk(const struct graph *graph, uint32_t node, uint32_t without, bool *seen)
{
    if (node == without || seen[node])
        return;
    seen[node] = true;
    for (uint32_t to = 0; to < graph->count; to++)
        if (graph->edge[node][to])
            walk(graph, to, without, seen);
}

static void find_dominators(struct graph *graph)
{
    memset(graph->reached, 0, sizeof graph->reached);
    walk(graph, 0, NONE, graph->reached);
    for (uint32_t d = 0; d < graph->count; d++) {
        bool seen[NODES_MAX] = {false};
        walk(graph, 0, d, seen);
        for (uint32_t n = 0; n < graph->count; n++)
            graph->dominates[d][n] = graph->reached[n] && !seen[n];
    }
}

/* Whether every edge back on some search is one to a dominator: without those, no cycle is left. */
static bool is_reducible(const struct graph *graph)
{
    uint32_t into[NODES_MAX] = {0}, done = 0;
    bool is_done[NODES_MAX] = {false}, is_moving = true;

#define FORWARD(from, to)                                                                          \
    (graph->edge[from][to] && graph->reached[from] && !graph->dominates[to][from])
    for (uint32_t from = 0; from < graph->count; from++)
        for (uint32_t to = 0; to < graph->count; to++)
            into[to] += FORWARD(from, to);
    while (is_moving) {
        is_moving = false;
        for (uint32_t n = 0; n < graph->count; n++) {
            if (is_done[n] || into[n])
                continue;
            is_done[n] = is_moving = true;
            done++;
            for (uint32_t to = 0; to < graph->count; to++)
                into[to] -= FORWARD(n, to);
        }
    }
#undef FORWARD
    return done == graph->count;
}

static void climb(const struct graph *graph, uint32_t node, uint32_t header, bool *body)
{
    if (body[node] || !graph->reached[node])
        return;
    body[node] = true;
    for (uint32_t from = 0; node != header && from < graph->count; from++)
        if (graph->edge[from][node])
            climb(graph, from, header, body);
}

/* The natural loop of all edges back to `header`; false when there is none. */
static bool find_body(const struct graph *graph, uint32_t header, bool *body)
{
    bool is_header = false;

    memset(body, 0, NODES_MAX * sizeof *body);
    for (uint32_t from = 0; from < graph->count; from++)
        if (graph->edge[from][header] && graph->dominates[header][from]) {
            is_header = body[header] = true;
            climb(graph, from, header, body);
        }
    return is_header;
}

static void compare(const struct graph *graph, const struct psnap_flow *flow)
{
    for (uint32_t header = 0; header < graph->count; header++) {
        bool body[NODES_MAX], is_header;
        if (!graph->reached[header])
            continue;
        is_header = find_body(graph, header, body);
        assert_int_equal(flow->nodes[header].is_header, is_header);
        for (uint32_t n = 0; n < graph->count; n++)
            if (graph->reached[n])
                assert_int_equal(is_header && psnap_flow_is_inside(flow, n, header), body[n]);
    }
}

TEST(random_graphs)
{
    struct psnap_rng rng;
    unsigned reducible = 0;

    psnap_rng_init(&rng, 9);
    for (unsigned round = 0; round < 20000; round++) {
        struct graph graph = {.count = 2 + (uint32_t)psnap_rng_below(&rng, 11)};
        uint32_t edges = graph.count + (uint32_t)psnap_rng_below(&rng, graph.count);
        struct psnap_flow flow = {0};

        psnap_flow_add_function(&flow);
        for (uint32_t n = 0; n < graph.count; n++)
            psnap_flow_add_node(&flow, 0);
        for (uint32_t e = 0; e < edges; e++) {
            uint32_t from = (uint32_t)psnap_rng_below(&rng, graph.count);
            uint32_t to = (uint32_t)psnap_rng_below(&rng, graph.count);
            if (e + 1 < graph.count) { /* a path through all of them, in some order of time */
                from = e;
                to = e + 1;
            }
            graph.edge[from][to] = true;
            assert_true(psnap_flow_add_edge(&flow, from, to));
            if (psnap_rng_below(&rng, 4) == 0)
                update(&flow);
        }
        update(&flow);
        find_dominators(&graph);
        if (is_reducible(&graph)) {
            compare(&graph, &flow);
            reducible++;
        }
        psnap_flow_release(&flow);
    }
    assert_true(reducible > 1000);
}
