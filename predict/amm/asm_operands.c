/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names, operands and registers of instructions, and what an instruction does to its last operand,
 * by its name alone: enough for following values through a loop, and no more.
 */
#include "predict/amm/asm_operands.h"

#include <ctype.h>

int asm_register(const char *name, size_t length)
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
        return ASM_NONE;
    for (; i < length && isdigit((unsigned char)name[i]) && number < ASM_REGISTERS; i++)
        number = 10 * number + name[i] - '0';
    if (name[0] == 'r' && number < 16)
        return number;
    if (name[0] == 'k' && number < 8)
        return 48 + number;
    return length > 3 && name[1] == 'm' && name[2] == 'm' && number < 32 ? ASM_XMM + number
                                                                         : ASM_NONE;
}

static struct asm_operand operand_of(const char *text, size_t length)
{
    struct asm_operand operand = {text, length, *text != '%' && *text != '$', ASM_NONE};

    if (*text == '%')
        operand.number = asm_register(text + 1, length - 1);
    return operand;
}

/* Splits at commas outside of parentheses; the number of operands. */
static int split(const char *text, size_t length, struct asm_operand operands[ASM_OPERANDS])
{
    int count = 0, depth = 0;
    size_t begin = 0;

    for (size_t i = 0; i <= length && count < ASM_OPERANDS; i++) {
        depth += i < length && text[i] == '(';
        depth -= i < length && text[i] == ')';
        if (i < length && (text[i] != ',' || depth))
            continue;
        while (begin < i && isspace((unsigned char)text[begin]))
            begin++;
        if (i > begin)
            operands[count++] = operand_of(text + begin, i - begin);
        begin = i + 1;
    }
    return count;
}

static bool is_same(const struct asm_operand *a, const struct asm_operand *b)
{
    return a->length == b->length && !memcmp(a->text, b->text, a->length);
}

/* Comparisons of integers have short names; those of doubles that write a mask have longer ones. */
static bool writes(const char *name, size_t length)
{
    static const char *const none[] = {"test",  "ucom",   "com",   "vucom",   "vcom",  "prefetch",
                                       "ptest", "vptest", "vtest", "kortest", "ktest", "push"};
    const bool is_bit_test = length <= 3 && asm_begins(name, "bt") && !strchr("src", name[2]);

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (asm_begins(name, none[i]))
            return false;
    return name[0] != 'j' && !is_bit_test && !(asm_begins(name, "cmp") && length <= 4);
}

static bool replaces(const char *name, int operands)
{
    if (asm_begins(name, "vfm") || asm_begins(name, "vfnm"))
        return false;
    return asm_begins(name, "mov") || asm_begins(name, "lea") || asm_begins(name, "set") ||
           name[0] == 'v' || asm_begins(name, "cvt") || asm_begins(name, "pop") ||
           asm_begins(name, "tzcnt") || asm_begins(name, "lzcnt") || asm_begins(name, "sqrt") ||
           asm_begins(name, "pshuf") || operands == 3;
}

static bool is_zero(const struct asm_instruction *in)
{
    const char *name = in->name + (in->name[0] == 'v');

    for (int i = 1; i < in->count; i++)
        if (!is_same(&in->operands[0], &in->operands[i]))
            return false;
    return in->count >= 2 && (asm_begins(name, "xor") || asm_begins(name, "pxor"));
}

/* Conditional moves, bytes of conditions, additions with carry. */
static bool reads_flags(const char *name)
{
    return asm_begins(name, "cmov") || asm_begins(name, "set") || asm_begins(name, "adc") ||
           asm_begins(name, "sbb");
}

/* Integer arithmetic and comparisons; nothing whose result is in a vector register. */
static bool writes_flags(const struct asm_instruction *in)
{
    static const char *const none[] = {"mov",  "lea", "cmov", "set", "cvt",
                                       "vcvt", "not", "push", "pop"};

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (asm_begins(in->name, none[i]))
            return false;
    return in->name[0] != 'j' && in->count &&
           !(in->writes && in->operands[in->count - 1].number >= ASM_XMM);
}

struct asm_instruction asm_instruction(const char *line)
{
    const size_t length = strcspn(line, "\n"), name = strcspn(line, " \t\n");
    struct asm_instruction in = {.name = line};

    in.count = name < length ? split(line + name, length - name, in.operands) : 0;
    in.is_lea = asm_begins(line, "lea");
    in.writes = writes(line, name) && in.count;
    for (int i = 0; i < in.count && line[0] == 'j'; i++)
        in.operands[i].is_memory = false; /* labels */
    in.is_zero = is_zero(&in);
    in.replaces = in.is_zero || replaces(line, in.count);
    in.reads_flags = reads_flags(line);
    in.writes_flags = writes_flags(&in);
    return in;
}
