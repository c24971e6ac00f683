// journal.c: what the runs of a session were fed since its states were set, so that states and
// outputs can be made again on other devices, or on the same: the same runs in the same order.
//
//   base ──► entry ──► entry ──► … ──► entry       the states before, then the runs
//
//   entry: header, then for each feed its head and its bytes, each a multiple of 8 bytes
//
// The base is zero after a reset, a snapshot after a restore. Where the journal is full, or holds a
// run of a graph that goes, the states as they are become the base, in memory of the host. An input
// that a run was not fed keeps its bytes. So an entry has the bytes of such an input too, unless
// the journal has them already, or the input has not changed since the base: then its staging has.
// A session without states needs nothing but the staging.
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "exec/session.h"
#include "exec/snapshot.h"

enum { DEFAULT_BYTES = 1 << 20, FORGOTTEN = 1 };   // FORGOTTEN: a time before any

#define NO_ENTRY UINT64_MAX

typedef struct entry {
    uint64_t before;   // offset of the entry before; NO_ENTRY
    uint32_t graph, feed_count;
    uint32_t is_skipped;   // the run was refused for its data: its inputs are there all the same
    uint32_t zero;
} entry;

typedef struct fed {
    uint64_t bytes;
    uint32_t input;   // a value
    uint32_t zero;
} fed;

enum { ALIGNMENT = 8 };

_Static_assert(sizeof(entry) <= TN_JOURNAL_RUN_BYTES, "as applications reckon");
_Static_assert(sizeof(fed) + ALIGNMENT - 1 <= TN_JOURNAL_FEED_BYTES, "as applications reckon");

static uint64_t padded(uint64_t bytes)
{
    return bytes + -bytes % ALIGNMENT;
}

// ------------------------------------------------------------------------------------- base, size

tn_status tni_journal_init(tn_session *session, uint64_t bytes, tn_error *err)
{
    tni_journal *journal = &session->journal;
    journal->capacity = (bytes ? bytes : DEFAULT_BYTES) / ALIGNMENT * ALIGNMENT;
    if (journal->capacity < sizeof(entry))   // of one run, which is all without states
        journal->capacity = sizeof(entry);
    journal->bytes = tni_alloc(&session->arena.allocator, journal->capacity);
    journal->last = NO_ENTRY;
    journal->time = FORGOTTEN + 1;
    return journal->bytes ? TN_OK : tni_fail_memory(err, "a session's journal", journal->capacity);
}

static void release_states(tn_session *session)
{
    tni_journal *journal = &session->journal;
    for (uint32_t i = 0; i < session->state_count && journal->states; i++)
        tni_free(&session->arena.allocator, journal->states[i]);
    tni_free(&session->arena.allocator, journal->states);
    journal->states = NULL;
}

static void empty(tni_journal *journal)
{
    journal->used = journal->run_count = 0;
    journal->last = NO_ENTRY;
    journal->time++;
    journal->is_stopped = false;
}

void tni_journal_clear(tn_session *session)
{
    empty(&session->journal);
    tn_snapshot_close(session->journal.snapshot);
    session->journal.snapshot = NULL;
    release_states(session);
}

void tni_journal_begin_at(tn_session *session, const tn_snapshot *snapshot)
{
    tn_snapshot *kept = (tn_snapshot *)snapshot;   // its count of uses is all that changes
    if (session->journal.bytes)
        tni_snapshot_retain(kept);
    tni_journal_clear(session);
    if (session->journal.bytes)
        session->journal.snapshot = kept;
}

void tni_journal_finish(tn_session *session)
{
    tni_journal_clear(session);
    tni_free(&session->arena.allocator, session->journal.bytes);
    session->journal.bytes = NULL;
}

static unsigned char **read_states(tn_session *session, bool *out_has_memory, tn_error *err)
{
    const tn_allocator *allocator = &session->arena.allocator;
    unsigned char **states = tni_alloc_zeroed(allocator, session->state_count, sizeof *states);
    tn_status status = TN_OK;
    *out_has_memory = states != NULL;
    for (uint32_t i = 0; i < session->state_count && *out_has_memory && status == TN_OK; i++) {
        tni_state *state = &session->states[i];
        states[i] = tni_alloc(allocator, state->bytes);
        *out_has_memory = states[i] != NULL;
        if (states[i])
            status = tni_state_read(session, state, states[i], 0, state->bytes, err);
    }
    if (*out_has_memory && status == TN_OK)
        return states;
    for (uint32_t i = 0; i < session->state_count && states; i++)
        tni_free(allocator, states[i]);
    tni_free(allocator, states);
    return NULL;
}

static void stop(tn_session *session, const char *why)
{
    session->journal.is_stopped = true;
    tni_log_line(tni_runtime_log(session->runtime), TN_LOG_WARNING,
                 "%s: until the states are reset, runs cannot be repeated when a device fails",
                 why);
}

tn_status tni_journal_begin_here(tn_session *session, tn_error *err)
{
    bool has_memory = true;
    unsigned char **states = NULL;
    if (session->state_count && !(states = read_states(session, &has_memory, err)) && has_memory)
        return err->status;
    tni_journal_clear(session);
    session->journal.states = states;
    if (!has_memory)
        stop(session, "the host has no memory for a copy of the states");
    return TN_OK;
}

// ----------------------------------------------------------------------------------------- entries

static uint32_t storage_of(const tni_compiled *compiled, uint32_t input)
{
    return compiled->given.graph->values[input].storage;
}

static uint64_t bytes_of(const tni_compiled *compiled, uint32_t input)
{
    return compiled->given.graph->storages[storage_of(compiled, input)].bytes;
}

// Its staging has bytes from before the base, which the journal lacks.
static bool is_older(const tni_journal *journal, const tni_compiled *compiled, uint32_t input)
{
    uint64_t noted = compiled->given.noted[storage_of(compiled, input)];
    return noted && noted != journal->time;
}

static bool is_kept(const tn_session *session)
{
    return session->journal.bytes && !session->journal.is_stopped;
}

bool tni_journal_has_room(const tn_session *session, const tni_compiled *compiled,
                          const tn_feed *feeds, uint32_t count)
{
    const tni_journal *journal = &session->journal;
    if (!is_kept(session))
        return true;
    if (session->state_count == 0)
        return journal->run_count == 0;
    uint64_t room = journal->capacity - journal->used, needed = sizeof(entry);
    for (uint32_t i = 0; i < count; i++)
        if (!is_older(journal, compiled, feeds[i].input.index))
            needed += sizeof(fed) + padded(feeds[i].bytes);
    for (uint32_t i = 0; i < compiled->given.input_count; i++)   // as a whole, fed or not
        if (is_older(journal, compiled, compiled->given.inputs[i]))
            needed += sizeof(fed) + padded(bytes_of(compiled, compiled->given.inputs[i]));
    return needed <= room;
}

static void put(tni_journal *journal, const void *bytes, uint64_t count)
{
    memcpy(journal->bytes + journal->used, bytes, count);
    journal->used += padded(count);
}

static void note_input(tni_journal *journal, tni_compiled *compiled, uint32_t input, uint64_t bytes)
{
    uint32_t storage = storage_of(compiled, input);
    if (is_older(journal, compiled, input))
        bytes = bytes_of(compiled, input);   // what was not fed now may count later
    put(journal, &(fed){ .bytes = bytes, .input = input }, sizeof(fed));
    put(journal, compiled->given.staging[storage], bytes);
    compiled->given.noted[storage] = journal->time;
}

// Called when there is room, or when one run is more than all of it holds.
void tni_journal_note(tn_session *session, tni_compiled *compiled, const tn_feed *feeds,
                      uint32_t count)
{
    tni_journal *journal = &session->journal;
    if (!is_kept(session))
        return;
    if (!tni_journal_has_room(session, compiled, feeds, count)) {
        stop(session, "the inputs of one run are more than the journal of the session holds");
        return;
    }
    entry made = { .before = journal->last, .graph = compiled->given.number };
    uint64_t at = journal->used;
    journal->used += sizeof made;
    for (uint32_t i = 0; i < count && session->state_count; i++, made.feed_count++)
        note_input(journal, compiled, feeds[i].input.index, feeds[i].bytes);
    for (uint32_t i = 0; i < compiled->given.input_count && session->state_count; i++)
        if (is_older(journal, compiled, compiled->given.inputs[i])) {
            note_input(journal, compiled, compiled->given.inputs[i], 0);
            made.feed_count++;
        }
    memcpy(journal->bytes + at, &made, sizeof made);
    journal->last = at;
    journal->run_count++;
}

void tni_journal_skip_last(tn_session *session)
{
    tni_journal *journal = &session->journal;
    entry last;
    if (!is_kept(session) || journal->last == NO_ENTRY)
        return;
    memcpy(&last, journal->bytes + journal->last, sizeof last);
    last.is_skipped = true;
    memcpy(journal->bytes + journal->last, &last, sizeof last);
}

// Answers whether it was a run that was done.
static bool forget_last(tni_journal *journal)
{
    entry last;
    memcpy(&last, journal->bytes + journal->last, sizeof last);
    journal->used = journal->last;
    journal->last = last.before;
    journal->run_count--;
    return !last.is_skipped;
}

// All inputs of a graph count as never fed: zero, though runs that are kept may feed them.
static void forget_inputs(tni_compiled *compiled)
{
    for (uint32_t i = 0; i < compiled->given.input_count; i++) {
        uint32_t storage = storage_of(compiled, compiled->given.inputs[i]);
        memset(compiled->given.staging[storage], 0, bytes_of(compiled, compiled->given.inputs[i]));
        if (compiled->given.noted[storage])
            compiled->given.noted[storage] = FORGOTTEN;
    }
}

void tn_session_forget(tn_session *session, uint64_t runs)
{
    if (!session || runs == 0)
        return;
    session->last_graph = TNP_NONE;
    for (uint32_t g = 0; g < session->graph_count; g++)
        forget_inputs(session->graphs[g]);
    while (runs && is_kept(session) && session->journal.run_count)
        runs -= forget_last(&session->journal);
}

bool tni_journal_has(const tn_session *session, uint32_t graph)
{
    const tni_journal *journal = &session->journal;
    entry e = { .before = journal->last };
    bool has = false;
    while (is_kept(session) && e.before != NO_ENTRY && !has) {
        memcpy(&e, journal->bytes + e.before, sizeof e);
        has = e.graph == graph;
    }
    return has;
}

// ------------------------------------------------------------------------------------------ repeat

static tn_status set_states(tn_session *session, tn_error *err)
{
    const tni_journal *journal = &session->journal;
    if (journal->snapshot)
        return tni_snapshot_set(session, journal->snapshot, err);
    if (!journal->states)
        return tni_states_clear(session, err);
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < session->state_count && status == TN_OK; i++)
        status = tni_state_write(session, &session->states[i], journal->states[i],
                                 session->states[i].bytes, err);
    return status;
}

static void clear_inputs(const tn_session *session, uint64_t noted)
{
    for (uint32_t g = 0; g < session->graph_count; g++) {
        const tni_compiled *compiled = session->graphs[g];
        for (uint32_t i = 0; i < compiled->given.input_count; i++) {
            uint32_t storage = storage_of(compiled, compiled->given.inputs[i]);
            if (compiled->given.noted[storage] == noted)
                memset(compiled->given.staging[storage], 0,
                       bytes_of(compiled, compiled->given.inputs[i]));
        }
    }
}

static void take_feeds(const tni_journal *journal, const tni_compiled *compiled, uint32_t count,
                       uint64_t *at)
{
    for (uint32_t i = 0; i < count; i++) {
        fed f;
        memcpy(&f, journal->bytes + *at, sizeof f);
        *at += sizeof f;
        memcpy(compiled->given.staging[storage_of(compiled, f.input)], journal->bytes + *at,
               f.bytes);
        *at += padded(f.bytes);
    }
}

tn_status tni_journal_repeat(tn_session *session, tn_error *err)
{
    const tni_journal *journal = &session->journal;
    tn_status status = set_states(session, err);
    // Inputs that the journal has bytes of were zero before it, or it has those of before too.
    clear_inputs(session, journal->time);
    for (uint64_t at = 0; at < journal->used && status == TN_OK;) {
        entry e;
        tni_compiled *compiled;
        memcpy(&e, journal->bytes + at, sizeof e);
        at += sizeof e;
        status = tni_graphs_compiled(session, e.graph, "failover", &compiled, err);
        if (status == TN_OK) {
            take_feeds(journal, compiled, e.feed_count, &at);
            if (!e.is_skipped)
                status = tni_run_once(session, compiled, err);
        }
    }
    clear_inputs(session, FORGOTTEN);   // runs before those that were forgotten may have fed them
    return status;
}
