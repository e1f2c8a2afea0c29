/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nbody: n = SIZE bodies attract each other, all pairs, softened; ITERATIONS time steps of
 * Euler and Cromer.
 *
 * Accesses: for each body, attract() passes over all bodies and loads the position and mass
 * of each: 4 loads a pair (3 when two are loaded at once), up to 4 n^2 a step, in one region
 * of 56 n bytes (heap), an array of structures of which 32 in 56 bytes are used. Sums stay in
 * registers and the velocity is stored n times a step only. A cache of 56 n bytes always hits
 * after the first pass; a smaller one under LRU misses once a line, with lines of 64 bytes 7
 * times in 8 bodies.
 */
#include "sample.h"

struct body {
    double x, y, z;
    double vx, vy, vz;
    double mass;
};

static void init(size_t n, struct body *bodies)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n; i++) {
        bodies[i].x = sample_unit(&random);
        bodies[i].y = sample_unit(&random);
        bodies[i].z = sample_unit(&random);
        bodies[i].vx = 0;
        bodies[i].vy = 0;
        bodies[i].vz = 0;
        bodies[i].mass = (0.5 + sample_unit(&random)) / (double)n;
    }
}

/* Change the velocity of one body by the pull of all; itself pulls with no force. */
static void attract(size_t n, const struct body *bodies, struct body *body, double dt)
{
    double ax = 0, ay = 0, az = 0;

    for (size_t j = 0; j < n; j++) {
        double dx = bodies[j].x - body->x;
        double dy = bodies[j].y - body->y;
        double dz = bodies[j].z - body->z;
        double square = dx * dx + dy * dy + dz * dz + 0.01;
        double pull = bodies[j].mass / (square * sqrt(square));

        ax += pull * dx;
        ay += pull * dy;
        az += pull * dz;
    }
    body->vx += dt * ax;
    body->vy += dt * ay;
    body->vz += dt * az;
}

static void move(size_t n, struct body *bodies, double dt)
{
    for (size_t i = 0; i < n; i++) {
        bodies[i].x += dt * bodies[i].vx;
        bodies[i].y += dt * bodies[i].vy;
        bodies[i].z += dt * bodies[i].vz;
    }
}

static double kinetic_energy(size_t n, const struct body *bodies)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        const struct body *b = &bodies[i];

        sum += 0.5 * b->mass * (b->vx * b->vx + b->vy * b->vy + b->vz * b->vz);
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "nbody",
                            .size_is = "the bodies",
                            .size = 2000,
                            .size_min = 2,
                            .size_max = 1000000,
                            .iterations = 2};
    const double dt = 0.01;
    struct body *bodies;
    double energy;

    sample_arguments(&sample, argc, argv);
    bodies = malloc(sample.size * sizeof(*bodies));
    sample_need_memory(&sample, bodies != NULL);

    init(sample.size, bodies);
    for (size_t step = 0; step < sample.iterations; step++) {
        for (size_t i = 0; i < sample.size; i++)
            attract(sample.size, bodies, &bodies[i], dt);
        move(sample.size, bodies, dt);
    }
    energy = kinetic_energy(sample.size, bodies);

    free(bodies);
    return sample_print_real(&sample, energy);
}
