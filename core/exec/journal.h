// journal.h: what the runs were fed since the states were set, so that they can be repeated.
#ifndef TNI_EXEC_JOURNAL_H
#define TNI_EXEC_JOURNAL_H

#include <tenon/session.h>

typedef struct tni_compiled tni_compiled;

typedef struct tni_journal {
    unsigned char *bytes;   // entries, one behind the other; NULL: none is kept
    uint64_t capacity, used;
    uint64_t last;        // offset of the last entry; UINT64_MAX = there is none
    uint64_t run_count;   // entries
    uint64_t time;        // counts up each time it is emptied
    bool is_stopped;      // there is no base: nothing can be repeated until the states are set
    // The base, what the states were before the first entry: zero, or as in the snapshot, or these
    // bytes, by state.
    tn_snapshot *snapshot;
    unsigned char **states;
} tni_journal;

// TN_E_HOST_MEMORY when there is no memory for as many bytes. 0 = the default.
tn_status tni_journal_init(tn_session *session, uint64_t bytes, tn_error *err);
void tni_journal_finish(tn_session *session);
// Empties it, the base is: zero; the snapshot, whose uses it counts; the states as they are.
void tni_journal_clear(tn_session *session);
void tni_journal_begin_at(tn_session *session, const tn_snapshot *snapshot);
// Errors: those of the devices, and nothing has changed. Where the host has no memory the journal
// is stopped.
tn_status tni_journal_begin_here(tn_session *session, tn_error *err);
bool tni_journal_has(const tn_session *session, uint32_t graph);
// Whether a run with these feeds can be noted as it is. If not, the journal is to begin here.
bool tni_journal_has_room(const tn_session *session, const tni_compiled *compiled,
                          const tn_feed *feeds, uint32_t count);
// Notes a run whose feeds are staged.
void tni_journal_note(tn_session *session, tni_compiled *compiled, const tn_feed *feeds,
                      uint32_t count);
void tni_journal_skip_last(tn_session *session);   // it is not to be run again
// Sets the states to the base and runs all entries. Errors: those of a run, or of the devices.
tn_status tni_journal_repeat(tn_session *session, tn_error *err);

#endif
