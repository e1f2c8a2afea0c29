/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What functions of the C library's mathematics take: calls that do not wait for each other, of
 * arguments that are drawn evenly from a range. They have many digits and no pattern, so that
 * branches within a function are mispredicted as often as they are in programs.
 */
#include <math.h>

#include "formats/base/rng.h"
#include "simcore/machine.h"
#include "simcore/probe_survey.h"

#define ARGUMENTS ((size_t)1 << 15) /* too many to be known again */
#define CALLS 16                    /* of a step */

struct function {
    union {
        double (*of_one)(double);
        double (*of_two)(double, double);
        float (*of_float)(float);
        float (*of_floats)(float, float);
    };
    unsigned operands;
    bool is_float;
    double low, high, second_low, second_high;
};

/* By enum psnap_math_function. */
static const struct function functions[PSNAP_MATH_FUNCTION_COUNT] = {
    [PSNAP_MATH_ACOS] = {.of_one = acos, 1, false, -1, 1},
    [PSNAP_MATH_ASIN] = {.of_one = asin, 1, false, -1, 1},
    [PSNAP_MATH_ATAN] = {.of_one = atan, 1, false, -4, 4},
    [PSNAP_MATH_ATAN2] = {.of_two = atan2, 2, false, -4, 4, -4, 4},
    [PSNAP_MATH_CBRT] = {.of_one = cbrt, 1, false, 0, 100},
    [PSNAP_MATH_COS] = {.of_one = cos, 1, false, -10, 10},
    [PSNAP_MATH_COSH] = {.of_one = cosh, 1, false, -4, 4},
    [PSNAP_MATH_COSF] = {.of_float = cosf, 1, true, -10, 10},
    [PSNAP_MATH_ERF] = {.of_one = erf, 1, false, -3, 3},
    [PSNAP_MATH_ERFC] = {.of_one = erfc, 1, false, -3, 3},
    [PSNAP_MATH_EXP] = {.of_one = exp, 1, false, -4, 4},
    [PSNAP_MATH_EXP2] = {.of_one = exp2, 1, false, -4, 4},
    [PSNAP_MATH_EXPF] = {.of_float = expf, 1, true, -4, 4},
    [PSNAP_MATH_EXPM1] = {.of_one = expm1, 1, false, -1, 1},
    [PSNAP_MATH_FMOD] = {.of_two = fmod, 2, false, 0, 100, 1, 10},
    [PSNAP_MATH_HYPOT] = {.of_two = hypot, 2, false, -4, 4, -4, 4},
    [PSNAP_MATH_LOG] = {.of_one = log, 1, false, 0.01, 100},
    [PSNAP_MATH_LOG10] = {.of_one = log10, 1, false, 0.01, 100},
    [PSNAP_MATH_LOG1P] = {.of_one = log1p, 1, false, 0, 1},
    [PSNAP_MATH_LOG2] = {.of_one = log2, 1, false, 0.01, 100},
    [PSNAP_MATH_LOGF] = {.of_float = logf, 1, true, 0.01, 100},
    [PSNAP_MATH_POW] = {.of_two = pow, 2, false, 0.1, 10, -4, 4},
    [PSNAP_MATH_POWF] = {.of_floats = powf, 2, true, 0.1, 10, -4, 4},
    [PSNAP_MATH_SIN] = {.of_one = sin, 1, false, -10, 10},
    [PSNAP_MATH_SINF] = {.of_float = sinf, 1, true, -10, 10},
    [PSNAP_MATH_SINH] = {.of_one = sinh, 1, false, -4, 4},
    [PSNAP_MATH_TAN] = {.of_one = tan, 1, false, -10, 10},
    [PSNAP_MATH_TANH] = {.of_one = tanh, 1, false, -4, 4},
};

struct calls {
    const struct function *function;
    double first[ARGUMENTS], second[ARGUMENTS];
    size_t position;
    volatile double result;
};

static void run_calls(void *context, uint64_t steps)
{
    struct calls *calls = context;
    const struct function f = *calls->function;

    for (; steps; steps--) {
        const double *x = calls->first + calls->position, *y = calls->second + calls->position;

        for (size_t i = 0; i < CALLS; i++)
            calls->result = f.operands == 1
                                ? f.is_float ? (double)f.of_float((float)x[i]) : f.of_one(x[i])
                            : f.is_float ? (double)f.of_floats((float)x[i], (float)y[i])
                                         : f.of_two(x[i], y[i]);
        calls->position = (calls->position + CALLS) % ARGUMENTS;
    }
}

static double drawn(struct psnap_rng *rng, double low, double high)
{
    return low + (high - low) * psnap_rng_uniform(rng);
}

void survey_functions(struct survey *survey)
{
    static struct calls calls; /* half a megabyte */
    struct psnap_rng rng;

    psnap_rng_init(&rng, 0);
    for (int i = 0; i < PSNAP_MATH_FUNCTION_COUNT; i++) {
        const struct function *f = &functions[i];

        calls.function = f;
        for (size_t k = 0; k < ARGUMENTS; k++) {
            calls.first[k] = drawn(&rng, f->low, f->high);
            calls.second[k] = drawn(&rng, f->second_low, f->second_high);
        }
        survey->machine->function_cycles[i] = survey_rounded(
            survey_measure(survey, (struct probe_kernel){.run = run_calls, .context = &calls},
                           SURVEY_FUNCTIONS_SLICES / (double)PSNAP_MATH_FUNCTION_COUNT, "%s()",
                           psnap_math_function_name((enum psnap_math_function)i))
                .cycles /
            CALLS);
    }
}
