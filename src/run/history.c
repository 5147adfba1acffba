/* See history.h. */
#include "run/history.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

tt_status tt_history_save_config(const char *dump_folder, const char *config_text, tt_error *err)
{
    char *path = tt_fs_join(dump_folder, "config.cfg");
    tt_status st = tt_fs_write(path, config_text, strlen(config_text), err);
    free(path);
    return st;
}

/* The line, malloc'd; NULL without memory. */
static char *start_line(int64_t step, int ranks)
{
    char *text = NULL, when[40];
    size_t size = 0;
    const time_t now = time(NULL);
    struct tm utc;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    fprintf(out, "{\"time\": \"%s\", \"step\": %lld, \"ranks\": %d, \"version\": ", when, (long long)step, ranks);
    tt_json_string(out, tt_version());
    fputs("}\n", out);
    return fclose(out) ? NULL : text;
}

tt_status tt_history_add_start(const char *dump_folder, int64_t step, int ranks, tt_error *err)
{
    char *path = tt_fs_join(dump_folder, "starts.jsonl"), *line = start_line(step, ranks);
    tt_status st = TT_OK;
    if (!path || !line) {
        st = tt_fail(err, TT_ERR_NOMEM, "writing starts.jsonl in %s: out of memory", dump_folder);
    } else {
        char *old = NULL;
        if (step == 0 && asprintf(&old, "%s.old", path) > 0)
            rename(path, old); /* an earlier run's, where there is one */
        free(old);
        const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        const size_t n = strlen(line);
        errno = 0;
        if (fd < 0)
            st = tt_fs_fail(err, "open", path, errno);
        else if (write(fd, line, n) != (ssize_t)n)
            st = tt_fs_fail(err, "append to", path, errno ? errno : ENOSPC);
        if (fd >= 0)
            close(fd);
    }
    free(path);
    free(line);
    return st;
}
