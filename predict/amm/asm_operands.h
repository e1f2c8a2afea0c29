/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions in AT&T syntax, taken apart. */
#ifndef PSNAP_PREDICT_AMM_ASM_OPERANDS_H
#define PSNAP_PREDICT_AMM_ASM_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { ASM_REGISTERS = 64, ASM_FLAGS = ASM_REGISTERS - 1, ASM_NONE = -1, ASM_OPERANDS = 4 };
enum { ASM_RAX = 0, ASM_RDX = 3, ASM_XMM = 16 };

struct asm_operand {
    const char *text;
    size_t length;
    bool is_memory; /* in parentheses or by its name alone */
    int number;     /* of a register that it is, else ASM_NONE */
};

/* "movsd\t%xmm0, 8(%rax)": the name is not ended by a zero. */
struct asm_instruction {
    const char *name;
    struct asm_operand operands[ASM_OPERANDS];
    int count;
    bool is_lea;
    bool writes;   /* the last operand */
    bool replaces; /* its old value has no part in the new one */
    bool is_zero;  /* whatever its operands are */
    bool reads_flags, writes_flags;
};

/* rax, eax, ax, al, ah: 0; rcx: 2, rdx: 3 and so on; r8 to r15: 8 up; xmm0, ymm0, zmm0 up: 16 up;
 * k0 up: 48 up; else ASM_NONE. */
int asm_register(const char *name, size_t length);

/* Takes a line apart, which ends at a newline or a zero. */
struct asm_instruction asm_instruction(const char *line);

static inline bool asm_begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

#endif
