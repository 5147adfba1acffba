/* A fixed team of threads for the CPU kernels: made once, handed to every kernel, asleep between
 * runs.
 *
 * The caller is thread 0 of the team. A run splits n_tasks into one contiguous range per thread,
 * always the same way for the same (n_tasks, n_threads), so that sums made per thread have the same
 * bits in every run. Workers spin for some microseconds after a run, because the next kernel
 * follows at once, then sleep. They run on the cores that the
 * creating thread may use (its affinity, which a launcher sets when it binds ranks) and are not
 * tied to single ones: ranks that share cores would get in each other's way. A NULL pool is legal
 * everywhere and means: the caller alone. */
#ifndef TT_KERNELS_CPU_POOL_H
#define TT_KERNELS_CPU_POOL_H

#include "base/error.h"
#include "kernels/cpu/simd.h"
#include "kernels/kernels.h"

#define TT_POOL_THREADS_MAX 1024

/** Work on tasks begin..end-1 as thread `thread` of the team (0 is the caller). May be an empty
 * range. */
typedef void (*tt_pool_fn)(void *ctx, int64_t begin, int64_t end, int thread);

/** Create a team of n_threads, the caller included (1..TT_POOL_THREADS_MAX). Owned by the caller.
 *  Also tells BLAS to use one thread per call: the kernels split matrix products over this team
 * themselves. Errors: TT_ERR_CONFIG for a count out of range, TT_ERR_NOMEM when threads or memory
 * are refused. */
tt_status tt_pool_create(int n_threads, tt_pool **out, tt_error *err);

/** Stop and free the team; sets *pool to NULL. Accepts NULL. No run may be in progress. */
void tt_pool_destroy(tt_pool **pool);

/** Threads of the team; 1 for NULL. */
int tt_pool_threads(const tt_pool *pool);

/** The instruction set that the kernels of this team use: the best of this CPU unless tt_pool_use
 * said otherwise, or the best for NULL. */
const tt_simd *tt_pool_simd(const tt_pool *pool);

/** Let the kernels of this team use `simd`, one of tt_simd_at. Not during a run. */
void tt_pool_use(tt_pool *pool, const tt_simd *simd);

/** Run fn over n_tasks in one contiguous range per thread and return when all are done. Not to be
 * nested. */
void tt_pool_run(tt_pool *pool, tt_pool_fn fn, void *ctx, int64_t n_tasks);

/** As tt_pool_run, but threads take one task at a time, whoever is free. Only for tasks whose
 * result does not depend on who runs them or when; costs of tasks may differ widely. */
void tt_pool_run_uneven(tt_pool *pool, tt_pool_fn fn, void *ctx, int64_t n_tasks);

#endif
