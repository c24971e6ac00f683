// events.h: what was done when devices failed, as the JSON of several subcommands has it.
#ifndef CLI_EVENTS_H
#define CLI_EVENTS_H

#include <jansson.h>
#include <tenon/session.h>

// How many there have been. CLI_OK, or the exit code after a line.
int cli_event_count(const tn_session *session, uint32_t *out_count);

// A list of those from `first` on; NULL: out of memory.
json_t *cli_events(const tn_session *session, uint32_t first);

#endif
