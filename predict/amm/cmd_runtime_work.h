/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the loops of a target do, as runtime.h takes it.
 */
#ifndef PSNAP_PREDICT_AMM_CMD_RUNTIME_WORK_H
#define PSNAP_PREDICT_AMM_CMD_RUNTIME_WORK_H

#include "predict/amm/cmd_runtime_rows.h"

/* A reference's accesses, with their cumulative hit rates. */
struct runtime_accesses runtime_accesses_of(const struct target *target, uint32_t ref,
                                            const struct runtime_settings *settings);

/* The work of each loop; [loop_count]: of no loop. The caller frees it. NULL: out of memory. */
struct runtime_work *runtime_work_of(const struct target *target,
                                     const struct runtime_settings *settings);

#endif
