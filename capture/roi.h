/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks of a program's region of interest, for the program to include: as <psnap/roi.h>
 * (or as a copy: it includes nothing). With any other compiler than `psnap cc` they
 * are nothing.
 *
 *     #include <psnap/roi.h>
 *
 *     PSNAP_ROI_BEGIN();
 *     for (...)
 *         solve(...);
 *     PSNAP_ROI_END();
 *
 * A program that uses them is recorded only while at least one region that was begun
 * has not been ended: all of its threads, whichever began it. Regions nest; an end
 * without a beginning is ignored, and so is what is left by an exception or by longjmp: put
 * the end where it is reached. When the program is not recorded each is a call that returns at
 * once. `psnap record --roi FUNCTION` takes a function instead, `--no-roi` everything.
 */
#ifndef PSNAP_ROI_H
#define PSNAP_ROI_H

#ifdef __PSNAP__
#    ifdef __cplusplus
extern "C" {
#    endif
extern void __psnap_roi_begin(void) __attribute__((nothrow));
extern void __psnap_roi_end(void) __attribute__((nothrow));
#    ifdef __cplusplus
}
#    endif
#    define PSNAP_ROI_BEGIN() __psnap_roi_begin()
#    define PSNAP_ROI_END() __psnap_roi_end()
#else
#    define PSNAP_ROI_BEGIN() ((void)0)
#    define PSNAP_ROI_END() ((void)0)
#endif

#endif
