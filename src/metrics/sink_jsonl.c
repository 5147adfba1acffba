/* One JSON object per line, appended; see sinks.h. The file survives crashes and resumes: a reader always finds whole
 * lines, and each step once. */
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "metrics/sinks.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Does this line stay? Broken ones do not, nor steps that this run will make again. */
static int stays(const char *line, size_t length, int64_t resume_step, int *broken)
{
    json_t *root = json_loadb(line, length, 0, NULL);
    const json_t *step = json_object_get(root, "step");
    int stay = json_is_object(root) && !(json_is_integer(step) && json_integer_value(step) > resume_step);
    *broken += !json_is_object(root);
    json_decref(root);
    return stay;
}

/* The lines that stay, moved together at the front of text. Returns their bytes. */
static size_t sift(char *text, size_t size, int64_t resume_step, int *broken, int *superseded)
{
    size_t kept = 0;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        int before = *broken;
        if (end && stays(text + at, length, resume_step, broken)) {
            memmove(text + kept, text + at, length + 1);
            kept += length + 1;
        } else if (!end) {
            ++*broken; /* torn: even if it reads as JSON, its number may have lost digits */
        } else if (*broken == before) {
            ++*superseded;
        }
        at += length + 1;
    }
    return kept;
}

static tt_status heal(const char *path, int64_t resume_step, tt_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int broken = 0, superseded = 0;
    tt_status st = TT_OK;
    TT_TRY(tt_fs_read(path, &text, &size, err));
    size_t kept = sift(text, size, resume_step, &broken, &superseded);
    if (kept == size)
        goto out;
    TT_TRY(tt_fs_write(path, text, kept, err));
    tt_log_root(INFO, "%s: removed %d lines of steps after %lld, which this run makes again, and %d broken lines", path,
                superseded, (long long)resume_step, broken);
out:
    free(text);
    return st;
}

static tt_status put_aside(const char *path, tt_error *err)
{
    char *old = NULL;
    if (asprintf(&old, "%s.old", path) < 0)
        return tt_fail(err, TT_ERR_NOMEM, "moving %s to %s.old: out of memory", path, path);
    tt_status st = rename(path, old) != 0 ? tt_fs_fail(err, "move to .old", path, errno) : TT_OK;
    if (st == TT_OK)
        tt_log_root(WARN, "this run starts anew in a folder that was used: what the earlier one reported is now %s", old);
    free(old);
    return st;
}

tt_status tt_sink_jsonl_open(const char *path, int64_t resume_step, int *fd, tt_error *err)
{
    tt_status st = TT_OK;
    *fd = -1;
    if (tt_fs_exists(path))
        st = resume_step > 0 ? heal(path, resume_step, err) : put_aside(path, err);
    if (st != TT_OK)
        return st;
    *fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return *fd < 0 ? tt_fs_fail(err, "open", path, errno) : TT_OK;
}

tt_status tt_sink_jsonl_write(int fd, const char *path, int64_t step, const tt_scalar *scalars, int n, tt_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tt_fail(err, TT_ERR_NOMEM, "writing %s: out of memory", path);
    fprintf(out, "{\"step\": %lld", (long long)step);
    for (int i = 0; i < n; i++) {
        fprintf(out, ", \"%s\": ", scalars[i].tag);
        tt_json_number(out, scalars[i].value); /* null when not finite: JSON has no NaN */
    }
    fprintf(out, "}\n");
    tt_status st = TT_OK;
    ssize_t got = fclose(out) == 0 ? write(fd, text, size) : -1; /* one write: a crash tears the last line at most */
    if (got < 0 || (size_t)got != size)
        st = tt_fs_fail(err, "append to", path, got < 0 ? errno : ENOSPC);
    free(text);
    return st;
}
