/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making and checking the certificates of profiles: how far their replay is from the stream that
 * they were made of (profile/FORMAT.md).
 */
#ifndef PSNAP_SIMCORE_CMD_CERTIFY_H
#define PSNAP_SIMCORE_CMD_CERTIFY_H

#include "formats/base/cmd.h"
#include "formats/base/stream.h"

struct psnap_profile;

/* Whether there are such machines (for what follows): before anything is begun. */
enum psnap_status psnap_certifier_check(const struct psnap_text_list *machines,
                                        struct psnap_error *error);

/*
 * A sink that runs the observed stream through the machines, beside the builder of the profile.
 * It never fails: what went wrong is told when the certificate is to be made. `machines` names
 * them (empty: the ten structures). `program` is the stream's and must outlive the sink. NULL on
 * failure, with `error` filled.
 */
struct psnap_sink *psnap_certifier_new(const struct psnap_text_list *machines,
                                       struct psnap_program *program, struct psnap_error *error);

/* After psnap_sink_finish: replays the profile of the stream through the same machines and puts a
 * certificate into it. On failure it has none, nor when `deadline` (NULL: none) is set before. */
enum psnap_status psnap_certifier_certify(struct psnap_sink *certifier,
                                          struct psnap_profile *profile,
                                          const struct psnap_deadline *deadline,
                                          struct psnap_error *error);

#endif
