// manifest.c: reads the manifest of a plugin from its file, before any code of it runs.
//
//   ELF header ─ e_phoff ─► program headers ─ PT_NOTE ─► notes
//
//   byte of a note   0          4     8     12        20
//                    | name: 6 | size | 1   | "Tenon" | tnp_manifest …
//
// Every offset and size comes from the file and may be anything: each read goes through `take`,
// which knows the file's bounds; each loop has a ceiling.
#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/integer.h"
#include "plugin/plugin_internal.h"

enum {
    MAX_HEADERS = 512,   // program headers; a linker writes about ten
    MAX_NOTES = 1024,
    MAX_MANIFEST_BYTES = 4096,
    MANIFEST_OFFSET = 20,   // in the note; the contract fixes it for every alignment
    MANIFEST_BYTES_1_0 = 192,
    NOTE_TYPE = 1,
};
static const char note_name[] = "Tenon";

_Static_assert(offsetof(tnp_note, manifest) == MANIFEST_OFFSET,
               "the manifest stands at byte 20 of the note");
_Static_assert(sizeof(tnp_manifest) >= MANIFEST_BYTES_1_0, "a manifest only grows");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the file's integers are read as they are");

// A note found, and how often.
typedef struct found_note {
    uint64_t offset;   // of the note
    uint32_t bytes;    // of its manifest
    uint32_t count;
    uint32_t looked_at;
} found_note;

static bool take(const tni_reader *file, uint64_t offset, void *to, size_t bytes)
{
    uint64_t end;
    return tni_add_u64(offset, bytes, &end) && end <= file->bytes &&
           file->read(file->context, offset, to, bytes);
}

static tn_status read_header(const tni_reader *file, Elf64_Ehdr *header, tn_error *err)
{
    unsigned char magic[SELFMAG];
    if (!take(file, 0, magic, sizeof magic) || memcmp(magic, ELFMAG, SELFMAG) != 0)
        return tni_fail(err, TN_E_PLUGIN, "not an ELF file (%" PRIu64 " bytes)", file->bytes);
    if (!take(file, 0, header, sizeof *header))
        return tni_fail(err, TN_E_PLUGIN,
                        "truncated: %" PRIu64 " bytes are less than an ELF header", file->bytes);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return tni_fail(err, TN_E_PLUGIN, "not a 64-bit little-endian ELF file");
    if (header->e_type != ET_DYN)
        return tni_fail(err, TN_E_PLUGIN, "not a shared object (ELF type %u)", header->e_type);
    if (header->e_phnum > MAX_HEADERS ||
        (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr)))
        return tni_fail(err, TN_E_PLUGIN, "damaged: %u program headers of %u bytes",
                        header->e_phnum, header->e_phentsize);
    return TN_OK;
}

static bool is_ours(const tni_reader *file, uint64_t offset, const Elf64_Nhdr *note)
{
    char name[sizeof note_name];
    return note->n_namesz == sizeof note_name && note->n_type == NOTE_TYPE &&
           take(file, offset + sizeof *note, name, sizeof name) &&
           memcmp(name, note_name, sizeof name) == 0;
}

// Walks the notes of [begin, end), which lies in the file.
static tn_status walk_notes(const tni_reader *file, uint64_t begin, uint64_t end,
                            uint64_t alignment, found_note *found, tn_error *err)
{
    for (uint64_t at = begin; end - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        uint64_t data, next;
        if (found->looked_at++ >= MAX_NOTES)
            return tni_fail(err, TN_E_PLUGIN, "damaged: more than %d notes", MAX_NOTES);
        if (!take(file, at, &note, sizeof note))
            return tni_fail(err, TN_E_PLUGIN, "the note at byte %" PRIu64 " cannot be read", at);
        bool ours = is_ours(file, at, &note);
        if (ours)
            data = at + MANIFEST_OFFSET;
        else if (!tni_align_u64(at + sizeof note + note.n_namesz, alignment, &data))
            data = UINT64_MAX;
        if (data > end || note.n_descsz > end - data)
            return tni_fail(err, TN_E_PLUGIN,
                            "damaged: the note at byte %" PRIu64 " reaches beyond its segment", at);
        if (ours && (!found->count || found->offset != at)) {   // two segments may cover one note
            found->offset = at;
            found->bytes = note.n_descsz;
            found->count++;
        }
        if (!tni_align_u64(data + note.n_descsz, alignment, &next) || next > end)
            break;
        at = next;
    }
    return TN_OK;
}

static tn_status find_note(const tni_reader *file, const Elf64_Ehdr *header, found_note *found,
                           tn_error *err)
{
    for (uint32_t i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        uint64_t offset, end;
        if (!tni_add_u64(header->e_phoff, (uint64_t)i * sizeof segment, &offset) ||
            !take(file, offset, &segment, sizeof segment))
            return tni_fail(err, TN_E_PLUGIN,
                            "truncated: %" PRIu64 " bytes end before program header %u",
                            file->bytes, i);
        if (segment.p_type != PT_NOTE)
            continue;
        if (!tni_add_u64(segment.p_offset, segment.p_filesz, &end) || end > file->bytes)
            return tni_fail(err, TN_E_PLUGIN,
                            "truncated: %" PRIu64 " bytes end before the notes of segment %u",
                            file->bytes, i);
        tn_status status = walk_notes(file, segment.p_offset, end, segment.p_align == 8 ? 8 : 4,
                                      found, err);
        if (status != TN_OK)
            return status;
    }
    if (found->count == 0)
        return tni_fail(err, TN_E_PLUGIN, "no Tenon manifest: not a plugin of Tenon");
    if (found->count > 1)
        return tni_fail(err, TN_E_PLUGIN, "damaged: %u Tenon manifests, one is expected",
                        found->count);
    return TN_OK;
}

static bool is_plain(const char *text, size_t room)
{
    char safe[4 * sizeof((tnp_manifest *)0)->vendor];
    return tni_text_make_safe(safe, sizeof safe, text, room);
}

static tn_status check_texts(const tnp_manifest *m, tn_error *err)
{
    if (!memchr(m->name, 0, sizeof m->name) || !tni_text_is_name(m->name))
        return tni_fail(err, TN_E_PLUGIN,
                        "manifest: the name is not [a-z0-9_-]+ of at most %zu bytes",
                        sizeof m->name - 1);
    const char *bad = !is_plain(m->version, sizeof m->version)   ? "version"
                      : !is_plain(m->vendor, sizeof m->vendor)   ? "vendor"
                      : !is_plain(m->license, sizeof m->license) ? "license"
                                                                 : NULL;
    if (bad)
        return tni_fail(err, TN_E_PLUGIN,
                        "manifest of '%s': the %s is not a line of UTF-8 that ends in NUL", m->name,
                        bad);
    return TN_OK;
}

tn_status tni_manifest_read(const tni_reader *file, tnp_manifest *out_manifest, tn_error *err)
{
    Elf64_Ehdr header;
    found_note found = { 0 };
    tnp_manifest m = { 0 };

    *out_manifest = m;
    tn_status status = read_header(file, &header, err);
    if (status == TN_OK)
        status = find_note(file, &header, &found, err);
    if (status != TN_OK)
        return status;
    if (found.bytes < MANIFEST_BYTES_1_0 || found.bytes > MAX_MANIFEST_BYTES)
        return tni_fail(err, TN_E_PLUGIN, "damaged: a manifest of %u bytes, %d to %d are expected",
                        found.bytes, MANIFEST_BYTES_1_0, MAX_MANIFEST_BYTES);
    size_t known = found.bytes < sizeof m ? found.bytes : sizeof m;
    if (!take(file, found.offset + MANIFEST_OFFSET, &m, known))
        return tni_fail(err, TN_E_PLUGIN, "the manifest at byte %" PRIu64 " cannot be read",
                        found.offset + MANIFEST_OFFSET);
    if (m.size < MANIFEST_BYTES_1_0 || m.size > found.bytes)
        return tni_fail(err, TN_E_PLUGIN, "damaged: the manifest says %u bytes, its note has %u",
                        m.size, found.bytes);
    if (m.machine != header.e_machine)
        return tni_fail(err, TN_E_PLUGIN,
                        "damaged: the manifest is for machine %u, the file for %u", m.machine,
                        header.e_machine);
    status = check_texts(&m, err);
    if (status != TN_OK)
        return status;
    m.size = sizeof m;
    *out_manifest = m;
    return TN_OK;
}
