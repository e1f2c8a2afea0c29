/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divisions and square roots of doubles, AT&T syntax. One unit does them, an instruction after the
 * other: of xmm registers, one lane or two, in the same time, of twice as wide ones in twice the
 * time. Integers have a unit of their own.
 */
#include <string.h>

#include "predict/amm/asm.h"

/* Behind the mnemonic "div" or "sqrt" of doubles, with or without "v"; NULL: it is another one. */
static const char *behind(const char *line, const char *mnemonic)
{
    const size_t length = strlen(mnemonic);

    line += *line == 'v';
    if (strncmp(line, mnemonic, length) != 0 || !line[length] || !strchr("sp", line[length]) ||
        line[length + 1] != 'd' || line[length + 2] != '\t')
        return NULL;
    return line + length + 3;
}

/* The last operand is the result's register, perhaps with a mask in braces. */
static unsigned halves(const char *operands)
{
    const size_t length = strcspn(operands, "\n{");
    unsigned width = 1;

    for (size_t i = 0; i + 1 < length; i++)
        if (operands[i] == '%')
            width = operands[i + 1] == 'y' ? 2 : operands[i + 1] == 'z' ? 4 : 1;
    return width;
}

bool asm_divides_integers(const char *line)
{
    line += *line == 'i';
    return !strncmp(line, "div", 3) && strchr("bwlq", line[3]) && line[4] == '\t';
}

struct asm_divisions asm_divisions(const char *code)
{
    struct asm_divisions count = {0};

    for (const char *line = code; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *division = behind(line, "div"), *root = behind(line, "sqrt");
        count.divisions += division ? halves(division) : 0;
        count.roots += root ? halves(root) : 0;
        count.integers += asm_divides_integers(line);
    }
    return count;
}
