// settings.c: which settings a plugin asked for, and warnings of those that nobody did. A key that
// is misspelt would do nothing otherwise, and say nothing.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "plugin/plugin_internal.h"

enum { MAX_LINE_BYTES = 512 };

// The setting as it was written, and where.
static void show(const tni_setting *setting, char *to, size_t room)
{
    if (strcmp(setting->source, "settings") == 0)
        snprintf(to, room, "setting plugin.%s.%s=%s", setting->plugin, setting->key,
                 setting->value);
    else
        snprintf(to, room, "%s: [plugin.%s] %s = %s", setting->source, setting->plugin,
                 setting->key, setting->value);
}

// ------------------------------------------------------------------------------------------ asking

static void remember(tni_plugin *plugin, const char *key)
{
    char safe[TNI_ASKED_BYTES];
    if (plugin->asked_count == TNI_ASKED_KEYS || strlen(key) >= sizeof safe ||
        !tni_text_make_safe(safe, sizeof safe, key, sizeof safe))
        return;
    for (uint32_t i = 0; i < plugin->asked_count; i++)
        if (strcmp(plugin->asked[i], key) == 0)
            return;
    tni_copy_text(plugin->asked[plugin->asked_count++], TNI_ASKED_BYTES, key);
}

const char *tni_plugin_ask(tni_plugin *plugin, const char *key)
{
    const char *name = plugin->manifest.name;
    tn_runtime *runtime = plugin->runtime;
    tni_config *config = &runtime->config;
    if (tni_config_is_reserved(key))
        return NULL;
    pthread_mutex_lock(&runtime->asking);
    remember(plugin, key);
    for (uint32_t i = 0; i < config->setting_count; i++)   // also those that another source hides
        if (strcmp(config->settings[i].plugin, name) == 0 &&
            strcmp(config->settings[i].key, key) == 0)
            config->settings[i].is_asked = true;
    pthread_mutex_unlock(&runtime->asking);
    return tni_runtime_setting(runtime, name, key);
}

// ---------------------------------------------------------------------------------------- warnings

// What could have been meant: one key, or all that there are.
static void suggest_key(const tni_plugin *plugin, const char *key, char *to, size_t room)
{
    tni_nearest nearest = tni_nearest_to(key);
    for (uint32_t i = 0; i < plugin->asked_count; i++)
        tni_nearest_try(&nearest, plugin->asked[i]);
    if (nearest.word) {
        snprintf(to, room, "did you mean '%s'?", nearest.word);
        return;
    }
    size_t used = (size_t)snprintf(to, room, plugin->asked_count ? "it knows" : "it knows none");
    for (uint32_t i = 0; i < plugin->asked_count && used < room; i++)
        used += (size_t)snprintf(to + used, room - used, "%s %s", i ? "," : "", plugin->asked[i]);
}

// Whether a warning of setting `index` is due, now taken; of one key in several sources the first.
static bool take_unasked(const tni_plugin *plugin, uint32_t index)
{
    tni_setting *settings = plugin->runtime->config.settings, *this = &settings[index];
    if (strcmp(this->plugin, plugin->manifest.name) != 0 || this->is_asked || this->is_told_of ||
        tni_config_is_reserved(this->key))
        return false;
    for (uint32_t i = index; i < plugin->runtime->config.setting_count; i++)
        if (strcmp(settings[i].plugin, this->plugin) == 0 &&
            strcmp(settings[i].key, this->key) == 0)
            settings[i].is_told_of = true;
    return true;
}

void tni_plugin_warn_of_unasked(const tni_plugin *plugin)
{
    tn_runtime *runtime = plugin->runtime;
    char place[MAX_LINE_BYTES], suggestion[MAX_LINE_BYTES];
    for (uint32_t i = 0; i < runtime->config.setting_count; i++) {
        const tni_setting *setting = &runtime->config.settings[i];
        pthread_mutex_lock(&runtime->asking);
        bool is_due = take_unasked(plugin, i);
        if (is_due)
            suggest_key(plugin, setting->key, suggestion, sizeof suggestion);
        pthread_mutex_unlock(&runtime->asking);
        if (!is_due)
            continue;
        show(setting, place, sizeof place);
        tni_log_line(&runtime->log, TN_LOG_WARNING,
                     "%s: ignored, plugin %s has no setting '%s'; %s", place, setting->plugin,
                     setting->key, suggestion);
    }
}

static bool is_candidate(const tn_runtime *runtime, const char *name)
{
    for (uint32_t i = 0; i < runtime->plugin_count; i++)
        if (strcmp(runtime->plugins[i]->manifest.name, name) == 0)
            return true;
    return false;
}

static void warn_of_name(const tn_runtime *runtime, const char *place, const char *name)
{
    tni_nearest nearest = tni_nearest_to(name);
    for (uint32_t i = 0; i < runtime->plugin_count; i++)
        tni_nearest_try(&nearest, runtime->plugins[i]->manifest.name);
    tni_log_line(&runtime->log, TN_LOG_WARNING, "%s: ignored, no plugin '%s' was found%s%s%s",
                 place, name, nearest.word ? "; did you mean '" : "",
                 nearest.word ? nearest.word : "", nearest.word ? "'?" : "");
}

// Names in [plugins] order and disable that no candidate has; one line a name.
static void warn_of_listed(const tn_runtime *runtime, const tni_config_words *words,
                           const char *key)
{
    char place[MAX_LINE_BYTES];
    for (uint32_t i = 0; i < words->count; i++) {
        const tni_config_word *word = &words->items[i];
        bool is_told_of = false;
        for (uint32_t j = 0; j < i && !is_told_of; j++)
            is_told_of = strcmp(words->items[j].text, word->text) == 0;
        if (is_told_of || is_candidate(runtime, word->text))
            continue;
        if (strcmp(word->source, "settings") == 0)
            snprintf(place, sizeof place, "setting plugins.%s=%s", key, word->text);
        else
            snprintf(place, sizeof place, "%s: [plugins] %s = %s", word->source, key, word->text);
        warn_of_name(runtime, place, word->text);
    }
}

void tni_runtime_warn_of_absent(tn_runtime *runtime)
{
    warn_of_listed(runtime, &runtime->config.order, "order");
    warn_of_listed(runtime, &runtime->config.disabled, "disable");
    tni_config *config = &runtime->config;
    char place[MAX_LINE_BYTES];
    for (uint32_t i = 0; i < config->setting_count; i++) {
        const tni_setting *setting = &config->settings[i];
        bool is_pin = strcmp(setting->key, "sha256") == 0;   // of a plugin that may come again
        if (is_pin || setting->is_told_of || is_candidate(runtime, setting->plugin))
            continue;
        for (uint32_t j = i; j < config->setting_count; j++)   // one line a plugin
            if (strcmp(config->settings[j].plugin, setting->plugin) == 0)
                config->settings[j].is_told_of = true;
        show(setting, place, sizeof place);
        warn_of_name(runtime, place, setting->plugin);
    }
}
