/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pointer chasing in assembly: where values come from is followed through the registers of two
 * iterations. A register's origins are the loads that its value was made of; a load waits if its
 * address has an origin in itself, by way of the iteration before. The flags are a register, so
 * that what a conditional move chooses comes from what was compared. Values that go through memory
 * are lost sight of.
 */
#include <ctype.h>
#include <stdint.h>

#include "predict/amm/asm.h"
#include "predict/amm/asm_operands.h"

enum { LOADS = 64 };

struct origins {
    uint64_t of[ASM_REGISTERS]; /* bits: loads, by their order in the code */
};

/* The origins of all registers that an operand names. */
static uint64_t origins_of(const struct origins *origins, const struct asm_operand *operand)
{
    uint64_t all = 0;

    for (size_t i = 0; i < operand->length; i++) {
        size_t length = 0;
        int number;
        if (operand->text[i] != '%')
            continue;
        while (i + 1 + length < operand->length &&
               isalnum((unsigned char)operand->text[i + 1 + length]))
            length++;
        number = asm_register(operand->text + i + 1, length);
        all |= number != ASM_NONE ? origins->of[number] : 0;
    }
    return all;
}

/* One instruction; true if it is a load that waits for itself. *loads counts loads. */
static bool follow(struct origins *origins, const char *line, int *loads)
{
    const struct asm_instruction in = asm_instruction(line);
    const struct asm_operand *last;
    uint64_t from = 0;
    bool waits = false;

    if (!in.count)
        return false;
    last = &in.operands[in.count - 1];
    for (int i = 0; i < in.count; i++) {
        const struct asm_operand *operand = &in.operands[i];
        const uint64_t named = origins_of(origins, operand);
        if (in.writes && i == in.count - 1 && (last->is_memory || in.replaces))
            continue;
        if (operand->is_memory && !in.is_lea) {
            const uint64_t itself = *loads < LOADS ? UINT64_C(1) << (*loads)++ : 0;
            waits |= (named & itself) != 0;
            from |= itself;
        }
        from |= named;
    }
    if (in.is_zero)
        from = 0;
    if (in.reads_flags)
        from |= origins->of[ASM_FLAGS];
    if (in.writes && last->number != ASM_NONE)
        origins->of[last->number] = from;
    if (in.writes_flags)
        origins->of[ASM_FLAGS] = from;
    return waits;
}

bool asm_waits(const char *code)
{
    struct origins origins = {{0}};
    bool waits = false;

    for (int iteration = 0; iteration < 2 && code; iteration++) {
        int loads = 0;
        for (const char *line = code; *line; line += strcspn(line, "\n"), line += *line == '\n')
            waits |= follow(&origins, line, &loads);
    }
    return waits;
}
