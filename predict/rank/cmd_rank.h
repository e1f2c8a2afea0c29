/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ranking in the forms in which it is written.
 */
#ifndef PSNAP_PREDICT_CMD_RANK_H
#define PSNAP_PREDICT_CMD_RANK_H

#include "predict/rank/ranking.h"

void rank_print(const struct times *times, const struct ranking *ranking, FILE *file);
void rank_json(const struct times *times, const struct ranking *ranking, FILE *file);

/* A record for each case and machine, with what is read, errors and speeds; one for each pair. */
void rank_csv(const struct times *times, const struct ranking *ranking, FILE *file);
void rank_csv_pairs(const struct times *times, const struct ranking *ranking, FILE *file);

#endif
