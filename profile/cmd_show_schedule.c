/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedule of a profile of model nests, for people: which bodies of loops execute one after the
 * other, and with --loop how each reference of a loop goes on.
 */
#include <inttypes.h>
#include <stdio.h>

#include "formats/base/cmd.h"
#include "profile/cmd_show.h"
#include "profile/model.h"

struct printing {
    const struct psnap_profile *profile;
    uint64_t lines, printed;
};

static void print_indent(int depth, const char *text)
{
    printf("%*s%s", 2 * depth, "", text);
}

static void print_body(const struct model_body *body, int depth)
{
    print_indent(depth, body->id);
    if (body->executions)
        printf("  x %.4g iterations", (double)body->iterations / (double)body->executions);
    puts(body->is_drawn ? ", drawn" : "");
}

static void print_term(struct printing *p, const struct nest_pattern *pattern,
                       const uint64_t *values, int depth)
{
    const struct psnap_stream_model *model = p->profile->stream;
    char digits[32];

    if (p->printed++ >= p->lines)
        return;
    if (!pattern->body_count && !(pattern->symbol & MODEL_CHAIN)) {
        print_body(&model->bodies[pattern->symbol], depth);
        return;
    }
    if (!pattern->body_count) {
        const struct chain *chain = &model->chains[pattern->symbol & ~MODEL_CHAIN];
        print_indent(depth, "visit ");
        printf("c%" PRIu32 ", a chain of %" PRIu32 " bodies\n",
               (pattern->symbol & ~MODEL_CHAIN) + 1, chain->count - 1);
        return;
    }
    print_indent(depth, "repeat ");
    puts(psnap_group_digits(values[0], digits));
    for (uint32_t i = 0, at = 1; i < pattern->body_count; at += pattern->body[i++]->values)
        print_term(p, pattern->body[i], values + at, depth + 1);
}

static void print_strides(const struct model_ref *ref)
{
    const struct nest_pattern *pattern = ref->addresses.terms[0].pattern;
    const uint64_t *values = nest_term_values(&ref->addresses, 0);

    for (; pattern->body_count == 1; pattern = pattern->body[0], values++)
        printf(" %" PRIu64 " x %" PRId64 ",", values[0],
               (int64_t)pattern->steps[pattern->values - 2]);
    if (!pattern->body_count)
        printf(" %" PRIu64 " x %" PRId64, values[0], (int64_t)pattern->steps[0]);
    else
        fputs(" ...", stdout);
    if (ref->addresses.count > 1)
        printf(", and %zu more terms", ref->addresses.count - 1);
}

static void print_ref(const struct psnap_profile *profile, const struct model_ref *ref)
{
    static const char *const kinds[] = {"load", "store", "atomic"};
    char digits[32];

    printf("  ref %" PRIu32 "  %s %u  %s accesses ", ref->number, kinds[ref->kind], ref->size,
           psnap_group_digits(ref->executions, digits));
    if (ref->rule == MODEL_NEST)
        print_strides(ref);
    else if (ref->rule == MODEL_DEPENDENT)
        printf(" at ref %" PRIu32 " of %s %+" PRId64 "%s", profile->stream->refs[ref->bases[0]].number,
               profile->loops[profile->stream->refs[ref->bases[0]].loop].id, ref->offsets[0].bytes,
               ref->offset_count > 1 ? " and others" : "");
    else
        for (uint32_t i = 0; i < ref->reuse_count; i++)
            printf("%s by reuse time in %s", i ? "," : "",
                   profile->stream->objects[ref->reuses[i].object].id);
    putchar('\n');
}

bool show_print_schedule(const struct psnap_profile *profile, uint32_t loop, uint64_t lines)
{
    struct printing p = {.profile = profile, .lines = lines};
    const struct psnap_stream_model *model = profile->stream;

    if (!model)
        return true;
    if (loop != PSNAP_NONE) {
        puts("\nreferences\n");
        for (uint32_t i = 0; i < model->ref_count; i++)
            if (model->refs[i].loop == loop)
                print_ref(profile, &model->refs[i]);
        return true;
    }
    puts("\nschedule\n");
    for (uint32_t i = 0; i < model->order_count; i++) {
        if (model->order_count > 1)
            printf("thread %u\n", model->orders[i].thread);
        for (size_t k = 0; k < model->orders[i].terms.count; k++)
            print_term(&p, model->orders[i].terms.terms[k].pattern,
                       nest_term_values(&model->orders[i].terms, k), model->order_count > 1);
    }
    if (p.printed > lines)
        printf("(%" PRIu64 " of %" PRIu64 " lines; --schedule shows all)\n", lines, p.printed);
    return true;
}
