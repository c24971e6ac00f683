// plugins_new.h: tenon plugins new: the sdk's template, under another name.
#ifndef PLUGINS_NEW_H
#define PLUGINS_NEW_H

#include <stdbool.h>

// Writes a plugin called `name` into `folder` (NULL: one of that name, here) and says what was
// written. All of it or nothing; what is there already is left alone. An exit code.
int plugins_new(const char *name, const char *folder, bool is_json);

#endif
