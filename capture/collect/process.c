/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A folder of the PATH that is empty is the current one. elfutils find the build id in what
 * programs and libraries have for segments or sections of notes. A mapping is a line: "LOW-HIGH
 * PERMISSIONS OFFSET MAJOR:MINOR INODE PATH". Expects Linux: /proc and pidfd.
 */
#include "capture/collect/process.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/room.h"

enum { FILE_BYTES_MAX = 4 << 20 };

bool psnap_find_program(const char *name, char *path, size_t size)
{
    const char *folders = getenv("PATH");
    int written = snprintf(path, size, "%s", name);

    if (strchr(name, '/'))
        return (size_t)written < size;
    for (folders = folders ? folders : "/usr/bin:/bin"; *folders;) {
        const size_t length = strcspn(folders, ":");
        written = snprintf(path, size, "%.*s%s%s", (int)length, folders, length ? "/" : "", name);
        if (written > 0 && (size_t)written < size && access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

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

void psnap_mappings_open(struct psnap_mappings *mappings, pid_t pid)
{
    char name[64];

    snprintf(name, sizeof name, "/proc/%ld/maps", (long)pid);
    *mappings = (struct psnap_mappings){.file = fopen(name, "re")};
}

bool psnap_mappings_next(struct psnap_mappings *mappings, struct psnap_mapping *mapping)
{
    unsigned major, minor;
    int at = 0;

    if (!mappings->file || getline(&mappings->line, &mappings->size, mappings->file) <= 0 ||
        sscanf(mappings->line, "%" SCNx64 "-%" SCNx64 " %7s %*s %x:%x %" SCNu64 " %n",
               &mapping->low, &mapping->high, mapping->permissions, &major, &minor, &mapping->inode,
               &at) < 6)
        return false;
    mapping->device = (uint64_t)major << 32 | minor;
    mappings->line[strcspn(mappings->line, "\n")] = '\0';
    mapping->path = at > 0 ? mappings->line + at : "";
    mapping->name = mapping->path[0];
    return true;
}

void psnap_mappings_close(struct psnap_mappings *mappings)
{
    if (mappings->file)
        fclose(mappings->file);
    free(mappings->line);
    *mappings = (struct psnap_mappings){0};
}

char *psnap_process_file(pid_t pid, const char *name, size_t *size)
{
    char path[64], *text = NULL;
    size_t room = 0;
    ssize_t more = 1;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    *size = 0;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    for (; more > 0; *size += (size_t)more) {
        if (room < FILE_BYTES_MAX && !psnap_make_room(&text, &room, *size + 4096, 1))
            break;
        more = read(fd, text + *size, room - *size - 1);
        more = more < 0 ? 0 : more;
    }
    close(fd);
    if (text)
        text[*size] = '\0';
    return text;
}

bool psnap_process_is_over(int pidfd)
{
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};

    return pidfd < 0 || poll(&ended, 1, 0) > 0;
}

bool psnap_child_has_ended(pid_t child)
{
    siginfo_t about = {0};

    return waitid(P_PID, (id_t)child, &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid;
}
