/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The build id of a program: the note that the linker leaves in an ELF file.
 */
#ifndef PSNAP_CAPTURE_COLLECT_BUILD_ID_H
#define PSNAP_CAPTURE_COLLECT_BUILD_ID_H

enum { PSNAP_BUILD_ID_CHARS = 96 };

/* As hex, as many bytes as there is room for; "" when the file has none, or is no 64-bit ELF file.
 */
void psnap_build_id_read(const char *path, char hex[PSNAP_BUILD_ID_CHARS]);

#endif
