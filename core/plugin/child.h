// child.h: one process that tries a plugin's file, from its start to what it left.
#ifndef TNI_CHILD_H
#define TNI_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "plugin/plugin_internal.h"

enum { TNI_MOST_CHILDREN = 64, TNI_CHILD_PIPES = 3 };

typedef struct tni_child {
    tni_plugin *plugin;
    pid_t pid;
    int ended;                    // a file that can be read when it has; -1 = the system has none
    int pipes[TNI_CHILD_PIPES];   // our ends; -1 = closed
    uint64_t deadline_ns;
    bool is_late, is_over, has_status;
    siginfo_t status;
    char *answer;
    uint32_t answer_bytes, answer_capacity;
    char printed[64];   // the first of it
    char said[256];     // the last of it
    size_t printed_bytes, said_bytes;
} tni_child;

// 0, or the system's error: then there is nothing to release. The time runs from now on.
int tni_child_start(tni_child *child, const char *helper, tni_plugin *plugin);
// Waits until one of at most TNI_MOST_CHILDREN does something, and takes that in; those that are
// late are ended. false: there is no memory.
bool tni_children_listen(tni_child *children, uint32_t count, const tn_allocator *allocator);
void tni_child_release(tni_child *child, const tn_allocator *allocator);   // ends it, if it runs

#endif
