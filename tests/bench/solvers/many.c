/* SPDX-License-Identifier: BSD-3-Clause */
/* One loop more than a profile has without a look at which are rare (profile/collect/rare.h). */
#define LOOPS(F)                                                                                   \
    TEN(F, 10)                                                                                     \
    TEN(F, 11) TEN(F, 12) TEN(F, 13) TEN(F, 14) TEN(F, 15) TEN(F, 16) TEN(F, 17) TEN(F, 18)        \
        TEN(F, 19) TEN(F, 20) TEN(F, 21) F(220) F(221) F(222) F(223) F(224) F(225) F(226) F(227)   \
            F(228)
#include "loops.h"

int main(void)
{
    return run(20000, 40);
}
