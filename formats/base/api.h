/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PSNAP_API marks what the shared library exports. Everything else is hidden;
 * tests/rules/symbols.sh compares the library's symbols with these marks.
 */
#ifndef PSNAP_BASE_API_H
#define PSNAP_BASE_API_H

#ifdef __cplusplus
#    define PSNAP_API extern "C" __attribute__((visibility("default")))
#else
#    define PSNAP_API __attribute__((visibility("default")))
#endif
#define PSNAP_PRINTF(text, first) __attribute__((format(printf, text, first)))

#endif
