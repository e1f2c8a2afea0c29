/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * histogram: equalise the brightness of n = SIZE pixels, ITERATIONS times, then sort them to
 * find the quartiles. C++ with vectors, a template and lambdas, so that a profile must
 * name loops in templates and in the standard library.
 *
 * Accesses: a pixel is 8 bytes, one vector of 8 n. histogram() loads 2 of the 8 at unit
 * stride and adds one to a bin, at random in 65536 bins (256 KB) for brightness, in 64 that
 * always hit for tiles. equalise() sums the bins up to a table of 512 KB, where it looks up,
 * at random, each pixel's new brightness: 6 n accesses a round, and 2 for each bin. std::sort
 * partitions depth first, from both ends at unit stride: about 4 n accesses on each of log2 n
 * depths, within the cache as soon as the part fits.
 */
#include <algorithm>
#include <new>
#include <vector>

#include "sample.h"

namespace
{

struct Pixel {
    uint32_t position;
    uint16_t brightness;
    uint16_t tile;
};

constexpr std::size_t shades = 65536, tiles = 64;

template <typename Element, typename Key>
std::vector<uint32_t> histogram(const std::vector<Element> &elements, std::size_t bins, Key key)
{
    std::vector<uint32_t> count(bins);

    for (const Element &element : elements)
        count[key(element)]++;
    return count;
}

/* Dark and bell-shaped: the product of two random numbers. */
std::vector<Pixel> make_pixels(std::size_t n)
{
    std::vector<Pixel> pixels(n);
    uint64_t random = 1;
    uint32_t position = 0;

    for (Pixel &pixel : pixels) {
        double brightness = sample_unit(&random) * sample_unit(&random);

        pixel.position = position++;
        pixel.brightness = static_cast<uint16_t>(brightness * shades);
        pixel.tile = static_cast<uint16_t>(sample_below(&random, tiles));
    }
    return pixels;
}

/* A pixel's new shade is the part of all pixels that are darker. */
void equalise(std::vector<Pixel> &pixels)
{
    std::vector<uint32_t> count =
        histogram(pixels, shades, [](const Pixel &pixel) { return pixel.brightness; });
    std::vector<uint64_t> darker(shades);

    for (std::size_t shade = 1; shade < shades; shade++)
        darker[shade] = darker[shade - 1] + count[shade - 1];
    std::transform(pixels.begin(), pixels.end(), pixels.begin(), [&](Pixel pixel) {
        pixel.brightness = static_cast<uint16_t>(darker[pixel.brightness] * shades / pixels.size());
        return pixel;
    });
}

uint64_t checksum(std::vector<Pixel> &pixels)
{
    std::vector<uint32_t> in_tile =
        histogram(pixels, tiles, [](const Pixel &pixel) { return pixel.tile; });
    uint64_t sum = 0;

    for (std::size_t tile = 0; tile < tiles; tile++)
        sum += in_tile[tile] * tile;
    std::sort(pixels.begin(), pixels.end(), [](const Pixel &a, const Pixel &b) {
        return a.brightness != b.brightness ? a.brightness < b.brightness : a.position < b.position;
    });
    for (std::size_t quarter = 0; quarter < 4; quarter++) {
        const Pixel &pixel = pixels[pixels.size() * quarter / 4];

        sum += uint64_t{pixel.brightness} * pixel.position;
    }
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    struct sample sample = {"histogram", "the pixels", 200000, 1, 100000000, 5, 0};

    sample_arguments(&sample, argc, argv);
    try {
        std::vector<Pixel> pixels = make_pixels(sample.size);

        for (std::size_t i = 0; i < sample.iterations; i++)
            equalise(pixels);
        return sample_print_count(&sample, checksum(pixels));
    } catch (const std::bad_alloc &) {
        sample_need_memory(&sample, 0);
    }
    return EXIT_FAILURE;
}
