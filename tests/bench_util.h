/* What the kernel benches share: their clock and their memory. */
#ifndef TT_TESTS_BENCH_UTIL_H
#define TT_TESTS_BENCH_UTIL_H

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* Seconds: of this process's processor time for one thread, else by the wall clock. */
static inline double now(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Memory as the CPU device gives it: huge pages where they are allowed. TITAN_SMALL_PAGES=1: not.
 */
static inline void *reserve(size_t bytes)
{
    const size_t page = (size_t)2 << 20, size = (bytes + page - 1) / page * page;
    void *p = aligned_alloc(page, size);
    if (!p)
        exit(1);
    if (!getenv("TITAN_SMALL_PAGES"))
        madvise(p, size, MADV_HUGEPAGE);
    return p;
}

#endif
