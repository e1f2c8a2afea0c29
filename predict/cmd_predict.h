/* SPDX-License-Identifier: BSD-3-Clause */
/* The models of psnap predict; each is a command whose argv[0] is the model's name. */
#ifndef PSNAP_PREDICT_CMD_PREDICT_H
#define PSNAP_PREDICT_CMD_PREDICT_H

#include "formats/base/cmd.h"

int psnap_cmd_predict_bandwidth(int argc, char **argv);
int psnap_cmd_predict_cache(int argc, char **argv);
int psnap_cmd_predict_multicore(int argc, char **argv);
int psnap_cmd_predict_runtime(int argc, char **argv);

#endif
