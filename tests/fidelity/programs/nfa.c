/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfa: regular expressions are compiled to Thompson automata and run over lines of a log by lists
 * of states, all alternatives at once. Irregular: sparse sets (two arrays that point into each
 * other) that grow and shrink with the text, within some kilobytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPLIT = 256, ANY, MATCH, STATES = 256 };

struct state {
    int what;
    int out, other;
};

struct nfa {
    struct state state[STATES];
    int states, start;
};

struct list {
    int dense[STATES], sparse[STATES], n;
};

static const char *source;
static uint32_t seed = 7654321;

static uint32_t draw(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return (seed >> 3) % below;
}

static int add_state(struct nfa *m, int what, int out, int other)
{
    m->state[m->states] = (struct state){what, out, other};
    return m->states++;
}

/* Built backwards: `to` is what follows. Each parses from source[at] and gives the entry. */
static int alternatives(struct nfa *m, int to);

static int piece(struct nfa *m, int to)
{
    const char *from = source;
    const char *end;
    int depth = 0, entry, loop;
    char repeat;

    do { /* where the atom ends */
        depth += *source == '(' ? 1 : *source == ')' ? -1 : 0;
        source++;
    } while (depth > 0);
    repeat = *source;
    end = source + (repeat == '*' || repeat == '?' || repeat == '+');
    loop = repeat == '*' || repeat == '+' ? add_state(m, SPLIT, -1, to) : -1;
    source = from;
    if (*source == '(') {
        source++;
        entry = alternatives(m, loop >= 0 ? loop : to);
    } else {
        entry = add_state(m, *source == '.' ? ANY : *source, loop >= 0 ? loop : to, -1);
    }
    source = end;
    if (loop >= 0)
        m->state[loop].out = entry;
    return repeat == '*' ? loop : repeat == '?' ? add_state(m, SPLIT, entry, to) : entry;
}

static int sequence(struct nfa *m, int to)
{
    const char *start[64], *end;
    int n = 0;

    while (*source && *source != '|' && *source != ')') { /* where the pieces begin */
        int depth = 0;

        start[n++] = source;
        do {
            depth += *source == '(' ? 1 : *source == ')' ? -1 : 0;
            source++;
        } while (depth > 0);
        if (*source && strchr("*+?", *source))
            source++;
    }
    end = source;
    while (n-- > 0) {
        source = start[n];
        to = piece(m, to);
    }
    source = end;
    return to;
}

static int alternatives(struct nfa *m, int to)
{
    int entry = sequence(m, to);

    while (*source == '|') {
        source++;
        entry = add_state(m, SPLIT, entry, sequence(m, to));
    }
    return entry;
}

static void follow(const struct nfa *m, struct list *l, int s)
{
    if (l->sparse[s] < l->n && l->dense[l->sparse[s]] == s)
        return;
    l->sparse[s] = l->n;
    l->dense[l->n++] = s;
    if (m->state[s].what == SPLIT) {
        follow(m, l, m->state[s].out);
        follow(m, l, m->state[s].other);
    }
}

static int match(const struct nfa *m, const char *text, struct list *now, struct list *next)
{
    struct list *t;
    int found = 0;

    now->n = 0;
    for (; *text; text++) {
        follow(m, now, m->start);
        next->n = 0;
        for (int i = 0; i < now->n; i++) {
            const struct state *s = &m->state[now->dense[i]];

            if (s->what == (unsigned char)*text || s->what == ANY)
                follow(m, next, s->out);
            else if (s->what == MATCH)
                found++;
        }
        t = now;
        now = next;
        next = t;
    }
    return found;
}

static void make_line(char *line)
{
    static const char *const word[] = {"GET /index.html", "POST /api/v1", "error: timeout",
                                       "user=",           "10.0.0.",      "status=200",
                                       "status=404 ",     "retry"};
    size_t n = 0;

    for (uint32_t k = 2 + draw(6); k > 0; k--)
        n += (size_t)sprintf(line + n, "%s%u ", word[draw(8)], draw(1000));
}

int main(int argc, char **argv)
{
    static const char *const expression[] = {"(GET|POST) /.*html0*", "error: (time|out)+.*retry",
                                             "user=(1|2|3)(0|5)?7* ", "s(t|a)*us=(404|500).*1*0.0"};
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1500;
    struct nfa *m = calloc(4, sizeof(*m));
    struct list *lists = calloc(2, sizeof(*lists));
    char line[256];
    uint64_t sum = 0;

    for (int e = 0; e < 4; e++) {
        int end = add_state(&m[e], MATCH, -1, -1);

        source = expression[e];
        m[e].start = alternatives(&m[e], end);
    }
    for (size_t i = 0; i < n; i++) {
        make_line(line);
        for (int e = 0; e < 4; e++)
            sum = sum * 3 + (uint64_t)match(&m[e], line, &lists[0], &lists[1]);
    }
    free(m);
    free(lists);
    printf("nfa %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
