/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ranking for programs, as JSON and as CSV; what is missing is null or empty.
 */
#include <math.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_csv.h"
#include "predict/rank/cmd_rank.h"

static const char *const adjectives[TIMES_KINDS] = {"measured", "predicted"};

static double error_of(const struct times *times, size_t index, size_t machine)
{
    return times_get(times, index, machine, TIMES_PREDICTED) /
               times_get(times, index, machine, TIMES_MEASURED) -
           1;
}

/* --------------------------------------------------------------------------- JSON */

static void json_case(struct psnap_json *json, const struct times *times,
                      const struct ranking *ranking, size_t index)
{
    const struct times_case *one = &times->cases[index];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "application", one->application);
    if (*one->input)
        psnap_json_text(json, "input", one->input);
    if (one->cores)
        psnap_json_u64(json, "cores", one->cores);
    psnap_json_bool(json, "common", ranking->cases[index].is_common[ranking->kind]);
    psnap_json_real(json, "tau", ranking->cases[index].tau);
    psnap_json_begin_array(json, "times");
    for (size_t m = 0; m < times->machine_count; m++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "machine", times->machines[m]);
        psnap_json_real(json, "seconds", times_get(times, index, m, TIMES_MEASURED));
        psnap_json_real(json, "predicted", times_get(times, index, m, TIMES_PREDICTED));
        psnap_json_real(json, "error", error_of(times, index, m));
        psnap_json_real(json, "speed",
                        ranking_case_speed(ranking, times, index, m, TIMES_MEASURED));
        psnap_json_real(json, "predicted_speed",
                        ranking_case_speed(ranking, times, index, m, TIMES_PREDICTED));
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_end_object(json);
}

static void json_machine(struct psnap_json *json, const struct times *times,
                         const struct ranking *ranking, size_t place)
{
    const struct ranking_machine *machine = &ranking->machines[ranking->order[place]];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "machine", times->machines[ranking->order[place]]);
    psnap_json_u64(json, "place", place + 1);
    psnap_json_u64(json, "wins", machine->wins);
    for (int kind = 0; kind < TIMES_KINDS; kind++) {
        const struct ranking_speed *speed = &machine->speeds[kind];

        psnap_json_begin_object(json, adjectives[kind]);
        psnap_json_real(json, "geometric_mean_seconds", machine->seconds[kind]);
        psnap_json_real(json, "speed", speed->mean);
        psnap_json_real(json, "speed_geometric_sd", speed->deviation);
        psnap_json_real(json, "speed_lowest", speed->lowest);
        psnap_json_real(json, "speed_highest", speed->highest);
        psnap_json_end_object(json);
    }
    psnap_json_end_object(json);
}

static void json_pair(struct psnap_json *json, const struct ranking *ranking,
                      const struct ranking_pair *pair)
{
    psnap_json_u64(json, "cases", pair->cases);
    psnap_json_u64(json, "faster_in", pair->first_faster);
    psnap_json_u64(json, "equal_in", pair->equal);
    psnap_json_real(json, "inversion_probability", pair->probability);
    psnap_json_real(json, "expected_inversions", pair->expected);
    if (ranking->has_both) {
        psnap_json_u64(json, "compared", pair->compared);
        psnap_json_u64(json, "inversions", pair->observed);
        psnap_json_u64(json, "inversions_over_threshold", pair->over_threshold);
    }
}

static void json_pairs(struct psnap_json *json, const struct times *times,
                       const struct ranking *ranking)
{
    psnap_json_begin_array(json, "pairs");
    for (size_t i = 0; i < ranking->pair_count; i++) {
        const struct ranking_pair *pair = &ranking->pairs[i];

        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "faster", times->machines[pair->first]);
        psnap_json_text(json, "slower", times->machines[pair->second]);
        json_pair(json, ranking, pair);
        psnap_json_real(json, "ratio", pair->ratio);
        psnap_json_real(json, "order_inversion_probability", pair->order_probability);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_begin_object(json, "total");
    json_pair(json, ranking, &ranking->total);
    psnap_json_end_object(json);
}

static void json_error(struct psnap_json *json, const struct ranking_error *error)
{
    psnap_json_begin_object(json, "error");
    psnap_json_real(json, "sigma", error->sigma);
    psnap_json_bool(json, "given", error->is_given);
    psnap_json_u64(json, "pairs", error->pairs);
    psnap_json_real(json, "bias", error->bias);
    psnap_json_real(json, "sd", error->deviation);
    psnap_json_real(json, "mean_absolute", error->mean_absolute);
    psnap_json_end_object(json);
}

void rank_json(const struct times *times, const struct ranking *ranking, FILE *file)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, file, "rank");
    psnap_json_text(&json, "ranked_by", adjectives[ranking->kind]);
    psnap_json_text(&json, "order_by", ranking->is_by_wins ? "wins" : "geometric mean");
    psnap_json_text(&json, "base", times->machines[ranking->base]);
    psnap_json_u64(&json, "common_measured", ranking->common[TIMES_MEASURED]);
    psnap_json_u64(&json, "common_predicted", ranking->common[TIMES_PREDICTED]);
    psnap_json_real(&json, "threshold", ranking->threshold);
    json_error(&json, &ranking->error);
    psnap_json_real(&json, "tau", ranking->mean_tau);
    psnap_json_real(&json, "order_tau", ranking->order_tau);
    psnap_json_begin_array(&json, "machines");
    for (size_t i = 0; i < times->machine_count; i++)
        json_machine(&json, times, ranking, i);
    psnap_json_end_array(&json);
    psnap_json_begin_array(&json, "cases");
    for (size_t i = 0; i < times->case_count; i++)
        json_case(&json, times, ranking, i);
    psnap_json_end_array(&json);
    json_pairs(&json, times, ranking);
    psnap_json_end_object(&json);
    putc('\n', file);
}

/* ---------------------------------------------------------------------------- CSV */

static void csv_head(struct psnap_csv *csv, const char *const *names)
{
    for (; *names; names++)
        psnap_csv_text(csv, *names);
    psnap_csv_end(csv);
}

void rank_csv(const struct times *times, const struct ranking *ranking, FILE *file)
{
    static const char *const names[] = {"application",     "input",     "cores", "machine",
                                        "seconds",         "predicted", "error", "speed",
                                        "predicted_speed", NULL};
    struct psnap_csv csv;

    psnap_csv_init(&csv, file);
    csv_head(&csv, names);
    for (size_t i = 0; i < times->case_count; i++)
        for (size_t m = 0; m < times->machine_count; m++) {
            const struct times_case *one = &times->cases[i];

            psnap_csv_text(&csv, one->application);
            psnap_csv_text(&csv, one->input);
            if (one->cores)
                psnap_csv_u64(&csv, one->cores);
            else
                psnap_csv_none(&csv);
            psnap_csv_text(&csv, times->machines[m]);
            psnap_csv_real(&csv, times_get(times, i, m, TIMES_MEASURED));
            psnap_csv_real(&csv, times_get(times, i, m, TIMES_PREDICTED));
            psnap_csv_real(&csv, error_of(times, i, m));
            psnap_csv_real(&csv, ranking_case_speed(ranking, times, i, m, TIMES_MEASURED));
            psnap_csv_real(&csv, ranking_case_speed(ranking, times, i, m, TIMES_PREDICTED));
            psnap_csv_end(&csv);
        }
}

void rank_csv_pairs(const struct times *times, const struct ranking *ranking, FILE *file)
{
    static const char *const names[] = {"faster",
                                        "slower",
                                        "cases",
                                        "faster_in",
                                        "equal_in",
                                        "ratio",
                                        "inversion_probability",
                                        "order_inversion_probability",
                                        "expected_inversions",
                                        "compared",
                                        "inversions",
                                        "inversions_over_threshold",
                                        NULL};
    struct psnap_csv csv;

    psnap_csv_init(&csv, file);
    csv_head(&csv, names);
    for (size_t i = 0; i < ranking->pair_count; i++) {
        const struct ranking_pair *pair = &ranking->pairs[i];

        psnap_csv_text(&csv, times->machines[pair->first]);
        psnap_csv_text(&csv, times->machines[pair->second]);
        psnap_csv_u64(&csv, pair->cases);
        psnap_csv_u64(&csv, pair->first_faster);
        psnap_csv_u64(&csv, pair->equal);
        psnap_csv_real(&csv, pair->ratio);
        psnap_csv_real(&csv, pair->probability);
        psnap_csv_real(&csv, pair->order_probability);
        psnap_csv_real(&csv, pair->expected);
        psnap_csv_u64(&csv, pair->compared);
        psnap_csv_u64(&csv, pair->observed);
        psnap_csv_u64(&csv, pair->over_threshold);
        psnap_csv_end(&csv);
    }
}
