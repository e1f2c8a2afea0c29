/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hash of a file's content, which is mapped, as it may be longer than memory.
 */
#include "predict/cmd_content.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum psnap_status hash(int fd, const char *path, size_t size, struct repo_id *id,
                              struct psnap_error *error)
{
    void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;

    if (bytes == MAP_FAILED)
        return psnap_error_file(error, errno, "read", path);
    repo_id_of(bytes ? bytes : "", size, id);
    if (bytes)
        munmap(bytes, size);
    return PSNAP_OK;
}

enum psnap_status content_id(const char *path, struct repo_id *id, uint64_t *bytes,
                             struct psnap_error *error)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum psnap_status status = PSNAP_OK;
    struct stat about;

    if (fd < 0 || fstat(fd, &about))
        status = psnap_error_file(error, errno, "open", path);
    else if (!S_ISREG(about.st_mode))
        status = psnap_error_file(error, ESPIPE, "read", path);
    else
        status = hash(fd, path, (size_t)about.st_size, id, error);
    if (!status && bytes)
        *bytes = (uint64_t)about.st_size;
    if (fd >= 0)
        close(fd);
    return status;
}
