// What was measured of a device: the file's form, and what tells one device from another.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sha2.h>

#include "places.h"
#include "plugin/plugin_internal.h"

static const char key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const char other[] = "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static tni_measured example(uint32_t peers)
{
    tni_measured m = { .is_there = true,
                       .claim_ppm = 1500000,
                       .submit_ns = 12345,
                       .up = { 10000, 16000000000 },
                       .down = { 0, UINT64_MAX },
                       .peer_count = peers };
    for (uint32_t i = 0; i < peers; i++) {
        memcpy(m.peers[i].key, i % 2 ? other : key, sizeof key);
        m.peers[i].link = (tni_link_figures){ 1000 * i, 1 + i };
    }
    return m;
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const uint32_t counts[] = { 0, 1, 2, TNI_MOST_PEERS };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char text[TNI_MEASURED_BYTES];
        tni_measured want = example(counts[i]), got;
        const char *why;
        size_t bytes = tni_measured_write(&want, key, text);
        assert_true(bytes < sizeof text);
        if (!tni_measured_read(text, bytes, key, &got, &why))
            fail_msg("%u peers: %s", counts[i], why);
        assert_memory_equal(&got, &want, sizeof got);
    }
}

static void need_refused(const char *text, size_t bytes, const char *of, const char *words)
{
    tni_measured got;
    const char *why = "";
    if (tni_measured_read(text, bytes, of, &got, &why) || (words && strcmp(why, words) != 0))
        fail_msg("'%s', not '%s': %.*s", why, words, (int)bytes, text);
    assert_false(got.is_there);
    assert_int_equal(got.claim_ppm, 0);
}

static void every_byte_counts(void **state)
{
    (void)state;
    char text[TNI_MEASURED_BYTES], changed[TNI_MEASURED_BYTES];
    tni_measured m = example(2);
    size_t bytes = tni_measured_write(&m, key, text);
    for (size_t i = 0; i < bytes; i++) {
        memcpy(changed, text, bytes);
        changed[i] ^= 1;
        need_refused(changed, bytes, key, NULL);
        need_refused(text, i, key, NULL);   // cut
    }
    memcpy(changed, text, bytes);
    changed[bytes] = '\n';
    need_refused(changed, bytes + 1, key, "it is damaged");
    need_refused(text, bytes, other, "it is of another device");
    need_refused("", 0, key, "it is no file of tenon tune, or of another release");
    need_refused("tenon tune 2\n", 13, key, "it is no file of tenon tune, or of another release");
}

// With the right hash, but numbers and lines that no tune writes.
static void what_makes_no_sense_is_damaged(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } cases[] = {
        { "claim_ppm 1500000", "claim_ppm 1000000000001" },
        { "claim_ppm 1500000", "claim_ppm" },
        { "claim_ppm 1500000", "claim_ppm -1" },
        { "claim_ppm 1500000", "claim_ppm 1.5" },
        { "submit_ns 12345", "submit_ns 99999999999999999999" },
        { "submit_ns 12345\n", "" },
        { "up 10000 16000000000", "up 10000" },
        { "up 10000 16000000000", "up 10000 16000000000 1" },
        { "down 0", "peer 0" },
    };
    char text[TNI_MEASURED_BYTES], changed[TNI_MEASURED_BYTES];
    tni_measured m = example(1);
    size_t bytes = tni_measured_write(&m, key, text);
    text[bytes] = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *at = strstr(text, cases[i].from);
        assert_non_null(at);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, cases[i].to,
                 at + strlen(cases[i].from));
        char hash[SHA256_DIGEST_STRING_LENGTH], *line = strstr(changed, "sha256 ");
        assert_non_null(line);
        SHA256Data((const uint8_t *)changed, (size_t)(line - changed), hash);
        memcpy(line + strlen("sha256 "), hash, strlen(hash));
        need_refused(changed, strlen(changed), key, "it is damaged");
    }
}

// --------------------------------------------------------------------------------------------- key

static void drop_line(void *context, int32_t level, const char *text)
{
    (void)context, (void)level, (void)text;
}

static tn_runtime *start(const char *const *settings, uint32_t count, uint32_t threads)
{
    tn_runtime *runtime = NULL;
    tn_error err = { 0 };
    tn_runtime_options options = {
        .size = sizeof options,
        .threads = threads,
        .settings = settings,
        .setting_count = count,
        .log = drop_line,
    };
    if (tn_runtime_create(&options, &runtime, &err) != TN_OK)
        fail_msg("%s", err.text);
    return runtime;
}

static void find_key(const tn_device *device, const char *const *settings, uint32_t count,
                     uint32_t threads, char found[TNI_DEVICE_KEY_BYTES])
{
    static const tnp_plugin table = { .size = sizeof table };
    tn_device own = *device;
    own.runtime = start(settings, count, threads);
    own.table = &table;
    tni_device_key(&own, found);
    tn_runtime_destroy(own.runtime);
}

static void the_key_tells_devices_and_settings_apart(void **state)
{
    (void)state;
    const tn_device plain = { .plugin = "x", .name = "x0", .info = { .name = "A", .driver = "1" } };
    static const char *const one[] = { "plugin.x.a=1", "plugin.y.a=1" };
    static const char *const two[] = { "plugin.x.a=2" }, *const more[] = { "plugin.x.a=1",
                                                                           "plugin.x.b=1" };
    static const char *const turned[] = { "plugin.x.b=1", "plugin.x.a=1" };
    static const char *const pinned[] = { "plugin.x.a=1", "plugin.x.disable=no" };
    char keys[16][TNI_DEVICE_KEY_BYTES], same[TNI_DEVICE_KEY_BYTES];
    tn_device changed[6];
    uint32_t count = 0;
    for (int i = 0; i < 6; i++)
        changed[i] = plain;
    changed[0].plugin = "y";
    changed[1].name[1] = '1';
    snprintf(changed[2].info.name, sizeof changed[2].info.name, "B");
    snprintf(changed[3].info.driver, sizeof changed[3].info.driver, "2");
    snprintf(changed[4].info.pci, sizeof changed[4].info.pci, "0000:01:00.0");
    changed[5].info.uuid[15] = 1;
    find_key(&plain, NULL, 0, 2, keys[count++]);
    for (int i = 0; i < 6; i++)
        find_key(&changed[i], NULL, 0, 2, keys[count++]);
    find_key(&plain, one, 2, 2, keys[count++]);
    find_key(&plain, two, 1, 2, keys[count++]);
    find_key(&plain, more, 2, 2, keys[count++]);
    tn_device cpu = plain;
    cpu.info.kind = TNP_KIND_CPU;
    find_key(&cpu, NULL, 0, 1, keys[count++]);
    find_key(&cpu, NULL, 0, 2, keys[count++]);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(strlen(keys[i]), 64);
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(keys[i], keys[k]) == 0)
                fail_msg("%u and %u have one key", k, i);
    }
    find_key(&plain, NULL, 0, 7, same);   // threads are the CPU's
    assert_string_equal(same, keys[0]);
    find_key(&plain, turned, 2, 2, same);
    assert_string_equal(same, keys[9]);
    find_key(&plain, pinned, 2, 2, same);   // what is the host's does not count
    assert_string_equal(same, keys[7]);
    // With a PCI address or UUID it does not matter what it is called.
    for (int i = 4; i < 6; i++) {
        changed[i].name[1] = '7';
        find_key(&changed[i], NULL, 0, 2, same);
        assert_string_equal(same, keys[1 + i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(every_byte_counts),
        cmocka_unit_test(what_makes_no_sense_is_damaged),
        cmocka_unit_test(the_key_tells_devices_and_settings_apart),
    };
    test_places();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
