/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * raybvh: a ray tracer over spheres in a hierarchy of boxes that is built by medians and walked
 * with a small stack, shadows and one reflection a hit. Irregular: neighbouring rays go nearly the
 * same way, reflected ones do not; boxes in one array, spheres through an index.
 */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace
{
struct Vec {
    float x, y, z;
    Vec operator+(Vec o) const
    {
        return {x + o.x, y + o.y, z + o.z};
    }
    Vec operator-(Vec o) const
    {
        return {x - o.x, y - o.y, z - o.z};
    }
    Vec operator*(float f) const
    {
        return {x * f, y * f, z * f};
    }
    float dot(Vec o) const
    {
        return x * o.x + y * o.y + z * o.z;
    }
    float at(int k) const
    {
        return k == 0 ? x : k == 1 ? y : z;
    }
};

struct Sphere {
    Vec centre;
    float radius, shine;
};

struct Box {
    Vec low, high;
    uint32_t first, count, right; /* count 0: inner, the left child is the next box */
};

class Scene
{
    std::vector<Sphere> spheres;
    std::vector<uint32_t> index;
    std::vector<Box> boxes;

    void split(uint32_t from, uint32_t to)
    {
        const size_t here = boxes.size();
        Vec low{1e9f, 1e9f, 1e9f}, high{-1e9f, -1e9f, -1e9f};
        for (uint32_t i = from; i < to; i++) {
            const Sphere &s = spheres[index[i]];
            low = {std::min(low.x, s.centre.x - s.radius), std::min(low.y, s.centre.y - s.radius),
                   std::min(low.z, s.centre.z - s.radius)};
            high = {std::max(high.x, s.centre.x + s.radius),
                    std::max(high.y, s.centre.y + s.radius),
                    std::max(high.z, s.centre.z + s.radius)};
        }
        boxes.push_back({low, high, from, to - from, 0});
        if (to - from <= 3)
            return;
        const Vec size = high - low;
        const int axis = size.x > size.y && size.x > size.z ? 0 : size.y > size.z ? 1 : 2;
        const uint32_t middle = (from + to) / 2;
        std::nth_element(index.begin() + from, index.begin() + middle, index.begin() + to,
                         [this, axis](uint32_t a, uint32_t b) {
                             return spheres[a].centre.at(axis) < spheres[b].centre.at(axis);
                         });
        split(from, middle);
        boxes[here].count = 0;
        boxes[here].right = static_cast<uint32_t>(boxes.size());
        split(middle, to);
    }

    static bool enters(const Box &b, Vec o, Vec inverse, float most)
    {
        float near = 1e-3f, far = most;
        for (int k = 0; k < 3; k++) {
            const float t1 = (b.low.at(k) - o.at(k)) * inverse.at(k);
            const float t2 = (b.high.at(k) - o.at(k)) * inverse.at(k);
            near = std::max(near, std::min(t1, t2));
            far = std::min(far, std::max(t1, t2));
        }
        return near <= far;
    }

  public:
    uint64_t visits = 0;

    explicit Scene(uint32_t n)
    {
        uint32_t s = 1980;
        auto uniform = [&s] {
            s ^= s << 13;
            s ^= s >> 17;
            s ^= s << 5;
            return static_cast<float>(s >> 8) * 0x1p-24f;
        };
        for (uint32_t i = 0; i < n; i++) {
            const Vec centre{uniform() * 4 - 2, uniform() * 4 - 2, 2 + uniform() * 4};
            spheres.push_back({centre, 0.01f + 0.05f * uniform() * uniform(), uniform()});
            index.push_back(i);
        }
        split(0, n);
    }

    int hit(Vec o, Vec d, float &t, bool any)
    {
        const Vec inverse{1 / (d.x + 1e-9f), 1 / (d.y + 1e-9f), 1 / (d.z + 1e-9f)};
        uint32_t stack[64] = {0}, depth = 1;
        int found = -1;
        while (depth > 0) {
            const uint32_t at = stack[--depth];
            const Box &b = boxes[at];
            visits++;
            if (!enters(b, o, inverse, t))
                continue;
            if (b.count == 0) {
                stack[depth++] = b.right;
                stack[depth++] = at + 1;
            }
            for (uint32_t i = b.first; i < b.first + b.count; i++) {
                const Sphere &s = spheres[index[i]];
                const Vec to = s.centre - o;
                const float along = to.dot(d);
                const float free = along * along - to.dot(to) + s.radius * s.radius;
                if (free < 0)
                    continue;
                const float where = along - std::sqrt(free);
                if (where > 1e-3f && where < t) {
                    t = where;
                    found = static_cast<int>(index[i]);
                    if (any)
                        return found;
                }
            }
        }
        return found;
    }

    float colour(Vec o, Vec d, int depth)
    {
        float t = 100;
        const int id = hit(o, d, t, false);
        if (id < 0)
            return 0.2f;
        const Sphere &s = spheres[id];
        const Vec p = o + d * t, normal = (p - s.centre) * (1 / s.radius),
                  light{0.6f, 0.64f, -0.48f};
        float far = 100, bright = std::max(0.0f, normal.dot(light));
        if (bright > 0 && hit(p, light, far, true) >= 0)
            bright *= 0.3f;
        if (depth == 0 || s.shine < 0.3f)
            return bright;
        return bright * (1 - s.shine) +
               s.shine * colour(p, d - normal * (2 * d.dot(normal)), depth - 1);
    }
};
} // namespace

int main(int argc, char **argv)
{
    const auto n = static_cast<uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000);
    Scene scene(n);
    const int side = n > 10000 ? 90 : 40;
    double sum = 0;

    for (int y = 0; y < side; y++) {
        for (int x = 0; x < side; x++) {
            Vec d{static_cast<float>(x) / side - 0.5f, static_cast<float>(y) / side - 0.5f, 1};
            d = d * (1 / std::sqrt(d.dot(d)));
            sum += scene.colour({0, 0, 0}, d, 2) * (1 + (x ^ y) % 3);
        }
    }
    std::printf("raybvh %u checksum %.2f\n", n, sum);
    return 0;
}
