/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap predict: the table of what can be predicted. Each of it lives in the folder of its model.
 */
#include "predict/cmd_predict.h"

const struct psnap_command psnap_predict_models[] = {
    {"bandwidth", "memory times from hit rates, by a fitted bandwidth function",
     psnap_cmd_predict_bandwidth},
    {"cache", "hit rates from reuse distances, beside simulated ones", psnap_cmd_predict_cache},
    {"multicore", "an OpenMP program on more cores, from a run of one thread",
     psnap_cmd_predict_multicore},
    {"runtime", "run times from hit rates, latencies and operation counts",
     psnap_cmd_predict_runtime},
    {0},
};

int psnap_cmd_predict(int argc, char **argv)
{
    return psnap_cmd_part("predict", "psnap predict MODEL INPUT [OPTIONS]", "model",
                          psnap_predict_models, argc, argv);
}
