/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liststd: std::list and std::forward_list at work: a Josephus circle with skips, a list sorted by
 * its own merge sort, spliced and made unique, polynomials as sorted lists. Irregular: chases of
 * pointers that begin in order of allocation and lose it step by step.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <forward_list>
#include <iterator>
#include <list>
#include <string>

namespace
{
uint32_t state = 16807;

uint32_t draw()
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state >> 3;
}

struct Person {
    uint32_t number;
    std::string name;
};

uint64_t josephus(size_t n)
{
    std::list<Person> circle;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        circle.push_back({i, "person number " + std::to_string(i)});
    auto at = circle.begin();
    while (circle.size() > 1) {
        for (uint32_t k = draw() % 13; k > 0; k--)
            if (++at == circle.end())
                at = circle.begin();
        sum = sum * 3 + at->number + at->name.size();
        at = circle.erase(at);
        if (at == circle.end())
            at = circle.begin();
    }
    return sum + circle.front().number;
}

uint64_t sorting(size_t n)
{
    std::list<uint64_t> a, b;
    for (size_t i = 0; i < n; i++)
        (draw() % 3 ? a : b).push_back(draw() % (2 * n));
    a.sort();
    b.sort([](uint64_t x, uint64_t y) { return x < y; });
    a.merge(b);
    a.unique();
    auto middle = std::next(a.begin(), static_cast<std::ptrdiff_t>(a.size() / 2));
    b.splice(b.begin(), a, middle, a.end());
    a.reverse();
    a.remove_if([](uint64_t x) { return x % 5 == 0; });
    uint64_t sum = 0;
    for (uint64_t x : a)
        sum = sum * 3 + x;
    for (uint64_t x : b)
        sum = sum * 5 + x;
    return sum;
}

using Polynomial = std::forward_list<std::pair<uint32_t, uint32_t>>; /* exponent, factor */

void add_term(Polynomial &p, uint32_t exponent, uint32_t factor)
{
    auto before = p.before_begin();
    auto at = p.begin();
    while (at != p.end() && at->first < exponent)
        before = at++;
    if (at != p.end() && at->first == exponent)
        at->second += factor;
    else
        p.emplace_after(before, exponent, factor);
}

uint64_t multiply(uint32_t terms)
{
    Polynomial a, b, product;
    for (uint32_t i = 0; i < terms; i++) {
        add_term(a, draw() % 200, draw() % 9);
        add_term(b, draw() % 200, draw() % 9);
    }
    for (const auto &x : a)
        for (const auto &y : b)
            add_term(product, x.first + y.first, x.second * y.second);
    uint64_t sum = 0;
    for (const auto &x : product)
        sum = sum * 7 + x.first * x.second;
    return sum;
}
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 60000;
    uint64_t sum = josephus(n / 2 + 1);

    sum = sum * 31 + sorting(n);
    sum = sum * 31 + multiply(static_cast<uint32_t>(n / 600 + 1));
    std::printf("liststd %zu checksum %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
