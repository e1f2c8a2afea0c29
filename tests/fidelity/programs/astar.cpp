/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * astar: the sliding puzzle of eight by A* with std::priority_queue over states interned in an
 * std::unordered_map, and routes over terrain with a bucket queue. Irregular: a frontier of states
 * whose numbers follow discovery, hashed boards, fields of a map around many searches.
 */
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

namespace
{
uint32_t state = 1968;

uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return static_cast<uint32_t>(static_cast<uint64_t>(state) * below >> 32);
}

using Board = uint64_t; /* four bits a field, 0 is the hole */

int tile(Board b, int at)
{
    return static_cast<int>(b >> (4 * at) & 15);
}

Board slide(Board b, int hole, int to)
{
    const auto t = static_cast<Board>(tile(b, to));
    return (b & ~(Board{15} << (4 * to))) | t << (4 * hole);
}

int distance(Board b)
{
    int sum = 0;
    for (int i = 0; i < 9; i++)
        if (int t = tile(b, i))
            sum += std::abs(t % 3 - i % 3) + std::abs(t / 3 - i / 3);
    return sum;
}

std::pair<int, size_t> solve(Board start)
{
    struct Known {
        Board board;
        int moves;
        bool closed;
    };
    std::unordered_map<Board, uint32_t> number;
    std::vector<Known> known{{start, 0, false}};
    std::priority_queue<std::pair<int, uint32_t>, std::vector<std::pair<int, uint32_t>>,
                        std::greater<>>
        open;
    number[start] = 0;
    open.emplace(distance(start), 0);
    while (!open.empty()) {
        const uint32_t at = open.top().second;
        open.pop();
        if (known[at].closed)
            continue;
        known[at].closed = true;
        const Board b = known[at].board;
        if (distance(b) == 0)
            return {known[at].moves, known.size()};
        int hole = 0;
        while (tile(b, hole))
            hole++;
        for (int step : {-3, -1, 1, 3}) {
            const int to = hole + step;
            if (to < 0 || to > 8 || (std::abs(step) == 1 && to / 3 != hole / 3))
                continue;
            const Board next = slide(b, hole, to);
            auto [found, fresh] = number.try_emplace(next, static_cast<uint32_t>(known.size()));
            if (fresh)
                known.push_back({next, known[at].moves + 1, false});
            else if (known[found->second].moves > known[at].moves + 1)
                known[found->second].moves = known[at].moves + 1;
            else
                continue;
            open.emplace(known[at].moves + 1 + distance(next), found->second);
        }
    }
    return {0, known.size()};
}

class Terrain
{
    int side;
    std::vector<uint8_t> height;
    std::vector<uint32_t> cost, epoch;
    uint32_t searches = 0;

  public:
    explicit Terrain(int n) : side(n), height(n * n), cost(n * n), epoch(n * n)
    {
        for (int hill = 0; hill < n; hill++) {
            const int x = static_cast<int>(draw(n)), y = static_cast<int>(draw(n)),
                      r = 3 + draw(20);
            for (int v = std::max(0, y - r); v < std::min(n, y + r); v++)
                for (int u = std::max(0, x - r); u < std::min(n, x + r); u++)
                    height[v * n + u] +=
                        static_cast<uint8_t>(std::max(0, r - std::abs(u - x) - std::abs(v - y)));
        }
    }

    uint32_t route(int from, int to)
    {
        std::array<std::vector<int>, 1024> bucket;
        auto guess = [this, to](int at) {
            return static_cast<uint32_t>(std::abs(at % side - to % side) +
                                         std::abs(at / side - to / side));
        };
        searches++;
        cost[from] = 0;
        epoch[from] = searches;
        uint32_t now = guess(from);
        size_t open = 1;
        for (bucket[now % 1024].push_back(from); open > 0; now++) {
            for (auto &b = bucket[now % 1024]; !b.empty();) {
                const int at = b.back();
                b.pop_back();
                open--;
                if (at == to)
                    return cost[at];
                if (cost[at] + guess(at) < now)
                    continue;
                for (int step : {1, -1, side, -side}) {
                    const int next = at + step;
                    if (next < 0 || next >= side * side ||
                        (std::abs(step) == 1 && next / side != at / side))
                        continue;
                    const uint32_t c = cost[at] + 1 + std::abs(height[next] - height[at]);
                    if (epoch[next] == searches && cost[next] <= c)
                        continue;
                    epoch[next] = searches;
                    cost[next] = c;
                    bucket[(c + guess(next)) % 1024].push_back(next);
                    open++;
                }
            }
        }
        return 0;
    }
};
} // namespace

int main(int argc, char **argv)
{
    const int n = argc > 1 ? static_cast<int>(std::strtoul(argv[1], nullptr, 10)) : 30;
    Terrain terrain(300);
    uint64_t sum = 0;

    for (int i = 0; i < n; i++) {
        Board b = 0;
        for (int k = 0; k < 9; k++)
            b |= static_cast<Board>(k) << (4 * k);
        for (int k = 0, hole = 0; k < 150; k++) {
            const int to = hole + std::array<int, 4>{-3, -1, 1, 3}[draw(4)];
            if (to < 0 || to > 8 || (to / 3 != hole / 3 && to % 3 != hole % 3))
                continue;
            b = slide(b, hole, to);
            hole = to;
        }
        auto [moves, states] = solve(b);
        sum = sum * 31 + moves + 100 * states;
        sum =
            sum * 31 + terrain.route(static_cast<int>(draw(90000)), static_cast<int>(draw(90000)));
    }
    std::printf("astar %d checksum %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
