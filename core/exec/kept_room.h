// kept_room.h: room in the user's cache for the packs of a placement, made before one of them is:
// either all that its programs will ask for fits there, or nothing of it is written and nothing
// goes for it.
#ifndef TNI_EXEC_KEPT_ROOM_H
#define TNI_EXEC_KEPT_ROOM_H

#include <tenon/session.h>

#include "plugin/cache_room.h"

typedef struct tni_compiled tni_compiled;

// The files that there is room for. Zeroed: none.
typedef struct tni_kept_room {
    uint32_t count, capacity;
    tni_cache_file *files;   // sorted
} tni_kept_room;

// Of all programs of these graphs, which have their schedules and no programs yet. Where there is
// no room nothing has failed: what people should know of that is logged.
void tni_kept_room_make(tn_session *session, tni_compiled *const *graphs, uint32_t graph_count);
// Whether a file of this path may be made.
bool tni_kept_room_has(const tn_session *session, const char *path);
void tni_kept_room_close(tn_session *session);

#endif
