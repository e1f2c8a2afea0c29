/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of others: no shell has a part in it. */
#include "predict/cmd_tool.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int tool_run(const char *const *arguments, int in, int out, int err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual;
    pid_t child;
    int failure, status = -1;

    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE); /* we ignore it; others do not expect that */
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    failure = posix_spawnp(&child, arguments[0], &actions, &attributes,
                           (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    while (!failure && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    errno = failure;
    return failure ? -1 : status;
}

void tool_complaint(FILE *err, char *line, int size)
{
    line[0] = '\0';
    if (fseek(err, 0, SEEK_SET) != 0)
        return;
    while (fgets(line, size, err) && (line[0] == '\n' || line[strspn(line, " \t^")] == '\n'))
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
}
