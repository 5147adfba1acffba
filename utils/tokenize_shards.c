/* titan-tokenize shards: one thread reads documents into batches and writes what became of them, in order; the others encode.
 *
 * Batches go round in a ring. Before a batch is filled anew its last contents are written, so files have the same bytes whatever the
 * number of threads, and memory is the ring. */
#include "base/clock.h"
#include "base/fs.h"
#include "base/progress.h"
#include "base/signals.h"
#include "tokenize.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_BYTES = 1 << 20, BATCH_DOCUMENTS = 4096 };

typedef enum batch_state { EMPTY, FILLED, ENCODED } batch_state;

typedef struct batch {
    batch_state state;
    char *text; /* owned: the documents one behind the other */
    size_t bytes, room;
    size_t ends[BATCH_DOCUMENTS]; /* of each in text */
    int n;
    int32_t *ids; /* owned */
    size_t n_ids, ids_room;
    size_t id_ends[BATCH_DOCUMENTS];
    tt_status st;
    tt_error err;
} batch;

typedef struct pipeline {
    const tt_tokenize_job *job;
    batch *ring; /* owned */
    int n_ring;
    int64_t filled, taken, written; /* batches so far, under lock */
    int stop;
    pthread_mutex_t lock;
    pthread_cond_t more, done;
    pthread_t *threads; /* owned */
    int n_threads;
    tt_token_set *set;
    tt_text_counts counts; /* of the readers that are closed */
    int64_t no_tokens;     /* documents that the tokenizer makes nothing of */
    tt_progress progress;
} pipeline;

/* --- encoding -------------------------------------------------------------------------------------------------------------------------- */

static tt_status encode(const tt_tokenizer *t, batch *b, tt_error *err)
{
    tt_status st = TT_OK;
    int32_t *ids = NULL;
    b->n_ids = 0;
    for (int i = 0; i < b->n; i++) {
        const size_t from = i ? b->ends[i - 1] : 0;
        size_t n;
        TT_TRY(tt_tokenizer_encode(t, b->text + from, b->ends[i] - from, &ids, &n, err));
        if (b->n_ids + n > b->ids_room) {
            const size_t room = 2 * (b->n_ids + n);
            int32_t *more = realloc(b->ids, room * sizeof *more);
            if (!more)
                TT_TRY(tt_fail(err, TT_ERR_NOMEM, "no memory for %zu tokens", room));
            b->ids = more;
            b->ids_room = room;
        }
        if (n)
            memcpy(b->ids + b->n_ids, ids, n * sizeof *ids);
        b->n_ids += n;
        b->id_ends[i] = b->n_ids;
        free(ids);
        ids = NULL;
    }
out:
    free(ids);
    return st;
}

static void *encoder(void *ctx)
{
    pipeline *p = ctx;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->taken == p->filled && !p->stop)
            pthread_cond_wait(&p->more, &p->lock);
        if (p->taken == p->filled)
            break;
        batch *b = &p->ring[p->taken++ % p->n_ring];
        pthread_mutex_unlock(&p->lock);
        b->st = encode(p->job->tokenizer, b, &b->err);
        pthread_mutex_lock(&p->lock);
        b->state = ENCODED;
        pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* --- reading and writing ------------------------------------------------------------------------------------------------------------------ */

static tt_status stopped(tt_error *err)
{
    const int signal = tt_signals_seen();
    return signal ? tt_fail(err, TT_ERR_STOPPED, "stopped by %s; nothing was written: start again for the whole", tt_signals_name(signal)) : TT_OK;
}

/* Wait for the oldest batch and write it. */
static tt_status write_oldest(pipeline *p, tt_error *err)
{
    batch *b = &p->ring[p->written % p->n_ring];
    tt_status st = TT_OK;
    pthread_mutex_lock(&p->lock);
    while (b->state != ENCODED)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
    if (b->st != TT_OK) {
        *err = b->err;
        return b->st;
    }
    for (int i = 0; i < b->n; i++) {
        const size_t from = i ? b->id_ends[i - 1] : 0;
        if (b->id_ends[i] == from)
            p->no_tokens++;
        else
            TT_TRY(tt_token_set_add(p->set, b->ids + from, b->id_ends[i] - from, err));
    }
    b->state = EMPTY;
    b->n = 0;
    b->bytes = 0;
    p->written++;
    TT_TRY(stopped(err));
out:
    return st;
}

static tt_status put(batch *b, const tt_text_doc *d, tt_error *err)
{
    if (b->bytes + d->bytes > b->room) {
        const size_t room = b->bytes + d->bytes + BATCH_BYTES;
        char *text = realloc(b->text, room);
        if (!text)
            return tt_fail(err, TT_ERR_NOMEM, "no memory for a document of %zu bytes", d->bytes);
        b->text = text;
        b->room = room;
    }
    memcpy(b->text + b->bytes, d->text, d->bytes);
    b->bytes += d->bytes;
    b->ends[b->n++] = b->bytes;
    return TT_OK;
}

static void hand_over(pipeline *p, batch *b)
{
    pthread_mutex_lock(&p->lock);
    b->state = FILLED;
    p->filled++;
    pthread_cond_signal(&p->more);
    pthread_mutex_unlock(&p->lock);
}

static void show(pipeline *p, const tt_text_counts *now)
{
    tt_progress_show(&p->progress, p->counts.bytes_in + now->bytes_in, p->counts.bytes_out + now->bytes_out, tt_token_set_tokens(p->set),
                     tt_clock_s());
}

static tt_status read_file(pipeline *p, const char *path, tt_error *err)
{
    tt_text_reader *reader = NULL;
    tt_text_doc d;
    tt_status st;
    TT_TRY(tt_text_reader_open(path, &p->job->text, &reader, err));
    for (;;) {
        batch *b = &p->ring[p->filled % p->n_ring];
        if (p->filled - p->written == p->n_ring)
            TT_TRY(write_oldest(p, err));
        TT_TRY(tt_text_next(reader, &d, err));
        TT_TRY(stopped(err));
        if (!d.text)
            break;
        TT_TRY(put(b, &d, err));
        if (b->bytes >= BATCH_BYTES || b->n == BATCH_DOCUMENTS)
            hand_over(p, b);
        show(p, tt_text_reader_counts(reader));
    }
    tt_text_counts_add(&p->counts, tt_text_reader_counts(reader));
out:
    tt_text_reader_close(&reader);
    return st;
}

static tt_status read_all(pipeline *p, const tt_text_list *list, tt_error *err)
{
    tt_status st = TT_OK;
    for (int i = 0; i < list->n; i++)
        TT_TRY(read_file(p, list->paths[i], err));
    batch *last = &p->ring[p->filled % p->n_ring];
    if (p->filled - p->written < p->n_ring && last->n > 0)
        hand_over(p, last);
    while (p->written < p->filled) {
        TT_TRY(write_oldest(p, err));
        show(p, &(tt_text_counts){0});
    }
out:
    return st;
}

/* --- the whole ------------------------------------------------------------------------------------------------------------------------------ */

static tt_status begin(pipeline *p, tt_error *err)
{
    const tt_tokenize_job *job = p->job;
    const tt_tokenizer *t = job->tokenizer;
    tt_token_set_opts o = {.prefix = job->out, .kind = job->kind, .shard_tokens = job->shard_tokens};
    tt_status st;
    o.info.token_bytes = job->token_bytes;
    o.info.vocab = tt_tokenizer_vocab(t);
    o.info.bos = job->no_bos ? -1 : tt_tokenizer_bos(t);
    o.info.eos = job->no_eos ? -1 : tt_tokenizer_eos(t);
    snprintf(o.info.name, sizeof o.info.name, "%s", tt_tokenizer_name(t));
    TT_TRY(tt_tokenizer_identity(t, o.info.tokenizer, err));
    TT_TRY(tt_token_set_create(&o, &p->set, err));
    p->n_ring = 2 * job->threads + 2;
    p->ring = calloc((size_t)p->n_ring, sizeof *p->ring);
    p->threads = calloc((size_t)job->threads, sizeof *p->threads);
    if (!p->ring || !p->threads)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "no memory for %d threads", job->threads));
    for (; p->n_threads < job->threads; p->n_threads++)
        if (pthread_create(&p->threads[p->n_threads], NULL, encoder, p) != 0)
            TT_TRY(tt_fail(err, TT_ERR_NOMEM, "cannot start thread %d of %d; ask for fewer", p->n_threads + 1, job->threads));
out:
    return st;
}

static void end(pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    p->taken = p->filled; /* what waits is not wanted any more */
    pthread_cond_broadcast(&p->more);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_threads; i++)
        pthread_join(p->threads[i], NULL);
    for (int i = 0; p->ring && i < p->n_ring; i++) {
        free(p->ring[i].text);
        free(p->ring[i].ids);
    }
    free(p->ring);
    free(p->threads);
    tt_token_set_close(&p->set);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->more);
    pthread_cond_destroy(&p->done);
}

static void summary(pipeline *p)
{
    char rate[16];
    const int files = tt_token_set_files(p->set);
    const double seconds = tt_clock_s() - p->progress.begun;
    printf("read: ");
    tt_text_counts_print(&p->counts, stdout);
    if (p->no_tokens)
        printf("%lld text%s gave no tokens and make no document\n", (long long)p->no_tokens, p->no_tokens == 1 ? "" : "s");
    printf("wrote: %d file%s, %s", files, files == 1 ? "" : "s", tt_token_set_path(p->set, 0));
    if (files > 1)
        printf(" to %s", tt_token_set_path(p->set, files - 1));
    printf(", %s, %s, %lld document%s, %lld tokens\n", tt_token_kind_name(p->job->kind), tt_token_set_token_bytes(p->set) == 2 ? "u16" : "u32",
           (long long)tt_token_set_documents(p->set), tt_token_set_documents(p->set) == 1 ? "" : "s", (long long)tt_token_set_tokens(p->set));
    printf("time: %.1f s, %.1f MB/s, %s tokens/s\n", seconds, (double)p->counts.bytes_out / seconds / 1e6,
           tt_progress_number((double)tt_token_set_tokens(p->set) / seconds, rate));
}

tt_status tt_tokenize_shards(const tt_tokenize_job *job, char **names, int n, tt_error *err)
{
    pipeline p = {.job = job, .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};
    tt_text_list list = {0};
    tt_status st = TT_OK;
    for (int i = 0; i < n; i++)
        TT_TRY(tt_text_list_add(&list, names[i], err));
    tt_signals_install();
    tt_progress_begin(&p.progress, stderr, "tokens", list.bytes, tt_clock_s());
    TT_TRY(begin(&p, err));
    TT_TRY(read_all(&p, &list, err));
    if (tt_token_set_documents(p.set) == 0)
        TT_TRY(tt_fail(err, TT_ERR_DATA, "there is no document in what was given (%d file%s, the first is %s); nothing was written: give files with text", list.n,
                       list.n == 1 ? "" : "s", list.paths[0]));
    TT_TRY(tt_token_set_finish(p.set, err));
    tt_progress_end(&p.progress);
    summary(&p);
out:
    if (st != TT_OK && p.progress.out)
        tt_progress_end(&p.progress);
    end(&p);
    tt_text_list_free(&list);
    return st;
}
