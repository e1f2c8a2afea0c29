/* SPDX-License-Identifier: BSD-3-Clause */
/* Twenty loops of three iterations. */
#define LOOPS(F) TEN(F, 10) TEN(F, 11)
#include "loops.h"

int main(void)
{
    return run(300000, 3);
}
