/* SPDX-License-Identifier: BSD-3-Clause */
/* Hit-rate coverage of inputs by points (coverage.h), as a table and as JSON. */
#ifndef PSNAP_PREDICT_BANDWIDTH_CMD_COVERAGE_H
#define PSNAP_PREDICT_BANDWIDTH_CMD_COVERAGE_H

#include "formats/base/json.h"
#include "predict/bandwidth/cmd_convolve.h"

/* Points and inputs have the same levels. */
void coverage_print(const struct maps *points, const struct convolve_input *inputs, size_t count);
/* The member "coverage". */
void coverage_json(struct psnap_json *json, const struct maps *points,
                   const struct convolve_input *inputs, size_t count);

#endif
