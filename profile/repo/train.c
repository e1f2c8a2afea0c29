/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first dictionary of a repository. Of several processes that find none one trains, the others
 * wait for it.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "profile/repo/add.h"

void repo_train(struct repo *repo, const void *samples, const size_t *sizes, unsigned count)
{
    struct repo_bytes dictionary = {0};
    struct repo_id id;
    const int lock =
        openat(repo->cache, "dictionary.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (lock < 0)
        return;
    flock(lock, LOCK_EX);
    if (!repo_dictionary_for_new(repo) && codec_train(samples, sizes, count, &dictionary))
        repo_commit(repo, REPO_DICTIONARY, &dictionary, &id, NULL); /* else it goes without */
    close(lock);
    repo_bytes_release(&dictionary);
}
