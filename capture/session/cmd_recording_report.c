/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a recording says besides accesses: of which run it is, and on stderr what of that run is
 * missing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "capture/collect/process.h"
#include "capture/session/cmd_recording.h"
#include "capture/session/cmd_roi.h"
#include "capture/valgrind/engine_valgrind.h"
#include "formats/base/text.h"

struct psnap_roi_report psnap_recording_roi(const struct psnap_recording *recording,
                                            const struct psnap_source *capture)
{
    return recording->is_foreign ? psnap_valgrind_roi(capture) : psnap_capture_report(capture).roi;
}

/* What makes the system keep the environment, and so the recording, from a program; NULL: nothing
 * does. */
static const char *privilege_of(const char *path)
{
    char capability[1];
    struct stat about;

    if (!path || stat(path, &about) != 0)
        return NULL;
    if ((about.st_mode & S_ISUID) && about.st_uid != geteuid())
        return "is set-uid";
    if ((about.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && about.st_gid != getegid())
        return "is set-gid";
    if (getxattr(path, "security.capability", capability, 0) > 0)
        return "has file capabilities";
    return NULL;
}

void psnap_recording_say_not_instrumented(const struct psnap_recording *recording)
{
    const char *privilege = privilege_of(recording->program), *command = recording->command;

    if (privilege) {
        psnap_print(
            stderr,
            "psnap %s: '%s' %s: such a program obeys nobody's environment, so that it cannot "
            "be recorded; record a copy that is not privileged\n",
            command, recording->program, privilege);
        return;
    }
    psnap_print(
        stderr,
        "psnap %s: the program is not instrumented, nothing was recorded\n"
        "  compile and link it with 'psnap cc' or 'psnap c++' (CC=\"psnap cc\" under make),\n"
        "  or record it as it is, more slowly, with 'psnap record --engine valgrind';\n"
        "  if it was compiled so its environment may have been cleared before it started\n"
        "  (" PSNAP_ENV_SESSION " has to be in it), or it runs where it cannot see psnap\n"
        "  (a user namespace, a container with a /proc of its own)\n",
        command);
}

/* What became of the accesses where an output could not be opened; true when it was so. */
static bool say_unwritten(const struct psnap_recording *recording)
{
    char digits[32];

    if (recording->unwritten)
        psnap_print(stderr, "psnap %s: %s accesses were counted, and are in no %s\n",
                    recording->command, psnap_group_digits(recording->accesses, digits),
                    recording->unwritten);
    return recording->unwritten;
}

bool psnap_recording_complain_foreign(const struct psnap_recording *recording,
                                      const struct psnap_source *capture)
{
    const struct psnap_roi_report report = psnap_recording_roi(recording, capture);
    const bool is_unwritten = say_unwritten(recording);

    return psnap_roi_complain(recording->command, recording->roi, &report, capture->program) ||
           is_unwritten || recording->is_uncertified;
}

/* Says "BEFORE COUNT NOUNs AFTER", or without a noun BEFORE alone, unless the count is 0; returns
 * whether it is not. */
static bool tell(const struct psnap_recording *recording, uint64_t count, const char *before,
                 const char *noun, const char *after)
{
    if (count && noun)
        psnap_print(stderr, "psnap %s: %s%" PRIu64 " %s%s%s\n", recording->command, before, count,
                    noun, psnap_plural(count), after);
    else if (count)
        psnap_print(stderr, "psnap %s: %s\n", recording->command, before);
    return count;
}

bool psnap_recording_complain(const struct psnap_recording *recording,
                              const struct psnap_source *capture)
{
    const struct psnap_capture_report report = psnap_capture_report(capture);
    bool is_lost = say_unwritten(recording);

    if (!report.modules && !recording->is_refused)
        psnap_recording_say_not_instrumented(recording);
    tell(recording, report.modules && !report.threads && !report.threads_lost,
         "no instrumented code has run, the profile is empty", NULL, "");
    if (report.copies)
        psnap_print(stderr,
                    "psnap %s: %" PRIu32
                    " instrumented shared librar%s not recorded: there are too many "
                    "for a program that is not instrumented itself\n",
                    recording->command, report.copies, report.copies == 1 ? "y was" : "ies were");
    tell(recording, report.threads > UINT16_MAX, "threads from 65535 on share one number", NULL,
         "");
    tell(recording, report.is_quiet,
         "the program entered a seccomp sandbox, where it was recorded without system calls: what "
         "it allocated there has no names, and children are missing",
         NULL, "");
    is_lost |= tell(recording, report.unheard, "", "record",
                    " of signal handlers in the sandbox are missing");
    tell(recording, report.is_cut_short, "ended before all was read: the last accesses are missing",
         NULL, "");
    is_lost |= tell(recording, report.threads_lost, "", "thread",
                    " found no ring, their accesses are missing: there are too many, or a limit on "
                    "address space or locked memory leaves no room");
    is_lost |= tell(recording, report.threads_early, "code ran before its module was known: what ",
                    "thread", " did until then is missing");
    is_lost |=
        tell(recording, report.words_unknown, "code ran before its module was known: ", "word",
             " of its records are missing");
    if (report.accesses_lost)
        psnap_print(
            stderr,
            "psnap %s: %" PRIu64
            " execution%s of loops or blocks cut off by the program's end or a signal handler: "
            "of %s last accesses up to %" PRIu64 " are missing\n",
            recording->command, report.cut_off, psnap_plural(report.cut_off),
            report.cut_off == 1 ? "its" : "their", report.accesses_lost);
    is_lost |= tell(recording, report.forked_inside,
                    "a signal handler forked this process in the middle of a loop or block: what "
                    "that accessed here is missing",
                    NULL, "");
    is_lost |= tell(recording, report.late, "signal handlers filled the ring: what ", "execution",
                    " of loops or blocks accessed after them is missing");
    tell(recording, report.unnamed, "", "allocation",
         " too many to keep their names: regions in them may have none");
    return psnap_roi_complain(recording->command, recording->roi, &report.roi, capture->program) ||
           is_lost || !report.modules || !report.threads || report.copies ||
           recording->is_uncertified;
}

void psnap_recording_summarise(const struct psnap_recording *recording, pid_t pid)
{
    char digits[32], process[32] = "";

    if (pid)
        snprintf(process, sizeof process, "process %ld: ", (long)pid);
    psnap_print(stderr, "psnap record: %s%s accesses", process,
                psnap_group_digits(recording->accesses, digits));
    if (!recording->no_profile)
        psnap_print(stderr, ", profile in %s", recording->profile);
    if (recording->trace)
        psnap_print(stderr, ", trace in %s", recording->trace);
    if (recording->trace && recording->trace_format->loses[0])
        psnap_print(stderr, " (%s does not keep: %s)", recording->trace_format->name,
                    recording->trace_format->loses);
    if (recording->trace_left_out)
        psnap_print(stderr, "; the trace leaves out %s of the accesses",
                    psnap_group_digits(recording->trace_left_out, digits));
    fputc('\n', stderr);
}

enum psnap_status psnap_recording_describe(struct psnap_program *program,
                                           const struct psnap_process *process, const char *path,
                                           struct psnap_error *error)
{
    struct psnap_provenance *provenance = &program->provenance;
    const char *const *argv = process->argv;
    char build_id[PSNAP_BUILD_ID_CHARS], recorded[32];
    time_t now = time(NULL);
    struct utsname host;
    struct tm utc;

    psnap_build_id_read(path, build_id);
    strftime(recorded, sizeof recorded, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    provenance->name = psnap_program_string(program, psnap_text_base_name(argv[0]));
    provenance->build_id = psnap_program_string(program, build_id);
    provenance->recorded = psnap_program_string(program, recorded);
    provenance->has_rank = psnap_process_rank(process, &provenance->rank, &provenance->ranks);
    provenance->host = psnap_program_string(program, uname(&host) == 0 ? host.machine : "");
    if (!provenance->name || !provenance->build_id || !provenance->recorded || !provenance->host ||
        psnap_program_set_command(program, argv))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}
