/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kruskal: clustering by a minimum spanning forest: edges between near points come from buckets of
 * a grid, are sorted by std::sort, and joined by union-find; the tree is then cut and walked.
 * Irregular: vectors of vectors, a sort of 50 000s of edges, finds through paths of parents.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace
{
struct Point {
    float x, y;
};

struct Edge {
    float length;
    uint32_t a, b;
    bool operator<(const Edge &other) const
    {
        return length != other.length ? length < other.length
               : a != other.a         ? a < other.a
                                      : b < other.b;
    }
};

class Sets
{
    std::vector<uint32_t> parent;

  public:
    explicit Sets(size_t n) : parent(n)
    {
        std::iota(parent.begin(), parent.end(), 0u);
    }
    uint32_t find(uint32_t x)
    {
        uint32_t root = x;
        while (parent[root] != root)
            root = parent[root];
        while (parent[x] != root) {
            uint32_t up = parent[x];
            parent[x] = root;
            x = up;
        }
        return root;
    }
    bool join(uint32_t a, uint32_t b)
    {
        a = find(a);
        b = find(b);
        if (a == b)
            return false;
        parent[std::max(a, b)] = std::min(a, b);
        return true;
    }
};

std::vector<Edge> near_pairs(const std::vector<Point> &points, int cells)
{
    std::vector<std::vector<uint32_t>> grid(static_cast<size_t>(cells) * cells);
    std::vector<Edge> edges;
    auto cell = [cells](float v) { return std::min(cells - 1, static_cast<int>(v * cells)); };
    for (uint32_t i = 0; i < points.size(); i++)
        grid[cell(points[i].y) * cells + cell(points[i].x)].push_back(i);
    for (uint32_t i = 0; i < points.size(); i++) {
        const int cx = cell(points[i].x), cy = cell(points[i].y);
        for (int y = std::max(0, cy - 1); y <= std::min(cells - 1, cy + 1); y++) {
            for (int x = std::max(0, cx - 1); x <= std::min(cells - 1, cx + 1); x++) {
                for (uint32_t j : grid[y * cells + x]) {
                    float dx = points[i].x - points[j].x, dy = points[i].y - points[j].y;
                    if (j > i && dx * dx + dy * dy < 0.7f / (cells * cells))
                        edges.push_back({dx * dx + dy * dy, i, j});
                }
            }
        }
    }
    return edges;
}
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 16000;
    std::vector<Point> points(n);
    uint32_t s = 521288629;
    auto uniform = [&s] {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        return static_cast<float>(s >> 8) * 0x1p-24f;
    };
    for (Point &p : points)
        p = {uniform(), uniform() * uniform()};
    int cells = 1;
    while (static_cast<size_t>(cells) * cells * 3 < n)
        cells++;
    std::vector<Edge> edges = near_pairs(points, cells);
    std::sort(edges.begin(), edges.end());
    Sets sets(n);
    std::vector<std::vector<uint32_t>> tree(n);
    for (const Edge &e : edges) {
        if (sets.join(e.a, e.b)) {
            tree[e.a].push_back(e.b);
            tree[e.b].push_back(e.a);
        }
    }
    std::vector<uint32_t> stack, order(n);
    std::vector<bool> seen(n);
    uint64_t sum = edges.size();
    uint32_t visited = 0;
    for (uint32_t i = 0; i < n; i++) {
        stack.push_back(i);
        while (!stack.empty()) {
            uint32_t at = stack.back();
            stack.pop_back();
            if (seen[at])
                continue;
            seen[at] = true;
            order[at] = visited++;
            for (uint32_t to : tree[at])
                if (!seen[to])
                    stack.push_back(to);
        }
    }
    for (uint32_t o : order)
        sum = sum * 31 + o;
    std::printf("kruskal %zu checksum %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
