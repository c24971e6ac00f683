// The arena: pieces of every size, one end for all.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "failing_alloc.h"

enum { PIECES = 3000 };

typedef struct arena_case {
    failing_alloc failing;
    tni_arena arena;
} arena_case;

static void arena_case_init(arena_case *c, uint64_t fail_at)
{
    failing_alloc_init(&c->failing, fail_at);
    tni_arena_init(&c->arena, &c->failing.allocator);
}

// false also for NULL.
static bool is_zero(const unsigned char *piece, size_t bytes)
{
    size_t zeros = 0;
    while (piece && zeros < bytes && piece[zeros] == 0)
        zeros++;
    return piece && zeros == bytes;
}

// Sizes around those of the blocks too; what one piece holds must still be there when all are
// taken.
static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    arena_case c;
    arena_case_init(&c, 0);
    static unsigned char *pieces[PIECES];
    static size_t sizes[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        sizes[i] = i % 100 == 99 ? 4096 * (i / 100) + i % 3 : i % 97;
        pieces[i] = tni_arena_take(&c.arena, sizes[i]);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        if (!is_zero(pieces[i], sizes[i]))
            fail_msg("piece %zu is not zero", i);
        memset(pieces[i], (int)(i % 251) + 1, sizes[i]);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t b = 0; b < sizes[i]; b++)
            if (pieces[i][b] != i % 251 + 1)
                fail_msg("piece %zu was overwritten", i);
    tni_arena_finish(&c.arena);
    assert_int_equal(c.failing.alive, 0);
}

static void many_small_pieces_take_few_blocks(void **state)
{
    (void)state;
    arena_case c;
    arena_case_init(&c, 0);
    for (int i = 0; i < 100000; i++)
        assert_non_null(tni_arena_take(&c.arena, 16));
    assert_true(c.failing.calls < 16);
    tni_arena_finish(&c.arena);
    assert_int_equal(c.failing.alive, 0);
}

// Also where there is no memory for all of it: then the pieces come as if nothing had been said.
static void what_is_expected_comes_from_one_block(void **state)
{
    (void)state;
    enum { COUNT = 100, SMALL = 16000, LARGE = 60000 };   // bytes, in large pages or not
    for (uint32_t k = 0; k < 4; k++) {
        const uint64_t fail_at = k % 2;
        const size_t bytes = k < 2 ? SMALL : LARGE;
        arena_case c;
        arena_case_init(&c, fail_at);
        tni_arena_expect(&c.arena, COUNT * bytes);
        for (int i = 0; i < COUNT; i++)
            assert_true(is_zero(tni_arena_take(&c.arena, bytes), bytes));
        if (fail_at == 0)
            assert_int_equal(c.failing.calls, 1);
        tni_arena_expect(&c.arena, 1);   // fewer bytes than the next block has anyway
        tni_arena_finish(&c.arena);
        assert_int_equal(c.failing.alive, 0);
    }
}

static void an_arena_ends_once_or_twice_or_unused(void **state)
{
    (void)state;
    arena_case c;
    arena_case_init(&c, 0);
    tni_arena_finish(&c.arena);
    assert_non_null(tni_arena_take(&c.arena, 1));
    tni_arena_finish(&c.arena);
    tni_arena_finish(&c.arena);
    tni_arena zeroed = { .block_bytes = 0 };
    tni_arena_finish(&zeroed);
    assert_int_equal(c.failing.alive, 0);
}

static void a_piece_that_cannot_be_had_leaves_the_arena_usable(void **state)
{
    (void)state;
    arena_case c;
    arena_case_init(&c, 2);
    char *first = tni_arena_take_text(&c.arena, "kept");
    assert_non_null(first);
    assert_null(tni_arena_take(&c.arena, 1 << 20));
    assert_null(tni_arena_take(&c.arena, SIZE_MAX));
    assert_null(tni_arena_take(&c.arena, SIZE_MAX - 15));
    assert_null(tni_arena_take(&c.arena, SIZE_MAX - 40));
    assert_null(tni_arena_take_array(&c.arena, SIZE_MAX / 8 + 1, 8));
    assert_non_null(tni_arena_take(&c.arena, 1 << 20));
    assert_string_equal(first, "kept");
    tni_arena_finish(&c.arena);
    assert_int_equal(c.failing.alive, 0);
}

static void copies_hold_what_they_were_made_from(void **state)
{
    (void)state;
    arena_case c;
    arena_case_init(&c, 0);
    static const uint32_t numbers[] = { 1, 2, 3 };
    uint32_t *copy = tni_arena_copy(&c.arena, numbers, 3, sizeof *numbers);
    assert_memory_equal(copy, numbers, sizeof numbers);
    assert_non_null(tni_arena_copy(&c.arena, NULL, 0, 4));
    assert_string_equal(tni_arena_take_text(&c.arena, ""), "");
    tni_arena_finish(&c.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(many_small_pieces_take_few_blocks),
        cmocka_unit_test(what_is_expected_comes_from_one_block),
        cmocka_unit_test(an_arena_ends_once_or_twice_or_unused),
        cmocka_unit_test(a_piece_that_cannot_be_had_leaves_the_arena_usable),
        cmocka_unit_test(copies_hold_what_they_were_made_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
