/* See error.h. */
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What to change is the same for all texts of two kinds, so it stands here once. Empty when the
 * text says it itself. */
static const char *remedy_of(tt_status code, const char *text)
{
    if (code == TT_ERR_NOMEM && !strchr(text, ';'))
        return "; give the job more memory, or run fewer ranks on a node";
    if (code == TT_ERR_INTERNAL && !strstr(text, "report"))
        return "; this is a fault of titan: please report it with this text and the configuration";
    return "";
}

tt_status tt_fail_at(tt_error *err, tt_status code, const char *file, int line, const char *format, ...)
{
    if (err) {
        char text[TT_ERROR_TEXT_MAX]; /* format first: an argument may be err->text itself */
        va_list ap;
        va_start(ap, format);
        vsnprintf(text, sizeof text, format, ap);
        va_end(ap);
        size_t n = strlen(text);
        if (strcmp(format, "%s") != 0) /* else a text that is passed on and has its remedy */
            snprintf(text + n, sizeof text - n, "%s", remedy_of(code, text));
        err->code = code;
        err->file = file;
        err->line = line;
        memcpy(err->text, text, sizeof text);
    }
    return code;
}

tt_status tt_fail_context(tt_error *err, tt_status code, const char *format, ...)
{
    if (err) {
        char text[TT_ERROR_TEXT_MAX];
        va_list ap;
        va_start(ap, format);
        int n = vsnprintf(text, sizeof text, format, ap);
        va_end(ap);
        size_t at = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
        const char *part[] = {": ", err->text};
        for (int i = 0; i < 2; i++) { /* what does not fit is cut */
            size_t len = strnlen(part[i], sizeof text - 1 - at);
            memcpy(text + at, part[i], len);
            at += len;
        }
        text[at] = 0;
        memcpy(err->text, text, sizeof text);
        err->code = code;
    }
    return code;
}

tt_status tt_fail_remedy(tt_error *err, tt_status code, const char *format, ...)
{
    if (err) {
        size_t n = strlen(err->text);
        va_list ap;
        va_start(ap, format);
        if (n + 3 < sizeof err->text) {
            memcpy(err->text + n, "; ", 3);
            vsnprintf(err->text + n + 2, sizeof err->text - n - 2, format, ap);
        }
        va_end(ap);
        err->code = code;
    }
    return code;
}

static const struct {
    tt_status status;
    int exit_code;
    const char *name;
} table[] = {
    {TT_OK, 0, "ok"},
    {TT_ERR_USAGE, 64, "usage"},
    {TT_ERR_CONFIG, 78, "config"},
    {TT_ERR_MESH, 78, "mesh"},
    {TT_ERR_LAUNCH, 69, "launch"},
    {TT_ERR_DEVICE, 69, "device"},
    {TT_ERR_IO, 74, "i/o"},
    {TT_ERR_DATA, 74, "data"},
    {TT_ERR_CKPT, 74, "checkpoint"},
    {TT_ERR_NONFINITE, 76, "non-finite"},
    {TT_ERR_NOMEM, 70, "memory"},
    {TT_ERR_SHAPE, 70, "shape"},
    {TT_ERR_DTYPE, 70, "dtype"},
    {TT_ERR_INTERNAL, 70, "internal"},
    {TT_ERR_STOPPED, 75, "stopped"},
};

int tt_exit_code(tt_status status)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].status == status)
            return table[i].exit_code;
    return 70;
}

const char *tt_status_name(tt_status status)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].status == status)
            return table[i].name;
    return "unknown";
}

void tt_assert_failed(const char *cond, const char *file, int line)
{
    fprintf(stderr, "titan: internal error: assertion failed: %s (%s:%d)\n", cond, file, line);
    abort();
}
