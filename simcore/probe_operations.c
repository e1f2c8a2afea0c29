/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of operations, by the kinds that captured programs are counted by: a chain in which
 * each operation waits for the result of the one before (latency), and eight chains side by side
 * (reciprocal throughput). They are scalar C; an empty asm statement behind each operation hides
 * its result from the compiler, so that nothing is folded, vectorised or left out. Of each kind one
 * operation stands for all:
 *
 *     int_add   64-bit addition                int_mul  64-bit product
 *     int_div   32-bit unsigned division       convert  64-bit integer to double, and back
 *     fp_*      double precision               fp_math  exp of the C library
 *     fp_fma    the fused instruction; a product and an addition where the processor has none
 *     branch    predicted, half of them taken  call     and return, of a function without arguments
 *
 * Operands are such that divisions and roots have many digits, as those of programs do, and that
 * no value overflows or becomes subnormal. A root has to be kept from becoming 1, by a
 * multiplication: probe.c takes fp_mul's latency off.
 */
#include "simcore/probe.h"

#include <math.h>

#if defined(__x86_64__)
#    define FP_REGISTER "x"
#    define WITH_FMA __attribute__((target("fma")))
#elif defined(__aarch64__)
#    define FP_REGISTER "w"
#    define WITH_FMA
#else
#    define FP_REGISTER "m" /* through memory, whose time is then in the figures */
#    define WITH_FMA
#endif

#define REPEAT_4(...) __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__
#define REPEAT_32(...)                                                                             \
    REPEAT_4(__VA_ARGS__)                                                                          \
    REPEAT_4(__VA_ARGS__)                                                                          \
    REPEAT_4(__VA_ARGS__)                                                                          \
    REPEAT_4(__VA_ARGS__)                                                                          \
    REPEAT_4(__VA_ARGS__)                                                                          \
    REPEAT_4(__VA_ARGS__)                                                                          \
    REPEAT_4(__VA_ARGS__)                                                                          \
    REPEAT_4(__VA_ARGS__)

#define HIDE(where, value) __asm__ volatile("" : "+" where(value))

#define NEXT(where, x, STEP)                                                                       \
    x = STEP(x, y);                                                                                \
    HIDE(where, x);

/* NAME_chain and NAME_side_by_side: x = STEP(x, y) from `start` on, for y = `operand`. */
#define KERNELS(NAME, target, type, where, start, operand, STEP)                                   \
    static target void NAME##_chain(void *unused, uint64_t steps)                                  \
    {                                                                                              \
        type x = start, y = operand;                                                               \
                                                                                                   \
        (void)unused;                                                                              \
        HIDE(where, y);                                                                            \
        for (; steps; steps--) {                                                                   \
            REPEAT_32(NEXT(where, x, STEP))                                                        \
        }                                                                                          \
    }                                                                                              \
    static target void NAME##_side_by_side(void *unused, uint64_t steps)                           \
    {                                                                                              \
        type a = start, b = start, c = start, d = start, e = start, f = start, g = start,          \
             h = start, y = operand;                                                               \
                                                                                                   \
        (void)unused;                                                                              \
        HIDE(where, y);                                                                            \
        for (; steps; steps--) {                                                                   \
            REPEAT_4(NEXT(where, a, STEP) NEXT(where, b, STEP) NEXT(where, c, STEP)                \
                         NEXT(where, d, STEP) NEXT(where, e, STEP) NEXT(where, f, STEP)            \
                             NEXT(where, g, STEP) NEXT(where, h, STEP))                            \
        }                                                                                          \
    }

#define ADD(x, y) ((x) + (y))
#define MULTIPLY(x, y) ((x) * (y))
#define DIVIDE(x, y) ((y) / (x)) /* goes back and forth between two values */
#define FUSED(x, y) __builtin_fma(x, y, y)
#define MULTIPLY_ADD(x, y) ((x) * (y) + (y))
#define ROOT(x, y) (__builtin_sqrt(x) * (y))
#define CONVERT(x, y) ((int64_t)(double)(x))
#define EXPONENTIAL(x, y) exp(-(x))

KERNELS(int_add, , uint64_t, "r", 1, 3, ADD)
KERNELS(int_mul, , uint64_t, "r", 3, 5, MULTIPLY)
KERNELS(int_div, , uint32_t, "r", 40000, 2000000000, DIVIDE)
KERNELS(fp_add, , double, FP_REGISTER, 1.3, 1e-9, ADD)
KERNELS(fp_mul, , double, FP_REGISTER, 1.3, 1 + 1e-14, MULTIPLY)
KERNELS(fp_fma, WITH_FMA, double, FP_REGISTER, 1.3, 0.6, FUSED)
KERNELS(fp_mul_add, , double, FP_REGISTER, 1.3, 0.6, MULTIPLY_ADD)
KERNELS(fp_div, , double, FP_REGISTER, 1.3, 1.7, DIVIDE)
KERNELS(fp_sqrt, , double, FP_REGISTER, 1.69, 1.3, ROOT)
KERNELS(fp_math, , double, FP_REGISTER, 0.5, 0, EXPONENTIAL)
KERNELS(convert, , int64_t, "r", 12345, 0, CONVERT)

static void run_branches(void *unused, uint64_t steps)
{
    uint64_t is_never = 0;

    (void)unused;
    for (uint64_t left = steps * (PROBE_OPERATIONS / 2); left; left--) {
        HIDE("r", is_never);
        if (__builtin_expect(is_never != 0, 0))
            __asm__ volatile("nop");
        HIDE("r", left);
    }
}

static __attribute__((noinline)) void callee(void)
{
    __asm__ volatile("");
}

static void run_calls(void *unused, uint64_t steps)
{
    (void)unused;
    for (; steps; steps--) {
        REPEAT_32(callee();)
    }
}

static bool has_fused(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

struct probe_kernel probe_operation(int operation, bool is_waiting, double *share)
{
    static void (*const runs[PSNAP_OPERATION_COUNT][2])(void *, uint64_t) = {
        [PSNAP_OP_INT_ADD] = {int_add_side_by_side, int_add_chain},
        [PSNAP_OP_INT_MUL] = {int_mul_side_by_side, int_mul_chain},
        [PSNAP_OP_INT_DIV] = {int_div_side_by_side, int_div_chain},
        [PSNAP_OP_FP_ADD] = {fp_add_side_by_side, fp_add_chain},
        [PSNAP_OP_FP_MUL] = {fp_mul_side_by_side, fp_mul_chain},
        [PSNAP_OP_FP_FMA] = {fp_fma_side_by_side, fp_fma_chain},
        [PSNAP_OP_FP_DIV] = {fp_div_side_by_side, fp_div_chain},
        [PSNAP_OP_FP_SQRT] = {fp_sqrt_side_by_side, fp_sqrt_chain},
        [PSNAP_OP_FP_MATH] = {fp_math_side_by_side, fp_math_chain},
        [PSNAP_OP_CONVERT] = {convert_side_by_side, convert_chain},
        [PSNAP_OP_BRANCH] = {run_branches, NULL},
        [PSNAP_OP_CALL] = {run_calls, NULL},
    };
    struct probe_kernel kernel = {runs[operation][is_waiting], NULL};

    if (operation == PSNAP_OP_FP_FMA && !has_fused())
        kernel.run = is_waiting ? fp_mul_add_chain : fp_mul_add_side_by_side;
    *share = 1.0 / PROBE_OPERATIONS;
    if (operation == PSNAP_OP_CONVERT) /* there and back */
        *share /= 2;
    return kernel;
}
