/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * maze: a maze is carved by depth first search with a stack, then the way that breaks fewest walls
 * is found by 0-1 breadth first search with std::deque, and dead ends are filled. Irregular: a walk
 * through the grid with long backtracking, a deque in use at both ends, fronts through corridors.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <utility>
#include <vector>

namespace
{
class Maze
{
    int side;
    std::vector<uint8_t> open; /* a bit a direction: east, south, west, north */
    uint32_t state = 19650218;

    int neighbour(int at, int direction) const
    {
        static const int dx[] = {1, 0, -1, 0}, dy[] = {0, 1, 0, -1};
        int x = at % side + dx[direction], y = at / side + dy[direction];
        return x < 0 || y < 0 || x >= side || y >= side ? -1 : y * side + x;
    }

    uint32_t draw()
    {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        return state >> 7;
    }

  public:
    explicit Maze(int size) : side(size), open(static_cast<size_t>(size) * size)
    {
    }

    size_t carve()
    {
        std::vector<int> stack{0};
        std::vector<bool> seen(open.size());
        size_t deepest = 0;
        seen[0] = true;
        while (!stack.empty()) {
            int at = stack.back(), ways[4], n = 0;
            for (int d = 0; d < 4; d++) {
                int to = neighbour(at, d);
                if (to >= 0 && !seen[to])
                    ways[n++] = d;
            }
            if (n == 0) {
                stack.pop_back();
                continue;
            }
            int d = ways[draw() % n], to = neighbour(at, d);
            open[at] |= 1 << d;
            open[to] |= 1 << (d + 2) % 4;
            seen[to] = true;
            stack.push_back(to);
            deepest = std::max(deepest, stack.size());
        }
        return deepest;
    }

    std::vector<int> walls_broken(int from) const
    {
        std::vector<int> cost(open.size(), -1);
        std::deque<std::pair<int, int>> queue{{from, 0}};
        while (!queue.empty()) {
            auto [at, walls] = queue.front();
            queue.pop_front();
            if (cost[at] >= 0)
                continue;
            cost[at] = walls;
            for (int d = 0; d < 4; d++) {
                int to = neighbour(at, d);
                if (to < 0 || cost[to] >= 0)
                    continue;
                if (open[at] >> d & 1)
                    queue.emplace_front(to, walls);
                else
                    queue.emplace_back(to, walls + 1);
            }
        }
        return cost;
    }

    size_t fill_dead_ends()
    {
        size_t filled = 0;
        for (int i = 0; i < side * side; i++) {
            int at = i;
            while (at >= 0 && open[at] && (open[at] & (open[at] - 1)) == 0) {
                int d = __builtin_ctz(open[at]), to = neighbour(at, d);
                open[at] = 0;
                open[to] &= ~(1 << (d + 2) % 4);
                filled++;
                at = to <= i ? to : -1;
            }
        }
        return filled;
    }
};
} // namespace

int main(int argc, char **argv)
{
    const int n = argc > 1 ? static_cast<int>(std::strtoul(argv[1], nullptr, 10)) : 400;
    Maze maze(n);
    uint64_t sum = maze.carve();

    for (int corner : {0, n - 1, n * n / 2})
        for (int cost : maze.walls_broken(corner))
            sum = sum * 3 + static_cast<uint64_t>(cost);
    sum += maze.fill_dead_ends();
    std::printf("maze %d checksum %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
