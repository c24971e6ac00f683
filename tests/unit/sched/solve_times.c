// Prints how long the solver takes and how far it is from its bound, by shape and size of random
// problems: solve_times [SHAPE|all [NODES…]]. No test: times are of the machine.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "random_problem.h"

enum { TIMES = 5 };

static void time_one(const random_options *options, const char *says)
{
    uint64_t seed = 1, least_ns = UINT64_MAX;
    double gap = 0, greedy = 0;
    uint32_t proved = 0;
    const char *method = "";
    for (int i = 0; i < TIMES; i++) {
        random_problem r;
        tni_solution s;
        random_problem_make(&r, options, &seed);
        uint32_t *chosen = calloc(r.problem.node_count, sizeof *chosen);
        uint64_t begin = tni_now_ns();
        if (!chosen || !tni_solve(&r.problem, &r.arena, chosen, &s))
            exit(1);
        uint64_t took = tni_now_ns() - begin;
        least_ns = took < least_ns ? took : least_ns;
        gap += s.is_found ? (s.cost_ns - s.bound_ns) / s.cost_ns / TIMES : 1.0 / TIMES;
        greedy += s.greedy_ns / s.cost_ns / TIMES;
        proved += s.is_proved_optimal;
        method = s.method;
        free(chosen);
        random_problem_finish(&r);
    }
    printf("%-16s %7u nodes, %u places%s: %9.3f ms, gap %6.3f %%, proved %u of %d, greedy %.3f "
           "times, %s\n",
           shape_names[options->shape], options->nodes, options->places, says,
           (double)least_ns / 1e6, gap * 100, proved, TIMES, greedy, method);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = { 1000, 10000, 100000 };
    static const struct {
        const char *says;
        random_options options;
    } kinds[] = {
        { "", { .has_refusals = true } },
        { ", heavy nodes", { .has_refusals = true, .has_heavy_nodes = true } },
        { ", fusions", { .has_refusals = true, .has_fusions = true } },
        { ", limits", { .has_limits = true, .has_room = true } },
    };
    for (shape which = 0; which < SHAPES; which++)
        if (argc < 2 || strcmp(argv[1], "all") == 0 || strcmp(argv[1], shape_names[which]) == 0)
            for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
                for (uint32_t places = 2; places <= 3; places++)
                    for (int i = 0; i < (argc > 2 ? argc - 2 : 3); i++) {
                        random_options options = kinds[k].options;
                        options.shape = which;
                        options.places = places;
                        options.nodes = argc > 2 ? (uint32_t)strtoul(argv[i + 2], NULL, 10)
                                                 : sizes[i];
                        time_one(&options, kinds[k].says);
                    }
    return 0;
}
