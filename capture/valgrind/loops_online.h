/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of a program of which only the executed instructions are known, while
 * it runs: a flow graph per function that grows by nodes (instructions) and
 * edges (one followed the other), and its loops, nested by their headers.
 */
#ifndef PSNAP_CAPTURE_VALGRIND_LOOPS_ONLINE_H
#define PSNAP_CAPTURE_VALGRIND_LOOPS_ONLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PSNAP_FLOW_NONE UINT32_MAX

struct psnap_flow_node {
    uint32_t function;
    uint32_t next;       /* node of the function, in the order they came */
    uint32_t first_edge; /* into psnap_flow.edges */
    uint32_t inner;      /* header of the innermost loop around it other than its own, or none */
    uint32_t position;   /* while searching: place on the path, 0 when not on it */
    bool is_header;      /* of a loop of its own */
    bool is_visited;
};

struct psnap_flow_edge {
    uint32_t to, next;
};

struct psnap_flow_function {
    uint32_t first, last; /* nodes */
    bool is_changed;      /* since its loops were found */
};

struct psnap_flow_step {
    uint32_t node, edge;
};

struct psnap_flow {
    struct psnap_flow_node *nodes;
    struct psnap_flow_edge *edges;
    struct psnap_flow_function *functions;
    uint32_t *changed; /* functions whose loops are to be found again */
    struct psnap_flow_step *path;
    size_t node_count, node_room, edge_count, edge_room, function_count, function_room;
    size_t changed_count, changed_room, path_room;
};

void psnap_flow_release(struct psnap_flow *flow);

/* The new one's index, PSNAP_FLOW_NONE when out of memory. */
uint32_t psnap_flow_add_function(struct psnap_flow *flow);
uint32_t psnap_flow_add_node(struct psnap_flow *flow, uint32_t function);

/* Notes that `to` has been executed after `from`, in the same function. False: out of memory. */
bool psnap_flow_add_edge(struct psnap_flow *flow, uint32_t from, uint32_t to);

/* Finds the loops of the next function that has changed; PSNAP_FLOW_NONE when there is none. False
 * when out of memory. */
bool psnap_flow_update(struct psnap_flow *flow, uint32_t *function);

/* The header of the innermost loop that a node is in, or none. */
static inline uint32_t psnap_flow_loop(const struct psnap_flow *flow, uint32_t node)
{
    return flow->nodes[node].is_header ? node : flow->nodes[node].inner;
}

/* Whether `header` is that of a loop that `node` is in. */
bool psnap_flow_is_inside(const struct psnap_flow *flow, uint32_t node, uint32_t header);

#endif
