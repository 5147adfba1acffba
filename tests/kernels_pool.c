/* The thread pool: refusals, every task done once, the same split every time, and waking after
 * sleep. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cpu/pool.h"
#include "tap.h"

#define TASKS 1000

typedef struct record {
    int done[TASKS], by[TASKS];
} record;

static void mark(void *ctx, int64_t begin, int64_t end, int thread)
{
    record *r = ctx;
    for (int64_t i = begin; i < end; i++) {
        r->done[i]++;
        r->by[i] = thread;
    }
}

static int all_once(const record *r, int n)
{
    for (int i = 0; i < TASKS; i++)
        if (r->done[i] != (i < n))
            return 0;
    return 1;
}

static void test_refusals(void)
{
    tt_error err = {0};
    tt_pool *pool = NULL;
    is_int(tt_pool_create(0, &pool, &err), TT_ERR_CONFIG, "no threads are refused");
    is_str(err.text,
           "starting CPU threads: asked for 0; use 1 to 1024, at most the cores of this node",
           "with the reason");
    is_int(tt_pool_create(1025, &pool, &err), TT_ERR_CONFIG, "too many threads are refused");
    ok(pool == NULL, "no pool is left behind");
    tt_pool_destroy(&pool);
    is_int(tt_pool_threads(NULL), 1, "no pool is one thread");
}

static void test_runs(int threads)
{
    tt_pool *pool = NULL;
    static const int counts[] = {0, 1, 2, 3, 7, 64, TASKS};
    is_int(tt_pool_create(threads, &pool, NULL), TT_OK, "create %d threads", threads);
    is_int(tt_pool_threads(pool), threads, "it has %d threads", threads);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        record first = {0}, again = {0}, uneven = {0};
        tt_pool_run(pool, mark, &first, counts[c]);
        ok(all_once(&first, counts[c]), "%d tasks on %d threads: each once", counts[c], threads);
        if (c % 2)
            usleep(3000); /* workers are asleep now */
        tt_pool_run(pool, mark, &again, counts[c]);
        ok(memcmp(&first, &again, sizeof first) == 0, "the same thread has the same tasks again");
        tt_pool_run_uneven(pool, mark, &uneven, counts[c]);
        ok(all_once(&uneven, counts[c]), "uneven: each once");
        int in_order = 1;
        for (int i = 1; i < counts[c]; i++)
            in_order &= first.by[i] >= first.by[i - 1] && first.by[i] < threads;
        ok(in_order, "ranges follow the thread numbers");
    }
    record many = {0};
    for (int i = 0; i < 2000; i++)
        tt_pool_run(pool, mark, &many, 5);
    int each = 1;
    for (int i = 0; i < 5; i++)
        each &= many.done[i] == 2000;
    ok(each, "2000 runs one after another lose nothing");
    tt_pool_destroy(&pool);
    ok(pool == NULL, "destroy clears the pointer");
}

int main(void)
{
    record alone = {0};
    test_refusals();
    tt_pool_run(NULL, mark, &alone, 9);
    ok(all_once(&alone, 9), "no pool: the caller does all tasks");
    for (int threads = 1; threads <= 5; threads += 2)
        test_runs(threads);
    return done_testing();
}
