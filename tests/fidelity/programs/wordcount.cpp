/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wordcount: an index of words: a text of made-up words is split, std::unordered_map from
 * std::string counts them and keeps the places of each; phrases are found by merging places.
 * Irregular: strings short and long, hashing of bytes, vectors that grow at different speeds.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{
class Words
{
    uint64_t s = 5489;
    std::vector<std::string> dictionary;

  public:
    uint32_t draw(uint32_t below)
    {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        return static_cast<uint32_t>((s >> 32) * below >> 32);
    }

    explicit Words(size_t n)
    {
        for (size_t i = 0; i < n; i++) {
            std::string word;
            for (uint32_t k = 1 + draw(3) + draw(2) * draw(6); k > 0; k--) {
                word += "bcdfghlmnprstv"[draw(14)];
                word += "aeiou"[draw(5)];
            }
            dictionary.push_back(word);
        }
    }

    const std::string &next()
    {
        const auto n = static_cast<uint32_t>(dictionary.size());
        return dictionary[draw(draw(draw(n) + 1) + 1)];
    }
};

using Index = std::unordered_map<std::string, std::vector<uint32_t>>;

Index split(const std::string &text)
{
    Index index;
    uint32_t place = 0;
    for (size_t i = 0; i < text.size();) {
        size_t end = text.find(' ', i);
        if (end == std::string::npos)
            end = text.size();
        if (end > i)
            index[text.substr(i, end - i)].push_back(place++);
        i = end + 1;
    }
    return index;
}

size_t phrase(const Index &index, const std::string &first, const std::string &second)
{
    auto a = index.find(first), b = index.find(second);
    size_t count = 0;
    if (a == index.end() || b == index.end())
        return 0;
    auto x = a->second.begin();
    auto y = b->second.begin();
    while (x != a->second.end() && y != b->second.end()) {
        if (*x + 1 < *y) {
            ++x;
        } else if (*x + 1 > *y) {
            ++y;
        } else {
            count++;
            ++x;
            ++y;
        }
    }
    return count;
}
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 150000;
    Words words(n / 8 + 1);
    std::string text;

    for (size_t i = 0; i < n; i++) {
        text += words.next();
        text += ' ';
    }
    Index index = split(text);
    uint64_t sum = text.size();
    for (size_t i = 0; i < n / 80; i++)
        sum = sum * 3 + phrase(index, words.next(), words.next());
    std::vector<std::pair<size_t, std::string>> common;
    for (const auto &[word, places] : index)
        if (places.size() > 2)
            common.emplace_back(places.size(), word);
    std::sort(common.rbegin(), common.rend());
    for (const auto &[count, word] : common)
        sum = sum * 31 + count * word.size() + static_cast<unsigned char>(word[0]);
    std::printf("wordcount %zu checksum %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
