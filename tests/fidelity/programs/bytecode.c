/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytecode: an interpreter of a machine with frames of 16 registers runs recursive Fibonacci, a
 * sieve and a random walk over its heap. Irregular: registers of a frame that moves with each call,
 * instructions in the order of their jumps, data behind registers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum op { SET, ADD, SUB, MUL, MASK, LOAD, STORE, LESS, JUMPZ, JUMP, CALL, RET, OUT };

struct instruction {
    uint8_t op, to, a, b;
    int32_t arg;
};

struct machine {
    int64_t registers[4096], *heap;
    uint64_t out, steps;
};

/* r0: argument and result; a call's registers begin at `to` of the caller */
static const struct instruction fibonacci[] = {
    {CALL, 0, 0, 0, 3}, {OUT, 0, 0, 0, 0},  {RET, 0, 0, 0, 0}, /* */
    {SET, 1, 0, 0, 2},  {LESS, 2, 0, 1, 0}, {JUMPZ, 2, 0, 0, 7}, {RET, 0, 0, 0, 0},
    {SET, 1, 0, 0, 1},  {SUB, 4, 0, 1, 0},  {CALL, 4, 0, 0, 3},  {SUB, 6, 0, 1, 0},
    {SUB, 6, 6, 1, 0},  {CALL, 6, 0, 0, 3}, {ADD, 0, 4, 6, 0},   {RET, 0, 0, 0, 0}};

/* r0: n; r1: i; r2: j; r3: 1; heap[i]: not prime */
static const struct instruction sieve[] = {
    {SET, 1, 0, 0, 2},  {SET, 3, 0, 0, 1},    {LESS, 4, 1, 0, 0},   {JUMPZ, 4, 0, 0, 15},
    {LOAD, 5, 1, 0, 0}, {LESS, 5, 5, 3, 0},   {JUMPZ, 5, 0, 0, 13}, {ADD, 2, 1, 1, 0},
    {LESS, 4, 2, 0, 0}, {JUMPZ, 4, 0, 0, 13}, {STORE, 3, 2, 0, 0},  {ADD, 2, 2, 1, 0},
    {JUMP, 0, 0, 0, 8}, {ADD, 1, 1, 3, 0},    {JUMP, 0, 0, 0, 2},   {RET, 0, 0, 0, 0}};

/* r0: steps; r1: place; r2: mask; heap[place] leads on, and is changed */
static const struct instruction walk[] = {
    {SET, 2, 0, 0, 0x7fff}, {SET, 3, 0, 0, 1},  {SET, 4, 0, 0, 0},  {SET, 8, 0, 0, 40503},
    {JUMPZ, 0, 0, 0, 13},   {LOAD, 5, 1, 0, 0}, {MUL, 6, 5, 8, 0},  {ADD, 6, 6, 0, 0},
    {STORE, 6, 1, 0, 0},    {ADD, 1, 6, 4, 0},  {MASK, 1, 1, 2, 7}, {SUB, 0, 0, 3, 0},
    {JUMP, 0, 0, 0, 4},     {OUT, 1, 0, 0, 0},  {RET, 0, 0, 0, 0}};

static void run(struct machine *m, const struct instruction *code, int64_t argument)
{
    int64_t *r = m->registers, calls = 0;
    uint16_t to[256], from[256];

    r[0] = argument;
    for (const struct instruction *at = code;; m->steps++) {
        const struct instruction *i = at++;

        switch ((enum op)i->op) {
        case SET:
            r[i->to] = i->arg;
            break;
        case ADD:
            r[i->to] = r[i->a] + r[i->b];
            break;
        case SUB:
            r[i->to] = r[i->a] - r[i->b];
            break;
        case MUL:
            r[i->to] = (int64_t)((uint64_t)r[i->a] * (uint64_t)r[i->b] & 0xffffffffff);
            break;
        case MASK:
            r[i->to] = r[i->a] >> i->arg & r[i->b];
            break;
        case LOAD:
            r[i->to] = m->heap[r[i->a]];
            break;
        case STORE:
            m->heap[r[i->a]] = r[i->to];
            break;
        case LESS:
            r[i->to] = r[i->a] < r[i->b];
            break;
        case JUMPZ:
            if (!r[i->to])
                at = code + i->arg;
            break;
        case JUMP:
            at = code + i->arg;
            break;
        case CALL:
            to[calls] = i->to;
            from[calls++] = (uint16_t)(at - code);
            r += i->to;
            at = code + i->arg;
            break;
        case RET:
            if (calls == 0)
                return;
            at = code + from[--calls];
            r -= to[calls];
            break;
        case OUT:
            m->out = m->out * 31 + (uint64_t)r[i->to];
            break;
        }
    }
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? (int64_t)strtoul(argv[1], NULL, 10) : 50000;
    struct machine *m = calloc(1, sizeof(*m));

    m->heap = calloc((size_t)n + 32768, sizeof(*m->heap));
    for (int64_t k = n; k > 0; k -= 20000)
        run(m, fibonacci, k > 20000 ? 18 : 2 + k / 1250);
    run(m, sieve, n);
    for (int64_t i = 2; i < n; i++)
        m->out += m->heap[i] ? 0 : (uint64_t)i;
    run(m, walk, n);
    printf("bytecode %" PRId64 " checksum %" PRIu64 " (%" PRIu64 ")\n", n, m->out, m->steps);
    free(m->heap);
    free(m);
    return 0;
}
