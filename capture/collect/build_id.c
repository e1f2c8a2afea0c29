/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Program headers lead to segments of notes, and these are read one after the
 * other. Nothing in the file is believed: what leads out of it ends the search.
 */
#include "capture/collect/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_hex(const unsigned char *bytes, size_t count, char hex[PSNAP_BUILD_ID_CHARS])
{
    for (size_t i = 0; i < count && 2 * i + 3 <= PSNAP_BUILD_ID_CHARS; i++)
        snprintf(hex + 2 * i, PSNAP_BUILD_ID_CHARS - 2 * i, "%02x", bytes[i]);
}

/* False when the notes in [at, end) have no build id. */
static bool find_in_notes(const unsigned char *at, const unsigned char *end,
                          char hex[PSNAP_BUILD_ID_CHARS])
{
    Elf64_Nhdr note;

    while ((size_t)(end - at) >= sizeof note) {
        size_t name, data;
        memcpy(&note, at, sizeof note);
        at += sizeof note;
        name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        data = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > (size_t)(end - at) || data > (size_t)(end - at) - name)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(at, "GNU", 4)) {
            write_hex(at + name, note.n_descsz, hex);
            return true;
        }
        at += name + data;
    }
    return false;
}

static void find_in_file(const unsigned char *file, size_t length, char hex[PSNAP_BUILD_ID_CHARS])
{
    bool is_found = false;
    Elf64_Ehdr header;

    memcpy(&header, file, sizeof header);
    if (memcmp(file, ELFMAG, SELFMAG) != 0 || file[EI_CLASS] != ELFCLASS64 ||
        header.e_phoff > length || header.e_phnum > (length - header.e_phoff) / sizeof(Elf64_Phdr))
        return;
    for (unsigned i = 0; i < header.e_phnum && !is_found; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, file + header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_NOTE && segment.p_offset <= length &&
            segment.p_filesz <= length - segment.p_offset)
            is_found = find_in_notes(file + segment.p_offset,
                                     file + segment.p_offset + segment.p_filesz, hex);
    }
}

void psnap_build_id_read(const char *path, char hex[PSNAP_BUILD_ID_CHARS])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *file = MAP_FAILED;
    struct stat about;

    hex[0] = '\0';
    if (fd < 0)
        return;
    if (fstat(fd, &about) == 0 && (size_t)about.st_size >= sizeof(Elf64_Ehdr))
        file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return;
    find_in_file(file, (size_t)about.st_size, hex);
    munmap(file, (size_t)about.st_size);
}
