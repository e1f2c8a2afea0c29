/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of nests (nest.c). */
#ifndef PSNAP_CAPTURE_DECODE_NEST_H
#define PSNAP_CAPTURE_DECODE_NEST_H

#include "capture/decode/fold.h"
#include "capture/decode/hoisted.h"

/* Takes the record of a nest, as psnap_hoisted_open does. */
enum psnap_status psnap_nested_open(struct psnap_context *context, struct psnap_nested *open,
                                    const struct psnap_capture_piece *end,
                                    struct psnap_error *error);
/* Goes on with it until a nest follows or a hoisted loop has been opened, to be delivered by
 * psnap_hoisted_next; when nothing is left of it its nest is NULL. */
enum psnap_status psnap_nested_next(struct psnap_context *context, struct psnap_nested *open,
                                    struct psnap_hoisted *hoisted, struct psnap_delivery *to,
                                    struct psnap_error *error);

#endif
