// Who pays for what several nodes keep together: each item is paid for once, whatever is chosen.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tenon/plugin.h>

#include "random_problem.h"
#include "sched/limits.h"

enum { PROBLEMS = 200, NODES = 12, MOVES = 5 };

static bool has_node(const tni_problem_claim *claim, uint32_t node)
{
    for (uint32_t i = 0; i < claim->node_count; i++)
        if (claim->nodes[i] == node)
            return true;
    return false;
}

static void check_parts(const tni_limited *l)
{
    for (uint32_t item = 0; item < l->problem->item_count; item++) {
        double sum = 0;
        if (l->first_payer[item] == l->first_payer[item + 1])   // no claim has it
            continue;
        for (uint32_t p = l->first_payer[item]; p < l->first_payer[item + 1]; p++) {
            assert_true(l->payers[p].part >= 0);
            assert_int_equal(l->payers[p].item, item);
            sum += l->payers[p].part;
        }
        assert_true(fabs(sum - 1) < 1e-9);
    }
}

// All claims of a payer have its node, so that one of them is chosen at most.
static void check_claims(const tni_limited *l)
{
    const tni_problem *problem = l->problem;
    for (uint32_t c = 0; c < problem->claim_count; c++)
        for (uint32_t i = 0; i < problem->claims[c].item_count; i++) {
            uint32_t at = problem->claims[c].first_item + i;
            const tni_payer *payer = &l->payers[l->payer_of[at]];
            assert_int_equal(payer->item, problem->claim_items[at]);
            assert_true(has_node(&problem->claims[c], payer->node));
        }
}

// A claim on each node alone, whichever.
static void choose(const tni_problem *problem, uint32_t *chosen, uint64_t *seed)
{
    uint32_t seen[NODES] = { 0 };
    for (uint32_t c = 0; c < problem->claim_count; c++) {
        const tni_problem_claim *claim = &problem->claims[c];
        if (claim->node_count == 1 && next_random(seed) % ++seen[claim->nodes[0]] == 0)
            chosen[claim->nodes[0]] = c;
    }
    for (uint32_t n = 0; n < problem->node_count; n++)
        assert_true(seen[n] > 0);
}

// By payer: whether a claim that is chosen asks it.
static bool asks(const tni_limited *l, const uint32_t *chosen, uint32_t payer)
{
    const tni_problem *problem = l->problem;
    for (uint32_t n = 0; n < problem->node_count; n++) {
        const tni_problem_claim *claim = &problem->claims[chosen[n]];
        for (uint32_t i = 0; i < claim->item_count; i++)
            if (l->payer_of[claim->first_item + i] == payer)
                return true;
    }
    return false;
}

static void parts_of_an_item_are_one_and_follow_who_asks(void **state)
{
    (void)state;
    uint64_t seed = 5;
    uint32_t shared = 0, moved = 0;
    for (uint32_t i = 0; i < PROBLEMS; i++) {
        random_problem r;
        random_options options = { .shape = (shape)(i % SHAPES),
                                   .nodes = NODES,
                                   .places = 2 + i % 2,
                                   .has_fusions = i & 1,
                                   .has_limits = true };
        random_problem_make(&r, &options, &seed);
        assert_true(r.problem.node_count <= NODES);
        tni_limited l = { .problem = &r.problem, .arena = &r.arena };
        assert_true(tni_limited_find_payers(&l));
        check_claims(&l);
        check_parts(&l);
        for (int move = 0; move < MOVES; move++) {
            uint32_t chosen[NODES];
            choose(&r.problem, chosen, &seed);
            double before[NODES * 8];
            uint32_t count = l.first_payer[r.problem.item_count];
            assert_true(count <= NODES * 8);
            for (uint32_t p = 0; p < count; p++)
                before[p] = l.payers[p].part;
            tni_limited_move_parts(&l, chosen, 0.25);
            check_parts(&l);
            for (uint32_t item = 0; item < r.problem.item_count; item++) {
                double was = 0, is = 0;
                uint32_t first = l.first_payer[item], end = l.first_payer[item + 1];
                for (uint32_t p = first; p < end; p++) {
                    was += asks(&l, chosen, p) ? before[p] : 0;
                    is += asks(&l, chosen, p) ? l.payers[p].part : 0;
                }
                shared += end - first > 1;
                moved += is > was + 1e-9;
                assert_true(is >= was - 1e-9);
            }
        }
        random_problem_finish(&r);
    }
    assert_true(shared > 0 && moved > 0);   // else nothing was tested
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_an_item_are_one_and_follow_who_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
