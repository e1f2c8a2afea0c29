/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops from the instruction stream. A loop has a header, which is reached
 * again by a jump back while it is on the path of a depth-first search from the
 * function's first instruction; all jumps back to one header are one loop. The
 * innermost headers around each node come out of one search: T. Wei, J. Mao,
 * W. Zou, Y. Chen, "A New Algorithm for Identifying Loops in Decompilation",
 * SAS 2007, here without recursion. For reducible graphs these are the natural
 * loops; one that is entered in its middle gets the header that the search met
 * first, so that nesting is a tree in any case.
 *
 * The graph has what was executed only. An edge that is new makes its function
 * be searched again, when psnap_flow_update is called: once per batch of
 * instructions, which makes the time linear as long as programs run more
 * instructions than they have.
 */
#include "capture/valgrind/loops_online.h"

#include <stdlib.h>

#include "formats/base/room.h"

void psnap_flow_release(struct psnap_flow *flow)
{
    free(flow->nodes);
    free(flow->edges);
    free(flow->functions);
    free(flow->changed);
    free(flow->path);
}

uint32_t psnap_flow_add_function(struct psnap_flow *flow)
{
    if (!psnap_make_room(&flow->functions, &flow->function_room, flow->function_count + 1,
                         sizeof *flow->functions))
        return PSNAP_FLOW_NONE;
    flow->functions[flow->function_count] =
        (struct psnap_flow_function){.first = PSNAP_FLOW_NONE, .last = PSNAP_FLOW_NONE};
    return (uint32_t)flow->function_count++;
}

uint32_t psnap_flow_add_node(struct psnap_flow *flow, uint32_t function)
{
    struct psnap_flow_function *of = &flow->functions[function];
    uint32_t node = (uint32_t)flow->node_count;

    if (!psnap_make_room(&flow->nodes, &flow->node_room, flow->node_count + 1, sizeof *flow->nodes))
        return PSNAP_FLOW_NONE;
    flow->nodes[node] = (struct psnap_flow_node){
        .function = function,
        .next = PSNAP_FLOW_NONE,
        .first_edge = PSNAP_FLOW_NONE,
        .inner = PSNAP_FLOW_NONE,
    };
    if (of->first == PSNAP_FLOW_NONE)
        of->first = node;
    else
        flow->nodes[of->last].next = node;
    of->last = node;
    flow->node_count++;
    return node;
}

bool psnap_flow_add_edge(struct psnap_flow *flow, uint32_t from, uint32_t to)
{
    struct psnap_flow_function *function = &flow->functions[flow->nodes[from].function];

    for (uint32_t e = flow->nodes[from].first_edge; e != PSNAP_FLOW_NONE; e = flow->edges[e].next)
        if (flow->edges[e].to == to)
            return true;
    if (!psnap_make_room(&flow->edges, &flow->edge_room, flow->edge_count + 1,
                         sizeof *flow->edges) ||
        !psnap_make_room(&flow->changed, &flow->changed_room, flow->changed_count + 1,
                         sizeof *flow->changed))
        return false;
    flow->edges[flow->edge_count] = (struct psnap_flow_edge){to, flow->nodes[from].first_edge};
    flow->nodes[from].first_edge = (uint32_t)flow->edge_count++;
    if (!function->is_changed)
        flow->changed[flow->changed_count++] = flow->nodes[from].function;
    function->is_changed = true;
    return true;
}

bool psnap_flow_is_inside(const struct psnap_flow *flow, uint32_t node, uint32_t header)
{
    uint32_t loop = psnap_flow_loop(flow, node);

    while (loop != PSNAP_FLOW_NONE && loop != header)
        loop = flow->nodes[loop].inner;
    return loop == header;
}

/* `header` is on the path and around `node`: weaves it into the chain of headers that the node has,
 * the innermost, which is the last on the path, first. */
static void weave(struct psnap_flow_node *nodes, uint32_t node, uint32_t header)
{
    if (node == header || header == PSNAP_FLOW_NONE)
        return;
    while (nodes[node].inner != PSNAP_FLOW_NONE) {
        uint32_t around = nodes[node].inner;
        if (around == header)
            return;
        if (nodes[around].position < nodes[header].position) {
            nodes[node].inner = header;
            node = header;
            header = around;
        } else {
            node = around;
        }
    }
    nodes[node].inner = header;
}

/* An edge to a node that the search has been at. */
static void meet(struct psnap_flow_node *nodes, uint32_t from, uint32_t to)
{
    uint32_t header = to;

    if (nodes[to].position) { /* on the path: a jump back */
        nodes[to].is_header = true;
        weave(nodes, from, to);
        return;
    }
    do /* the innermost loop of `to` that is open still: left out are those that are entered here,
          not at their headers */
        header = nodes[header].inner;
    while (header != PSNAP_FLOW_NONE && !nodes[header].position);
    weave(nodes, from, header);
}

static void search(struct psnap_flow *flow, uint32_t start)
{
    struct psnap_flow_node *nodes = flow->nodes;
    struct psnap_flow_step *path = flow->path;
    uint32_t depth = 0;

    path[0] = (struct psnap_flow_step){start, nodes[start].first_edge};
    nodes[start].is_visited = true;
    nodes[start].position = ++depth;
    while (depth) {
        struct psnap_flow_step *step = &path[depth - 1];
        uint32_t to;
        if (step->edge == PSNAP_FLOW_NONE) {
            nodes[step->node].position = 0;
            if (--depth)
                weave(nodes, path[depth - 1].node, nodes[step->node].inner);
            continue;
        }
        to = flow->edges[step->edge].to;
        step->edge = flow->edges[step->edge].next;
        if (nodes[to].is_visited) {
            meet(nodes, step->node, to);
            continue;
        }
        path[depth] = (struct psnap_flow_step){to, nodes[to].first_edge};
        nodes[to].is_visited = true;
        nodes[to].position = ++depth;
    }
}

bool psnap_flow_update(struct psnap_flow *flow, uint32_t *function)
{
    struct psnap_flow_node *nodes = flow->nodes;
    size_t count = 0;
    uint32_t first;

    *function = PSNAP_FLOW_NONE;
    if (!flow->changed_count)
        return true;
    first = flow->functions[flow->changed[flow->changed_count - 1]].first;
    for (uint32_t n = first; n != PSNAP_FLOW_NONE; n = nodes[n].next) {
        nodes[n].inner = PSNAP_FLOW_NONE;
        nodes[n].is_header = nodes[n].is_visited = false;
        count++;
    }
    if (!psnap_make_room(&flow->path, &flow->path_room, count, sizeof *flow->path))
        return false;
    for (uint32_t n = first; n != PSNAP_FLOW_NONE; n = nodes[n].next)
        if (!nodes[n].is_visited)
            search(flow, n);
    *function = flow->changed[--flow->changed_count];
    flow->functions[*function].is_changed = false;
    return true;
}
