/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lsm: a log-structured store: writes go to a std::map, which is flushed to sorted runs that are
 * merged level by level with std::priority_queue; reads look through all of them, newest first.
 * Irregular: merges of many runs in turn, bisections of each, deletions as tombstones.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

namespace
{
struct Entry {
    uint32_t key;
    uint32_t value; /* 0: deleted */
};
using Run = std::vector<Entry>;

class Store
{
    static constexpr size_t fresh_limit = 2000, fan = 4;
    std::map<uint32_t, uint32_t> fresh;
    std::vector<std::vector<Run>> levels;

    static Run merge(const std::vector<Run> &runs, bool last)
    {
        /* key, how old, place: of a key, the newest run comes first */
        using Head = std::tuple<uint32_t, size_t, size_t>;
        std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
        Run out;
        for (size_t r = 0; r < runs.size(); r++)
            if (!runs[r].empty())
                heads.emplace(runs[r][0].key, runs.size() - r, 0);
        bool any = false;
        uint32_t before = 0;
        while (!heads.empty()) {
            auto [key, age, at] = heads.top();
            heads.pop();
            const Run &run = runs[runs.size() - age];
            if (!any || key != before)
                if (!last || run[at].value)
                    out.push_back(run[at]);
            any = true;
            before = key;
            if (at + 1 < run.size())
                heads.emplace(run[at + 1].key, age, at + 1);
        }
        return out;
    }

    void flush()
    {
        Run run;
        for (auto [key, value] : fresh)
            run.push_back({key, value});
        fresh.clear();
        for (size_t level = 0;; level++) {
            if (level == levels.size())
                levels.emplace_back();
            levels[level].push_back(std::move(run));
            if (levels[level].size() < fan)
                break;
            run = merge(levels[level], level + 1 == levels.size());
            levels[level].clear();
        }
    }

  public:
    void put(uint32_t key, uint32_t value)
    {
        fresh[key] = value;
        if (fresh.size() >= fresh_limit)
            flush();
    }

    uint32_t get(uint32_t key) const
    {
        auto found = fresh.find(key);
        if (found != fresh.end())
            return found->second;
        for (const auto &level : levels) {
            for (auto run = level.rbegin(); run != level.rend(); ++run) {
                auto at = std::lower_bound(run->begin(), run->end(), key,
                                           [](const Entry &e, uint32_t k) { return e.key < k; });
                if (at != run->end() && at->key == key)
                    return at->value;
            }
        }
        return 0;
    }

    size_t entries() const
    {
        size_t n = fresh.size();
        for (const auto &level : levels)
            for (const Run &run : level)
                n += run.size();
        return n;
    }
};
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100000;
    Store store;
    uint64_t s = 1996, sum = 0;

    for (size_t i = 1; i <= n; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        auto key = static_cast<uint32_t>((s >> 30) % (s & 1 ? n : n / 20 + 1));
        store.put(key, s >> 61 ? static_cast<uint32_t>(i) : 0);
        if (i % 2)
            sum = sum * 3 + store.get(static_cast<uint32_t>((s >> 10) % n));
    }
    std::printf("lsm %zu checksum %llu (%zu entries)\n", n, static_cast<unsigned long long>(sum),
                store.entries());
    return 0;
}
