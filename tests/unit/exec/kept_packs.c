// Packs in the user's cache: made by one process, found by the next, and never other ones than the
// plugin would make of the weights as they are now.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <tenon/model.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "counting_alloc.h"
#include "exec/pack_file.h"
#include "exec/session.h"
#include "failing_alloc.h"
#include "failing_write.h"
#include "folder.h"
#include "session_rig.h"

enum {
    WEIGHTS = 6,
    ROW = 512,
    OUT = 64,
    BLOCK_BYTES = 34,   // Q8_0
    WEIGHT_BYTES = OUT * ROW / 32 * BLOCK_BYTES,
    PACKED_BYTES = WEIGHTS * WEIGHT_BYTES,   // a pack has the bytes of the weight
};

static test_folder folder;
static unsigned char blocks[WEIGHTS][WEIGHT_BYTES];
static float input[ROW];
static tni_file_map model;

// ------------------------------------------------------------------------------------- the clock

static int seconds_later = 60;   // since the model was written

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME && result == 0)
        now->tv_sec += seconds_later;
    return result;
}

// What is done in the cache: each is counted.
static struct {
    uint32_t looks, moves, removals;
} done;

DIR *opendir(const char *name)
{
    int file = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    done.looks += strstr(name, "/tenon/packs") != NULL;
    return file < 0 ? NULL : fdopendir(file);
}

static bool is_removed_at_once;   // whatever gets its name

int rename(const char *from, const char *to)
{
    int result = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    done.moves += strstr(to, "/tenon/packs/") != NULL;
    if (is_removed_at_once)
        unlink(to);
    return result;
}

static bool others_remove_too;   // and are a moment earlier

int unlinkat(int folder_file, const char *name, int flags)
{
    done.removals++;
    if (others_remove_too)
        (void)syscall(SYS_unlinkat, folder_file, name, flags);
    return (int)syscall(SYS_unlinkat, folder_file, name, flags);
}

// ------------------------------------------------------------------------------------- the model

static void open_model(void)
{
    const tn_allocator allocator = tni_allocator(NULL);
    tn_error err = { 0 };
    if (tni_file_map_open(&model, test_folder_path(&folder, "model"), false, 0, &allocator, &err) !=
        TN_OK)
        fail_msg("%s", err.text);
}

static void write_model(void)
{
    tni_file_map_close(&model);
    test_folder_write(&folder, "model", blocks, sizeof blocks);
    open_model();
}

static tn_graph *graph_of(uint32_t from, uint32_t to)
{
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 1, ROW, 0, 0);
    rig_finish(graph, rig_products(graph, x, model.data, ROW, OUT, from, to));
    return graph;
}

typedef struct outputs {
    float y[OUT];
} outputs;

static outputs run(tn_session *session, const tn_graph *graph)
{
    outputs got;
    rig_run(session, 0, graph, "x", input, sizeof input, NULL);
    rig_read(session, 0, graph, "out", got.y, sizeof got.y);
    return got;
}

// ------------------------------------------------------------------------------------- the cache

#define ON "packs.cache=on"
#define Q8 "plugin.cpu.activations=q8"

static tn_runtime *runtime_of(const char *const *settings)
{
    tn_runtime *runtime = rig_runtime(false, settings);
    setenv("XDG_CACHE_HOME", test_folder_path(&folder, "cache"), 1);
    return runtime;
}

static tn_runtime *keeping_runtime(void)
{
    return runtime_of((const char *[]){ "threads=2", Q8, ON, NULL });
}

static tn_session *session_of(tn_runtime *runtime, const tn_graph *graph)
{
    return rig_session(runtime, &graph, 1, (const char *[]){ "cpu0", NULL });
}

static const char *packs_folder(void)
{
    return test_folder_path(&folder, "cache/tenon/packs");
}

// How many files there are; the name of the last one.
static uint32_t count_files(char *name)
{
    uint32_t count = 0;
    DIR *there = opendir(packs_folder());
    for (const struct dirent *entry; there && (entry = readdir(there));) {
        if (*entry->d_name == '.')
            continue;
        if (name)
            snprintf(name, TEST_PATH_BYTES, "%s/%.255s", packs_folder(), entry->d_name);
        count++;
    }
    if (there)
        closedir(there);
    return count;
}

// None was used for long.
static void age_files(void)
{
    const struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 500 } };
    DIR *there = opendir(packs_folder());
    assert_non_null(there);
    for (const struct dirent *entry; (entry = readdir(there));)
        if (*entry->d_name != '.')
            assert_int_equal(utimensat(dirfd(there), entry->d_name, times, 0), 0);
    closedir(there);
}

static void clear_cache(void)
{
    char name[TEST_PATH_BYTES];
    while (count_files(name))
        assert_int_equal(remove(name), 0);
}

static outputs want_all;   // of all weights, packed in memory

static void need_outputs(const outputs *got, const outputs *want)
{
    assert_memory_equal(got, want, sizeof *got);
}

// A process of its own, as far as packs go. made: bytes that it makes for the cache; found: those
// that it finds there.
static void start_once(uint64_t found, uint64_t made)
{
    char text[100];
    tn_graph *graph = graph_of(0, WEIGHTS);
    tn_runtime *runtime = keeping_runtime();
    tn_session *session = session_of(runtime, graph);
    outputs got = run(session, graph);
    need_outputs(&got, &want_all);
    assert_int_equal(rig_memory(session).weight_cached_bytes, found + made);
    assert_int_equal(rig_memory(session).weight_copied_bytes, PACKED_BYTES - found - made);
    snprintf(text, sizeof text, "%llu packed in the user's cache, of these %llu made now",
             (unsigned long long)(found + made), (unsigned long long)made);
    if (found + made && !strstr(rig_explain(session), text))
        fail_msg("not '%s': %s", text, rig_explain(session));
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
}

// The warnings about packs since the runtime was made: a line each.
static uint32_t count_warnings(const char **out_first)
{
    uint32_t count = 0;
    for (const char *at = rig_log(); (at = strstr(at, "packs are ")); at++)
        if (count++ == 0)
            *out_first = at;
    return count;
}

static void need_no_warning(void)
{
    const char *first = "";
    if (count_warnings(&first) != 0)
        fail_msg("%s", first);
}

static void need_one_warning(const char *a, const char *b)
{
    const char *first = "";
    if (count_warnings(&first) != 1 || !strstr(first, a) || !strstr(first, b))
        fail_msg("not one line with '%s' and '%s': %s", a, b, rig_log());
}

static int begin(void **state)
{
    (void)state;
    test_folder_make(&folder);
    for (uint32_t w = 0; w < WEIGHTS; w++)
        rig_fill_q8_0(blocks[w], WEIGHT_BYTES, w);
    rig_fill(input, ROW, 5);
    write_model();
    tn_graph *graph = graph_of(0, WEIGHTS);
    tn_runtime *runtime = runtime_of((const char *[]){ Q8, NULL });
    tn_session *session = session_of(runtime, graph);
    want_all = run(session, graph);
    bool is_off = rig_memory(session).weight_cached_bytes == 0 && count_files(NULL) == 0;
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
    return is_off ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    tni_file_map_close(&model);
    test_folder_remove(&folder);
    return 0;
}

static int begin_empty(void **state)
{
    (void)state;
    clear_cache();
    seconds_later = 60;
    writes_left = -1;
    others_remove_too = false;
    is_removed_at_once = false;
    return 0;
}

// ----------------------------------------------------------------------------------------- tests

static void the_next_process_finds_them(void **state)
{
    (void)state;
    char name[TEST_PATH_BYTES];
    struct stat about;
    start_once(0, PACKED_BYTES);
    assert_int_equal(count_files(name), 1);
    assert_int_equal(stat(name, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_int_equal(stat(packs_folder(), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
    for (int i = 0; i < 2; i++)
        start_once(PACKED_BYTES, 0);
    assert_int_equal(count_files(NULL), 1);
    need_no_warning();
}

static void sessions_share_the_mapping(void **state)
{
    (void)state;
    counting_alloc counting;
    counting_alloc_init(&counting);
    tn_graph *graphs[3] = { graph_of(0, WEIGHTS), graph_of(2, 4), graph_of(1, WEIGHTS) };
    for (int round = 0; round < 2; round++)   // made, found
        for (int first = 0; first < 3; first++) {
            tn_runtime *runtime = rig_runtime_on(&counting.allocator, false,
                                                 (const char *[]){ Q8, ON, NULL });
            setenv("XDG_CACHE_HOME", test_folder_path(&folder, "cache"), 1);
            tn_session *sessions[3];
            for (int i = 0; i < 3; i++) {
                sessions[i] = session_of(runtime, graphs[(first + i) % 3]);
                assert_int_equal(rig_memory(sessions[i]).weight_copied_bytes, 0);
            }
            for (int i = 0; i < 3; i++) {
                for (int s = i; s < 3; s++)
                    if ((first + s) % 3 == 0) {
                        outputs got = run(sessions[s], graphs[0]);
                        need_outputs(&got, &want_all);
                    } else {
                        (void)run(sessions[s], graphs[(first + s) % 3]);
                    }
                tn_session_destroy(sessions[i]);
            }
            tn_runtime_destroy(runtime);
            assert_int_equal(counting.pieces, 0);
        }
    for (int i = 0; i < 3; i++)
        tn_graph_destroy(graphs[i]);
    need_no_warning();
}

typedef struct user {
    tn_runtime *runtime;
    const tn_graph *graph;
    bool is_right;
} user;

static void *use_packs(void *argument)
{
    user *u = argument;
    u->is_right = true;
    for (int i = 0; i < 5; i++) {
        const tn_feed feed = { tn_graph_find(u->graph, "x"), input, sizeof input };
        tn_session *session = NULL;
        outputs got = { { 0 } };
        u->is_right &= tn_session_create(u->runtime, &u->graph, 1, NULL, &session, NULL) == TN_OK &&
                       tn_session_run(session, 0, &feed, 1, NULL) == TN_OK &&
                       tn_session_read(session, 0, tn_graph_find(u->graph, "out"), got.y,
                                       sizeof got.y, NULL) == TN_OK &&
                       memcmp(&got, &want_all, sizeof got) == 0 &&
                       rig_memory(session).weight_cached_bytes == PACKED_BYTES;
        tn_session_destroy(session);
    }
    return NULL;
}

static void sessions_of_several_threads_share_it(void **state)
{
    (void)state;
    enum { USERS = 3 };
    pthread_t threads[USERS];
    user users[USERS];
    tn_graph *graph = graph_of(0, WEIGHTS);
    tn_runtime *runtime = keeping_runtime();
    for (int i = 0; i < USERS; i++) {
        users[i] = (user){ .runtime = runtime, .graph = graph };
        assert_int_equal(pthread_create(&threads[i], NULL, use_packs, &users[i]), 0);
    }
    for (int i = 0; i < USERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < USERS; i++)
        assert_true(users[i].is_right);
    assert_int_equal(count_files(NULL), 1);
    need_no_warning();
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
}

static void a_damaged_file_is_replaced(void **state)
{
    (void)state;
    char name[TEST_PATH_BYTES];
    struct stat about;
    start_once(0, PACKED_BYTES);
    assert_int_equal(count_files(name), 1);
    assert_int_equal(stat(name, &about), 0);
    const long at[] = { 0,
                        15,
                        16,
                        24,
                        55,
                        4000,
                        4096,
                        4096 + 77,
                        4096 + (long)PACKED_BYTES / 2,
                        about.st_size - 17,
                        about.st_size - 8,
                        about.st_size - 1 };
    for (size_t i = 0; i < TN_COUNT_OF(at); i++) {
        test_turn_bit(name, at[i]);
        start_once(0, PACKED_BYTES);
        need_one_warning("packs are made anew: ", name);
        start_once(PACKED_BYTES, 0);
        need_no_warning();
    }
    const off_t ends[] = {
        0, 1, 4095, 4096, 4097, about.st_size / 2, about.st_size - 1, about.st_size + 1
    };
    for (size_t i = 0; i < TN_COUNT_OF(ends); i++) {
        assert_int_equal(truncate(name, ends[i]), 0);
        start_once(0, PACKED_BYTES);
        need_one_warning("packs are made anew: ", name);
    }
    assert_int_equal(chmod(name, 0666), 0);
    start_once(0, PACKED_BYTES);
    need_one_warning("packs are made anew: ", "others may write to it");
    assert_int_equal(stat(name, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    start_once(PACKED_BYTES, 0);
    assert_int_equal(count_files(NULL), 1);
}

// All sums are right, and the packs are of other weights.
static void packs_of_other_weights_are_refused(void **state)
{
    (void)state;
    char name[TEST_PATH_BYTES];
    size_t bytes;
    tni_pack_writer writer;
    tni_pack_file_key key;
    const tn_allocator allocator = tni_allocator(NULL);
    tn_error err = { 0 };
    start_once(0, PACKED_BYTES);
    assert_int_equal(count_files(name), 1);
    unsigned char *file = test_read_file(name, &bytes);
    memcpy(&key, file + 24, sizeof key);
    uint64_t pack_bytes;
    memcpy(&pack_bytes, file + 16, sizeof pack_bytes);
    for (uint64_t i = 0; i < pack_bytes; i++)
        file[TNI_PACK_FILE_HEAD + i] ^= 1;
    assert_int_equal(tni_pack_writer_open(&writer, name, &key, pack_bytes, &allocator, &err),
                     TN_OK);
    assert_int_equal(tni_pack_writer_add(&writer, file + TNI_PACK_FILE_HEAD, pack_bytes, &err),
                     TN_OK);
    assert_int_equal(tni_pack_writer_finish(&writer, &err), TN_OK);
    tni_pack_writer_close(&writer);
    free(file);
    start_once(0, PACKED_BYTES);
    need_one_warning("packs are made anew: ", "has other packs of 'w.0' than cpu0 makes");
    start_once(PACKED_BYTES, 0);
}

// In place, to as many bytes, with its time set back: the system knows better.
static void a_model_that_was_changed_has_other_packs(void **state)
{
    (void)state;
    const char *path = test_folder_path(&folder, "model");
    struct stat about;
    start_once(0, PACKED_BYTES);
    assert_int_equal(stat(path, &about), 0);
    const outputs before = want_all;
    for (int back = 0; back < 2; back++) {
        blocks[3][5] ^= 0x55;
        write_model();
        const struct timespec times[2] = { about.st_atim, about.st_mtim };
        tni_file_map_close(&model);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        open_model();
        tn_graph *graph = graph_of(0, WEIGHTS);
        tn_runtime *runtime = runtime_of((const char *[]){ Q8, NULL });
        tn_session *session = session_of(runtime, graph);
        want_all = run(session, graph);
        assert_true((memcmp(&want_all, &before, sizeof before) == 0) == (back == 1));
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
        tn_graph_destroy(graph);
        start_once(0, PACKED_BYTES);
        start_once(PACKED_BYTES, 0);
        assert_int_equal(count_files(NULL), 2 + back);
        need_no_warning();
    }
}

// What changes within the tick of a clock looks the same.
static void a_model_that_was_just_written_waits(void **state)
{
    (void)state;
    write_model();
    seconds_later = 0;
    start_once(0, 0);
    assert_int_equal(count_files(NULL), 0);
    need_no_warning();
    seconds_later = 60;
    start_once(0, PACKED_BYTES);
    seconds_later = 0;   // what was kept counts
    start_once(PACKED_BYTES, 0);
}

// What the host says of the plugin, unless a test says otherwise.
static const char *other_version, *other_hash;
const char *__real_tni_device_plugin_version(const tn_device *device);
const char *__real_tni_device_plugin_hash(const tn_device *device);
const char *__wrap_tni_device_plugin_version(const tn_device *device);
const char *__wrap_tni_device_plugin_hash(const tn_device *device);

const char *__wrap_tni_device_plugin_version(const tn_device *device)
{
    return other_version ? other_version : __real_tni_device_plugin_version(device);
}

const char *__wrap_tni_device_plugin_hash(const tn_device *device)
{
    const char *hash = __real_tni_device_plugin_hash(device);
    assert_int_equal(strlen(hash), 64);
    return other_hash ? other_hash : hash;
}

static void another_version_or_file_of_the_plugin_has_other_packs(void **state)
{
    (void)state;
    start_once(0, PACKED_BYTES);
    other_version = "0.0.9";
    start_once(0, PACKED_BYTES);
    assert_int_equal(count_files(NULL), 2);
    other_version = NULL;
    other_hash = "0123456789012345678901234567890123456789012345678901234567890123";
    start_once(0, PACKED_BYTES);
    assert_int_equal(count_files(NULL), 3);
    other_hash = NULL;
    start_once(PACKED_BYTES, 0);
    need_no_warning();
}

// Weights that are in no mapped file are packed in memory.
static void what_the_application_has_in_memory_is_not_kept(void **state)
{
    (void)state;
    const tn_allocator allocator = tni_allocator(NULL);
    tn_error err = { 0 };
    tni_file_map_close(&model);
    assert_int_equal(
        tni_file_map_open(&model, test_folder_path(&folder, "model"), true, 0, &allocator, &err),
        TN_OK);
    start_once(0, 0);
    assert_int_equal(count_files(NULL), 0);
    need_no_warning();
    tni_file_map_close(&model);
    open_model();
}

static void a_full_disk_is_told_once(void **state)
{
    (void)state;
    uint32_t failed = 0;
    bool is_written = false;
    for (; !is_written; failed++) {
        tn_graph *graphs[2] = { graph_of(0, WEIGHTS), graph_of(0, 2) };
        tn_runtime *runtime = keeping_runtime();
        assert_int_equal(tni_device_open(rig_device(runtime, "cpu0"), NULL), TN_OK);
        writes_left = (int)failed;
        tn_session *session = session_of(runtime, graphs[0]);
        is_written = rig_memory(session).weight_cached_bytes > 0;
        tn_session *second = session_of(runtime, graphs[1]);
        writes_left = -1;
        outputs got = run(session, graphs[0]);
        need_outputs(&got, &want_all);
        if (!is_written) {
            need_one_warning("packs are not kept, so they are made at every start: ",
                             "No space left on device");
            assert_int_equal(count_files(NULL), 0);
        }
        tn_session_destroy(session);
        tn_session_destroy(second);
        tn_runtime_destroy(runtime);
        tn_graph_destroy(graphs[0]);
        tn_graph_destroy(graphs[1]);
    }
    assert_true(failed > 3);
    need_no_warning();
    start_once(PACKED_BYTES, 0);
}

static void a_cache_that_cannot_be_written_is_told_once(void **state)
{
    (void)state;
    char name[TEST_PATH_BYTES];
    assert_int_equal(rename(test_folder_path(&folder, "cache"), test_folder_path(&folder, "away")),
                     0);
    test_folder_text(&folder, "cache", "a file");
    start_once(0, 0);
    need_one_warning("packs are not kept", test_folder_path(&folder, "cache"));
    assert_int_equal(remove(test_folder_path(&folder, "cache")), 0);
    assert_int_equal(rename(test_folder_path(&folder, "away"), test_folder_path(&folder, "cache")),
                     0);
    // A folder where the file should be cannot be replaced.
    start_once(0, PACKED_BYTES);
    assert_int_equal(count_files(name), 1);
    assert_int_equal(remove(name), 0);
    assert_int_equal(mkdir(name, 0700), 0);
    start_once(0, 0);
    need_one_warning("packs are not kept", "is a folder");
    assert_int_equal(rmdir(name), 0);
    tn_graph *graph = graph_of(0, WEIGHTS);
    tn_runtime *runtime = keeping_runtime();
    const char *home = getenv("HOME");
    char *kept_home = home ? strdup(home) : NULL;
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    tn_session *session = session_of(runtime, graph);
    need_one_warning("packs are not kept", "XDG_CACHE_HOME");
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
    if (kept_home)
        setenv("HOME", kept_home, 1);
    free(kept_home);
}

// Each weight has 34 KiB: files of one are 48 KiB. The least used ones go.
static void the_oldest_go_when_there_are_too_many(void **state)
{
    (void)state;
    enum { MOST = 7 };
    char path[TEST_PATH_BYTES];
    static unsigned char filler[130 << 10];
    start_once(0, PACKED_BYTES);   // 220 KiB
    for (int i = 0; i < MOST; i++) {
        snprintf(path, sizeof path, "cache/tenon/packs/old%d", i);
        test_folder_write(&folder, path, filler, sizeof filler);
        const struct timespec times[2] = { { .tv_sec = 1000 + (i * 5) % MOST }, { .tv_sec = 500 } };
        assert_int_equal(utimensat(AT_FDCWD, test_folder_path(&folder, path), times, 0), 0);
    }
    tn_graph *graph = graph_of(0, 2);
    tn_runtime *runtime = runtime_of((const char *[]){ Q8, ON, "packs.cache_mib=1", NULL });
    tn_session *session = session_of(runtime, graph);   // 76 KiB; 1,130 are there
    assert_int_equal(rig_memory(session).weight_cached_bytes, 2 * WEIGHT_BYTES);
    assert_int_equal(count_files(NULL), 2 + MOST - 2);
    for (int i = 0; i < MOST; i++) {
        snprintf(path, sizeof path, "cache/tenon/packs/old%d", i);
        bool is_there = access(test_folder_path(&folder, path), F_OK) == 0;
        assert_int_equal(is_there, (i * 5) % MOST >= 2);
    }
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
    start_once(PACKED_BYTES, 0);
    need_no_warning();
}

// Two that make room at once remove the same files.
static void what_another_process_removes_makes_room_as_well(void **state)
{
    (void)state;
    static unsigned char filler[1 << 20];
    start_once(0, PACKED_BYTES);
    test_folder_write(&folder, "cache/tenon/packs/old", filler, sizeof filler);
    others_remove_too = true;
    tn_graph *graph = graph_of(0, 2);
    tn_runtime *runtime = runtime_of((const char *[]){ Q8, ON, "packs.cache_mib=1", NULL });
    tn_session *session = session_of(runtime, graph);
    need_no_warning();
    assert_int_equal(rig_memory(session).weight_cached_bytes, 2 * WEIGHT_BYTES);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
}

// The packs are in memory then, and nothing is wrong with the cache.
static void a_file_that_is_removed_as_it_is_made_is_no_fault(void **state)
{
    (void)state;
    tn_graph *graph = graph_of(0, WEIGHTS);
    is_removed_at_once = true;
    tn_runtime *runtime = keeping_runtime();
    tn_session *session = session_of(runtime, graph);
    outputs got = run(session, graph);
    need_outputs(&got, &want_all);
    assert_int_equal(rig_memory(session).weight_cached_bytes, 0);
    need_no_warning();
    tn_session_destroy(session);
    is_removed_at_once = false;
    session = session_of(runtime, graph);
    assert_int_equal(rig_memory(session).weight_cached_bytes, PACKED_BYTES);
    need_no_warning();
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
}

// Divided rows are hundreds of programs, and a process mostly has 1,024 descriptors.
static void a_file_in_use_takes_no_descriptor(void **state)
{
    (void)state;
    tn_graph *graph = graph_of(0, WEIGHTS);
    tn_runtime *runtime = keeping_runtime();
    tn_device *device = rig_device(runtime, "cpu0");
    assert_int_equal(tni_device_open(device, NULL), TN_OK);
    int before = dup(0), after;
    close(before);
    tn_session *session = session_of(runtime, graph);
    assert_int_equal(rig_memory(session).weight_cached_bytes, PACKED_BYTES);
    after = dup(0);
    close(after);
    assert_int_equal(after, before);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
}

static void a_link_to_nothing_is_replaced(void **state)
{
    (void)state;
    char name[TEST_PATH_BYTES];
    start_once(0, PACKED_BYTES);
    assert_int_equal(count_files(name), 1);
    for (int i = 0; i < 2; i++) {
        static const char *const target[] = { "/nowhere/at/all", "victim" };
        assert_int_equal(remove(name), 0);
        assert_int_equal(symlink(target[i], name), 0);
        start_once(0, PACKED_BYTES);
        need_one_warning("made anew", name);
        assert_int_equal(count_files(NULL), 1);
        start_once(PACKED_BYTES, 0);
    }
}

static tn_graph *large_graph(const unsigned char *weight)
{
    tn_graph *graph = rig_graph();
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_Q8_0, 2, (int64_t[]){ ROW, 2048 }, weight,
                                 2048 * ROW / 32 * BLOCK_BYTES);
    rig_finish(graph, tn_graph_matmul(graph, rig_input(graph, "x", 1, ROW, 0, 0), w));
    return graph;
}

static void what_is_larger_than_the_limit_is_not_kept(void **state)
{
    (void)state;
    const size_t bytes = 2048 * ROW / 32 * BLOCK_BYTES;
    const tn_allocator allocator = tni_allocator(NULL);
    tni_file_map large;
    tn_error err = { 0 };
    unsigned char *zeros = calloc(1, bytes);
    assert_non_null(zeros);
    test_folder_write(&folder, "large", zeros, bytes);
    free(zeros);
    assert_int_equal(
        tni_file_map_open(&large, test_folder_path(&folder, "large"), false, 0, &allocator, &err),
        TN_OK);
    start_once(0, PACKED_BYTES);
    tn_graph *graph = large_graph(large.data);
    tn_runtime *runtime = runtime_of((const char *[]){ Q8, ON, "packs.cache_mib=1", NULL });
    tn_session *session = session_of(runtime, graph);
    need_one_warning("packs are not kept", "1 MiB that packs.cache_mib allows");
    assert_int_equal(rig_memory(session).weight_cached_bytes, 0);
    assert_int_equal(count_files(NULL), 1);   // nothing went for it
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
    tni_file_map_close(&large);
}

// A model of which three weights fit into the cache of 1 MiB, each in a file of its own, and the
// fourth does not.
enum {
    MANY = 4,
    MANY_ROWS = 512,
    MANY_BYTES = MANY_ROWS * ROW / 32 * BLOCK_BYTES,   // of a weight: 272 KiB
};

typedef struct many {
    tni_file_map map;
    tn_graph *graphs[MANY];   // of a weight each
    tn_runtime *runtime;
} many;

static void open_many(many *m)
{
    const tn_allocator allocator = tni_allocator(NULL);
    tn_error err = { 0 };
    unsigned char *weights = malloc(MANY * MANY_BYTES);
    assert_non_null(weights);
    rig_fill_q8_0(weights, MANY * MANY_BYTES, 3);
    test_folder_write(&folder, "many", weights, MANY * MANY_BYTES);
    free(weights);
    assert_int_equal(
        tni_file_map_open(&m->map, test_folder_path(&folder, "many"), false, 0, &allocator, &err),
        TN_OK);
    for (uint32_t i = 0; i < MANY; i++) {
        m->graphs[i] = rig_graph();
        tn_value x = rig_input(m->graphs[i], "x", 1, ROW, 0, 0);
        rig_finish(m->graphs[i],
                   rig_products(m->graphs[i], x, m->map.data, ROW, MANY_ROWS, i, i + 1));
    }
}

static void close_many(many *m)
{
    for (uint32_t i = 0; i < MANY; i++)
        tn_graph_destroy(m->graphs[i]);
    tni_file_map_close(&m->map);
}

static void begin_many(many *m, const char *limit)
{
    m->runtime = runtime_of((const char *[]){ Q8, ON, limit, NULL });
    memset(&done, 0, sizeof done);
}

#define ONE_MIB "packs.cache_mib=1"
#define ROOM    "packs.cache_mib=64"

// A session of `count` of the weights, some of which come from files or go there.
static tn_session *session_of_many(const many *m, uint32_t first, uint32_t count, uint32_t cached)
{
    tn_session *session = rig_session(m->runtime, (const tn_graph *const *)&m->graphs[first], count,
                                      (const char *[]){ "cpu0", NULL });
    assert_int_equal(rig_memory(session).weight_cached_bytes, cached * MANY_BYTES);
    assert_int_equal(rig_memory(session).weight_copied_bytes, (count - cached) * MANY_BYTES);
    return session;
}

// The same as a process of its own.
static void start_many(many *m, const char *limit, uint32_t count, uint32_t cached)
{
    begin_many(m, limit);
    tn_session_destroy(session_of_many(m, 0, count, cached));
    tn_runtime_destroy(m->runtime);
}

// Looking for room for each file would go through all that are there each time.
static void the_folder_is_gone_through_once(void **state)
{
    (void)state;
    many m;
    open_many(&m);
    for (uint32_t count = 1; count <= MANY; count++) {
        clear_cache();
        start_many(&m, ROOM, count, count);
        assert_int_equal(done.looks, 1);
        assert_int_equal(done.moves, count);
        start_many(&m, ROOM, count, count);
        assert_int_equal(done.looks, 0);
        assert_int_equal(done.moves, 0);
    }
    need_no_warning();
    close_many(&m);
}

// Else its files would push one another out, and be written at every start.
static void what_does_not_fit_as_a_whole_is_not_kept(void **state)
{
    (void)state;
    many m;
    open_many(&m);
    start_once(0, PACKED_BYTES);
    for (int i = 0; i < 2; i++) {
        start_many(&m, ONE_MIB, MANY, 0);
        assert_int_equal(done.moves, 0);
        assert_int_equal(done.removals, 0);
        need_one_warning("packs are not kept", "1 MiB that packs.cache_mib allows");
    }
    start_once(PACKED_BYTES, 0);
    for (int i = 0; i < 2; i++) {
        start_many(&m, ONE_MIB, 3, 3);
        assert_int_equal(done.moves, i == 0 ? 3 : 0);
        assert_int_equal(done.removals, i == 0 ? 1 : 0);   // of the other model
        need_no_warning();
    }
    close_many(&m);
}

// Nor do those of another session go, which uses them.
static void what_a_session_uses_stays(void **state)
{
    (void)state;
    many m;
    open_many(&m);
    for (int i = 0; i < 2; i++) {
        begin_many(&m, ONE_MIB);
        tn_session *first = session_of_many(&m, 0, 2, 2);
        tn_session *second = session_of_many(&m, 1, 2, 2);   // one weight more
        need_no_warning();
        tn_session *third = session_of_many(&m, 0, MANY, 3);
        need_one_warning("packs are not kept", "1 MiB that packs.cache_mib allows");
        assert_int_equal(done.moves, i == 0 ? 3 : 0);
        assert_int_equal(done.removals, 0);
        assert_int_equal(count_files(NULL), 3);
        tn_session_destroy(first);
        tn_session_destroy(second);
        tn_session_destroy(third);
        tn_runtime_destroy(m.runtime);
    }
    close_many(&m);
}

// However long they were not used: what nobody of them needs goes first.
static void files_of_a_placement_make_no_room_for_one_another(void **state)
{
    (void)state;
    static unsigned char filler[250 << 10];
    char name[TEST_PATH_BYTES];
    many m;
    open_many(&m);
    start_many(&m, ONE_MIB, 3, 3);
    assert_int_equal(count_files(name), 3);
    assert_int_equal(remove(name), 0);
    age_files();
    test_folder_write(&folder, "cache/tenon/packs/young", filler, sizeof filler);
    start_many(&m, ONE_MIB, 3, 3);
    assert_int_equal(done.moves, 1);
    assert_int_equal(done.removals, 1);
    assert_int_equal(access(test_folder_path(&folder, "cache/tenon/packs/young"), F_OK), -1);
    assert_int_equal(count_files(NULL), 3);
    need_no_warning();
    close_many(&m);
}

// A limit that was lowered: what is there is used, and nothing comes to it.
static void what_is_there_is_used_beyond_the_limit(void **state)
{
    (void)state;
    char name[TEST_PATH_BYTES];
    many m;
    open_many(&m);
    start_many(&m, ROOM, MANY, MANY);
    start_many(&m, ONE_MIB, MANY, MANY);
    need_no_warning();
    assert_int_equal(count_files(name), MANY);
    test_turn_bit(name, 5000);
    start_many(&m, ONE_MIB, MANY, MANY - 1);
    assert_int_equal(done.moves, 0);
    assert_int_equal(count_files(NULL), MANY - 1);
    start_many(&m, ONE_MIB, MANY, 0);
    need_one_warning("packs are not kept", "1 MiB that packs.cache_mib allows");
    close_many(&m);
}

static void processes_at_once_agree(void **state)
{
    (void)state;
    enum { PROCESSES = 4 };
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            tn_graph *graph = graph_of(0, WEIGHTS);
            tn_runtime *runtime = keeping_runtime();
            tn_session *session = session_of(runtime, graph);
            outputs got = run(session, graph);
            bool is_right = memcmp(&got, &want_all, sizeof got) == 0 &&
                            !strstr(rig_log(), "packs are") &&
                            rig_memory(session).weight_cached_bytes == PACKED_BYTES;
            if (!is_right)
                fprintf(stderr, "%s%s", rig_explain(session), rig_log());
            _exit(!is_right);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(NULL), 1);
    start_once(PACKED_BYTES, 0);
}

// The CPU plugin, saying less of its memory than there is.
static tnp_plugin humble;
static const tnp_plugin *cpu;
static uint32_t hidden_flags;
static uint64_t most_of_a_buffer;

static tnp_status tell_less(tnp_device *device, uint32_t memory, tnp_memory_info *out,
                            tnp_error *err)
{
    tnp_status status = cpu->memory_info(device, memory, out, err);
    out->flags &= ~hidden_flags;
    out->max_buffer_bytes = most_of_a_buffer;
    return status;
}

// A device that cannot use memory of the host, or not so much at once, has packs copied from the
// file; one whose memory the host does not see by a copy of its own.
static void a_device_without_imports_gets_copies(void **state)
{
    (void)state;
    static const struct {
        uint32_t hidden;
        uint64_t most;
        bool is_mapped;
    } kinds[] = { { 0, 0, true },
                  { TNP_MEMORY_IMPORT, 0, false },
                  { 0, 2 * WEIGHT_BYTES + 100, false },
                  { TNP_MEMORY_IMPORT | TNP_MEMORY_HOST_VISIBLE | TNP_MEMORY_HOST_CACHED, 0,
                    false } };
    char name[TEST_PATH_BYTES];
    tn_graph *graph = graph_of(0, WEIGHTS);
    start_once(0, PACKED_BYTES);
    assert_int_equal(count_files(name), 1);
    for (size_t k = 0; k < TN_COUNT_OF(kinds); k++) {
        struct stat about;
        const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_nsec = UTIME_OMIT } };
        assert_int_equal(utimensat(AT_FDCWD, name, long_ago, 0), 0);
        tn_runtime *runtime = keeping_runtime();
        tn_device *device = rig_device(runtime, "cpu0");
        assert_int_equal(tni_device_open(device, NULL), TN_OK);
        cpu = device->table;
        humble = *cpu;
        humble.memory_info = tell_less;
        hidden_flags = kinds[k].hidden;
        most_of_a_buffer = kinds[k].most;
        device->table = &humble;
        tn_session *session = session_of(runtime, graph);
        outputs got = run(session, graph);
        need_outputs(&got, &want_all);
        const tn_memory_report memory = rig_memory(session);
        assert_int_equal(memory.weight_cached_bytes, kinds[k].is_mapped ? PACKED_BYTES : 0);
        assert_true(memory.weight_copied_bytes >= (kinds[k].is_mapped ? 0 : PACKED_BYTES));
        assert_int_equal(stat(name, &about), 0);
        assert_true(about.st_atim.tv_sec > 1000);   // it was used
        assert_int_equal(count_files(NULL), 1);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
        need_no_warning();
    }
    tn_graph_destroy(graph);
}

static tn_status try_run(tn_session *session, const tn_graph *graph, tn_error *err)
{
    const tn_feed feed = { tn_graph_find(graph, "x"), input, sizeof input };
    return tn_session_run(session, 0, &feed, 1, err);
}

// As with the model's own file: the run tells, and the process lives.
static void a_file_that_changes_in_use_is_told(void **state)
{
    (void)state;
    char name[TEST_PATH_BYTES];
    tn_graph *graph = graph_of(0, WEIGHTS);
    tn_error err = { 0 };
    assert_int_equal(tn_model_guard_files(&err), TN_OK);
    for (int how = 0; how < 3; how++) {
        tn_runtime *runtime = keeping_runtime();
        tn_session *session = session_of(runtime, graph);
        assert_int_equal(count_files(name), 1);
        assert_int_equal(try_run(session, graph, &err), TN_OK);
        if (how == 0)
            assert_int_equal(truncate(name, 8192), 0);
        else if (how == 1)
            test_turn_bit(name, 5000);
        else
            assert_int_equal(remove(name), 0);   // the mapping stays
        tn_status status = try_run(session, graph, &err);
        assert_int_equal(status, how == 2 ? TN_OK : TN_E_FILE);
        if (how < 2 && (!strstr(err.text, name) || !strstr(err.text, "made anew")))
            fail_msg("%s", err.text);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
    }
    tn_graph_destroy(graph);
}

static void ignore(void *context, int32_t level, const char *text)
{
    (void)context, (void)level, (void)text;
}

static tn_status make_session(const tn_allocator *allocator, void *context)
{
    const tn_graph *graph = context;
    tn_session *session = NULL;
    tn_error err = { 0 };
    const char *settings[] = { Q8, ON };
    const char *paths[] = { CPU_PLUGIN_PATH };
    const tn_runtime_options options = { .size = sizeof options,
                                         .threads = 1,
                                         .plugin_paths = paths,
                                         .plugin_path_count = 1,
                                         .settings = settings,
                                         .setting_count = 2,
                                         .log = ignore,
                                         .allocator = allocator };
    tn_runtime *runtime = NULL;
    tn_status status = tn_runtime_create(&options, &runtime, &err);
    if (status == TN_OK)
        status = tn_session_create(runtime, &graph, 1, NULL, &session, &err);
    if (status == TN_OK) {
        outputs got = run(session, graph);
        need_outputs(&got, &want_all);
    }
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    return status;
}

// Also those of the cache, without which packs are in memory.
static void an_allocation_that_fails_leaves_nothing(void **state)
{
    (void)state;
    tn_graph *graph = graph_of(0, WEIGHTS);
    for_each_failing_allocation(make_session, graph);
    start_once(PACKED_BYTES, 0);
    for_each_failing_allocation(make_session, graph);
    assert_int_equal(count_files(NULL), 1);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_next_process_finds_them, begin_empty),
        cmocka_unit_test_setup(sessions_share_the_mapping, begin_empty),
        cmocka_unit_test_setup(sessions_of_several_threads_share_it, begin_empty),
        cmocka_unit_test_setup(a_damaged_file_is_replaced, begin_empty),
        cmocka_unit_test_setup(packs_of_other_weights_are_refused, begin_empty),
        cmocka_unit_test_setup(a_model_that_was_changed_has_other_packs, begin_empty),
        cmocka_unit_test_setup(a_model_that_was_just_written_waits, begin_empty),
        cmocka_unit_test_setup(another_version_or_file_of_the_plugin_has_other_packs, begin_empty),
        cmocka_unit_test_setup(what_the_application_has_in_memory_is_not_kept, begin_empty),
        cmocka_unit_test_setup(a_full_disk_is_told_once, begin_empty),
        cmocka_unit_test_setup(a_cache_that_cannot_be_written_is_told_once, begin_empty),
        cmocka_unit_test_setup(the_oldest_go_when_there_are_too_many, begin_empty),
        cmocka_unit_test_setup(what_another_process_removes_makes_room_as_well, begin_empty),
        cmocka_unit_test_setup(a_file_that_is_removed_as_it_is_made_is_no_fault, begin_empty),
        cmocka_unit_test_setup(a_file_in_use_takes_no_descriptor, begin_empty),
        cmocka_unit_test_setup(a_link_to_nothing_is_replaced, begin_empty),
        cmocka_unit_test_setup(what_is_larger_than_the_limit_is_not_kept, begin_empty),
        cmocka_unit_test_setup(the_folder_is_gone_through_once, begin_empty),
        cmocka_unit_test_setup(what_does_not_fit_as_a_whole_is_not_kept, begin_empty),
        cmocka_unit_test_setup(what_a_session_uses_stays, begin_empty),
        cmocka_unit_test_setup(files_of_a_placement_make_no_room_for_one_another, begin_empty),
        cmocka_unit_test_setup(what_is_there_is_used_beyond_the_limit, begin_empty),
        cmocka_unit_test_setup(processes_at_once_agree, begin_empty),
        cmocka_unit_test_setup(a_device_without_imports_gets_copies, begin_empty),
        cmocka_unit_test_setup(a_file_that_changes_in_use_is_told, begin_empty),
        cmocka_unit_test_setup(an_allocation_that_fails_leaves_nothing, begin_empty),
    };
    return cmocka_run_group_tests_name("exec/kept_packs", tests, begin, end);
}
