/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A repository as a static web site without reports: its index page (site_page.h), and the profiles
 * as files. Everything is in a new directory, which is written beside its name and gets it at the
 * end. Texts of profiles are escaped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/repo/site_page.h"
#include "profile/repo/transfer.h"

struct site {
    int directory, profiles; /* file descriptors */
    struct site_page page;
    void (*refused)(void *context, const struct psnap_error *error);
    void *context;
};

static enum psnap_status write_file(int directory, const char *name, const void *bytes, size_t size,
                                    struct psnap_error *error)
{
    const int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    size_t written = 0;
    bool is_good = fd >= 0;

    while (is_good && written < size) {
        const ssize_t n = write(fd, (const char *)bytes + written, size - written);
        is_good = n > 0 || (n < 0 && errno == EINTR);
        written += n > 0 ? (size_t)n : 0;
    }
    if (!is_good)
        psnap_error_file(error, errno, "write", name);
    if (fd >= 0)
        close(fd);
    return is_good ? PSNAP_OK : PSNAP_ERROR_IO;
}

static enum psnap_status put_profile(void *context, const struct entry *entry,
                                     const struct repo_bytes *raw, struct psnap_error *error)
{
    struct site *site = context;
    char name[64];

    if (!raw) {
        site->refused(site->context, error);
        return PSNAP_OK;
    }
    site_page_row(&site->page, &(struct site_row){.entry = entry, .has_profile = true});
    snprintf(name, sizeof name, "%.32s.yaml", entry->id);
    return write_file(site->profiles, name, raw->data, raw->size, error);
}

static enum psnap_status write_site(struct index *index, const struct index_query *query,
                                    struct site *site, struct psnap_error *error)
{
    const struct transfer transfer = {put_profile, site};
    enum psnap_status status;
    char *text = NULL;
    size_t size = 0;

    site->page = (struct site_page){.file = open_memstream(&text, &size), .title = "Profiles"};
    if (!site->page.file)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    site_page_begin(&site->page);
    status = transfer_each(index, query, &transfer, error);
    site_page_end(&site->page);
    if (fclose(site->page.file) && !status)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status)
        status = write_file(site->directory, SITE_INDEX, text, size, error);
    free(text);
    if (!status && syncfs(site->directory))
        status = psnap_error_system(error, errno, "cannot write the site");
    return status;
}

static bool remove_one(void *context, const struct entry *entry)
{
    const struct site *site = context;
    char name[64];

    snprintf(name, sizeof name, "%.32s.yaml", entry->id);
    unlinkat(site->profiles, name, 0);
    return true;
}

/* What was written is no site: files of this process alone, in a directory of its own. */
static void remove_site(struct index *index, const struct index_query *query, struct site *site,
                        const char *temporary)
{
    if (site->profiles >= 0)
        index_list(index, query, remove_one, site, NULL);
    if (site->directory >= 0) {
        unlinkat(site->directory, SITE_INDEX, 0);
        unlinkat(site->directory, SITE_PROFILES, AT_REMOVEDIR);
    }
    rmdir(temporary);
}

enum psnap_status export_site(struct index *index, const struct index_query *query,
                              const char *path,
                              void (*refused)(void *context, const struct psnap_error *error),
                              void *context, struct psnap_error *error)
{
    struct site site = {.directory = -1, .profiles = -1, .refused = refused, .context = context};
    char temporary[4200];
    enum psnap_status status;
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/')
        length--;
    if ((size_t)snprintf(temporary, sizeof temporary, "%.*s.psnap-%ld", (int)length, path,
                         (long)getpid()) >= sizeof temporary)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "'%s' is too long", path);
    if (!access(path, F_OK) && rmdir(path)) /* an empty directory is as good as none */
        return psnap_error_set(error, PSNAP_ERROR_EXISTS, "'%s' exists already", path);
    if (mkdir(temporary, 0777) ||
        (site.directory = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
        mkdirat(site.directory, SITE_PROFILES, 0777) ||
        (site.profiles = openat(site.directory, SITE_PROFILES,
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        status = psnap_error_file(error, errno, "create", temporary);
    else
        status = write_site(index, query, &site, error);
    if (!status && renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE))
        status = psnap_error_file(error, errno, "create", path);
    if (status)
        remove_site(index, query, &site, temporary);
    if (site.profiles >= 0)
        close(site.profiles);
    if (site.directory >= 0)
        close(site.directory);
    return status;
}
