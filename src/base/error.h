/* Errors: one status code, one text, one place that turns them into exit codes.
 *
 * A function that can fail returns tt_status and takes `tt_error *err` last (NULL is allowed).
 * Libraries describe (tt_fail), programs decide (tt_exit_code). A message says what we were doing,
 * the values seen, what would be right, and what to change. */
#ifndef TT_BASE_ERROR_H
#define TT_BASE_ERROR_H

#include <stdarg.h>

typedef enum tt_status {
    TT_OK = 0,
    TT_ERR_USAGE = -1,     /* command line                                  exit 64 */
    TT_ERR_CONFIG = -2,    /* config file or a value in it                  exit 78 */
    TT_ERR_MESH = -3,      /* degrees do not fit the ranks or the model     exit 78 */
    TT_ERR_LAUNCH = -4,    /* wrong launcher, missing ranks                 exit 69 */
    TT_ERR_DEVICE = -5,    /* device missing or failed                      exit 69 */
    TT_ERR_IO = -6,        /* file system: open, read, write, full          exit 74 */
    TT_ERR_DATA = -7,      /* a data set, tokenizer or foreign file is bad  exit 74 */
    TT_ERR_CKPT = -8,      /* a checkpoint is damaged, partial or foreign   exit 74 */
    TT_ERR_NONFINITE = -9, /* loss or gradient is not finite                exit 76 */
    TT_ERR_NOMEM = -10,    /* memory on host or device is not enough        exit 70 */
    TT_ERR_SHAPE = -11,    /* shapes given to an op do not fit              exit 70 */
    TT_ERR_DTYPE = -12,    /* data types given to an op do not fit          exit 70 */
    TT_ERR_INTERNAL = -13, /* our own mistake                               exit 70 */
    TT_ERR_STOPPED = -14   /* stopped early with a checkpoint: requeue      exit 75 */
} tt_status;

#define TT_ERROR_TEXT_MAX 4096

typedef struct tt_error {
    tt_status code;
    char text[TT_ERROR_TEXT_MAX]; /* empty when no error was recorded */
    const char *file;             /* source position of the first tt_fail */
    int line;
} tt_error;

/** Record an error and return its code. A later tt_fail on the same `err` overwrites the text. err
 * may be NULL. The remedy for want of memory (TT_ERR_NOMEM) and for faults of titan
 * (TT_ERR_INTERNAL) is added to texts that have none. */
tt_status tt_fail_at(tt_error *err, tt_status code, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#define tt_fail(err, code, ...) tt_fail_at((err), (code), __FILE__, __LINE__, __VA_ARGS__)

/** Put "prefix: " before the text already recorded (what the caller was doing). Returns err's code. */
tt_status tt_fail_context(tt_error *err, tt_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Put what to do, "; remedy", behind the text already recorded. Returns err's code. */
tt_status tt_fail_remedy(tt_error *err, tt_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Process exit code of a status (sysexits where one fits); the one table of the project: 0 64 69 70 74 75 76 78. */
int tt_exit_code(tt_status status);

/** Name of a status, for logs ("config", "i/o", …). Never NULL. */
const char *tt_status_name(tt_status status);

/** Run `call`; on failure keep its code in `st` and jump to `out:` (one clean-up block per function). */
#define TT_TRY(call)                  \
    do {                              \
        st = (call);                  \
        if (st != TT_OK)              \
            goto out;                 \
    } while (0)

/** For our own mistakes only; compiled in always (cheap checks), aborts with file and line. */
#define TT_ASSERT(cond) ((cond) ? (void)0 : tt_assert_failed(#cond, __FILE__, __LINE__))
void tt_assert_failed(const char *cond, const char *file, int line) __attribute__((noreturn));

#endif
