/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process's sign of life in shared memory (struct psnap_alive): the kernel takes it away when
 * the process ends, however it does. Programs look at it from any namespace, and in a sandbox.
 */
#ifndef PSNAP_CAPTURE_COLLECT_ALIVE_H
#define PSNAP_CAPTURE_COLLECT_ALIVE_H

#include "formats/base/capture_abi.h"

/* From now on, until this thread ends or psnap_alive_end. Always of the same thread, best the first
 * one. The memory stays where it is meanwhile. */
void psnap_alive_begin(struct psnap_alive *alive);

/* Before its memory goes. */
void psnap_alive_end(struct psnap_alive *alive);

#endif
