/* SPDX-License-Identifier: BSD-3-Clause */
/* hydrot: hydro with its arrays transposed, so that the inner loops have unit stride; see hydro.c.
 */
#define HYDRO_TRANSPOSED
#include "hydro.c"
