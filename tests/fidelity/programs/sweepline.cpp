/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweepline: rectangles swept from left to right: crossings by an ordered std::multiset of what is
 * open, the area of their union by a tree of counts, the convex hull of their corners. Irregular:
 * events in the order of the sort, set nodes that live as long as rectangles are wide.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

namespace
{
struct Rectangle {
    int32_t left, right, bottom, top;
};

struct Event {
    int32_t x;
    uint32_t rectangle;
    bool opens;
    bool operator<(const Event &o) const
    {
        return x != o.x ? x < o.x : opens != o.opens ? opens < o.opens : rectangle < o.rectangle;
    }
};

uint64_t overlaps(const std::vector<Rectangle> &all, const std::vector<Event> &events,
                  int32_t tallest)
{
    std::multiset<std::pair<int32_t, uint32_t>> open; /* by bottom */
    uint64_t sum = 0;
    for (const Event &e : events) {
        const Rectangle &r = all[e.rectangle];
        if (!e.opens) {
            open.erase(open.find({r.bottom, e.rectangle}));
            continue;
        }
        for (auto at = open.lower_bound({r.bottom - tallest, 0});
             at != open.end() && at->first < r.top; ++at)
            if (all[at->second].top > r.bottom)
                sum += at->second ^ e.rectangle;
        open.emplace(r.bottom, e.rectangle);
    }
    return sum;
}

class Cover
{
    std::vector<int32_t> edges;
    std::vector<int32_t> count, covered;

    void add(size_t node, size_t low, size_t high, int32_t from, int32_t to, int32_t by)
    {
        if (to <= edges[low] || edges[high] <= from)
            return;
        if (from <= edges[low] && edges[high] <= to) {
            count[node] += by;
        } else {
            add(2 * node, low, (low + high) / 2, from, to, by);
            add(2 * node + 1, (low + high) / 2, high, from, to, by);
        }
        covered[node] = count[node]       ? edges[high] - edges[low]
                        : high - low == 1 ? 0
                                          : covered[2 * node] + covered[2 * node + 1];
    }

  public:
    explicit Cover(const std::vector<Rectangle> &all)
    {
        for (const Rectangle &r : all) {
            edges.push_back(r.bottom);
            edges.push_back(r.top);
        }
        std::sort(edges.begin(), edges.end());
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
        count.resize(4 * edges.size());
        covered.resize(4 * edges.size());
    }

    int32_t add(const Rectangle &r, int32_t by)
    {
        add(1, 0, edges.size() - 1, r.bottom, r.top, by);
        return covered[1];
    }
};

size_t hull(const std::vector<Rectangle> &all)
{
    std::vector<std::pair<int64_t, int64_t>> points, h;
    for (const Rectangle &r : all) {
        points.emplace_back(r.left + r.bottom / 3, r.bottom);
        points.emplace_back(r.right - r.top / 3, r.top);
    }
    std::sort(points.begin(), points.end());
    for (int side = 0; side < 2; side++) {
        const size_t base = h.size();
        for (const auto &p : points) {
            while (h.size() >= base + 2) {
                const auto &a = h[h.size() - 2], &b = h.back();
                if ((b.first - a.first) * (p.second - a.second) >
                    (b.second - a.second) * (p.first - a.first))
                    break;
                h.pop_back();
            }
            h.push_back(p);
        }
        std::reverse(points.begin(), points.end());
    }
    return h.size();
}
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 12000;
    std::vector<Rectangle> all;
    std::vector<Event> events;
    uint64_t s = 1979, area = 0;
    auto draw = [&s](uint32_t below) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        return static_cast<int32_t>((s >> 32) * below >> 32);
    };

    for (uint32_t i = 0; i < n; i++) {
        const int32_t x = draw(1000000), y = draw(1000000), tall = 1 + draw(draw(20000) + 1);
        all.push_back({x, x + 1 + draw(draw(60000) + 1), y, y + tall});
        events.push_back({all[i].left, i, true});
        events.push_back({all[i].right, i, false});
    }
    std::sort(events.begin(), events.end());
    uint64_t sum = overlaps(all, events, 20001);
    Cover cover(all);
    int32_t before = 0, covered = 0;
    for (const Event &e : events) {
        area += static_cast<uint64_t>(e.x - before) * static_cast<uint64_t>(covered);
        covered = cover.add(all[e.rectangle], e.opens ? 1 : -1);
        before = e.x;
    }
    sum = sum * 31 + area + hull(all);
    std::printf("sweepline %zu checksum %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
