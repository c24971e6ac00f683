// text.c: names that people type, and errors of plugins.
#include <string.h>

#include "base/error.h"
#include "plugin/plugin_internal.h"

bool tni_text_is_name(const char *text)
{
    return text[0] && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-")];
}

// Where the text begins with the call, as many plugins do, `who` ends before it: "cpu0: open".
static int bytes_of_who(const char *who, const char *text)
{
    const char *end = strrchr(who, ':'), *call = end && end[1] == ' ' ? end + 2 : who;
    size_t length = strlen(call);
    bool says_it_too = length && strncmp(text, call, length) == 0 && text[length] == ':';
    return (int)(says_it_too ? (size_t)(call - who) : strlen(who));
}

tn_status tni_fail_plugin(tn_error *err, tnp_status status, const char *who,
                          const tnp_error *plugin_error)
{
    char text[sizeof err->text];
    tni_text_make_safe(text, sizeof text, plugin_error->text, sizeof plugin_error->text);
    const char *says = text[0] ? text : "no reason given";
    if (status == TNP_OK)
        return tni_fail(err, TN_E_INTERNAL,
                        "%s: a fault of the plugin, success where it failed: %s", who, says);
    if (status < TNP_OK || status > TNP_E_CANCELLED)
        return tni_fail(err, TN_E_INTERNAL, "%s: a fault of the plugin, unknown status %d: %s", who,
                        (int)status, says);
    if (!text[0])
        return tni_fail(err, status, "%s: %s, no reason given", who, tn_status_name(status));
    int bytes = bytes_of_who(who, text);
    return tni_fail(err, status, "%.*s%s%s", bytes, who, who[bytes] ? "" : ": ", text);
}

// Of the host these would speak of the caller's arguments, values and files.
static bool is_of_a_caller(tn_status status)
{
    return status == TN_E_ARG || status == TN_E_UNSUPPORTED || status == TN_E_VERSION ||
           status == TN_E_IO || status == TN_E_DATA;
}

static tn_status fail_call(const tn_device *device, const char *call, tnp_status answer,
                           const tnp_error *plugin_error, tn_error *err)
{
    char who[320];
    tni_format_text(who, sizeof who, "%s: %s", device->name, call);
    return tni_fail_plugin(err, answer, who, plugin_error);
}

tn_status tni_device_fail(const tn_device *device, const char *call, tnp_status answer,
                          const tnp_error *plugin_error, tn_error *err)
{
    tn_status status = fail_call(device, call, answer, plugin_error, err);
    if (!is_of_a_caller(status))
        return status;
    if (err)
        err->status = TN_E_INTERNAL;
    return TN_E_INTERNAL;
}

tn_status tni_device_fail_work(const tn_device *device, const char *call, tnp_status answer,
                               const tnp_error *plugin_error, tn_error *err)
{
    return answer == TNP_E_DATA ? fail_call(device, call, answer, plugin_error, err)
                                : tni_device_fail(device, call, answer, plugin_error, err);
}
