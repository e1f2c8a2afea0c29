/* SPDX-License-Identifier: BSD-3-Clause */
/* One loop more than a profile has without a look at which are rare (profile/collect/rare.h). */
#define FORTY(F) TEN(F, 10) TEN(F, 11) TEN(F, 12) TEN(F, 13)
#define EIGHTY(F) FORTY(F) TEN(F, 14) TEN(F, 15) TEN(F, 16) TEN(F, 17)
#define HUNDRED_TWENTY(F) EIGHTY(F) TEN(F, 18) TEN(F, 19) TEN(F, 20) TEN(F, 21)
#define FOUR(F) F(220) F(221) F(222) F(223)
#define NINE(F) FOUR(F) F(224) F(225) F(226) F(227) F(228)
#define LOOPS(F) HUNDRED_TWENTY(F) NINE(F)
#include "loops.h"

int main(void)
{
    return run(20000, 40);
}
