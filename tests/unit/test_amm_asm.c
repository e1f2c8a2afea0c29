/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of assembly as clang 19 writes it: nesting, what is whose code, latches by jump and by
 * falling through, calls and spills; matched to a program's loops by line; copies that are written
 * out; loops that wait for what they load.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "predict/amm/asm.h"

static const char nested[] =
    "\t.text\n"
    "\t.file\t\"nested.c\"\n"
    "\t.file\t1 \"/src\" \"nested.c\" md5 0xb94f0363c1e5d6d7a67e5ffa6368f286\n"
    "\t.file\t2 \"/src/lib\" \"other.h\"\n"
    "f:                                      # @f\n"
    ".Lfunc_begin0:\n"
    "\t.loc\t1 3 0                           # nested.c:3:0\n"
    "\t#DEBUG_VALUE: f:n <- $rdi\n"
    "\txorl\t%eax, %eax\n"
    "\tjmp\t.LBB0_2\n"
    "\t.p2align\t4, 0x90\n"
    ".LBB0_1:                                #   in Loop: Header=BB0_2 Depth=1\n"
    "\t.loc\t1 5 30 is_stmt 1               # nested.c:5:30\n"
    "\tincq\t%rcx\n"
    "\t.loc\t1 0 5\n"
    "\tcmpq\t%rcx, %rdi\n"
    ".LBB0_2:                                # =>This Loop Header: Depth=1\n"
    "                                        #     Child Loop BB0_3 Depth 2\n"
    "\t.loc\t1 7 13                          # nested.c:7:13\n"
    "\ttestq\t%rsi, %rsi\n"
    "\tje\t.LBB0_1\n"
    ".LBB0_3:                                #   Parent Loop BB0_2 Depth=1\n"
    "                                        # =>  This Inner Loop Header: Depth=2\n"
    ".Ltmp5:\n"
    "\tmovq\t8(%rdx), %rdx                  # 8-byte Reload\n"
    "\t.loc\t2 40 13\n"
    "\tcallq\texp@PLT\n"
    "\t.loc\t1 6 9                           # nested.c:6:9\n"
    "\tdecq\t%rsi\n"
    "\tjne\t.LBB0_3\n"
    "# %bb.4:                                #   in Loop: Header=BB0_2 Depth=1\n"
    "\taddq\t%r8, %rax\n"
    "\tjmp\t.LBB0_1\n"
    ".LBB0_5:\n"
    "\tretq\n"
    ".Lfunc_end0:\n"
    "g:                                      # @g\n"
    ".LBB1_1:                                # =>This Inner Loop Header: Depth=1\n"
    "\t.loc\t1 6 9\n"
    "\tnop\n"
    "\tjmp\t.LBB1_1\n";

static void read_text(struct asm_code *code, const char *text)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    struct psnap_error error;

    assert_non_null(file);
    assert_int_equal(asm_read(code, file, "nested.s", &error), PSNAP_OK);
    fclose(file);
}

static void loops(void **state)
{
    struct asm_code code = {0};

    (void)state;
    read_text(&code, nested);
    assert_int_equal(code.loop_count, 3);
    assert_string_equal(code.loops[0].label, "BB0_2");
    assert_true(code.loops[0].parent < 0);
    assert_string_equal(code.loops[0].code, "incq\t%rcx\ncmpq\t%rcx, %rdi\ntestq\t%rsi, %rsi\n"
                                            "je\t.LBB0_1\naddq\t%r8, %rax\njmp\t.LBB0_1\n");
    assert_int_equal(code.loops[0].latch_count, 1);
    assert_int_equal(code.loops[0].latches[0].src_line, 5);
    assert_string_equal(code.loops[1].label, "BB0_3");
    assert_int_equal(code.loops[1].parent, 0);
    assert_string_equal(code.loops[1].code, "movq\t8(%rdx), %rdx\ndecq\t%rsi\njne\t.LBB0_3\n");
    assert_int_equal(code.loops[1].latch_count, 1);
    assert_int_equal(code.loops[1].latches[0].src_line, 6);
    assert_string_equal(code.files[code.loops[1].latches[0].file], "nested.c");
    asm_release(&code);
}

/* Line 6 has two loops in the assembly: of two in the program each has its own, of one none. */
static void matched(void **state)
{
    struct psnap_program *program = psnap_program_new();
    const struct asm_loop *found[4];
    struct asm_code code = {0};

    (void)state;
    assert_non_null(program);
    psnap_program_add_loop(program,
                           &(struct psnap_loop){"f", "f", "f", "nested.c", 3, 0, PSNAP_NONE, 0, 0});
    psnap_program_add_loop(program,
                           &(struct psnap_loop){"f:5", "f:5", "f", "nested.c", 5, 1, 0, 0, 0});
    psnap_program_add_loop(program,
                           &(struct psnap_loop){"f:6.1", "f:6", "f", "nested.c", 6, 2, 1, 0, 0});
    read_text(&code, nested);
    assert_int_equal(asm_match(&code, program, found), 1);
    assert_null(found[0]);
    assert_ptr_equal(found[1], &code.loops[0]);
    assert_null(found[2]);
    psnap_program_add_loop(program,
                           &(struct psnap_loop){"f:6.2", "f:6", "f", "nested.c", 6, 1, 0, 0, 0});
    assert_int_equal(asm_match(&code, program, found), 3);
    assert_ptr_equal(found[2], &code.loops[1]);
    assert_ptr_equal(found[3], &code.loops[2]);
    asm_release(&code);
    psnap_program_free(program);
}

static void no_lines(void **state)
{
    static const char text[] = "f:\n\tretq\n";
    struct asm_code code = {0};
    struct psnap_error error;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

    (void)state;
    assert_int_equal(asm_read(&code, file, "f.s", &error), PSNAP_ERROR_SYNTAX);
    assert_non_null(strstr(error.message, "clang -S -g"));
    fclose(file);
    asm_release(&code);
}

static void assert_written(const char *code, int copies, const char *expected)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);

    assert_non_null(file);
    asm_write(code, copies, file);
    fclose(file);
    assert_string_equal(text, expected);
    free(text);
}

static void copies(void **state)
{
    static const char code[] = "movq\t%rax, %rbx\nmovapd\t%xmm0, %xmm1\nmovq\t(%rax), %rbx\n"
                               "movq\t%rax, %xmm3\nmovq\t%rax, 8(%rsp)\naddsd\t%xmm0, %xmm1\n";

    (void)state;
    assert_written(code, 0,
                   "\tmovq\t%rax, %rbx\n\tmovapd\t%xmm0, %xmm1\n\tmovq\t(%rax), %rbx\n"
                   "\tmovq\t%rax, %xmm3\n\tmovq\t%rax, 8(%rsp)\n\taddsd\t%xmm0, %xmm1\n");
    assert_written(code, 2,
                   "\tleaq\t(%rax), %rbx\n\tleaq\t(%rbx), %rbx\n\tpshufd\t$228, %xmm0, %xmm1\n"
                   "\tpshufd\t$228, %xmm1, %xmm1\n\tmovq\t(%rax), %rbx\n\tmovq\t%rax, %xmm3\n"
                   "\tmovq\t%rax, 8(%rsp)\n\taddsd\t%xmm0, %xmm1\n");
}

static void waits(void **state)
{
    (void)state;
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
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops),  cmocka_unit_test(matched), cmocka_unit_test(no_lines),
        cmocka_unit_test(copies), cmocka_unit_test(waits),
    };

    return cmocka_run_group_tests_name("amm_asm", tests, NULL, NULL);
}
