/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code of loops from assembly with labelled blocks, as clang 19 writes it: what is whose, code that
 * the compiler added, calls and spills, blocks that few iterations execute, several modules,
 * another program's; copies that are written out; loops that wait for what they load.
 */
#include "tests/unit/test.h"

#include "predict/amm/asm.h"

/* Three blocks: 0 in no loop, 1 and 2 in one; 2 is on line 7 and 32768 more. */
static const char labelled[] =
    "\t.text\n"
    "\t#APP\n"
    "\t# psnap blocks\n"
    "\t#NO_APP\n"
    "f:                                      # @f\n"
    ".Lfunc_begin0:\n"
    "\t.loc\t0 56 0\n"
    "\tpushq\t%rax\n"
    "\t.loc\t0 1 32771                            # f.c\n"
    "\t#DEBUG_VALUE: f:n <- $rdi\n"
    "\txorl\t%eax, %eax\n"
    "\t.p2align\t4, 0x90\n"
    ".LBB0_1:                                # =>This Inner Loop Header: Depth=1\n"
    "\t.loc\t0 0 5 is_stmt 0\n"
    "\tmovq\t8(%rsp), %rcx                  # 8-byte Reload\n"
    "\t.loc\t0 2 32773 is_stmt 1\n"
    "\tincq\t%rcx\n"
    "\t.loc\t0 0 5\n"
    "\tcmpq\t%rcx, %rdi\n"
    ".Ltmp5:\n"
    "\tje\t.LBB0_1\n"
    "# %bb.2:                                #   in Loop: Header=BB0_1 Depth=1\n"
    "\t.loc\t0 3 32775\n"
    "\tcallq\texp@PLT\n"
    "\taddq\t%r8, %rax\n"
    "\tjmp\t.LBB0_1\n"
    ".Lfunc_end0:\n";
#define HEADER "movq\t8(%rsp), %rcx\nincq\t%rcx\ncmpq\t%rcx, %rdi\nje\t.LBB0_1\n"

static void read_text(struct asm_code *code, const char *text)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    struct psnap_error error;

    assert_non_null(file);
    assert_int_equal(asm_read(code, file, "f.s", 4, &error), PSNAP_OK);
    fclose(file);
}

TEST(blocks)
{
    struct asm_code code = {0};

    read_text(&code, labelled);
    assert_int_equal(code.block_count, 3);
    assert_int_equal(code.order_count, 3);
    assert_int_equal(code.order[0], 0);
    assert_string_equal(code.blocks[0].text.code, "pushq\t%rax\nxorl\t%eax, %eax\n");
    assert_string_equal(code.blocks[1].text.code, HEADER);
    assert_string_equal(code.blocks[2].text.code, "addq\t%r8, %rax\njmp\t.LBB0_1\n");
    assert_int_equal(code.blocks[2].column, 0x8007);
    asm_release(&code);
}

/* Another module of one block, then f.c; its second block is executed so often. */
static struct psnap_program *make_program(uint64_t often)
{
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t i = 0; i < 3; i++)
        psnap_program_add_loop(
            program, &(struct psnap_loop){"f", "f", "f", "f.c", 3, i == 2, PSNAP_NONE, 2, 1});
    psnap_program_add_block(program, &(struct psnap_block){.loop = 0, .src_line = 4});
    psnap_program_add_block(program, &(struct psnap_block){.loop = 1, .src_line = 3});
    psnap_program_add_block(program,
                            &(struct psnap_block){.loop = 2, .src_line = 5, .executions = 10});
    psnap_program_add_block(
        program, &(struct psnap_block){.loop = 2, .src_line = 32775, .executions = often});
    return program;
}

TEST(loops)
{
    for (uint64_t often = 4; often < 6; often++) {
        struct psnap_program *program = make_program(often);
        uint16_t calls[4 * PSNAP_MATH_FUNCTION_COUNT] = {0};
        struct asm_text texts[3] = {{0}};
        struct asm_code code = {0};
        struct psnap_error error;

        read_text(&code, labelled);
        assert_int_equal(asm_add_loops(&code, program, texts, calls, &error), PSNAP_OK);
        assert_null(texts[0].code);
        assert_null(texts[1].code); /* no loop */
        assert_string_equal(texts[2].code,
                            often < 5 ? HEADER : HEADER "addq\t%r8, %rax\njmp\t.LBB0_1\n");
        for (int i = 0; i < 4 * PSNAP_MATH_FUNCTION_COUNT; i++)
            assert_int_equal(calls[i], i == 3 * PSNAP_MATH_FUNCTION_COUNT + PSNAP_MATH_EXP);
        assert_int_equal(asm_add_loops(&code, program, texts, calls, &error), PSNAP_ERROR_VALUE);
        assert_non_null(strstr(error.message, "given before"));
        free(texts[2].code);
        program->blocks[2].src_line++;
        assert_int_equal(asm_add_loops(&code, program, texts, calls, &error), PSNAP_ERROR_VALUE);
        assert_non_null(strstr(error.message, "another one"));
        asm_release(&code);
        psnap_program_free(program);
    }
}

/* Two sources of the same shape: their names say which it is, or nothing does. */
TEST(twins)
{
    static const char text[] = "\t.file\t\"folder\" \"g.c\"\n\t# psnap blocks\nf:\n"
                               "\t.loc\t0 1 32771\n\tincq\t%rcx\n\tjmp\t*log@GOTPCREL(%rip)\n";
    const char *const files[] = {"a/f.c", "a/g.c"};

    for (uint32_t known = 0; known < 2; known++) {
        struct psnap_program *program = psnap_program_new();
        uint16_t calls[2 * PSNAP_MATH_FUNCTION_COUNT] = {0};
        struct asm_text texts[2] = {{0}};
        struct asm_code code = {0};
        struct psnap_error error;

        for (uint32_t i = 0; i < 2; i++) {
            psnap_program_add_loop(program, &(struct psnap_loop){"f", "f", "f", files[i & known], 3,
                                                                 1, PSNAP_NONE, i, PSNAP_NONE});
            psnap_program_add_block(program, &(struct psnap_block){.loop = i, .src_line = 3});
        }
        read_text(&code, text);
        assert_string_equal(code.file, "g.c");
        assert_int_equal(asm_add_loops(&code, program, texts, calls, &error),
                         known ? PSNAP_OK : PSNAP_ERROR_VALUE);
        assert_null(texts[0].code);
        if (known)
            assert_string_equal(texts[1].code, "incq\t%rcx\njmp\t*log@GOTPCREL(%rip)\n");
        else
            assert_non_null(strstr(error.message, "2 parts of the program have blocks like these"));
        assert_int_equal(calls[PSNAP_MATH_FUNCTION_COUNT + PSNAP_MATH_LOG], known);
        free(texts[1].code);
        asm_release(&code);
        psnap_program_free(program);
    }
}

/* More blocks than the program has: no memory is taken for them. */
TEST(too_many_blocks)
{
    static const char text[] = "\t# psnap blocks\nf:\n\t.loc\t0 5 32771\n\tincq\t%rcx\n";
    struct asm_code code = {0};
    struct psnap_error error;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

    assert_int_equal(asm_read(&code, file, "f.s", 4, &error), PSNAP_ERROR_VALUE);
    assert_int_equal(code.block_count, 0);
    fclose(file);
    asm_release(&code);
}

TEST(no_lines)
{
    static const char text[] = "f:\n\tretq\n";
    struct asm_code code = {0};
    struct psnap_error error;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

    assert_int_equal(asm_read(&code, file, "f.s", 4, &error), PSNAP_ERROR_SYNTAX);
    assert_non_null(strstr(error.message, "--psnap-blocks"));
    fclose(file);
    asm_release(&code);
}

TEST(divisions)
{
    struct asm_divisions count;

    count =
        asm_divisions("divsd\t%xmm0, %xmm1\nvdivpd\t%xmm0, %xmm1, %xmm2\n"
                      "vdivpd\t(%rax), %ymm1, %ymm2\nvsqrtpd\t%zmm1, %zmm1\nsqrtsd\t8(%rsp), "
                      "%xmm7\ndivss\t%xmm0, %xmm1\nidivl\t%ecx\ndivq\t%rcx\nsqrtps\t%xmm0, %xmm0");
    assert_int_equal(count.divisions, 4);
    assert_int_equal(count.roots, 5);
    assert_int_equal(count.integers, 2);
    count = asm_divisions("vdivpd\t%zmm1, %zmm0, %zmm2 {%k1} {z}\n");
    assert_int_equal(count.divisions, 4);
    count = asm_divisions("");
    assert_int_equal(count.divisions + count.roots, 0);
}

/* A machine whose additions take 2, products 3, roots 5, divisions 7, conversions 11 cycles and
 * hits of level 1 13. */
static struct asm_latency latency_of(const char *code)
{
    struct psnap_machine machine = {.level_count = 1};

    machine.levels[0].latency_cycles = 13;
    machine.operations[PSNAP_OP_FP_ADD].latency_cycles = 2;
    machine.operations[PSNAP_OP_FP_MUL].latency_cycles = 3;
    machine.operations[PSNAP_OP_FP_FMA].latency_cycles = 4;
    machine.operations[PSNAP_OP_FP_SQRT].latency_cycles = 5;
    machine.operations[PSNAP_OP_FP_DIV].latency_cycles = 7;
    machine.operations[PSNAP_OP_CONVERT].latency_cycles = 11;
    machine.operations[PSNAP_OP_INT_MUL].latency_cycles = 3;
    machine.operations[PSNAP_OP_INT_DIV].latency_cycles = 17;
    return asm_latency(code, &machine);
}

static void assert_latency(const char *code, double cycles)
{
    assert_float_equal(latency_of(code).iteration, cycles, 1e-9);
}

static void assert_decision(const char *code, double cycles)
{
    assert_float_equal(latency_of(code).decision, cycles, 1e-9);
}

TEST(latencies)
{
    assert_latency("", 0);
    /* sums: one chain, two side by side, one by way of a copy and of a product */
    assert_latency("addsd\t(%rax,%rcx,8), %xmm0\nincq\t%rcx\ncmpq\t%rcx, %rdx\njne\t.LBB0_1\n", 2);
    assert_latency("addpd\t%xmm5, %xmm0\naddpd\t%xmm6, %xmm1\n", 2);
    assert_latency("addpd\t%xmm5, %xmm0\naddpd\t%xmm6, %xmm0\n", 4);
    assert_latency("movapd\t%xmm1, %xmm0\nmulsd\t%xmm0, %xmm0\naddsd\t%xmm7, %xmm0\n"
                   "movapd\t%xmm0, %xmm1\n",
                   5);
    assert_latency("vfmadd231sd\t%xmm1, %xmm2, %xmm0\n", 4);
    assert_latency("vaddsd\t%xmm1, %xmm0, %xmm0\n", 2);
    /* nothing is carried on: new values, zeros */
    assert_latency("movsd\t(%rax), %xmm0\nmulsd\t%xmm0, %xmm0\nincq\t%rax\n", 1);
    assert_latency("xorps\t%xmm0, %xmm0\ncvtsi2sd\t%eax, %xmm0\naddsd\t%xmm0, %xmm0\n", 0);
    assert_latency("sqrtsd\t%xmm3, %xmm0\ndivsd\t%xmm0, %xmm1\n", 7);
    /* pointers, conditional moves, wide divisions */
    assert_latency("movq\t(%rax), %rax\n", 13);
    assert_latency("cmpl\t%esi, (%rdi,%rax,4)\ncmovlq\t%rcx, %rax\n", 15);
    assert_latency("divl\t%ecx\nxorl\t%edx, %edx\n", 17);
    assert_latency("cvtsi2sd\t%rax, %xmm0\ncvttsd2si\t%xmm0, %rax\n", 22);
    assert_latency("movq\t%rax, %xmm0\nmovq\t%xmm0, %rax\n", 6);
}

/* Chains through memory. */
TEST(stored)
{
    /* a[i] = a[i - 1] * c, and by another index */
    assert_latency("movsd\t-8(%rax,%rcx,8), %xmm0\nmulsd\t%xmm1, %xmm0\n"
                   "movsd\t%xmm0, (%rax,%rcx,8)\nincq\t%rcx\n",
                   16);
    assert_latency("movsd\t8(%rax), %xmm0\nmulsd\t%xmm1, %xmm0\n"
                   "movsd\t%xmm0, (%rax)\naddq\t$-8, %rax\n",
                   16);
    /* a[i] = a[i - 2] * c: two chains side by side; a[i] = b[i - 1] * c: none but the index */
    assert_latency("movsd\t-16(%rax,%rcx,8), %xmm0\nmulsd\t%xmm1, %xmm0\n"
                   "movsd\t%xmm0, (%rax,%rcx,8)\nincq\t%rcx\n",
                   8);
    assert_latency("movsd\t-8(%rbx,%rcx,8), %xmm0\nmulsd\t%xmm1, %xmm0\n"
                   "movsd\t%xmm0, (%rax,%rcx,8)\nincq\t%rcx\n",
                   1);
    /* what is spilled, and a sum in a place that has a name */
    assert_latency("movsd\ta-8(,%rcx,8), %xmm0\nmulsd\t%xmm1, %xmm0\n"
                   "movsd\t%xmm0, a(,%rcx,8)\nincq\t%rcx\n",
                   16);
    assert_latency("subq\t$-9223372036854775808, %rax\n", 1);
    assert_latency("btq\t%rcx, %rax\npushq\t%rdx\n", 0);
    assert_latency("movq\t%rcx, 8(%rsp)\nmovq\t8(%rsp), %rdx\nleaq\t1(%rdx), %rcx\n", 14);
    assert_latency("addq\t$1, count(%rip)\naddq\t$1, count+8(%rip)\n", 14);
    /* rows of %rsi bytes, and a factor: the same place, and the next one */
    assert_latency("movsd\t(%rax,%rcx,8), %xmm0\naddq\t%rsi, %rax\nmulsd\t%xmm1, %xmm0\n"
                   "movsd\t%xmm0, (%rax,%rcx,8)\n",
                   16);
    assert_latency("imulq\t$8, %rcx, %rdx\nmovsd\t-8(%rax,%rdx), %xmm0\nmulsd\t%xmm1, %xmm0\n"
                   "leaq\t(%rax,%rcx,8), %rdi\nmovsd\t%xmm0, (%rdi)\nincq\t%rcx\n",
                   16);
}

TEST(decisions)
{
    assert_decision("incq\t%rcx\ncmpq\t%rcx, %rdx\njne\t.LBB0_1\n", 2);
    assert_decision("incq\t%rcx\nmovq\t(%rax), %rax\nmovsd\t(%rax), %xmm0\n"
                    "ucomisd\t%xmm1, %xmm0\njbe\t.LBB0_2\ncmpq\t%rcx, %rdx\njne\t.LBB0_1\n",
                    27);
    assert_decision("cmpl\t$3, (%rax)\nje\t.LBB0_2\naddsd\t%xmm0, %xmm0\njmp\t.LBB0_1\n", 14);
    assert_decision("addpd\t%xmm0, %xmm1\nptest\t%xmm1, %xmm1\njb\t.LBB0_1\n", 3);
    assert_decision("kortestw\t%k0, %k0\njb\t.LBB0_1\n", 1);
    assert_decision("addsd\t%xmm0, %xmm0\n", 0);
    /* sums of doubles between a comparison and its jump leave the flags alone, as a move does */
    assert_decision("cmpq\t%rcx, %rdx\nmulsd\t%xmm1, %xmm0\naddsd\t%xmm0, %xmm1\n"
                    "cmovlq\t%rcx, %rax\nmovq\t(%rbx), %rsi\njne\t.LBB0_1\n",
                    1);
    assert_float_equal(latency_of("movsd\t(%rax), %xmm0\nmulsd\t(%rbx), %xmm0\naddsd\t%xmm1, "
                                  "%xmm0\nmovsd\t%xmm0, (%rcx)\nmovq\t%rdx, 8(%rcx)\n")
                           .store,
                       18, 1e-9);
}

TEST(waits)
{
    assert_true(asm_waits("movq\t8(%rax), %rax\ndecq\t%rcx\njne\t.LBB0_1\n"));
    /* by way of other registers, narrower names, arithmetic, and a choice */
    assert_true(asm_waits("movq\t(%rax), %rbx\nleaq\t16(%rbx), %rax\n"));
    assert_true(asm_waits("movl\t(%rdi,%r9,4), %r10d\nandl\t$255, %r10d\nmovq\t%r10, %r9\n"));
    assert_true(asm_waits("cmpl\t%esi, (%rdi,%rax,4)\ncmovlq\t%rcx, %rax\n"));
    /* by index, with a table of indices, stores, a new value before the use, a reload */
    assert_false(asm_waits("addsd\t(%rax,%rcx,8), %xmm0\nincq\t%rcx\n"));
    assert_false(
        asm_waits("movslq\t(%rax,%rcx,4), %rdx\naddsd\t(%rbx,%rdx,8), %xmm0\nincq\t%rcx\n"));
    assert_false(asm_waits("movq\t%rdx, (%rax)\naddq\t$8, %rax\n"));
    assert_false(asm_waits("xorl\t%eax, %eax\nmovq\t(%rbx,%rax), %rax\n"));
    assert_false(asm_waits("movq\t8(%rsp), %rax\nmovq\t(%rax), %rbx\n"));
    assert_false(asm_waits(""));
    /* no operands, and numbers that no register has */
    assert_false(asm_waits("vzeroupper\ncltq\n"));
    assert_true(asm_waits("cltq\nmovq\t8(%rax), %rax\nvzeroupper\n"));
    assert_false(asm_waits("movq\t8(%r99999999999), %r99999999999\n"));
    assert_false(asm_waits("movq\t8(%r4294967304), %r8\n"));
}
