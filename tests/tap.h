/* A small TAP producer for the tests, so that C, shell and MPI tests speak one language to automake's tap-driver.sh.
 *
 * A test calls checks and ends with `return done_testing();`. plan() is optional: without it the count is printed at
 * the end. Checks return whether they passed. In an .mpi test call tap_collective() (see tap_world.h) first: then every
 * rank runs every check, a check passes when it passes on all ranks, and rank 0 alone prints. */
#ifndef TT_TESTS_TAP_H
#define TT_TESTS_TAP_H

/** Announce the number of checks; optional, before the first check. */
void plan(int n);

/** Print the plan when plan() was not called, and a summary of failures. Returns main's exit status: 0 or 1. */
int done_testing(void);

/** Skip the whole program: prints "1..0 # SKIP why" and exits 0. Call it before any check (on every rank of an .mpi). */
void skip_all(const char *why) __attribute__((noreturn));

/** The check: cond non-zero passes. */
int ok(int cond, const char *format, ...) __attribute__((format(printf, 2, 3)));
int is_int(long long got, long long want, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** Equal texts; two NULLs are equal. */
int is_str(const char *got, const char *want, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** |got - want| <= tol; NaN never passes, equal infinities do. */
int close_to(double got, double want, double tol, const char *format, ...) __attribute__((format(printf, 4, 5)));

/** A comment line, "# text", on stderr. */
void diag(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Make all checks collective. any_failed(ctx, failed) returns non-zero on every rank when some rank passed failed = 1. */
void tap_collective(int rank, int (*any_failed)(void *ctx, int failed), void *ctx);

#endif
