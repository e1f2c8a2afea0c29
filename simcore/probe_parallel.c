/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the run-time library of clang's OpenMP takes for parallel sections and barriers: an empty
 * section with one thread and with two, and barriers of two threads, through the functions that
 * compiled programs call. All is done in a process of its own, for the library keeps threads that
 * would run beside what is measured next.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simcore/machine.h"
#include "simcore/probe_survey.h"

/* ident_t, which says where in the source a call is. */
struct place {
    int32_t reserved, flags, reserved_2, reserved_3;
    const char *source;
};

typedef void section_function(int32_t *thread, int32_t *bound, ...);

static struct {
    void (*fork_call)(struct place *place, int32_t arguments, section_function *section, ...);
    void (*barrier)(struct place *place, int32_t thread);
    void (*set_num_threads)(int threads);
} library;

static struct place here = {0, 2 /* of a compiler */, 0, 0, ";unknown;unknown;0;0;;"};
static uint64_t barriers;

static void nothing(int32_t *thread, int32_t *bound, ...)
{
    (void)thread;
    (void)bound;
}

static void wait_often(int32_t *thread, int32_t *bound, ...)
{
    (void)bound;
    for (uint64_t i = barriers; i; i--)
        library.barrier(&here, *thread);
}

static void run_sections(void *unused, uint64_t steps)
{
    (void)unused;
    for (; steps; steps--)
        library.fork_call(&here, 0, nothing);
}

static void run_barriers(void *unused, uint64_t steps)
{
    (void)unused;
    barriers = steps;
    library.fork_call(&here, 0, wait_often);
}

static bool open_library(void)
{
    static const char *const names[] = {"libomp.so.5", "libomp.so", "libiomp5.so"};
    void *handle = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return false;
    *(void **)&library.fork_call = dlsym(handle, "__kmpc_fork_call");
    *(void **)&library.barrier = dlsym(handle, "__kmpc_barrier");
    *(void **)&library.set_num_threads = dlsym(handle, "omp_set_num_threads");
    return library.fork_call && library.barrier && library.set_num_threads;
}

static struct psnap_parallel_cost measure(const struct psnap_machine *machine, double slice)
{
    struct psnap_parallel_cost cost = {0};

    library.set_num_threads(1);
    cost.alone_cycles = probe_measure((struct probe_kernel){.run = run_sections}, slice).cycles;
    if (machine->cores < 2)
        return cost;
    library.set_num_threads(2);
    cost.section_cycles = probe_measure((struct probe_kernel){.run = run_sections}, slice).cycles;
    cost.barrier_cycles = probe_measure((struct probe_kernel){.run = run_barriers}, slice).cycles;
    return cost;
}

void survey_parallel(struct survey *survey)
{
    struct psnap_parallel_cost cost = {0};
    int ends[2];
    pid_t child;

    if (survey->progress.tell)
        survey->progress.tell(survey->progress.context, "OpenMP's sections and barriers",
                              survey->done / survey->all);
    survey->done += SURVEY_PARALLEL_SLICES;
    if (pipe(ends))
        return;
    child = fork();
    if (child == 0) {
        if (open_library())
            cost = measure(survey->machine, survey->slice);
        _exit(write(ends[1], &cost, sizeof cost) != sizeof cost);
    }
    close(ends[1]);
    if (child > 0 && read(ends[0], &cost, sizeof cost) == sizeof cost)
        survey->machine->parallel = (struct psnap_parallel_cost){
            survey_rounded(cost.alone_cycles), survey_rounded(cost.section_cycles),
            survey_rounded(cost.barrier_cycles)};
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}
