/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lrucache: a cache of computed pages as std::list and std::unordered_map, with scans that flush it
 * between skewed accesses; misses compute a page of 64 words. Irregular: list nodes that are
 * spliced to the front, buckets by number, pages whose order in memory is that of long gone misses.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <unordered_map>
#include <vector>

namespace
{
struct Page {
    uint32_t number;
    std::vector<uint64_t> words;
};

class Cache
{
    size_t room;
    std::list<Page> pages;
    std::unordered_map<uint32_t, std::list<Page>::iterator> where;

    static void compute(Page &page)
    {
        uint64_t x = page.number * UINT64_C(0x9e3779b97f4a7c15) + 1;
        for (uint64_t &word : page.words) {
            x ^= x >> 29;
            x *= UINT64_C(0xbf58476d1ce4e5b9);
            word = x;
        }
    }

  public:
    size_t misses = 0;

    explicit Cache(size_t size) : room(size)
    {
    }

    const Page &get(uint32_t number)
    {
        auto found = where.find(number);
        if (found != where.end()) {
            pages.splice(pages.begin(), pages, found->second);
            return pages.front();
        }
        misses++;
        if (pages.size() < room) {
            pages.push_front({number, std::vector<uint64_t>(64)});
        } else {
            where.erase(pages.back().number);
            pages.splice(pages.begin(), pages, std::prev(pages.end()));
            pages.front().number = number;
        }
        compute(pages.front());
        where[number] = pages.begin();
        return pages.front();
    }
};
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 400000;
    Cache cache(3000);
    uint64_t s = 8675309, sum = 0;
    uint32_t scan = 0;

    for (size_t i = 0; i < n; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        uint64_t u = s >> 44; /* 20 bits */
        auto page = static_cast<uint32_t>(u * u / (1 << 20) * u / (1 << 20) * 12000 / (1 << 20));
        if (i % 50000 < 2000)
            page = 20000 + scan++ % 5000;
        const Page &p = cache.get(page);
        sum += p.words[s & 63] ^ p.words[s >> 6 & 63];
    }
    std::printf("lrucache %zu checksum %llu (%zu misses)\n", n,
                static_cast<unsigned long long>(sum), cache.misses);
    return 0;
}
