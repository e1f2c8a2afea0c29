/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sparselife: the game of life on an unbounded plane: live cells in a std::unordered_set, counts of
 * neighbours in a std::unordered_map, from an R-pentomino, gliders and a random patch. Irregular:
 * hashed coordinates, buckets that are made anew each generation, growth that depends on the state.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace
{
struct Cell {
    int32_t x, y;
    bool operator==(const Cell &o) const
    {
        return x == o.x && y == o.y;
    }
    bool operator<(const Cell &o) const
    {
        return y != o.y ? y < o.y : x < o.x;
    }
};

struct Hash {
    size_t operator()(const Cell &c) const
    {
        uint64_t h = static_cast<uint32_t>(c.x) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= static_cast<uint32_t>(c.y) * UINT64_C(0xc2b2ae3d27d4eb4f);
        return h ^ h >> 29;
    }
};

using Cells = std::unordered_set<Cell, Hash>;

Cells next(const Cells &now)
{
    std::unordered_map<Cell, int, Hash> neighbours;
    for (const Cell &c : now)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                if (dx || dy)
                    neighbours[{c.x + dx, c.y + dy}]++;
    Cells then;
    for (const auto &[cell, count] : neighbours)
        if (count == 3 || (count == 2 && now.count(cell)))
            then.insert(cell);
    return then;
}
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 60;
    Cells cells;
    uint32_t s = 1970;
    uint64_t sum = 0;

    for (auto [x, y] : {Cell{1, 0}, {2, 0}, {0, 1}, {1, 1}, {1, 2}})
        cells.insert({x, y});
    for (int k = 0; k < 20; k++)
        for (auto [x, y] : {Cell{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}})
            cells.insert({x + 7 * k - 400, y + 13 * k});
    for (int y = 0; y < 60; y++) {
        for (int x = 0; x < 60; x++) {
            s ^= s << 13;
            s ^= s >> 17;
            s ^= s << 5;
            if (s >> 30 == 0)
                cells.insert({x + 200, y - 100});
        }
    }
    for (size_t i = 0; i < n; i++) {
        cells = next(cells);
        sum = sum * 31 + cells.size();
    }
    std::vector<Cell> sorted(cells.begin(), cells.end());
    std::sort(sorted.begin(), sorted.end());
    for (const Cell &c : sorted)
        sum = sum * 31 + static_cast<uint32_t>(c.x * 1000 + c.y);
    std::printf("sparselife %zu checksum %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
