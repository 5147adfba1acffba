/* See log.h. Each line is one write(2), so that lines of several ranks or threads do not mix. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 8192

/* Set once at start, read afterwards (style: the one exception to "no global mutable state"). */
static struct {
    int rank, size;
    tt_log_level level;
    char place[96];
    int fd; /* 0 = no file (stdin is never a log) */
} state = {.size = 1, .level = TT_LOG_INFO};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void tt_log_set_rank(int rank, int size)
{
    state.rank = rank;
    state.size = size;
}

void tt_log_set_place(const char *place)
{
    snprintf(state.place, sizeof state.place, "%s", place ? place : "");
}

void tt_log_set_level(tt_log_level level)
{
    state.level = level;
}

int tt_log_set_file(const char *path)
{
    int fd = 0;
    if (path) {
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0)
            return errno;
    }
    pthread_mutex_lock(&lock);
    if (state.fd > 0)
        close(state.fd);
    state.fd = fd;
    pthread_mutex_unlock(&lock);
    return 0;
}

static void write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, text, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return; /* a log that cannot be written must not stop the job */
        text += done;
        n -= (size_t)done;
    }
}

/* "titan: warning: " or "[3/4 dps0 tp3] warning: ". */
static int put_prefix(char *line, size_t room, tt_log_level level, int root_only)
{
    static const char *const word[] = {"debug: ", "", "warning: ", "error: "};
    if (root_only || state.size == 1)
        return snprintf(line, room, "titan: %s", word[level]);
    return snprintf(line, room, "[%d/%d%s%s] %s", state.rank, state.size, state.place[0] ? " " : "",
                    state.place, word[level]);
}

static void write_file_line(const char *line, size_t n)
{
    char stamp[40];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    size_t len = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    len += (size_t)snprintf(stamp + len, sizeof stamp - len, ".%03ldZ ", now.tv_nsec / 1000000);
    write_all(state.fd, stamp, len);
    write_all(state.fd, line, n);
}

void tt_log_write(tt_log_level level, int root_only, const char *format, ...)
{
    int to_stderr = level >= state.level && !(root_only && state.rank != 0);
    if (!to_stderr && state.fd <= 0)
        return;
    char line[LINE_MAX_BYTES];
    int saved_errno = errno;
    size_t n = (size_t)put_prefix(line, sizeof line, level, root_only);
    va_list ap;
    va_start(ap, format);
    int m = vsnprintf(line + n, sizeof line - n, format, ap);
    va_end(ap);
    n = m < 0 ? n : n + (size_t)m;
    if (n > sizeof line - 2)
        n = sizeof line - 2; /* a longer text is cut */
    line[n++] = '\n';
    pthread_mutex_lock(&lock);
    if (to_stderr)
        write_all(STDERR_FILENO, line, n);
    if (state.fd > 0)
        write_file_line(line, n);
    pthread_mutex_unlock(&lock);
    errno = saved_errno;
}
