/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the run-time library of clang's OpenMP takes for parallel sections and barriers: an empty
 * section with one thread and with two, and barriers of two threads, through the functions that
 * compiled programs call. All is done in a process of its own, for the library keeps threads that
 * would run beside what is measured next, and may wait long for each other where other programs
 * run: then it is ended.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/reals.h"
#include "simcore/machine.h"
#include "simcore/probe_survey.h"

#define GRACE_SECONDS 2

/* ident_t, which says where in the source a call is. */
struct place {
    int32_t reserved, flags, reserved_2, reserved_3;
    const char *source;
};

struct library;
/* Gets what is shared by value, each as a pointer is passed. */
typedef void section_function(int32_t *thread, int32_t *bound, struct library *library,
                              uintptr_t barriers);

struct library {
    void (*fork_call)(struct place *place, int32_t arguments, section_function *section, ...);
    void (*barrier)(struct place *place, int32_t thread);
    void (*set_num_threads)(int threads);
    struct place here;
};

static void wait_often(int32_t *thread, int32_t *bound, struct library *library, uintptr_t barriers)
{
    (void)bound;
    for (; barriers; barriers--)
        library->barrier(&library->here, *thread);
}

static void run_sections(void *context, uint64_t steps)
{
    struct library *library = context;

    for (; steps; steps--)
        library->fork_call(&library->here, 2, wait_often, library, (uintptr_t)0);
}

static void run_barriers(void *context, uint64_t steps)
{
    struct library *library = context;

    library->fork_call(&library->here, 2, wait_often, library, (uintptr_t)steps);
}

static bool open_library(struct library *library)
{
    static const char *const names[] = {"libomp.so.5", "libomp.so", "libiomp5.so"};
    void *handle = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return false;
    *(void **)&library->fork_call = dlsym(handle, "__kmpc_fork_call");
    *(void **)&library->barrier = dlsym(handle, "__kmpc_barrier");
    *(void **)&library->set_num_threads = dlsym(handle, "omp_set_num_threads");
    library->here = (struct place){0, 2 /* of a compiler */, 0, 0, ";unknown;unknown;0;0;;"};
    return library->fork_call && library->barrier && library->set_num_threads;
}

static struct psnap_parallel_cost
measure(struct library *library, const struct psnap_machine *machine, double slice, double limit)
{
    struct psnap_parallel_cost cost = {0};

    library->set_num_threads(1);
    cost.alone_cycles =
        probe_measure((struct probe_kernel){run_sections, library, NULL}, slice, limit).cycles;
    if (machine->cores < 2)
        return cost;
    library->set_num_threads(2);
    cost.section_cycles =
        probe_measure((struct probe_kernel){run_sections, library, NULL}, slice, limit).cycles;
    cost.barrier_cycles =
        probe_measure((struct probe_kernel){run_barriers, library, NULL}, slice, limit).cycles;
    return cost;
}

void survey_parallel(struct survey *survey)
{
    struct psnap_parallel_cost cost = {0};
    struct library library;
    struct pollfd told = {.events = POLLIN};
    const double left = survey->limit - psnap_reals_now();
    int ends[2];
    pid_t child;

    if (survey->progress.tell)
        survey->progress.tell(survey->progress.context, "OpenMP's sections and barriers",
                              survey->done / survey->all);
    survey->done += SURVEY_PARALLEL_SLICES;
    if (pipe2(ends, O_CLOEXEC))
        return;
    child = fork();
    if (child == 0) {
        setenv("OMP_PROC_BIND", "true", 0); /* else the system may have both on one core at first */
        if (open_library(&library))
            cost = measure(&library, survey->machine, survey->slice, survey->limit);
        _exit(write(ends[1], &cost, sizeof cost) != sizeof cost);
    }
    close(ends[1]);
    told.fd = ends[0];
    if (child > 0 && poll(&told, 1, (int)(1e3 * ((left > 0 ? left : 0) + GRACE_SECONDS))) == 0) {
        survey->notes->is_short = true;
        kill(child, SIGKILL);
    }
    if (child > 0 && read(ends[0], &cost, sizeof cost) == sizeof cost)
        survey->machine->parallel = (struct psnap_parallel_cost){
            survey_rounded(cost.alone_cycles), survey_rounded(cost.section_cycles),
            survey_rounded(cost.barrier_cycles)};
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}
