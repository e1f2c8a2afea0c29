/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stdsort: orders of a shop as the standard library sorts them: std::sort by amount, stable_sort by
 * customer, nth_element for the median, partial_sort for the best, and an index sorted through the
 * table. Irregular: introsort's partitions, merges with a buffer, comparisons by index.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

struct Order {
    uint32_t customer, day;
    int64_t cents;
    uint32_t item[4];
};

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 50000;
    std::vector<Order> orders(n);
    std::vector<uint32_t> index(n);
    uint64_t s = 987654321, sum = 0;
    auto draw = [&s](uint32_t below) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        return static_cast<uint32_t>((s >> 32) * below >> 32);
    };
    auto hash = [&sum](uint64_t x) { sum = (sum ^ x) * UINT64_C(1099511628211); };

    for (uint32_t i = 0; i < n; i++) {
        orders[i].customer = draw(draw(static_cast<uint32_t>(n) / 10 + 1) + 1);
        orders[i].day = i / 40;
        orders[i].cents = 100 + draw(50000) + draw(10) / 9 * 100000;
        for (uint32_t &item : orders[i].item)
            item = draw(10000);
    }

    std::iota(index.begin(), index.end(), 0u);
    std::sort(index.begin(), index.end(), [&orders](uint32_t a, uint32_t b) {
        if (orders[a].item[0] != orders[b].item[0])
            return orders[a].item[0] < orders[b].item[0];
        return a < b;
    });
    for (size_t i = 0; i < n; i += 7)
        hash(index[i]);

    std::stable_sort(orders.begin(), orders.end(),
                     [](const Order &a, const Order &b) { return a.customer < b.customer; });
    for (auto from = orders.begin(); from != orders.end();) {
        auto to = std::upper_bound(from, orders.end(), *from, [](const Order &a, const Order &b) {
            return a.customer < b.customer;
        });
        auto best = std::max_element(
            from, to, [](const Order &a, const Order &b) { return a.cents < b.cents; });
        hash(static_cast<uint64_t>(best->cents) + best->day);
        from = to;
    }

    std::vector<int64_t> amounts;
    for (const Order &order : orders)
        amounts.push_back(order.cents);
    auto middle = amounts.begin() + static_cast<std::ptrdiff_t>(n / 2);
    std::nth_element(amounts.begin(), middle, amounts.end());
    hash(static_cast<uint64_t>(*middle));

    const auto few = static_cast<std::ptrdiff_t>(n / 20);
    std::partial_sort(orders.begin(), orders.begin() + few, orders.end(),
                      [](const Order &a, const Order &b) {
                          return a.cents != b.cents ? a.cents > b.cents
                                 : a.day != b.day   ? a.day < b.day
                                                    : a.item[0] < b.item[0];
                      });
    for (auto it = orders.begin(); it != orders.begin() + few; ++it)
        hash(it->day);
    std::printf("stdsort %zu checksum %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
