/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assembly for llvm-mca. Processors make copies from register to register by giving the same value
 * a second name, in no time; some of llvm-mca's models do so too, but forget what waits for such a
 * copy (LLVM 14 to 19, znver3 and znver4), and with it the latency of the loop. So copies are
 * written as instructions that a model cannot see as copies, which take a cycle each: from one and
 * from two of them for each copy it can be told what none would take.
 *
 * An exclusive or of a register with itself is a zero that waits for nothing. The models of
 * sapphirerapids and alderlake (LLVM 19) do not know that: with them, iterations that share nothing
 * but a register wait for each other. Such a zero is written as a copy of the stack pointer's low
 * half, which no loop changes.
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

struct zero {
    const char *mnemonic;    /* with how its first operand begins */
    const char *instruction; /* that the register, the last operand, is written behind */
};

static const struct zero zeros_of[] = {
    {"xorl\t%", "movl\t%esp, "},       {"xorps\t%", "movd\t%esp, "},
    {"xorpd\t%", "movd\t%esp, "},      {"pxor\t%xmm", "movd\t%esp, "},
    {"vxorps\t%xmm", "vmovd\t%esp, "}, {"vxorpd\t%xmm", "vmovd\t%esp, "},
    {"vpxor\t%xmm", "vmovd\t%esp, "},
};

/* The zero that a line is, all of whose operands are the same register; NULL: it is none. */
static const struct zero *zero_of(const char *line, size_t length, const char **to, int *to_length)
{
    const char *percent = memchr(line, '%', length);
    const size_t name = percent ? strcspn(percent, ", \n") : 0;

    for (size_t i = 0; i < sizeof zeros_of / sizeof zeros_of[0] && percent; i++) {
        const size_t known = strlen(zeros_of[i].mnemonic);
        size_t at = (size_t)(percent - line) + name;
        bool same = length > known && !memcmp(line, zeros_of[i].mnemonic, known) && at < length;
        while (same && at < length) {
            at += 1 + strspn(line + at + 1, " ");
            same = at + name <= length && !memcmp(line + at, percent, name) &&
                   (at + name == length || line[at + name] == ',');
            at += name;
        }
        if (same) {
            *to = percent;
            *to_length = (int)name;
            return &zeros_of[i];
        }
    }
    return NULL;
}

/* A register's move as so many of them; false: the line is none. */
static bool write_copies(const char *line, size_t length, int copies, FILE *file)
{
    const char *from, *to;
    int from_length, to_length;
    const struct copy *copy = copy_of(line, length, &from, &from_length, &to, &to_length);

    for (int i = 0; i < copies && copy; i++)
        fprintf(file, "\t%s%.*s%s, %.*s\n", copy->before, i ? to_length : from_length,
                i ? to : from, copy->after, to_length, to);
    return copy;
}

static bool write_zero(const char *line, size_t length, FILE *file)
{
    const char *to;
    int to_length;
    const struct zero *zero = zero_of(line, length, &to, &to_length);

    if (zero)
        fprintf(file, "\t%s%.*s\n", zero->instruction, to_length, to);
    return zero;
}

void asm_write(const char *code, int copies, FILE *file)
{
    for (const char *line = code; *line;) {
        const size_t length = strcspn(line, "\n");
        if (!write_zero(line, length, file) &&
            !(copies && write_copies(line, length, copies, file)))
            fprintf(file, "\t%.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}
