/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which functions were named is looked up when they first run: by the symbol, and for
 * C++ by the name of the function in the source ("ns::f"). What tail calls lead to
 * counts as called; a longjmp or an exception ends in a frame above, and is seen there.
 */
#include "capture/valgrind/guest_roi.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum { UNKNOWN, OTHER, WANTED };

void psnap_guest_roi_release(struct psnap_guest_roi *roi)
{
    free(roi->known);
    roi->known = NULL;
}

static uint64_t names_of(const char *list, const struct psnap_guest_function *function)
{
    struct psnap_place_in_source place;
    uint64_t bits;

    if (!function->symbol)
        return 0;
    bits = psnap_roi_find(list, function->symbol, strcspn(function->symbol, "@"));
    if (bits || strncmp(function->symbol, "_Z", 2) != 0 || !function->image)
        return bits;
    psnap_symbols_place(function->image, function->low, true, &place);
    return psnap_roi_find(list, place.function, strlen(place.function));
}

static bool is_named(struct psnap_guest_roi *roi, const struct psnap_guest_code *code,
                     uint32_t function)
{
    const size_t had = roi->room;

    if (!psnap_make_room(&roi->known, &roi->room, (size_t)function + 1, 1))
        return false;
    if (roi->room > had)
        memset(roi->known + had, UNKNOWN, roi->room - had);
    if (roi->known[function] == UNKNOWN) {
        const uint64_t bits = names_of(roi->list, &code->functions[function]);
        roi->found |= bits;
        roi->known[function] = bits ? WANTED : OTHER;
    }
    return roi->known[function] == WANTED;
}

void psnap_guest_roi_end(struct psnap_guest_roi *roi, uint64_t *outermost)
{
    roi->open -= *outermost != 0;
    *outermost = 0;
}

void psnap_guest_roi_step(struct psnap_guest_roi *roi, const struct psnap_guest_code *code,
                          uint32_t node, uint64_t depth, uint64_t *outermost)
{
    const uint32_t function = code->flow.nodes[node].function;

    if (*outermost && depth + 1 < *outermost)
        psnap_guest_roi_end(roi, outermost);
    if (*outermost || code->functions[function].low != code->nodes[node].pc ||
        !is_named(roi, code, function))
        return;
    *outermost = depth + 1;
    roi->regions += !roi->open++;
}
