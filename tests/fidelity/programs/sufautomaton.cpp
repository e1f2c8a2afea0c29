/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sufautomaton: the suffix automaton of a text, with transitions in a small sorted vector a state;
 * counts occurrences by suffix links and matches a second text against it. Irregular: clones copy
 * vectors, links lead anywhere among the states, and states are visited in order of their length.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace
{
struct State {
    int length = 0, link = -1;
    uint32_t seen = 0;
    std::vector<std::pair<char, int>> next;

    int *go(char c)
    {
        for (auto &edge : next)
            if (edge.first == c)
                return &edge.second;
        return nullptr;
    }
};

class Automaton
{
    std::vector<State> states;
    int last = 0;

  public:
    Automaton() : states(1)
    {
    }

    void extend(char c)
    {
        const int fresh = static_cast<int>(states.size());
        states.emplace_back();
        states[fresh].length = states[last].length + 1;
        states[fresh].seen = 1;
        int p = last;
        for (; p >= 0 && !states[p].go(c); p = states[p].link)
            states[p].next.emplace_back(c, fresh);
        last = fresh;
        if (p < 0) {
            states[fresh].link = 0;
            return;
        }
        const int q = *states[p].go(c);
        if (states[q].length == states[p].length + 1) {
            states[fresh].link = q;
            return;
        }
        const int clone = static_cast<int>(states.size());
        states.push_back(states[q]);
        states[clone].length = states[p].length + 1;
        states[clone].seen = 0;
        for (; p >= 0; p = states[p].link) {
            int *to = states[p].go(c);
            if (!to || *to != q)
                break;
            *to = clone;
        }
        states[q].link = states[fresh].link = clone;
    }

    void count()
    {
        std::vector<int> order(states.size()), first(states.size() + 1);
        for (const State &state : states)
            first[static_cast<size_t>(state.length) + 1]++;
        for (size_t i = 1; i < first.size(); i++)
            first[i] += first[i - 1];
        for (size_t i = 0; i < states.size(); i++)
            order[states.size() - 1 - first[states[i].length]++] = static_cast<int>(i);
        for (int s : order)
            if (states[s].link >= 0)
                states[states[s].link].seen += states[s].seen;
    }

    uint64_t match(const std::string &text)
    {
        uint64_t sum = 0;
        int at = 0, length = 0;
        for (char c : text) {
            while (at > 0 && !states[at].go(c)) {
                at = states[at].link;
                length = states[at].length;
            }
            if (int *to = states[at].go(c)) {
                at = *to;
                length++;
            }
            sum += static_cast<uint64_t>(length) * states[at].seen;
        }
        return sum;
    }
};

std::string make_text(size_t n, uint32_t seed)
{
    std::string text;
    while (text.size() < n) {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        text += "acgtnacgacag"[(seed >> 8) % 12];
    }
    return text;
}
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 60000;
    Automaton automaton;

    for (char c : make_text(n, 17))
        automaton.extend(c);
    automaton.count();
    const uint64_t sum = automaton.match(make_text(3 * n, 99));
    std::printf("sufautomaton %zu checksum %llu\n", n, static_cast<unsigned long long>(sum));
    return 0;
}
