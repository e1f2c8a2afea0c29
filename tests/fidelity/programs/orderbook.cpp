/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orderbook: a limit order book of an exchange: std::map of price levels to lists of orders, and
 * std::map of order numbers for cancellation. Irregular: red-black trees of the library on a heap
 * that ages, activity around the best prices, cancellation anywhere.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <list>
#include <map>

namespace
{
struct Order {
    uint32_t number, quantity;
};
using Level = std::list<Order>;

class Book
{
    std::map<uint32_t, Level, std::greater<>> bids;
    std::map<uint32_t, Level> asks;
    struct Place {
        bool buy;
        uint32_t price;
        Level::iterator order;
    };
    std::map<uint32_t, Place> places;

    template <class Side, class Crosses>
    uint32_t match(Side &side, uint32_t quantity, Crosses crosses)
    {
        while (quantity && !side.empty() && crosses(side.begin()->first)) {
            Level &level = side.begin()->second;
            Order &first = level.front();
            const uint32_t traded = std::min(quantity, first.quantity);
            volume += static_cast<uint64_t>(traded) * side.begin()->first;
            quantity -= traded;
            first.quantity -= traded;
            if (first.quantity)
                break;
            places.erase(first.number);
            level.pop_front();
            if (level.empty())
                side.erase(side.begin());
        }
        return quantity;
    }

  public:
    uint64_t volume = 0;

    void add(uint32_t number, bool buy, uint32_t price, uint32_t quantity)
    {
        quantity = buy ? match(asks, quantity, [price](uint32_t p) { return p <= price; })
                       : match(bids, quantity, [price](uint32_t p) { return p >= price; });
        if (!quantity)
            return;
        Level &level = buy ? bids[price] : asks[price];
        level.push_back({number, quantity});
        places[number] = {buy, price, std::prev(level.end())};
    }

    bool cancel(uint32_t number)
    {
        auto found = places.lower_bound(number);
        if (found == places.end())
            return false;
        const Place &place = found->second;
        Level &level = place.buy ? bids[place.price] : asks[place.price];
        level.erase(place.order);
        if (level.empty() && place.buy)
            bids.erase(place.price);
        else if (level.empty())
            asks.erase(place.price);
        places.erase(found);
        return true;
    }

    uint64_t depth() const
    {
        uint64_t sum = 0;
        for (const auto &[price, level] : bids)
            for (const Order &order : level)
                sum = sum * 3 + price * order.quantity;
        for (const auto &[price, level] : asks)
            for (const Order &order : level)
                sum = sum * 5 + price * order.quantity;
        return sum;
    }
};
} // namespace

int main(int argc, char **argv)
{
    const auto n = static_cast<uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 150000);
    Book book;
    uint32_t s = 20110815, price = 50000;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        const uint32_t kind = s >> 28, offset = (s >> 6 & 63) * (s >> 12 & 63) / 16;
        price += (s >> 20 & 3) - (s >> 22 & 3);
        if (kind < 5 && i > 100)
            sum += book.cancel(i - 1 - (s & 0xffff) % (i < 20000 ? i : 20000)) ? i : 1;
        else if (kind < 15)
            book.add(i, kind & 1, kind & 1 ? price - offset : price + offset, 1 + (s & 63));
        else
            book.add(i, s & 1, s & 1 ? price + 200 : price - 200, 100 + (s & 255));
    }
    sum += book.volume + book.depth();
    std::printf("orderbook %u checksum %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
