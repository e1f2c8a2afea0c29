/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pointer chasing in assembly (AT&T syntax): where values come from is followed through the
 * registers of two iterations. A register's origins are the loads that its value was made of; a
 * load waits if its address has an origin in itself, by way of the iteration before. The flags are
 * a register, so that what a conditional move chooses comes from what was compared. Values that go
 * through memory are lost sight of.
 */
#include <ctype.h>
#include <string.h>

#include "predict/amm/asm.h"

enum { REGISTERS = 64, FLAGS = REGISTERS - 1, NONE = -1, LOADS = 64, OPERANDS = 4 };

struct origins {
    uint64_t of[REGISTERS]; /* bits: loads, by their order in the code */
};

/* rax, eax, ax, al, ah: 0; r8 to r15: 8 up; xmm0, ymm0, zmm0 up: 16 up; k0 up: 48 up. */
static int register_of(const char *name, size_t length)
{
    static const char *const old[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"};
    int number = 0;
    size_t i = 0;

    if (length && (name[0] == 'r' || name[0] == 'e') && length > 2 &&
        !isdigit((unsigned char)name[1]))
        i = 1;
    for (int k = 0; k < 8; k++) {
        if (length - i == 2 && !memcmp(name + i, old[k], 2))
            return k;
        if (length == 2 && name[0] == old[k][0] && k < 4 && (name[1] == 'l' || name[1] == 'h'))
            return k;
        if (length == 3 && !memcmp(name, old[k], 2) && name[2] == 'l')
            return k;
    }
    while (i < length && !isdigit((unsigned char)name[i]))
        i++;
    if (i == length)
        return NONE;
    for (; i < length && isdigit((unsigned char)name[i]) && number < REGISTERS; i++)
        number = 10 * number + name[i] - '0';
    if (name[0] == 'r' && number < 16)
        return number;
    if (name[0] == 'k' && number < 8)
        return 48 + number;
    return length > 3 && name[1] == 'm' && name[2] == 'm' && number < 32 ? 16 + number : NONE;
}

struct operand {
    const char *text;
    size_t length;
};

/* Splits at commas outside of parentheses; the number of operands. */
static int split(const char *text, size_t length, struct operand operands[OPERANDS])
{
    int count = 0, depth = 0;
    size_t begin = 0;

    for (size_t i = 0; i <= length && count < OPERANDS; i++) {
        depth += i < length && text[i] == '(';
        depth -= i < length && text[i] == ')';
        if (i < length && (text[i] != ',' || depth))
            continue;
        while (begin < i && isspace((unsigned char)text[begin]))
            begin++;
        if (i > begin)
            operands[count++] = (struct operand){text + begin, i - begin};
        begin = i + 1;
    }
    return count;
}

/* The origins of all registers that an operand names. */
static uint64_t origins_of(const struct origins *origins, const struct operand *operand)
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
        number = register_of(operand->text + i + 1, length);
        all |= number != NONE ? origins->of[number] : 0;
    }
    return all;
}

static bool is_memory(const struct operand *operand)
{
    return memchr(operand->text, '(', operand->length) != NULL;
}

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* Whether the old value of the last operand has no part in the new one. */
static bool replaces(const char *name, int operands, const struct operand *of)
{
    const bool same = operands >= 2 && of[0].length == of[1].length &&
                      !memcmp(of[0].text, of[1].text, of[0].length);

    if ((begins(name, "xor") || begins(name, "pxor")) && same)
        return true;
    return begins(name, "mov") || begins(name, "lea") || begins(name, "set") || name[0] == 'v' ||
           begins(name, "cvt") || begins(name, "pop") || begins(name, "tzcnt") ||
           begins(name, "lzcnt") || operands == 3;
}

/* One instruction; true if it is a load that waits for itself. *loads counts loads. */
static bool follow(struct origins *origins, const char *line, size_t length, int *loads)
{
    const size_t name = strcspn(line, " \t\n");
    struct operand operands[OPERANDS];
    const int count = name < length ? split(line + name, length - name, operands) : 0;
    const struct operand *last;
    const bool writes = !begins(line, "cmp") && !begins(line, "test") && !begins(line, "ucom") &&
                        !begins(line, "com") && line[0] != 'j' && !begins(line, "prefetch");
    uint64_t from = 0;
    bool waits = false;

    if (!count)
        return false;
    last = &operands[count - 1];
    for (int i = 0; i < count; i++) {
        const bool is_target = writes && i == count - 1;
        const uint64_t named = origins_of(origins, &operands[i]);
        if (is_target && (is_memory(last) || replaces(line, count, operands)))
            continue;
        if (is_memory(&operands[i]) && !begins(line, "lea")) {
            const uint64_t itself = *loads < LOADS ? UINT64_C(1) << (*loads)++ : 0;
            waits |= (named & itself) != 0;
            from |= itself;
        }
        from |= named;
    }
    if (count >= 2 && begins(line, "xor") && replaces(line, count, operands) &&
        operands[0].length == last->length && !memcmp(operands[0].text, last->text, last->length))
        from = 0;
    if (begins(line, "cmov") || begins(line, "set") || begins(line, "adc") || begins(line, "sbb"))
        from |= origins->of[FLAGS];
    if (writes && !is_memory(last) && last->length > 1 && last->text[0] == '%') {
        const int target = register_of(last->text + 1, last->length - 1);
        if (target != NONE)
            origins->of[target] = from;
    }
    if (!begins(line, "mov") && !begins(line, "lea"))
        origins->of[FLAGS] = from;
    return waits;
}

bool asm_waits(const char *code)
{
    struct origins origins = {{0}};
    bool waits = false;

    for (int iteration = 0; iteration < 2 && code; iteration++) {
        int loads = 0;
        for (const char *line = code; *line;) {
            const size_t length = strcspn(line, "\n");
            waits |= follow(&origins, line, length, &loads);
            line += length + (line[length] != '\0');
        }
    }
    return waits;
}
