/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * intervaltree: centred interval tree over genes on a chromosome, each node with its intervals
 * sorted by either end; queries report overlaps. Irregular: a recursion over vectors of pointers
 * to intervals, prefixes of runs whose lengths depend on the query.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace
{
struct Interval {
    int32_t low, high;
    uint32_t id;
};

struct Node {
    int32_t centre = 0;
    std::vector<const Interval *> by_low, by_high;
    std::unique_ptr<Node> left, right;
};

class Random
{
    uint64_t state;

  public:
    explicit Random(uint64_t seed) : state(seed)
    {
    }
    uint32_t below(uint32_t n)
    {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<uint32_t>((state >> 32) * n >> 32);
    }
};

std::unique_ptr<Node> build(std::vector<const Interval *> all)
{
    if (all.empty())
        return nullptr;
    auto node = std::make_unique<Node>();
    auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end(),
                     [](const Interval *a, const Interval *b) { return a->low < b->low; });
    node->centre = (*middle)->low;
    std::vector<const Interval *> left, right;
    for (const Interval *i : all) {
        if (i->high < node->centre)
            left.push_back(i);
        else if (i->low > node->centre)
            right.push_back(i);
        else
            node->by_low.push_back(i);
    }
    all.clear();
    all.shrink_to_fit();
    node->by_high = node->by_low;
    std::sort(node->by_low.begin(), node->by_low.end(), [](const Interval *a, const Interval *b) {
        return a->low != b->low ? a->low < b->low : a->id < b->id;
    });
    std::sort(node->by_high.begin(), node->by_high.end(), [](const Interval *a, const Interval *b) {
        return a->high != b->high ? a->high > b->high : a->id < b->id;
    });
    node->left = build(std::move(left));
    node->right = build(std::move(right));
    return node;
}

uint64_t overlaps(const Node *node, int32_t low, int32_t high)
{
    uint64_t sum = 0;
    if (!node)
        return 0;
    if (high < node->centre) {
        for (const Interval *i : node->by_low) {
            if (i->low > high)
                break;
            sum += i->id;
        }
        return sum + overlaps(node->left.get(), low, high);
    }
    if (low > node->centre) {
        for (const Interval *i : node->by_high) {
            if (i->high < low)
                break;
            sum += i->id;
        }
        return sum + overlaps(node->right.get(), low, high);
    }
    for (const Interval *i : node->by_low)
        sum += i->id;
    return sum + overlaps(node->left.get(), low, high) + overlaps(node->right.get(), low, high);
}
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 50000;
    const uint32_t span = 40 * static_cast<uint32_t>(n);
    Random random(2024);
    std::vector<Interval> genes(n);
    std::vector<const Interval *> all;

    for (size_t i = 0; i < n; i++) {
        auto low = static_cast<int32_t>(random.below(span));
        auto length =
            static_cast<int32_t>(random.below(10) ? random.below(90) : random.below(4000));
        genes[i] = {low, low + length, static_cast<uint32_t>(i)};
        all.push_back(&genes[i]);
    }
    auto tree = build(std::move(all));
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        auto low = static_cast<int32_t>(random.below(span));
        sum = sum * 7 + overlaps(tree.get(), low, low + static_cast<int32_t>(random.below(200)));
    }
    std::printf("intervaltree %zu checksum %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
