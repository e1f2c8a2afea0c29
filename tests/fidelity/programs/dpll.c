/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dpll: satisfiability of random clauses by backtracking search with unit propagation over two
 * watched literals. Irregular: lists of watches that move from literal to literal while they are
 * walked, clauses in an arena, a trail that is undone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 3 };

struct clause {
    int literal[WIDTH]; /* the first two are watched; 2 v or 2 v + 1 */
    int next[2];        /* of the lists of these */
};

struct solver {
    int variables, clauses, trail_size, done;
    struct clause *clause;
    int *watch; /* of a literal: clause * 2 + which, or -1 */
    signed char *value;
    int *trail, *level_at, *activity;
    uint64_t propagations;
};

static uint32_t draw(uint32_t *s, uint32_t below)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return (uint32_t)((uint64_t)*s * below >> 32);
}

static int is_false(const struct solver *s, int literal)
{
    return s->value[literal / 2] == 1 + !(literal & 1);
}

static int is_true(const struct solver *s, int literal)
{
    return s->value[literal / 2] == 1 + (literal & 1);
}

/* A variable's value is 0 when it is open, 1 when its even literal holds, else 2. */
static void assign(struct solver *s, int literal)
{
    s->value[literal / 2] = (signed char)(1 + (literal & 1));
    s->trail[s->trail_size++] = literal;
}

static int propagate(struct solver *s)
{
    while (s->done < s->trail_size) {
        int literal = s->trail[s->done++] ^ 1; /* is false now */
        int *link = &s->watch[literal];

        s->propagations++;
        while (*link >= 0) {
            struct clause *c = &s->clause[*link / 2];
            int which = *link & 1, other = c->literal[!which], moved = 0;

            if (!is_true(s, other)) {
                for (int k = 2; k < WIDTH && !moved; k++) {
                    if (!is_false(s, c->literal[k])) {
                        int entry = *link, fresh = c->literal[k];

                        *link = c->next[which];
                        c->literal[k] = literal;
                        c->literal[which] = fresh;
                        c->next[which] = s->watch[fresh];
                        s->watch[fresh] = entry;
                        moved = 1;
                    }
                }
                if (!moved && is_false(s, other)) {
                    for (int k = 0; k < WIDTH; k++)
                        s->activity[c->literal[k] / 2]++;
                    return 0;
                }
                if (!moved)
                    assign(s, other);
            }
            if (!moved)
                link = &c->next[which];
        }
    }
    return 1;
}

static int choose(const struct solver *s)
{
    int best = -1;

    for (int v = 0; v < s->variables; v++)
        if (!s->value[v] && (best < 0 || s->activity[v] > s->activity[best]))
            best = v;
    return best;
}

static int solve(struct solver *s, int budget)
{
    int levels = 0, literal;

    while (budget-- > 0) {
        if (propagate(s)) {
            int v = choose(s);

            if (v < 0)
                return 1;
            s->level_at[levels++] = s->trail_size;
            assign(s, 2 * v);
            continue;
        }
        do { /* back to a decision whose other side was not tried */
            if (levels == 0)
                return 0;
            literal = s->trail[s->level_at[--levels]];
            while (s->trail_size > s->level_at[levels])
                s->value[s->trail[--s->trail_size] / 2] = 0;
        } while (literal & 1);
        s->done = s->trail_size;
        s->level_at[levels++] = s->trail_size;
        assign(s, literal ^ 1);
    }
    return -1;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? (int)strtoul(argv[1], NULL, 10) : 600;
    struct solver s = {.variables = n + 3, .clauses = (n + 3) * 4};
    size_t v = (size_t)s.variables;
    uint32_t seed = 19621962;
    uint64_t sum = 0;

    s.clause = malloc((size_t)s.clauses * sizeof(*s.clause));
    s.watch = malloc(2 * v * sizeof(int));
    s.value = malloc(v);
    s.trail = malloc(v * sizeof(int));
    s.level_at = malloc(v * sizeof(int));
    s.activity = malloc(v * sizeof(int));
    for (int problem = 0; problem < 3; problem++) {
        for (size_t i = 0; i < 2 * v; i++)
            s.watch[i] = -1;
        for (size_t i = 0; i < v; i++)
            s.value[i] = 0, s.activity[i] = 0;
        s.trail_size = s.done = 0;
        for (int c = 0; c < s.clauses; c++) {
            int first = (int)draw(&seed, (uint32_t)n), *l = s.clause[c].literal;

            for (int k = 0; k < WIDTH; k++)
                l[k] =
                    2 * ((first + k * (1 + (int)draw(&seed, (uint32_t)n / 3 + 1))) % s.variables) +
                    (int)draw(&seed, 2);
            if (l[0] / 2 == l[1] / 2)
                l[1] = (l[1] + 2) % (2 * s.variables);
            for (int k = 0; k < 2; k++) {
                s.clause[c].next[k] = s.watch[l[k]];
                s.watch[l[k]] = 2 * c + k;
            }
        }
        sum = sum * 31 + (uint64_t)(solve(&s, 2 * n + 2000) + 2);
        for (int i = 0; i < s.trail_size; i++)
            sum = sum * 3 + (uint64_t)s.trail[i];
    }
    free(s.clause);
    free(s.watch);
    free(s.value);
    free(s.trail);
    free(s.level_at);
    free(s.activity);
    printf("dpll %d checksum %" PRIu64 " (%" PRIu64 ")\n", n, sum, s.propagations);
    return 0;
}
