/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap predict: the table of what can be predicted. Each of it lives in the folder of its model.
 */
#include "predict/cmd_predict.h"

#include <string.h>

#include "formats/base/text.h"

const struct psnap_command psnap_predict_models[] = {
    {"cache", "hit rates from reuse distances, beside simulated ones", psnap_cmd_predict_cache},
    {"multicore", "an OpenMP program on more cores, from a run of one thread",
     psnap_cmd_predict_multicore},
    {"runtime", "run times from hit rates, latencies and operation counts",
     psnap_cmd_predict_runtime},
    {0},
};
enum { MODEL_COUNT = sizeof psnap_predict_models / sizeof psnap_predict_models[0] - 1 };

static void print_models(FILE *file)
{
    fputs("usage: psnap predict MODEL INPUT [OPTIONS]\n\nmodels:\n", file);
    for (size_t i = 0; i < MODEL_COUNT; i++)
        fprintf(file, "  %-10s %s\n", psnap_predict_models[i].name,
                psnap_predict_models[i].summary);
    fputs("\n'psnap predict MODEL --help' says more about one of them.\n", file);
}

/* A model calls itself in messages as a user calls it. */
static int run_model(const struct psnap_command *model, int argc, char **argv)
{
    char name[32];

    snprintf(name, sizeof name, "predict %s", model->name);
    argv[0] = name;
    return model->run(argc, argv);
}

static bool is_asked_for_json(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--json"))
            return true;
    return false;
}

int psnap_cmd_predict(int argc, char **argv)
{
    const char *names[MODEL_COUNT], *nearest;

    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        print_models(stdout);
        return psnap_cmd_close_stdout("predict", PSNAP_EXIT_DONE);
    }
    if (argc < 2) {
        print_models(stderr);
        return PSNAP_EXIT_USAGE;
    }
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        names[i] = psnap_predict_models[i].name;
        if (!strcmp(argv[1], names[i]))
            return run_model(&psnap_predict_models[i], argc - 1, argv + 1);
    }
    psnap_cmd_fail_in_json(is_asked_for_json(argc, argv));
    nearest = psnap_text_nearest(argv[1], names, MODEL_COUNT);
    if (nearest)
        return psnap_cmd_usage("predict", "no model '%.100s'; did you mean '%s'?", argv[1],
                               nearest);
    return psnap_cmd_usage("predict", "no model '%.100s'", argv[1]);
}
