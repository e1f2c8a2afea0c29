/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sides of a comparison: streams that have run through the machines.
 */
#ifndef PSNAP_SIMCORE_CMD_SIDE_H
#define PSNAP_SIMCORE_CMD_SIDE_H

#include "formats/base/cmd.h"
#include "replay/cmd_input.h"
#include "simcore/compare.h"

#define SIDE_TEXT(text) #text
#define SIDE_TEXT_OF(macro) SIDE_TEXT(macro)
/* What makes results, for keys of those that are kept: psnap, and the form of its simulator's. */
#define SIDE_MAKER PSNAP_VERSION "." SIDE_TEXT_OF(PSNAP_SIMCORE_RESULTS_VERSION)

/* The machines that a comparison is made with: those that were named, or the ten structures of
 * PSnAP's evaluation. The caller frees them. NULL on failure, with `error` filled. */
struct psnap_machine *side_machines(const struct psnap_text_list *named, size_t *n,
                                    struct psnap_error *error);

/* Says on stderr where a level is smaller than the one before it. */
void side_warn_of_sizes(const struct psnap_machine *machines, size_t n);

/* What a simulator of `n` machines has counted of its stream, which has ended. */
enum psnap_status side_take(struct compare_side *side, const struct psnap_sink *sim, size_t n,
                            const struct psnap_program *program, struct psnap_error *error);
/* The stream of a source, read ahead by a thread of its own, when the simulation of so many
 * machines leaves a processor to spare; else NULL. Does not own `source`. */
struct psnap_source *side_read_ahead(struct psnap_source *source, size_t machine_count);

/* Runs a stream through the machines to its end. */
enum psnap_status side_run(struct compare_side *side, struct psnap_source *source,
                           const struct psnap_machine *machines, size_t n,
                           struct psnap_error *error);
/* The same of the input at side->path, its threads in turn. */
enum psnap_status side_run_input(struct compare_side *side, const struct psnap_input_options *input,
                                 const struct psnap_machine *machines, size_t n,
                                 struct psnap_error *error);
void side_release(struct compare_side *side);

#endif
