/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole files or none. A regular file is written to an unnamed file of the
 * target's directory (O_TMPFILE), which gets a name only at commit, so that
 * nothing is left behind however the program dies; where the file system has
 * no unnamed files, to ".NAME.psnap-PID-N" beside it. Commit is flush, fsync
 * and rename, without replacing anything that appeared in the meantime unless
 * `force`. A target that is a symbolic link is replaced where it points to.
 *
 * Room that was reserved makes the file longer until commit cuts it to what was written.
 *
 * A partial output is written to "NAME.part", locked (flock) as long as it is
 * written, so that what is left of a dead process can be told from what a living
 * one has. Anything else of that name, a link for one, is neither followed nor
 * touched.
 *
 * Devices, FIFOs and standard output are written directly: what has been
 * written to them cannot be taken back.
 */
#include "formats/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)64 << 10)
#define TEMPORARY_TRIES 100

enum mode {
    DIRECT_STDOUT, /* not ours to close */
    DIRECT,
    UNNAMED, /* regular, in an unnamed file */
    NAMED,   /* regular, in `temporary` */
    PARTIAL  /* the same, and it is worth keeping */
};

struct psnap_output {
    enum mode mode;
    bool force;
    bool is_reserved;   /* room was taken: the file is longer than what was written */
    mode_t permissions; /* of the file that is replaced, 0 for none */
    FILE *file;
    char *path;      /* as the user gave it: for messages */
    char *target;    /* regular: what appears, links resolved */
    char *temporary; /* regular: its name until then */
    char buffer[BUFFER_BYTES];
};

static enum psnap_status fail(struct psnap_error *error, const char *verb, const char *path)
{
    return psnap_error_file(error, errno, verb, path);
}

static void remove_temporary(const struct psnap_output *output)
{
    if ((output->mode == NAMED || output->mode == PARTIAL) && output->temporary)
        unlink(output->temporary);
}

static void output_free(struct psnap_output *output)
{
    free(output->path);
    free(output->target);
    free(output->temporary);
    free(output);
}

static int directory_length(const struct psnap_output *output)
{
    const char *slash = strrchr(output->target, '/');

    return slash ? (int)(slash - output->target + 1) : 0;
}

/* Sets `temporary` to one name after the other until attempt(output) is not -1 with errno EEXIST;
 * returns that. */
static int try_names(struct psnap_output *output, int (*attempt)(const struct psnap_output *))
{
    const int directory = directory_length(output);
    int result = -1;

    errno = EEXIST;
    for (int i = 0; i < TEMPORARY_TRIES && result < 0 && errno == EEXIST; i++) {
        free(output->temporary);
        if (asprintf(&output->temporary, "%.*s.%.200s.psnap-%ld-%d", directory, output->target,
                     output->target + directory, (long)getpid(), i) < 0) {
            output->temporary = NULL;
            return -1;
        }
        result = attempt(output);
    }
    return result;
}

static int create_named(const struct psnap_output *output)
{
    return open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static int link_unnamed(const struct psnap_output *output)
{
    char descriptor[64];

    snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", fileno(output->file));
    return linkat(AT_FDCWD, descriptor, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW);
}

/* Opens a new file that is not `target` yet; -1 with errno set. */
static int open_temporary(struct psnap_output *output)
{
    char *directory;
    int fd = -1;

    if (asprintf(&directory, "%.*s.", directory_length(output), output->target) < 0)
        return -1;
    if (!access("/proc/self/fd", X_OK)) /* through which it gets its name */
        fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    free(directory);
    output->mode = fd >= 0 ? UNNAMED : NAMED;
    return fd >= 0 ? fd : try_names(output, create_named);
}

/* Whether the file that was opened and locked still has its name, and is not yet another's trace.
 */
static bool is_still_there(int fd, const char *path)
{
    struct stat opened, named;

    return !fstat(fd, &opened) && !lstat(path, &named) && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

/* Opens and locks `temporary`; -1 with errno EEXIST if it is another's: of a process at work, or no
 * file that one of ours has left, such as a link. */
static int open_own(const struct psnap_output *output, bool (*is_own)(const void *, size_t),
                    bool *is_left)
{
    char start[PSNAP_OUTPUT_START + 1];
    int fd = create_named(output);
    struct stat about;
    ssize_t n;

    *is_left = fd < 0 && errno == EEXIST;
    if (*is_left)
        fd = open(output->temporary, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (!*is_left && (fd < 0 || !flock(fd, LOCK_EX))) /* others look at it, and leave it */
        return fd;
    n = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) ? -1 : pread(fd, start, sizeof start - 1, 0);
    if (n > 0 && is_own(start, (size_t)n) && !fstat(fd, &about) && S_ISREG(about.st_mode) &&
        about.st_nlink == 1 && is_still_there(fd, output->temporary))
        return fd;
    if (fd >= 0)
        close(fd);
    errno = EEXIST;
    return -1;
}

/* Opens and empties the partial file, whose name it sets; -1 with `error` filled. */
static int open_part(struct psnap_output *output, bool (*is_own)(const void *, size_t),
                     struct psnap_error *error)
{
    int failure = EEXIST;

    for (int i = 1; i <= TEMPORARY_TRIES && failure == EEXIST; i++) {
        bool is_left;
        int fd;

        free(output->temporary);
        if ((i == 1 ? asprintf(&output->temporary, "%s.part", output->target)
                    : asprintf(&output->temporary, "%s.part.%d", output->target, i)) < 0) {
            output->temporary = NULL;
            failure = ENOMEM;
            break;
        }
        fd = open_own(output, is_own, &is_left);
        failure = fd < 0 ? errno : 0;
        if (fd >= 0 && is_left && !output->force) {
            psnap_error_set(error, PSNAP_ERROR_EXISTS,
                            "'%s' is what a recording that was cut off has left; rename it to keep "
                            "it, --force would overwrite it",
                            output->temporary);
            close(fd);
            return -1;
        }
        if (fd >= 0 && !ftruncate(fd, 0)) {
            output->mode = PARTIAL;
            return fd;
        }
        if (fd >= 0) {
            failure = errno;
            close(fd);
        }
    }
    errno = failure;
    fail(error, "create", output->temporary ? output->temporary : output->path);
    return -1;
}

/* Decides how `path` is written and opens it; -1 with `error` filled. */
static int open_path(struct psnap_output *output, bool (*is_own)(const void *, size_t),
                     struct psnap_error *error)
{
    struct stat status;
    const bool exists = !stat(output->path, &status);
    int fd;

    if (!exists && errno != ENOENT) {
        fail(error, "open", output->path);
        return -1;
    }
    if (exists && !S_ISREG(status.st_mode)) {
        output->mode = DIRECT;
        fd = open(output->path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
            fail(error, "open", output->path);
        return fd;
    }
    if (exists && !output->force) {
        psnap_error_set(error, PSNAP_ERROR_EXISTS,
                        "'%s' exists already; --force would overwrite it", output->path);
        return -1;
    }
    output->permissions = exists ? status.st_mode & 0777 : 0;
    output->target = exists ? realpath(output->path, NULL) : strdup(output->path);
    if (is_own && output->target)
        return open_part(output, is_own, error);
    fd = output->target ? open_temporary(output) : -1;
    if (fd < 0)
        fail(error, exists ? "replace" : "create", output->path);
    return fd;
}

bool psnap_output_is_stdout(const char *path)
{
    return path && (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"));
}

bool psnap_output_is_same(const char *path, const char *other)
{
    struct stat of_path, of_other;
    bool exists;

    if (!path || !other || psnap_output_is_stdout(path) || psnap_output_is_stdout(other))
        return false;
    exists = !stat(path, &of_path);
    if (!exists || stat(other, &of_other))
        return !exists && !strcmp(path, other);
    return S_ISREG(of_path.st_mode) && of_path.st_ino == of_other.st_ino &&
           of_path.st_dev == of_other.st_dev;
}

static struct psnap_output *open_output(const char *path, bool force,
                                        bool (*is_own)(const void *, size_t),
                                        struct psnap_error *error)
{
    struct psnap_output *output = calloc(1, sizeof *output);
    int fd = -1;

    if (!output || !(output->path = strdup(path))) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        goto out;
    }
    output->force = force;
    if (psnap_output_is_stdout(path)) {
        output->mode = DIRECT_STDOUT;
        output->file = stdout;
        return output;
    }
    fd = open_path(output, is_own, error);
    if (fd < 0)
        goto out;
    output->file = fdopen(fd, "w");
    if (!output->file) {
        fail(error, "open", path);
        goto out;
    }
    setvbuf(output->file, output->buffer, _IOFBF, BUFFER_BYTES);
    return output;
out:
    if (fd >= 0) {
        close(fd);
        remove_temporary(output);
    }
    if (output)
        output_free(output);
    return NULL;
}

struct psnap_output *psnap_output_open(const char *path, bool force, struct psnap_error *error)
{
    return open_output(path, force, NULL, error);
}

struct psnap_output *psnap_output_open_partial(const char *path, bool force,
                                               bool (*is_own)(const void *start, size_t n),
                                               struct psnap_error *error)
{
    return open_output(path, force, is_own, error);
}

bool psnap_output_is_partial(const struct psnap_output *output)
{
    return output->mode == PARTIAL;
}

FILE *psnap_output_file(struct psnap_output *output)
{
    return output->file;
}

void psnap_output_reserve(struct psnap_output *output, uint64_t bytes)
{
    struct statvfs disk;
    const int fd = fileno(output->file);

    if (output->mode == DIRECT_STDOUT || output->mode == DIRECT || fstatvfs(fd, &disk))
        return;
    if (bytes > disk.f_bavail / 4 * disk.f_frsize)
        bytes = disk.f_bavail / 4 * disk.f_frsize;
    if (bytes) /* what fails may have taken a part: that is given back like the whole */
        output->is_reserved = !fallocate(fd, 0, 0, (off_t)bytes) || errno != EOPNOTSUPP;
}

/* rename(2) that replaces only what the user allowed to replace. */
static int rename_to_target(const struct psnap_output *output)
{
    if (output->force)
        return rename(output->temporary, output->target);
    if (!renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->target, RENAME_NOREPLACE))
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    /* a file system that cannot promise it: look, then rename */
    if (!access(output->target, F_OK)) {
        errno = EEXIST;
        return -1;
    }
    return rename(output->temporary, output->target);
}

static int make_appear(struct psnap_output *output)
{
    if (output->mode == DIRECT_STDOUT || output->mode == DIRECT)
        return 0;
    if (output->permissions && fchmod(fileno(output->file), output->permissions))
        return -1;
    if (output->is_reserved && ftruncate(fileno(output->file), ftello(output->file)))
        return -1;
    if (fsync(fileno(output->file)))
        return -1;
    if (output->mode == UNNAMED && try_names(output, link_unnamed))
        return -1;
    if (output->mode == UNNAMED)
        output->mode = NAMED; /* so that abandoning removes it */
    return rename_to_target(output);
}

/* Moves what has its temporary name to the first of NAME.ID, NAME.ID.2 ... that is free. */
static int appear_beside(struct psnap_output *output, long id)
{
    for (int n = 1; n <= TEMPORARY_TRIES; n++) {
        char *name;
        if ((n == 1 ? asprintf(&name, "%s.%ld", output->path, id)
                    : asprintf(&name, "%s.%ld.%d", output->path, id, n)) < 0)
            return -1;
        free(output->target);
        output->target = name;
        if (!rename_to_target(output))
            return 0;
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

/* With `id` 0 under its own name or not at all. */
static enum psnap_status commit(struct psnap_output *output, long id, char *name, size_t size,
                                struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    const char *shown = output->path;

    if (ferror(output->file)) { /* an earlier write: what is left fails for the same reason */
        if (!fflush(output->file))
            errno = EIO;
    } else if (!fflush(output->file)) {
        if (!make_appear(output))
            goto out;
        if (id && errno == EEXIST && output->mode != UNNAMED && !appear_beside(output, id)) {
            shown = output->target;
            goto out;
        }
    }
    status = fail(error, "write", output->path);
    remove_temporary(output);
out:
    if (name)
        snprintf(name, size, "%s", shown);
    if (output->mode != DIRECT_STDOUT)
        fclose(output->file);
    output_free(output);
    return status;
}

enum psnap_status psnap_output_commit(struct psnap_output *output, struct psnap_error *error)
{
    return commit(output, 0, NULL, 0, error);
}

enum psnap_status psnap_output_finish(struct psnap_output *output, enum psnap_status status,
                                      struct psnap_error *error)
{
    if (output && !status)
        return psnap_output_commit(output, error);
    if (output && ferror(output->file))
        psnap_error_at(error, output->path, 0, 0);
    psnap_output_abandon(output);
    return status;
}

enum psnap_status psnap_output_commit_beside(struct psnap_output *output, long id, char *name,
                                             size_t size, struct psnap_error *error)
{
    output->force = false;
    output->permissions = 0;
    return commit(output, id, name, size, error);
}

void psnap_output_keep(struct psnap_output *output, char *name, size_t size)
{
    struct stat about;

    if (output->mode == PARTIAL && !fstat(fileno(output->file), &about) && about.st_size > 0) {
        snprintf(name, size, "%s", output->temporary);
        output->mode = UNNAMED; /* so that it is not removed */
    } else {
        name[0] = '\0';
    }
    psnap_output_abandon(output);
}

void psnap_output_abandon(struct psnap_output *output)
{
    if (!output)
        return;
    if (output->mode != DIRECT_STDOUT)
        fclose(output->file);
    remove_temporary(output);
    output_free(output);
}
