/* See prefetch.h.
 *
 * A ring of `depth` slots. The thread fills slot `made % depth` while made - taken < depth; the caller empties slot
 * `taken % depth`. `cursor` is that of the slot to be taken next; a caller that wants another one raises `generation`,
 * which makes the thread drop what it is reading. */
#include "data/prefetch.h"

#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct slot {
    int32_t *ids; /* owned: [n_microbatches][4][batch * seq_len] */
    tt_status st;
    tt_error err;
} slot;

struct tt_prefetch {
    tt_prefetch_opts o;
    slot *slot; /* owned */
    pthread_t thread;
    int started;
    pthread_mutex_t lock;
    pthread_cond_t made_more, taken_more;
    /* under the lock */
    int64_t cursor, made, taken;
    uint64_t generation;
    int stop;
};

static int64_t ints_of(const tt_prefetch_opts *o)
{
    return o->batch * o->seq_len;
}

static void fill(const tt_prefetch_opts *o, slot *s, int64_t cursor)
{
    const int64_t n = ints_of(o);
    s->st = TT_OK;
    for (int m = 0; m < o->n_microbatches && s->st == TT_OK; m++) {
        int32_t *at = s->ids + m * 4 * n;
        s->st = tt_loader_get(o->loader, cursor + o->offset + m * o->stride, o->batch, at, at + n, at + 2 * n, at + 3 * n,
                              &s->err);
    }
}

static void *work(void *arg)
{
    tt_prefetch *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (p->made - p->taken == p->o.depth) {
            pthread_cond_wait(&p->taken_more, &p->lock);
            continue;
        }
        slot *s = &p->slot[p->made % p->o.depth];
        const int64_t cursor = p->cursor + (p->made - p->taken) * p->o.step_rows;
        const uint64_t generation = p->generation;
        pthread_mutex_unlock(&p->lock);
        fill(&p->o, s, cursor);
        pthread_mutex_lock(&p->lock);
        if (generation == p->generation) {
            p->made++;
            pthread_cond_signal(&p->made_more);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* The thread takes no signals: they are the main thread's. */
static tt_status start_thread(tt_prefetch *p, tt_error *err)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int e = pthread_create(&p->thread, NULL, work, p);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    p->started = e == 0;
    return e == 0 ? TT_OK
                  : tt_fail(err, TT_ERR_IO, "starting the data thread: %s; raise the limit of processes (ulimit -u)", strerror(e));
}

tt_status tt_prefetch_start(const tt_prefetch_opts *opts, int64_t cursor, tt_prefetch **out, tt_error *err)
{
    tt_status st = TT_OK;
    *out = NULL;
    TT_ASSERT(opts->depth >= 1 && opts->batch >= 1 && opts->n_microbatches >= 1);
    tt_prefetch *p = calloc(1, sizeof *p);
    if (!p)
        return tt_fail(err, TT_ERR_NOMEM, "starting the data thread: no memory");
    p->o = *opts;
    p->cursor = cursor;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->made_more, NULL);
    pthread_cond_init(&p->taken_more, NULL);
    p->slot = calloc((size_t)opts->depth, sizeof *p->slot);
    for (int i = 0; p->slot && i < opts->depth && st == TT_OK; i++) {
        p->slot[i].ids = malloc((size_t)(ints_of(opts) * 4 * opts->n_microbatches) * sizeof(int32_t));
        if (!p->slot[i].ids)
            st = tt_fail(err, TT_ERR_NOMEM, "reading %d steps ahead: no memory", opts->depth);
    }
    if (!p->slot)
        st = tt_fail(err, TT_ERR_NOMEM, "reading %d steps ahead: no memory", opts->depth);
    if (st == TT_OK)
        st = start_thread(p, err);
    if (st == TT_OK)
        *out = p;
    else
        tt_prefetch_stop(&p);
    return st;
}

void tt_prefetch_stop(tt_prefetch **prefetch)
{
    tt_prefetch *p = *prefetch;
    if (!p)
        return;
    if (p->started) {
        pthread_mutex_lock(&p->lock);
        p->stop = 1;
        pthread_cond_signal(&p->taken_more);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
    }
    for (int i = 0; p->slot && i < p->o.depth; i++)
        free(p->slot[i].ids);
    free(p->slot);
    pthread_cond_destroy(&p->made_more);
    pthread_cond_destroy(&p->taken_more);
    pthread_mutex_destroy(&p->lock);
    free(p);
    *prefetch = NULL;
}

static void hand_over(const tt_prefetch_opts *o, const slot *s, const tt_rows *out)
{
    const int64_t n = ints_of(o);
    for (int m = 0; m < o->n_microbatches; m++) {
        const int32_t *at = s->ids + m * 4 * n;
        int32_t *to[4] = {out[m].tokens, out[m].targets, out[m].positions, out[m].doc_start};
        for (int k = 0; k < 4; k++)
            if (to[k])
                memcpy(to[k], at + k * n, (size_t)n * sizeof *at);
    }
}

tt_status tt_prefetch_take(tt_prefetch *p, int64_t cursor, const tt_rows *out, double *waited, tt_error *err)
{
    const double start = tt_clock_s();
    pthread_mutex_lock(&p->lock);
    if (cursor != p->cursor) {
        p->cursor = cursor;
        p->made = p->taken;
        p->generation++;
        pthread_cond_signal(&p->taken_more);
    }
    while (p->made == p->taken)
        pthread_cond_wait(&p->made_more, &p->lock);
    const slot *s = &p->slot[p->taken % p->o.depth];
    pthread_mutex_unlock(&p->lock);
    if (waited)
        *waited = tt_clock_s() - start;
    tt_status st = s->st;
    if (st == TT_OK)
        hand_over(&p->o, s, out);
    else if (err)
        *err = s->err;
    pthread_mutex_lock(&p->lock);
    p->taken++;
    p->cursor += p->o.step_rows;
    pthread_cond_signal(&p->taken_more);
    pthread_mutex_unlock(&p->lock);
    return st;
}
