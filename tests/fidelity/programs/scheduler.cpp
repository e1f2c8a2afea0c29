/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheduler: processes of a simulated machine in std::deques of three priorities with ageing, some
 * waiting for messages in queues of their own. Irregular: blocks of deques that come and go at both
 * ends, process records of unlike age, wakes between random pairs.
 */
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

namespace
{
struct Process {
    uint32_t number, priority = 1;
    uint64_t left, used = 0;
    bool waits = false;
    std::deque<uint32_t> inbox;
    std::array<uint64_t, 24> registers{};
};

class Machine
{
    std::vector<std::unique_ptr<Process>> processes;
    std::array<std::deque<Process *>, 3> ready;
    uint64_t s = 60221409;

  public:
    uint64_t switches = 0, messages = 0;

    uint32_t draw(uint32_t below)
    {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        return static_cast<uint32_t>(s >> 36) % below;
    }

    void spawn()
    {
        auto p = std::make_unique<Process>();
        p->number = static_cast<uint32_t>(processes.size());
        p->left = 50 + draw(2000);
        ready[p->priority].push_back(p.get());
        processes.push_back(std::move(p));
    }

    void send(uint32_t from)
    {
        Process &to = *processes[draw(8) ? (from * 7 + 3) % processes.size()
                                         : draw(static_cast<uint32_t>(processes.size()))];
        to.inbox.push_back(from);
        messages++;
        if (to.waits) {
            to.waits = false;
            ready[0].push_front(&to);
        }
    }

    void run(Process &p)
    {
        const uint32_t slice = 5 + draw(20);
        for (uint32_t i = 0; i < slice; i++)
            p.registers[i % 24] += p.registers[(i * 5 + 1) % 24] + p.number;
        p.used += slice;
        p.left = p.left > slice ? p.left - slice : 0;
        while (!p.inbox.empty()) {
            p.registers[3] ^= p.inbox.front();
            p.inbox.pop_front();
        }
        if (draw(4) == 0)
            send(p.number);
    }

    bool step()
    {
        for (auto &queue : ready) {
            if (queue.empty())
                continue;
            Process &p = *queue.front();
            queue.pop_front();
            run(p);
            if (++switches % 512 == 0)
                age();
            if (p.left && draw(6) == 0)
                p.waits = true;
            else if (p.left)
                ready[p.priority = draw(3) ? p.priority : 1 + draw(2)].push_back(&p);
            return true;
        }
        return false;
    }

    void age()
    {
        for (size_t k = ready[2].size() / 2; k > 0; k--) {
            ready[1].push_back(ready[2].front());
            ready[2].pop_front();
        }
    }

    uint64_t wake_all()
    {
        uint64_t sum = 0;
        for (auto &p : processes) {
            if (p->waits) {
                p->waits = false;
                ready[2].push_back(p.get());
                sum++;
            }
        }
        return sum;
    }

    uint64_t total() const
    {
        uint64_t sum = 0;
        for (const auto &p : processes)
            sum = sum * 3 + p->used + p->registers[3] + p->registers[7];
        return sum;
    }
};
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 3000;
    Machine machine;

    for (size_t i = 0; i < n; i++)
        machine.spawn();
    do {
        while (machine.step()) {
        }
    } while (machine.wake_all());
    std::printf("scheduler %zu checksum %llu (%llu)\n", n,
                static_cast<unsigned long long>(machine.total() + machine.messages),
                static_cast<unsigned long long>(machine.switches));
    return 0;
}
