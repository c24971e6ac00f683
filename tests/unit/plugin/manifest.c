// The reader of manifests: notes laid out by hand, and a real plugin cut and damaged at every byte.
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "folder.h"
#include "plugin/plugin_internal.h"

// A file in memory, and what was read beyond it.
typedef struct memory_file {
    const unsigned char *bytes;
    size_t count;
    bool was_left;
} memory_file;

static bool read_memory(void *context, uint64_t offset, void *to, size_t bytes)
{
    memory_file *file = context;
    if (offset > file->count || bytes > file->count - offset) {
        file->was_left = true;
        return false;
    }
    memcpy(to, file->bytes + offset, bytes);
    return true;
}

static tn_status read_manifest(const unsigned char *bytes, size_t count, tnp_manifest *manifest,
                               tn_error *err)
{
    memory_file file = { bytes, count, false };
    tni_reader reader = { &file, count, read_memory };
    tn_status status = tni_manifest_read(&reader, manifest, err);
    assert_false(file.was_left);
    assert_true(status == TN_OK || (status == TN_E_PLUGIN && err->text[0] && manifest->size == 0));
    return status;
}

// -------------------------------------------------------------------------- files laid out by hand

//   0        64               176          512          1024
//   | header | 2 headers      |            | segment 0  | segment 1 |
enum { SEGMENTS_AT = 64, FIRST_AT = 512, SECOND_AT = 1024, FILE_BYTES = 1536 };

typedef struct image {
    _Alignas(8) unsigned char bytes[FILE_BYTES];
    size_t used[2];   // of the segments
} image;

static Elf64_Ehdr *header_of(image *file) { return (Elf64_Ehdr *)file->bytes; }
static Elf64_Phdr *segment_of(image *file, int which)
{
    return (Elf64_Phdr *)(file->bytes + SEGMENTS_AT) + which;
}

static void image_init(image *file)
{
    *file = (image){ 0 };
    Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                       EV_CURRENT },
                          .e_type = ET_DYN,
                          .e_machine = EM_X86_64,
                          .e_version = EV_CURRENT,
                          .e_phoff = SEGMENTS_AT,
                          .e_ehsize = sizeof header,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_phnum = 2 };
    *header_of(file) = header;
    *segment_of(file, 0) = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = FIRST_AT, .p_align = 4 };
    *segment_of(file, 1) = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = SECOND_AT, .p_align = 8 };
}

static void add_note(image *file, int segment, const char *name, uint32_t type, size_t name_bytes,
                     const void *data, size_t bytes)
{
    Elf64_Nhdr note = { .n_namesz = (uint32_t)name_bytes,
                        .n_descsz = (uint32_t)bytes,
                        .n_type = type };
    size_t alignment = segment ? 8 : 4, at = (segment ? SECOND_AT : FIRST_AT) + file->used[segment];
    size_t data_at = at + sizeof note + name_bytes;
    bool is_ours = type == 1 && strcmp(name, "Tenon") == 0;
    data_at = is_ours ? at + 20 : (data_at + alignment - 1) / alignment * alignment;
    memcpy(file->bytes + at, &note, sizeof note);
    memcpy(file->bytes + at + sizeof note, name, name_bytes);
    memcpy(file->bytes + data_at, data, bytes);
    size_t end = (data_at + bytes + alignment - 1) / alignment * alignment;
    file->used[segment] = end - (segment ? SECOND_AT : FIRST_AT);
    segment_of(file, segment)->p_filesz = file->used[segment];
}

static tnp_manifest good_manifest(void)
{
    return (tnp_manifest){ .size = sizeof(tnp_manifest),
                           .abi = TNP_ABI(1, 0),
                           .abi_needed = TNP_ABI(1, 0),
                           .machine = EM_X86_64,
                           .os = TNP_OS_LINUX,
                           .name = "npu",
                           .version = "1.4.2",
                           .vendor = "Vendor & Söhne",
                           .license = "MIT" };
}

static void add_manifest(image *file, int segment, const tnp_manifest *manifest)
{
    add_note(file, segment, "Tenon", 1, 6, manifest, sizeof *manifest);
}

static void a_manifest_is_found_among_other_notes(void **state)
{
    (void)state;
    for (int segment = 0; segment < 2; segment++) {
        image file;
        tnp_manifest in = good_manifest(), out;
        tn_error err;
        image_init(&file);
        add_note(&file, segment, "GNU", 3, 4, "01234567890123456789", 20);
        add_note(&file, segment, "Tenon", 2, 6, "other type", 10);
        add_manifest(&file, segment, &in);
        add_note(&file, segment, "Tenons", 1, 7, "x", 1);
        if (read_manifest(file.bytes, FILE_BYTES, &out, &err) != TN_OK)
            fail_msg("segment %d: %s", segment, err.text);
        assert_memory_equal(&in, &out, sizeof in);
    }
}

static void a_note_that_two_segments_cover_is_one(void **state)
{
    (void)state;
    image file;
    tnp_manifest in = good_manifest(), out;
    tn_error err;
    image_init(&file);
    add_manifest(&file, 0, &in);
    *segment_of(&file, 1) = *segment_of(&file, 0);
    assert_int_equal(read_manifest(file.bytes, FILE_BYTES, &out, &err), TN_OK);
}

static void a_longer_manifest_of_a_later_release_is_read(void **state)
{
    (void)state;
    image file;
    tn_error err;
    struct {
        tnp_manifest known;
        uint64_t later[2];
    } in = { .known = good_manifest(), .later = { 7, 7 } };
    tnp_manifest out;
    in.known.size = sizeof in;
    image_init(&file);
    add_note(&file, 0, "Tenon", 1, 6, &in, sizeof in);
    assert_int_equal(read_manifest(file.bytes, FILE_BYTES, &out, &err), TN_OK);
    assert_int_equal(out.size, sizeof out);
    assert_string_equal(out.license, "MIT");
}

static void two_manifests(image *file)
{
    tnp_manifest again = good_manifest();
    add_manifest(file, 0, &again);
    add_manifest(file, 1, &again);
}
static void no_segments(image *file) { header_of(file)->e_phnum = 0; }
static void too_many_segments(image *file) { header_of(file)->e_phnum = 65535; }
static void odd_headers(image *file) { header_of(file)->e_phentsize = 32; }
static void headers_at_the_end(image *file) { header_of(file)->e_phoff = UINT64_MAX - 8; }
static void headers_beyond(image *file) { header_of(file)->e_phoff = FILE_BYTES - 56; }
static void an_executable(image *file) { header_of(file)->e_type = ET_EXEC; }
static void big_endian(image *file) { header_of(file)->e_ident[EI_DATA] = ELFDATA2MSB; }
static void segment_beyond(image *file) { segment_of(file, 1)->p_filesz = FILE_BYTES; }
static void segment_wraps(image *file) { segment_of(file, 1)->p_filesz = UINT64_MAX; }
static void other_machine(image *file) { header_of(file)->e_machine = EM_AARCH64; }
static void note_beyond(image *file)
{
    ((Elf64_Nhdr *)(file->bytes + FIRST_AT))->n_descsz = UINT32_MAX;
}
static void name_beyond(image *file)
{
    ((Elf64_Nhdr *)(file->bytes + FIRST_AT))->n_namesz = UINT32_MAX;
}
static void short_note(image *file)
{
    ((Elf64_Nhdr *)(file->bytes + FIRST_AT))->n_descsz = 100;
    segment_of(file, 0)->p_filesz = 120;
}

static tnp_manifest *manifest_of(image *file)
{
    return (tnp_manifest *)(file->bytes + FIRST_AT + 20);
}
static void short_manifest(image *file) { manifest_of(file)->size = 100; }
static void long_manifest(image *file) { manifest_of(file)->size = 4096; }
static void name_without_end(image *file)
{
    memset(manifest_of(file)->name, 'a', sizeof manifest_of(file)->name);
}
static void empty_name(image *file) { manifest_of(file)->name[0] = 0; }
static void path_in_name(image *file) { memcpy(manifest_of(file)->name, "../x", 5); }
static void vendor_without_end(image *file)
{
    memset(manifest_of(file)->vendor, 'a', sizeof manifest_of(file)->vendor);
}
static void escape_in_version(image *file) { memcpy(manifest_of(file)->version, "1\x1b[1m", 6); }

static const struct {
    const char *says;
    void (*damage)(image *file);
    const char *reason;
} damages[] = {
    { "two manifests", two_manifests, "3 Tenon manifests" },
    { "no program headers", no_segments, "not a plugin of Tenon" },
    { "an absurd number of program headers", too_many_segments, "65535 program headers" },
    { "program headers of another size", odd_headers, "of 32 bytes" },
    { "program headers whose offset wraps", headers_at_the_end, "end before program header 0" },
    { "program headers that cross the end", headers_beyond, "end before program header 1" },
    { "a program", an_executable, "not a shared object" },
    { "the other byte order", big_endian, "little-endian" },
    { "a segment beyond the end", segment_beyond, "end before the notes of segment 1" },
    { "a segment whose end wraps", segment_wraps, "end before the notes of segment 1" },
    { "an ELF file of another machine than its manifest", other_machine, "the file for 183" },
    { "a note beyond its segment", note_beyond, "beyond its segment" },
    { "a note's name beyond its segment", name_beyond, "beyond its segment" },
    { "a note too short for a manifest", short_note, "a manifest of 100 bytes" },
    { "a manifest that says less than 1.0", short_manifest, "says 100 bytes" },
    { "a manifest that says more than its note", long_manifest, "says 4096 bytes" },
    { "a name without an end", name_without_end, "the name is not" },
    { "an empty name", empty_name, "the name is not" },
    { "a name with other characters", path_in_name, "the name is not" },
    { "a vendor without an end", vendor_without_end, "the vendor is not" },
    { "a version with an escape", escape_in_version, "the version is not" },
};

static void a_damaged_file_is_refused_with_its_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        image file;
        tnp_manifest manifest = good_manifest();
        tn_error err;
        image_init(&file);
        add_manifest(&file, 0, &manifest);
        damages[i].damage(&file);
        if (read_manifest(file.bytes, FILE_BYTES, &manifest, &err) == TN_OK ||
            !strstr(err.text, damages[i].reason))
            fail_msg("%s: got '%s', expected '%s'", damages[i].says, err.text, damages[i].reason);
    }
}

static void a_segment_of_countless_notes_is_given_up(void **state)
{
    (void)state;
    enum { COUNT = 4096, BYTES = FIRST_AT + COUNT * 12 };
    image file;
    tnp_manifest out;
    tn_error err;
    unsigned char *bytes = calloc(1, BYTES);
    assert_non_null(bytes);
    image_init(&file);
    segment_of(&file, 0)->p_filesz = COUNT * 12;
    segment_of(&file, 1)->p_type = PT_NULL;
    memcpy(bytes, file.bytes, FIRST_AT);
    assert_int_equal(read_manifest(bytes, BYTES, &out, &err), TN_E_PLUGIN);
    assert_non_null(strstr(err.text, "more than 1024 notes"));
    free(bytes);
}

// ----------------------------------------------------------------------------------- a real plugin

static void a_real_plugin_cut_at_every_byte_is_refused_or_read_whole(void **state)
{
    (void)state;
    size_t count;
    tnp_manifest whole, cut;
    tn_error err;
    unsigned char *bytes = test_read_file(TN_TEST_PLUGINS "/plain.so", &count);
    assert_int_equal(read_manifest(bytes, count, &whole, &err), TN_OK);
    assert_string_equal(whole.name, "stub");
    for (size_t n = 0; n < count; n++)
        if (read_manifest(bytes, n, &cut, &err) == TN_OK)
            assert_memory_equal(&cut, &whole, sizeof cut);
    free(bytes);
}

static void a_real_plugin_damaged_at_every_byte_is_no_danger(void **state)
{
    (void)state;
    static const unsigned char patterns[] = { 0x01, 0x80, 0xff };
    size_t count;
    tnp_manifest manifest;
    tn_error err;
    unsigned char *bytes = test_read_file(TN_TEST_PLUGINS "/plain.so", &count);
    for (size_t at = 0; at < count && at < 4096;
         at++)   // headers and notes stand in the first page
        for (size_t p = 0; p < sizeof patterns; p++) {
            bytes[at] ^= patterns[p];
            (void)read_manifest(bytes, count, &manifest, &err);
            bytes[at] ^= patterns[p];
        }
    assert_int_equal(read_manifest(bytes, count, &manifest, &err), TN_OK);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_is_found_among_other_notes),
        cmocka_unit_test(a_note_that_two_segments_cover_is_one),
        cmocka_unit_test(a_longer_manifest_of_a_later_release_is_read),
        cmocka_unit_test(a_damaged_file_is_refused_with_its_reason),
        cmocka_unit_test(a_segment_of_countless_notes_is_given_up),
        cmocka_unit_test(a_real_plugin_cut_at_every_byte_is_refused_or_read_whole),
        cmocka_unit_test(a_real_plugin_damaged_at_every_byte_is_no_danger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
