// case_file.c: what can be seen in the file, before any of its code runs, and in what it links.
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "conform_internal.h"

typedef struct file {
    const unsigned char *bytes;
    uint64_t size;
    Elf64_Ehdr head;
} file;

// Whole of a part that lies in the file, or the case fails.
static const void *part(const file *f, uint64_t offset, uint64_t bytes, const char *what)
{
    if (offset > f->size || bytes > f->size - offset)
        kit_fail(kit_text("the %s lies in the file", what), "it ends outside");
    return f->bytes + offset;
}

static void open_file(file *f)
{
    struct stat s;
    int fd = open(kit.options->plugin, O_RDONLY);
    if (fd < 0 || fstat(fd, &s) != 0 || s.st_size <= 0)
        kit_fail("a file that can be read", "it cannot");
    f->size = (uint64_t)s.st_size;
    f->bytes = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (f->bytes == MAP_FAILED)
        kit_fail("a file that can be mapped", "it cannot");
    memcpy(&f->head, part(f, 0, sizeof f->head, "ELF header"), sizeof f->head);
    if (memcmp(f->head.e_ident, ELFMAG, SELFMAG) != 0 || f->head.e_ident[EI_CLASS] != ELFCLASS64 ||
        f->head.e_phentsize != sizeof(Elf64_Phdr))
        kit_skip("the file is no ELF of 64 bits");
}

static Elf64_Phdr segment(const file *f, int i)
{
    Elf64_Phdr p;
    uint64_t at = f->head.e_phoff + (uint64_t)i * sizeof p;
    memcpy(&p, part(f, at, sizeof p, "program header"), sizeof p);
    return p;
}

// The manifests in the notes of the file; the last one is shown.
static int find_notes(const file *f, tnp_note *out)
{
    int count = 0;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < f->head.e_phnum; i++) {
        Elf64_Phdr p = segment(f, i);
        uint64_t align = p.p_align == 8 ? 8 : 4;
        for (uint64_t at = 0; p.p_type == PT_NOTE && at + 12 <= p.p_filesz;) {
            Elf64_Nhdr n;
            const unsigned char *note = part(f, p.p_offset + at, sizeof n, "note");
            memcpy(&n, note, sizeof n);
            uint64_t owner = (n.n_namesz + align - 1) / align * align;
            uint64_t desc = (n.n_descsz + align - 1) / align * align;
            uint64_t bytes = sizeof n + owner + n.n_descsz;
            note = part(f, p.p_offset + at, bytes, "note");
            if (n.n_namesz == 6 && n.n_type == 1 && !memcmp(note + sizeof n, "Tenon", 6)) {
                count++;
                memcpy(out, note, bytes < sizeof *out ? bytes : sizeof *out);
            }
            at += sizeof n + owner + desc;
        }
    }
    return count;
}

static void the_file_has_one_manifest_and_the_table_shows_it(const kit_case *c)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    file f;
    tnp_note note;
    (void)c;
    open_file(&f);
    int count = find_notes(&f, &note);
    if (count != 1)
        kit_fail("one manifest in the file", "%d", count);
    const tnp_manifest *m = &note.manifest;
    if (m->machine != f.head.e_machine)
        kit_fail(kit_text("the manifest is for the file's machine, %u", f.head.e_machine), "%u",
                 m->machine);
    if (m->abi >> 16 != TNP_ABI_CURRENT >> 16 || m->abi_needed > m->abi)
        kit_fail("a manifest of this major that needs no newer host than it was built for",
                 "built with %u.%u, needs %u.%u", m->abi >> 16, m->abi & 0xffff,
                 m->abi_needed >> 16, m->abi_needed & 0xffff);
    kit_check_text(m->name, sizeof m->name, "the manifest's name");
    kit_check_text(m->version, sizeof m->version, "the manifest's version");
    kit_check_text(m->vendor, sizeof m->vendor, "the manifest's vendor");
    kit_check_text(m->license, sizeof m->license, "the manifest's license");
    if (!m->name[0] || strspn(m->name, letters) != strlen(m->name))
        kit_fail("a name of a-z, 0-9, _ and -", "'%s'", m->name);
    const tnp_plugin *t = kit_table();
    if (!t->note ||
        memcmp(t->note, &note, note.size < sizeof *m ? 20 + note.size : sizeof note) != 0)
        kit_fail("tnp_plugin.note shows the manifest of the file", "%s",
                 t->note ? "other bytes" : "NULL");
}

static const Elf64_Shdr *section(const file *f, uint32_t type)
{
    static Elf64_Shdr s;
    for (int i = 0; i < f->head.e_shnum; i++) {
        memcpy(&s, part(f, f->head.e_shoff + (uint64_t)i * sizeof s, sizeof s, "section header"),
               sizeof s);
        if (s.sh_type == type)
            return &s;
    }
    return NULL;
}

static void one_symbol_is_exported(const kit_case *c)
{
    file f;
    char others[200] = "";
    int count = 0;
    bool is_there = false;
    (void)c;
    open_file(&f);
    const Elf64_Shdr *found = section(&f, SHT_DYNSYM);
    if (!found)
        kit_skip("the file has no section headers");
    Elf64_Shdr symbols = *found, strings;
    memcpy(&strings,
           part(&f, f.head.e_shoff + symbols.sh_link * sizeof strings, sizeof strings, "section"),
           sizeof strings);
    for (uint64_t i = 0; i < symbols.sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym s;
        memcpy(&s, part(&f, symbols.sh_offset + i * sizeof s, sizeof s, "symbol"), sizeof s);
        int bind = ELF64_ST_BIND(s.st_info);
        if (s.st_shndx == SHN_UNDEF || (bind != STB_GLOBAL && bind != STB_WEAK) ||
            ELF64_ST_VISIBILITY(s.st_other) != STV_DEFAULT || s.st_shndx == SHN_ABS)
            continue;
        const char *name = part(&f, strings.sh_offset + s.st_name, 1, "name of a symbol");
        if (!strncmp(name, "__asan", 6) || !strncmp(name, "__tsan", 6) ||
            !strncmp(name, "__odr", 5))
            continue;   // a sanitizer's
        if (!strcmp(name, "tenon_plugin_query")) {
            is_there = true;
            continue;
        }
        count++;
        snprintf(others + strlen(others), sizeof others - strlen(others), " %.40s", name);
    }
    if (!is_there || count > 0)
        kit_fail("tenon_plugin_query is exported, and nothing else", "%s%d others:%s",
                 is_there ? "" : "it is not there; ", count, others);
}

static const kit_row rows[] = {
    { "the_file_has_one_manifest_and_the_table_shows_it",
      the_file_has_one_manifest_and_the_table_shows_it },
    { "one_symbol_is_exported", one_symbol_is_exported },
};

void kit_list_file(kit_list *list)
{
    uint32_t first = list->count;
    kit_list_rows(list, "file", rows, sizeof rows / sizeof *rows);
    for (uint32_t i = first; i < list->count; i++)
        list->cases[i].is_of_file = true;
}
