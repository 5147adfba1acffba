/* error.h and log.h: texts kept, contexts put in front, exit codes, one line per message, files and levels. */
#include "tap.h"

#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_file(const char *path, char *text, size_t room)
{
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, room - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
}

static void test_errors(void)
{
    tt_error err = {0};
    is_int(tt_fail(NULL, TT_ERR_IO, "lost"), TT_ERR_IO, "a NULL error is allowed and the code is returned");
    is_int(tt_fail(&err, TT_ERR_CONFIG, "x=%d is bad", 3), TT_ERR_CONFIG, "tt_fail returns its code");
    is_str(err.text, "x=3 is bad", "the text is kept");
    ok(strstr(err.file, "log.c") && err.line > 0, "the source position is kept");
    is_int(tt_fail_context(&err, err.code, "reading %s", "a.cfg"), TT_ERR_CONFIG, "context returns the code");
    is_str(err.text, "reading a.cfg: x=3 is bad", "context goes in front");
    tt_fail(&err, TT_ERR_IO, "again: %s", err.text);
    is_str(err.text, "again: reading a.cfg: x=3 is bad", "the old text may be an argument");
    char *big = malloc(3 * TT_ERROR_TEXT_MAX);
    memset(big, 'y', 3 * TT_ERROR_TEXT_MAX - 1);
    big[3 * TT_ERROR_TEXT_MAX - 1] = 0;
    tt_fail(&err, TT_ERR_IO, "%s", big);
    is_int((long long)strlen(err.text), TT_ERROR_TEXT_MAX - 1, "a long text is cut");
    tt_fail_context(&err, TT_ERR_IO, "%s", big);
    is_int((long long)strlen(err.text), TT_ERROR_TEXT_MAX - 1, "a long context is cut");
    free(big);
    static const int code[][2] = {{TT_OK, 0},         {TT_ERR_USAGE, 64},  {TT_ERR_CONFIG, 78}, {TT_ERR_LAUNCH, 69},
                                  {TT_ERR_CKPT, 74},  {TT_ERR_NOMEM, 70},  {TT_ERR_NONFINITE, 76},
                                  {TT_ERR_STOPPED, 75}, {-99, 70}};
    for (size_t i = 0; i < sizeof code / sizeof code[0]; i++)
        is_int(tt_exit_code((tt_status)code[i][0]), code[i][1], "exit code of status %d", code[i][0]);
    is_str(tt_status_name(TT_ERR_IO), "i/o", "status name");
}

static void test_log(void)
{
    char path[] = "/tmp/titan-log-XXXXXX", text[2 * 8192 + 200], *line;
    int fd = mkstemp(path), keep = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    tt_log_root(INFO, "steps %d", 10);
    tt_log_all(WARN, "alone");
    tt_log_root(DEBUG, "hidden");
    tt_log_set_rank(3, 4);
    tt_log_root(ERROR, "not from rank 3");
    tt_log_all(WARN, "odd");
    tt_log_set_place("dps0 tp3");
    tt_log_set_level(TT_LOG_DEBUG);
    tt_log_all(DEBUG, "seen");
    dup2(keep, STDERR_FILENO);
    read_file(path, text, sizeof text);
    is_str(text, "titan: steps 10\ntitan: warning: alone\n[3/4] warning: odd\n[3/4 dps0 tp3] debug: seen\n",
           "lines, prefixes, levels, root only on rank 0");

    ok(tt_log_set_file("/nonexistent/dir/x.log") == ENOENT, "a log file that cannot be opened gives errno");
    is_int(tt_log_set_file(path), 0, "a log file opens");
    (void)!ftruncate(fd, 0);
    tt_log_set_level(TT_LOG_ERROR);
    char *big = malloc(20000);
    memset(big, 'z', 19999);
    big[19999] = 0;
    tt_log_all(INFO, "%s", big);
    free(big);
    is_int(tt_log_set_file(NULL), 0, "the file is closed");
    tt_log_all(INFO, "after");
    read_file(path, text, sizeof text);
    line = strchr(text, ' ');
    ok(line && strncmp(line, " [3/4 dps0 tp3] zzz", 19) == 0, "the file gets a time stamp and what the level hides");
    ok(strlen(text) < 8192 + 40 && text[strlen(text) - 1] == '\n', "a long line is cut and ends");
    ok(strstr(text, "after") == NULL, "nothing is written after the file was closed");
    close(fd);
    close(keep);
    unlink(path);
}

int main(void)
{
    test_errors();
    test_log();
    return done_testing();
}
