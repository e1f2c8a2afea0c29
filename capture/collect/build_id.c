/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elfutils find the note in what programs and libraries have for segments or sections of notes.
 */
#include "capture/collect/build_id.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void psnap_build_id_read(const char *path, char hex[PSNAP_BUILD_ID_CHARS])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const void *id = NULL;
    ssize_t size = 0;
    Elf *elf;

    hex[0] = '\0';
    if (fd < 0)
        return;
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf && gelf_getclass(elf) == ELFCLASS64)
        size = dwelf_elf_gnu_build_id(elf, &id);
    for (ssize_t i = 0; i < size && 2 * i + 3 <= PSNAP_BUILD_ID_CHARS; i++)
        snprintf(hex + 2 * i, 3, "%02x", ((const unsigned char *)id)[i]);
    elf_end(elf);
    close(fd);
}
