/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a code scales predictably, in words: m0 is steady on every machine, so that from some
 * size on cpi follows from hits and latencies alone; and whether what is known of it on one machine
 * goes for another, which it does when m0 differs by a constant, at all sizes or from there on.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "predict/hybrid/hybrid.h"

struct words {
    char *text;
    size_t size, length;
};

static void say(struct words *words, const char *format, ...) PSNAP_PRINTF(2, 3);

static void say(struct words *words, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(words->text + words->length, words->size - words->length, format, arguments);
    va_end(arguments);
    if (length > 0)
        words->length += (size_t)length;
    if (words->length >= words->size)
        words->length = words->size - 1;
}

static void say_differences(struct words *words, const struct hybrid_code *code,
                            const struct observations *observations)
{
    if (!code->pair_count)
        return;
    for (size_t p = 0; p < code->pair_count; p++)
        if (code->pairs[p].difference.sizes < M0_STEADY_SIZES) {
            say(words, "; machines have too few sizes in common to compare their m0");
            return;
        }
    if (!code->is_constant && !code->is_constant_there) {
        say(words, "; what m0 of machines differs by depends on the size");
        return;
    }
    say(words, code->is_constant ? "; " : "; from there on ");
    if (code->pair_count > 1) {
        say(words, "m0 of machines differs by constants");
        return;
    }
    say(words, "m0 on '%.60s' differs from that on '%.60s' by a constant, %+.3f",
        observations->machines.names[code->machines[code->pairs[0].second]],
        observations->machines.names[code->machines[code->pairs[0].first]],
        code->is_constant ? code->pairs[0].difference.mean : code->pairs[0].steady.mean);
}

/* The first machine on which m0 is not steady. */
static void say_unsteady(struct words *words, const struct hybrid_code *code,
                         const struct observations *observations, double tolerance)
{
    for (uint32_t m = 0; m < code->machine_count; m++) {
        const struct m0_curve *curve = &code->curves[m];
        char size[32];
        if (curve->is_steady)
            continue;
        say(words,
            "does not scale predictably: m0 on '%.60s' does not settle within %g of a mean, up to "
            "n = %.30s",
            observations->machines.names[code->machines[m]], tolerance,
            observations_size(observations, curve->points[curve->count - 1].size, size));
        return;
    }
}

/* The first machine on which too little is known; whether there is one. */
static bool say_unknown(struct words *words, const struct hybrid_code *code,
                        const struct observations *observations)
{
    for (uint32_t m = 0; m < code->machine_count; m++) {
        const struct m0_curve *curve = &code->curves[m];
        const char *const machine = observations->machines.names[code->machines[m]];
        if (!curve->count)
            say(words, "no verdict: m0 is not known on '%.60s', as %s", machine, curve->why);
        else if (curve->count < M0_STEADY_SIZES)
            say(words, "no verdict: m0 is known at %zu size%s on '%.60s', and %d are needed",
                curve->count, curve->count == 1 ? "" : "s", machine, M0_STEADY_SIZES);
        else
            continue;
        return true;
    }
    return false;
}

void verdict_make(struct hybrid_code *code, const struct observations *observations,
                  const struct hybrid_options *options)
{
    struct words words = {code->verdict, sizeof code->verdict, 0};
    char size[32];

    code->is_known = !say_unknown(&words, code, observations);
    if (!code->is_known)
        return;
    code->is_predictable = !isnan(code->steady_from);
    code->is_constant = code->is_constant_there = code->pair_count > 0;
    for (size_t p = 0; p < code->pair_count; p++) {
        code->is_constant &= code->pairs[p].difference.is_constant;
        code->is_constant_there &= code->pairs[p].steady.is_constant;
    }
    if (code->is_predictable) {
        say(&words, "scales predictably from n = %.30s",
            observations_size(observations, code->steady_from, size));
    } else {
        say_unsteady(&words, code, observations, options->steady);
    }
    say_differences(&words, code, observations);
}
