/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assembly for llvm-mca. Processors make copies from register to register by giving the same value
 * a second name, in no time; some of llvm-mca's models do so too, but forget what waits for such a
 * copy (LLVM 14 to 19, znver3 and znver4), and with it the latency of the loop. So copies are
 * written as instructions that a model cannot see as copies, which take a cycle each: from one and
 * from two of them for each copy it can be told what none would take.
 */
#include <string.h>

#include "predict/amm/asm.h"

struct copy {
    const char *mnemonic; /* of AT&T syntax, with how its first operand begins */
    const char *before;   /* texts to write before and after that operand */
    const char *after;
};

static const struct copy copies_of[] = {
    {"movq\t%r", "leaq\t(", ")"},
    {"movl\t%", "leal\t(", ")"},
    {"movaps\t%", "pshufd\t$228, ", ""},
    {"movapd\t%", "pshufd\t$228, ", ""},
    {"movdqa\t%", "pshufd\t$228, ", ""},
    {"vmovaps\t%xmm", "vpermilps\t$228, ", ""},
    {"vmovapd\t%xmm", "vpermilps\t$228, ", ""},
    {"vmovaps\t%ymm", "vpermilps\t$228, ", ""},
    {"vmovapd\t%ymm", "vpermilps\t$228, ", ""},
    {"vmovaps\t%zmm", "vpermilps\t$228, ", ""},
    {"vmovapd\t%zmm", "vpermilps\t$228, ", ""},
};

/* The copy that a line is; NULL: it is none. The registers are its operands. */
static const struct copy *copy_of(const char *line, size_t length, const char **from,
                                  int *from_length, const char **to, int *to_length)
{
    for (size_t i = 0; i < sizeof copies_of / sizeof copies_of[0]; i++) {
        const size_t known = strlen(copies_of[i].mnemonic);
        const char *comma = memchr(line, ',', length), *percent;
        if (length < known || memcmp(line, copies_of[i].mnemonic, known) != 0 || !comma)
            continue;
        percent = comma + 1 + strspn(comma + 1, " ");
        if (*percent != '%' || line + length - percent < 3 || memchr(line, '(', length))
            return NULL;
        *from = strchr(line, '%');
        if (((*from)[2] == 'm') != (percent[2] == 'm')) /* between general and vector registers */
            return NULL;
        *from_length = (int)(comma - *from);
        *to = percent;
        *to_length = (int)(line + length - percent);
        return &copies_of[i];
    }
    return NULL;
}

void asm_write(const char *code, int copies, FILE *file)
{
    for (const char *line = code; *line;) {
        const size_t length = strcspn(line, "\n");
        const char *from, *to;
        int from_length, to_length;
        const struct copy *copy =
            copies ? copy_of(line, length, &from, &from_length, &to, &to_length) : NULL;
        if (!copy)
            fprintf(file, "\t%.*s\n", (int)length, line);
        for (int i = 0; i < copies && copy; i++)
            fprintf(file, "\t%s%.*s%s, %.*s\n", copy->before, i ? to_length : from_length,
                    i ? to : from, copy->after, to_length, to);
        line += length + (line[length] != '\0');
    }
}
