// The texts in which answers are kept and come from another process: what is written is read again,
// and anything else is refused as a whole.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sha2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "plugin/plugin_internal.h"

static const char key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static tni_arena arena;
static char *text, *changed;

static int begin(void **state)
{
    (void)state;
    tn_allocator allocator = tni_allocator(NULL);
    tni_arena_init(&arena, &allocator);
    text = malloc(TNI_KEPT_BYTES);
    changed = malloc(TNI_KEPT_BYTES);
    return !text || !changed;
}

static int end(void **state)
{
    (void)state;
    tni_arena_finish(&arena);
    free(text);
    free(changed);
    return 0;
}

static void fill_text(char *to, size_t room)
{
    memset(to, 'x', room - 1);
    to[room - 1] = 0;
}

// The longest there is when `count` is TNI_MAX_DEVICES.
static tni_answer example(uint32_t count)
{
    tni_answer answer = { .count = count };
    answer.offers = tni_arena_take_array(&arena, count ? count : 1, sizeof *answer.offers);
    fill_text(answer.reason, sizeof answer.reason);
    for (uint32_t i = 0; i < count; i++) {
        tnp_device_info *info = &answer.offers[i].info;
        answer.offers[i].index = i;
        *info = (tnp_device_info){ .size = sizeof *info,
                                   .flags = UINT32_MAX,
                                   .kind = TNP_KIND_GPU,
                                   .memory_count = TNI_MAX_MEMORIES,
                                   .queue_count = UINT32_MAX,
                                   .copy_queue_count = UINT32_MAX,
                                   .update_bytes = UINT64_MAX,
                                   .memory_bytes = UINT64_MAX,
                                   .flops_per_s = i ? 0x1p63 : 1e300 };
        fill_text(info->name, sizeof info->name);
        fill_text(info->driver, sizeof info->driver);
        fill_text(info->host, sizeof info->host);
        fill_text(info->pci, sizeof info->pci);
        memset(info->uuid, 0xfe, sizeof info->uuid);
    }
    return answer;
}

static const tni_identity identity = { 65024, 12, 34567, { 1796030931, 999999999 } };

static bool read_kept(const char *from, size_t bytes, tni_kept *kept)
{
    tni_identity got;
    bool has_memory;
    char *alone = malloc(bytes ? bytes : 1);   // so that a sanitizer sees what is read beyond it
    assert_non_null(alone);
    memcpy(alone, from, bytes);
    bool is_read = tni_kept_read(alone, bytes, key, &arena, kept, &got, &has_memory);
    free(alone);
    assert_true(has_memory);
    if (is_read)
        assert_true(tni_identity_is_same(&got, &identity));
    else
        assert_int_equal(kept->verdict, TNI_UNSEEN);
    return is_read;
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const uint32_t counts[] = { 1, 2, TNI_MAX_DEVICES };
    for (size_t i = 0; i < 3; i++) {
        tni_kept kept = { .verdict = TNI_LISTED, .answer = example(counts[i]) }, got;
        snprintf(kept.sha256, sizeof kept.sha256, "%s", key);
        snprintf(kept.situation, sizeof kept.situation, "%s", key);
        size_t bytes = tni_kept_text(&kept, &identity, key, text);
        assert_true(bytes < TNI_KEPT_BYTES);
        assert_true(read_kept(text, bytes, &got));
        assert_int_equal(got.verdict, TNI_LISTED);
        assert_true(tni_answer_is_same(&kept.answer, &got.answer));
        assert_string_equal(got.answer.offers[0].info.driver, kept.answer.offers[0].info.driver);
        assert_true(got.answer.offers[0].info.flops_per_s == 0x1p63);
        assert_int_equal(got.answer.offers[0].info.flags, UINT32_MAX);
    }
    tni_kept bad = { .verdict = TNI_QUARANTINED }, got;
    snprintf(bad.sha256, sizeof bad.sha256, "%s", key);
    fill_text(bad.reason, sizeof bad.reason);
    assert_true(read_kept(text, tni_kept_text(&bad, &identity, key, text), &got));
    assert_int_equal(got.verdict, TNI_QUARANTINED);
    assert_string_equal(got.reason, bad.reason);
}

static void every_byte_counts(void **state)
{
    (void)state;
    tni_kept kept = { .verdict = TNI_LISTED, .answer = example(2) }, got;
    snprintf(kept.sha256, sizeof kept.sha256, "%s", key);
    snprintf(kept.situation, sizeof kept.situation, "%s", key);
    size_t bytes = tni_kept_text(&kept, &identity, key, text);
    for (size_t i = 0; i < bytes; i++) {
        memcpy(changed, text, bytes);
        changed[i] ^= 1;
        if (read_kept(changed, bytes, &got) || read_kept(text, i, &got))
            fail_msg("byte %zu", i);
    }
    memcpy(changed, text, bytes);
    changed[bytes] = '\n';
    assert_false(read_kept(changed, bytes + 1, &got));
}

// With the right hash, but what is never written.
static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } cases[] = {
        { "offers 1 ", "offers 257 " },
        { "offers 1 ", "offers 0 " },
        { "offers 1 ", "offers 2 " },
        { "device 0 0 2 ", "device 0 0 0 " },
        { "device 0 0 2 ", "device 0 0 6 " },
        { "device 0 0 2 ", "device 256 0 2 " },
        { "device 0 0 2 ", "device 0 0 1 " },   // a CPU: never kept
        { "device 0 0 2 1 ", "device 0 0 2 65 " },
        { "device 0 ", "device -1 " },
        { "GPU", "G\x01U" },
        { "GPU", "G\xffU" },
        { "0000:01:00.0", "0000:01:00.0 of more than the thirty-one bytes" },
        { "00\n", "0\n" },
        { "file 65024", "file 65024 1" },
        { "listed", "answered" },
        { "listed", "refused" },
        { "listed", "quarantined " },
    };
    tni_kept kept = { .verdict = TNI_LISTED }, got;
    kept.answer = example(1);
    kept.answer.reason[0] = 0;
    kept.answer.offers[0].info = (tnp_device_info){ .size = sizeof(tnp_device_info),
                                                    .kind = TNP_KIND_GPU,
                                                    .memory_count = 1,
                                                    .name = "GPU",
                                                    .pci = "0000:01:00.0" };
    snprintf(kept.sha256, sizeof kept.sha256, "%s", key);
    snprintf(kept.situation, sizeof kept.situation, "%s", key);
    size_t bytes = tni_kept_text(&kept, &identity, key, text);
    text[bytes] = 0;
    assert_true(read_kept(text, bytes, &got));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = strstr(text, cases[i].from);
        assert_non_null(at);
        snprintf(changed, TNI_KEPT_BYTES, "%.*s%s%s", (int)(at - text), text, cases[i].to,
                 at + strlen(cases[i].from));
        char hash[SHA256_DIGEST_STRING_LENGTH], *line = strstr(changed, "sha256 ");
        assert_non_null(line);
        SHA256Data((const uint8_t *)changed, (size_t)(line - changed), hash);
        memcpy(line + strlen("sha256 "), hash, strlen(hash));
        if (read_kept(changed, strlen(changed), &got))
            fail_msg("%s", cases[i].to);
    }
}

static bool read_crash(const char *from, size_t bytes, tni_crash *crash)
{
    char *alone = malloc(bytes ? bytes : 1);
    assert_non_null(alone);
    memcpy(alone, from, bytes);
    bool is_read = tni_crash_read(alone, bytes, key, crash);
    free(alone);
    if (!is_read)
        assert_int_equal(crash->number, 0);
    return is_read;
}

static void a_crash_is_read_whole_or_not_at_all(void **state)
{
    (void)state;
    static const char *const wrong[] = { "6 x\n",
                                         "9 1\n",
                                         "0 1\n",
                                         "-6 1\n",
                                         "6 -1\n",
                                         "6 1 ",
                                         "6 1\n\n",
                                         "6\n",
                                         "6  1\n",
                                         "4294967302 1\n",
                                         "6 9223372036854775808\n" };
    tni_crash crash = { .identity = identity }, got;
    snprintf(crash.sha256, sizeof crash.sha256, "%s", key);
    size_t head = tni_crash_text(&crash, key, text);
    assert_true(head + 2 * 20 + 2 < TNI_CRASH_BYTES);
    size_t bytes = head + (size_t)sprintf(text + head, "6 1796030931\n");
    assert_true(read_crash(text, bytes, &got));
    assert_int_equal(got.number, SIGABRT);
    assert_int_equal(got.seconds, 1796030931);
    assert_string_equal(got.sha256, key);
    assert_true(tni_identity_is_same(&got.identity, &identity));
    for (size_t i = 0; i < bytes; i++)
        assert_false(read_crash(text, i, &got));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t length = head + (size_t)sprintf(text + head, "%s", wrong[i]);
        if (read_crash(text, length, &got))
            fail_msg("%s", wrong[i]);
    }
}

// ------------------------------------------------------------------------------- from a process

static tni_probed probed(const char *from)
{
    tni_probed got;
    assert_true(tni_probed_read(from, strlen(from), &arena, &got));
    return got;
}

static void what_comes_from_a_process_may_end_anywhere(void **state)
{
    (void)state;
    char head[256], hash[SHA256_DIGEST_STRING_LENGTH];
    snprintf(head, sizeof head, "hash %s\n", key);
    assert_false(probed("").has_begun || probed("").is_garbage);
    assert_false(probed(head).has_begun || probed(head).is_garbage);
    assert_true(probed("devices 7\n").is_garbage);
    strcat(head, "at load\nat start\n");
    assert_true(probed(head).has_begun);
    assert_string_equal(probed(head).at, "start");
    assert_false(probed(head).is_whole || probed(head).is_garbage);
    snprintf(changed, TNI_KEPT_BYTES, "%swhole\nrefused no driver\n", head);
    assert_true(probed(changed).is_garbage);   // it is cut, and its end did not say so
    SHA256Data((const uint8_t *)changed, strlen(changed), hash);
    snprintf(changed + strlen(changed), 100, "sha256 %s\n", hash);
    tni_probed got = probed(changed);
    assert_true(got.is_whole && !got.is_garbage && got.answer.is_refusal);
    assert_string_equal(got.answer.reason, "no driver");
    snprintf(changed + 512, 512, "%swhole\nlacks 0 device 0 is left out: no power\n", head);
    SHA256Data((const uint8_t *)changed + 512, strlen(changed + 512), hash);
    snprintf(changed + 512 + strlen(changed + 512), 100, "sha256 %s\n", hash);
    tni_probed part = probed(changed + 512);   // it may be there another time: not to be kept
    assert_true(part.is_whole && part.answer.is_partial && !tni_kept_may_list(&part.answer));
    for (size_t i = 0; i < strlen(changed); i++) {
        changed[i] ^= 1;
        assert_false(probed(changed).is_whole);
        changed[i] ^= 1;
    }
    strcat(changed, "x");
    assert_true(probed(changed).is_garbage);
    snprintf(changed, TNI_KEPT_BYTES, "%sat a call of a longer name than any\n", head);
    assert_true(probed(changed).is_garbage);
}

static void devices_are_compared_by_what_they_are(void **state)
{
    (void)state;
    tni_answer one = example(2), other = example(2);
    other.offers[1].info.id = 77;   // names it in one process
    other.offers[1].info.flops_per_s = 1;
    assert_true(tni_answer_is_same(&one, &other));
    other.offers[1].info.driver[0] = 'y';
    assert_false(tni_answer_is_same(&one, &other));
    assert_true(tni_offer_is_same(&one.offers[1], &other.offers[1]));   // after an update
    other.offers[1].info.pci[0] = 'y';
    assert_false(tni_offer_is_same(&one.offers[1], &other.offers[1]));
    other = example(1);
    assert_false(tni_answer_is_same(&one, &other));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(what_is_written_is_read_again),
        CASE(every_byte_counts),
        CASE(what_makes_no_sense_is_refused),
        CASE(a_crash_is_read_whole_or_not_at_all),
        CASE(what_comes_from_a_process_may_end_anywhere),
        CASE(devices_are_compared_by_what_they_are),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
