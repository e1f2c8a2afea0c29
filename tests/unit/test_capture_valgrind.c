/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine for Valgrind on lines written by hand: a shell script called
 * valgrind stands in for it and prints what lackey would. Calls within loops,
 * recursion, threads and what is no lackey's line.
 */
#include "tests/unit/test.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/valgrind/engine_valgrind.h"

/* What came out of a run. */
struct run {
    struct psnap_source *source;
    struct psnap_access accesses[4096];
    size_t count;
};

/* A "valgrind" in the PATH that writes `lines` to the descriptor of its --log-fd. */
static void write_script(const char *folder, const char *lines)
{
    char path[128], folders[8192];
    FILE *file;

    snprintf(path, sizeof path, "%s/valgrind", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, /* Valgrind's writes are short, as the first one here */
            "#!/bin/sh\nfor a; do case $a in --log-fd=*) fd=${a#*=} ;; esac; done\n"
            "echo >/dev/fd/$fd\ncat >/dev/fd/$fd <<'END'\n%s\nEND\n",
            lines);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
    snprintf(folders, sizeof folders, "%s:%s", folder, getenv("PATH"));
    setenv("PATH", folders, 1);
}

static pid_t start(struct psnap_source *source)
{
    char name[] = "program", *argv[] = {name, NULL}, **command;
    pid_t pid;

    command = psnap_valgrind_command(source, argv);
    assert_non_null(command);
    pid = fork();
    if (pid == 0) {
        execv(command[0], command);
        _exit(127);
    }
    free(command);
    psnap_valgrind_watch(source, pid);
    return pid;
}

static void run(struct run *run, const char *lines)
{
    char folder[] = "/tmp/psnap-test-XXXXXX", path[128], *old_path = strdup(getenv("PATH"));
    struct psnap_error error = {0};
    ssize_t n;
    pid_t pid;

    *run = (struct run){0};
    assert_non_null(old_path);
    assert_non_null(mkdtemp(folder));
    write_script(folder, lines);
    run->source = psnap_valgrind_new(&error);
    assert_non_null(run->source);
    pid = start(run->source);
    while ((n = psnap_source_next(run->source, run->accesses + run->count, 7, &error)) > 0) {
        run->count += (size_t)n;
        assert_true(run->count + 7 < sizeof run->accesses / sizeof *run->accesses);
    }
    assert_int_equal(n, 0);
    waitpid(pid, NULL, 0);
    snprintf(path, sizeof path, "%s/valgrind", folder);
    unlink(path);
    rmdir(folder);
    setenv("PATH", old_path, 1);
    free(old_path);
}

/* "id depth parent entries iterations accesses" of all loops, in the order of their rows. */
static void expect(const struct run *run, const char *expected)
{
    const struct psnap_program *program = run->source->program;
    char text[4096] = "";
    size_t length = 0;

    for (uint32_t l = 0; l < program->loop_count; l++) {
        const struct psnap_loop *loop = &program->loops[l];
        size_t accesses = 0;
        for (size_t i = 0; i < run->count; i++)
            accesses += program->refs[run->accesses[i].ref].loop == l;
        length += (size_t)snprintf(
            text + length, sizeof text - length, "%s %u %s %u %u %zu\n", loop->id, loop->depth,
            loop->parent == PSNAP_NONE ? "-" : program->loops[loop->parent].id,
            (unsigned)program->blocks[loop->entry].executions,
            (unsigned)program->blocks[loop->header].executions, accesses);
        assert_true(length < sizeof text);
    }
    assert_string_equal(text, expected);
    psnap_source_free(run->source);
}

/* A function at 1000 that calls another, at 2000, from a loop. */
#define CALLING "I  1004,4\n L 7000,8\nI  1008,5\n S 8ff8,8\n"
#define CALLED "I  2000,4\n L 7100,4\nI  2004,1\n L 8ff8,8\n"
#define BACK "I  100d,2\n"

TEST(call_in_a_loop)
{
    struct run result;

    run(&result, "I  1000,4\n" CALLING CALLED BACK CALLING CALLED BACK CALLING CALLED BACK
                 "I  100f,1\n M 7200,4");
    assert_int_equal(result.count, 14);
    expect(&result, "0x1000 0 - 1 1 2\n0x1004 1 0x1000 1 3 6\n0x2000 0 - 3 3 6\n");
}

/* The called function has a loop; so does what calls it. */
TEST(nested_in_calls)
{
#define LOOP "I  2000,4\n L 7100,4\nI  2004,2\n"
#define RETURN "I  2006,1\n L 8ff8,8\n"
    struct run result;

    run(&result, "I  1000,4\n" CALLING LOOP LOOP LOOP RETURN BACK CALLING LOOP RETURN BACK
                 "I  100f,1\n S 7200,4");
    expect(&result, "0x1000 0 - 1 1 1\n0x1004 1 0x1000 1 2 4\n0x2000 0 - 2 2 2\n"
                    "0x2000#2 1 0x2000 2 4 4\n");
}

TEST(recursion)
{
#define DOWN(slot) "I  2000,4\n L 7100,4\nI  2004,5\n S " slot ",8\n"
#define UP(slot) "I  2009,1\n L " slot ",8\n"
    struct run result;

    run(&result,
        "I  1000,5\n S 8ff8,8\n" DOWN("8fe8") DOWN("8fd8")
            DOWN("8fc8") "I  2000,4\n L 7100,4\nI  2004,1\nI  2005,1\n L 8fc8,8\n" UP("8fd8")
                UP("8fe8") UP("8ff8") "I  1005,2\n");
    expect(&result, "0x1000 0 - 1 1 1\n0x2000 0 - 4 4 11\n");
}

/* A jump into the middle of a function that waits for a call to return. */
TEST(long_jump)
{
#define THROW "I  2000,4\n L 7100,4\nI  2004,2\nI  3000,2\n L 7300,8\n"
    struct run result;

    run(&result, "I  1000,4\n" CALLING CALLED BACK CALLING THROW BACK CALLING THROW BACK
                 "I  100f,1\n L 7200,4");
    expect(&result, "0x1000 0 - 1 1 1\n0x1004 1 0x1000 1 3 6\n0x2000 0 - 3 3 6\n");
}

TEST(threads)
{
#define SWITCH(n) "--77--   SCHED[" #n "]:  acquired lock (VG_(scheduler):timeslice)\n"
#define BEGIN(n) SWITCH(n) "--77--   SCHED[" #n "]: entering VG_(scheduler)\n"
    struct run result;

    run(&result,
        BEGIN(1) "I  1000,4\n L 7000,8\nI  1004,2\nI  1000,4\n L 7008,8\n" BEGIN(
            2) "I  5000,4\n S 9000,1\nI  5004,2\n" SWITCH(1) "I  1004,2\n S 7010,4\n"
                                                             "I  1000,4\n" SWITCH(
                                                                 2) "I  5000,4\n "
                                                                    "S "
                                                                    "9001,"
                                                                    "1\n" BEGIN(
                                                                        2) "I  "
                                                                           "5000,"
                                                                           "4\n S "
                                                                           "1,"
                                                                           "1"
                                                                           "\n" SWITCH(
                                                                               1) " L 1,1\n");
    assert_int_equal(result.count, 7);
    assert_int_equal(result.accesses[0].thread, 0);
    assert_int_equal(result.accesses[2].thread, 1);
    assert_int_equal(result.accesses[3].thread, 0);
    assert_int_equal(result.accesses[4].thread, 1);
    assert_int_equal(result.accesses[5].thread, 2); /* in the place of one that has ended */
    assert_int_equal(result.accesses[6].thread, 0);
    expect(&result, "0x1000 0 - 1 1 0\n0x1000#2 1 0x1000 1 3 4\n0x5000 0 - 2 2 0\n"
                    "0x5000#2 1 0x5000 2 3 3\n");
}

/* A string instruction is a loop of one; wide accesses are split; the rest is passed over. */
TEST(lines)
{
    char text[4096], *at = text;
    struct run result;

    at += sprintf(at, " L 7000,4\n==1== I  1000,4\n\n\nI\nI  \nI  10\nI  10,\nI  xyz,3\nL 1,1\n"
                      "I  1000,2\n L 7000,1\n S 8000,1\nI  1000,2\n L 7001,1\n S 8001,1\n"
                      "I  1002,4\n S 9000,160\n S 9000,0\n S 9000,99999999\n S 9000,4 \n");
    at += sprintf(at, "==1== %01500d\n", 0);
    sprintf(at, "==1== %01000d\n M 9000,4\nI  1006,1\n L 9000,4 and no end", 0);
    run(&result, text);
    assert_int_equal(result.count, 9);
    assert_int_equal(result.accesses[4].size, 64);
    assert_int_equal(result.accesses[6].size, 32);
    assert_int_equal(result.accesses[6].address - result.accesses[4].address, 128);
    assert_int_equal(result.accesses[7].kind, PSNAP_LOAD);
    assert_int_equal(result.accesses[8].kind, PSNAP_STORE);
    expect(&result, "0x1000 0 - 1 1 5\n0x1000#2 1 0x1000 1 2 4\n");
}

TEST(nothing)
{
    struct run result;

    run(&result, "==1== valgrind: cannot run that");
    assert_int_equal(result.count, 0);
    expect(&result, "");
}
