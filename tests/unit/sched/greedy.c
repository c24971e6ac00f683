// Greedy: each node to the claim that is cheapest given where its operands are.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tenon/plugin.h>

#include "base/macros.h"
#include "random_problem.h"
#include "solver_test.h"

enum { NODES = 3 };

// A chain of three on two places, of which node 1 is cheaper on the other one.
static void a_copy_is_weighed_against_the_claim(void **state)
{
    (void)state;
    static const uint32_t nodes[] = { 0, 1, 2 }, first[] = { 0, 0, 1, 2 }, operands[] = { 0, 1 };
    static const uint64_t places[] = { 3, 3, 3 }, bytes[] = { 1, 1, 1 };
    static const struct {
        const char *says;
        double copy_ns, fusion_ns;   // fusion: of the last two, on place 0; 0 = none
        bool alone;
        uint32_t groups[NODES];
        uint64_t places_of_last;
        uint32_t count, where[NODES];
    } cases[] = {
        { "a cheap copy", 10, 0, false, { 9, 9, 9 }, 3, 3, { 0, 1, 1 } },
        { "a dear copy", 100, 0, false, { 9, 9, 9 }, 3, 3, { 0, 0, 0 } },
        { "the last may only be on the first", 10, 0, false, { 9, 9, 9 }, 1, 3, { 0, 1, 0 } },
        { "a group stays where it began", 10, 0, false, { 0, 0, 9 }, 3, 3, { 0, 0, 0 } },
        { "a fusion that is cheaper", 10, 80, false, { 9, 9, 9 }, 3, 3, { 0, 0, 0 } },
        { "but nodes alone are asked for", 10, 80, true, { 9, 9, 9 }, 3, 3, { 0, 1, 1 } },
        { "the last has no claim", 10, 0, false, { 9, 9, 9 }, 4, 2, { 0, 1, 9 } },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        double latency[] = { 0, cases[i].copy_ns, cases[i].copy_ns, 0 }, per_byte[4] = { 0 };
        double submits[2] = { 0 };
        const tni_links links = { .place_count = 2,
                                  .latency_ns = latency,
                                  .ns_per_byte = per_byte,
                                  .measured_submit_ns = submits };
        uint64_t may[] = { places[0], places[1], cases[i].places_of_last };
        uint32_t groups[NODES], chosen[NODES], claim_count = 0;
        tni_problem_claim claims[2 * NODES + 1];
        for (uint32_t n = 0; n < NODES; n++) {
            groups[n] = cases[i].groups[n] == 9 ? TNP_NONE : cases[i].groups[n];
            for (uint32_t p = 0; p < 2; p++)
                claims[claim_count++] = (tni_problem_claim){ .place = p,
                                                             .node_count = 1,
                                                             .nodes = &nodes[n],
                                                             .cost_ns = n == 1 ? (p ? 50 : 90)
                                                                               : (p ? 55 : 50) };
        }
        if (cases[i].fusion_ns > 0)
            claims[claim_count++] = (tni_problem_claim){ .node_count = 2,
                                                         .nodes = &nodes[1],
                                                         .cost_ns = cases[i].fusion_ns };
        const tni_problem problem = { .place_count = 2,
                                      .node_count = NODES,
                                      .claim_count = claim_count,
                                      .group_count = 1,
                                      .claims = claims,
                                      .places = may,
                                      .groups = groups,
                                      .first_operand = first,
                                      .operands = operands,
                                      .first_before = first,
                                      .before = operands,
                                      .value_bytes = bytes,
                                      .links = &links };
        solver v;
        bool has_memory;
        solver_begin(&v, &problem);
        uint32_t count = tni_solve_greedily(&v.index, cases[i].alone, &v.arena, chosen,
                                            &has_memory);
        if (!has_memory || count != cases[i].count)
            fail_msg("%s: %u nodes have a claim", cases[i].says, count);
        for (uint32_t n = 0; n < count; n++)
            if (claims[chosen[n]].place != cases[i].where[n])
                fail_msg("%s: node %u is on %u", cases[i].says, n, claims[chosen[n]].place);
        solver_finish(&v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_weighed_against_the_claim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
