/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rope: a text editor: a text as pieces of two buffers in a balanced tree of shared_ptr (old states
 * are kept for undo), edits around a cursor that wanders, searches and builds of std::string.
 * Irregular: persistent nodes copied along paths, small pieces of text in the order of edits.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace
{
struct Node;
using Link = std::shared_ptr<const Node>;

struct Node {
    Link left, right;
    const char *text;
    uint32_t length; /* of this piece */
    uint32_t total, priority;
};

uint32_t state = 1983;

uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return static_cast<uint32_t>(static_cast<uint64_t>(state) * below >> 32);
}

uint32_t total(const Link &n)
{
    return n ? n->total : 0;
}

Link make(Link left, const char *text, uint32_t length, uint32_t priority, Link right)
{
    const uint32_t sum = total(left) + length + total(right);
    return std::make_shared<const Node>(
        Node{std::move(left), std::move(right), text, length, sum, priority});
}

Link merge(const Link &a, const Link &b)
{
    if (!a || !b)
        return a ? a : b;
    if (a->priority > b->priority)
        return make(a->left, a->text, a->length, a->priority, merge(a->right, b));
    return make(merge(a, b->left), b->text, b->length, b->priority, b->right);
}

std::pair<Link, Link> split(const Link &n, uint32_t at)
{
    if (!n)
        return {nullptr, nullptr};
    const uint32_t left = total(n->left);
    if (at <= left) {
        auto [a, b] = split(n->left, at);
        return {a, make(b, n->text, n->length, n->priority, n->right)};
    }
    if (at >= left + n->length) {
        auto [a, b] = split(n->right, at - left - n->length);
        return {make(n->left, n->text, n->length, n->priority, a), b};
    }
    const uint32_t cut = at - left; /* through this piece */
    return {make(n->left, n->text, cut, n->priority, nullptr),
            make(nullptr, n->text + cut, n->length - cut, n->priority, n->right)};
}

void put(const Node *n, std::string &out)
{
    for (; n; n = n->right.get()) {
        put(n->left.get(), out);
        out.append(n->text, n->length);
    }
}

char letter(const Node *n, uint32_t at)
{
    for (;;) {
        const uint32_t left = total(n->left);
        if (at < left) {
            n = n->left.get();
        } else if (at < left + n->length) {
            return n->text[at - left];
        } else {
            at -= left + n->length;
            n = n->right.get();
        }
    }
}
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8000;
    std::string original, added;
    std::vector<Link> history;
    uint64_t sum = 0;

    while (original.size() < 20 * n)
        original += "lorem ipsum dolor sit amet, consectetur"[draw(39)];
    added.reserve(30 * n); /* pieces point into it */
    Link text =
        make(nullptr, original.data(), static_cast<uint32_t>(original.size()), draw(~0u), nullptr);
    uint32_t cursor = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t kind = draw(16);
        cursor = kind == 0 ? draw(total(text)) : (cursor + draw(200)) % total(text);
        auto [head, tail] = split(text, cursor);
        if (kind < 9) {
            const char *from = added.data() + added.size();
            for (uint32_t k = 1 + draw(20); k > 0; k--)
                added += static_cast<char>('a' + draw(26));
            const auto length = static_cast<uint32_t>(added.data() + added.size() - from);
            text = merge(merge(head, make(nullptr, from, length, draw(~0u), nullptr)), tail);
        } else if (kind < 13) {
            text = merge(head, split(tail, draw(30)).second);
        } else if (kind == 13 && history.size() > 2) { /* undo */
            text = history[history.size() - 1 - draw(2)];
            history.pop_back();
        } else {
            for (uint32_t k = cursor; k < cursor + 60 && k < total(text); k++)
                sum = sum * 3 + static_cast<unsigned char>(letter(text.get(), k));
        }
        history.push_back(text);
        if (history.size() > 200)
            history.erase(history.begin(), history.begin() + 100);
        if (i % 2000 == 0) {
            std::string all;
            put(text.get(), all);
            for (size_t at = all.find("lo"); at != std::string::npos; at = all.find("lo", at + 1))
                sum += at;
        }
    }
    std::printf("rope %zu checksum %llu (%u)\n", n, static_cast<unsigned long long>(sum),
                total(text));
    return 0;
}
