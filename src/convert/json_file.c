/* See json_file.h. */
#include "convert/json_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

tt_status tt_json_write_take(const char *path, json_t *doc, tt_error *err)
{
    char temporary[PATH_MAX];
    if (!doc)
        return tt_fail(err, TT_ERR_NOMEM, "writing %s: no memory, or a text that is not UTF-8", path);
    int failed = snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary;
    FILE *out = failed ? NULL : fopen(temporary, "w");
    failed |= !out || json_dumpf(doc, out, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15)) != 0 ||
              fputc('\n', out) == EOF || fflush(out) != 0 || fsync(fileno(out)) != 0;
    int why = errno;
    json_decref(doc);
    if (out && fclose(out) != 0 && !failed) {
        failed = 1;
        why = errno;
    }
    if (!failed && rename(temporary, path) != 0) {
        failed = 1;
        why = errno;
    }
    if (failed && out)
        unlink(temporary);
    return failed ? tt_fail(err, TT_ERR_IO, "writing %s: %s; check the folder, its permissions and its free space", path,
                            strerror(why))
                  : TT_OK;
}
