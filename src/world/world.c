/* See world.h. What is common to all ways to start: the decision, the agreement on errors, the one message at the end. */
#include "world/world.h"

#include "base/log.h"
#include "world/world_priv.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a failing rank waits for the others before it ends the job alone. At the end nobody has a reason to be late;
 * in the middle a rank may still be reading or computing. */
#define CLOSE_LIMIT_S 5.0
#define AGREE_LIMIT_S 60.0

static const char *env(const char *name)
{
    return getenv(name);
}

static int usable_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Ranks that wait must give their core to those that work when there are more ranks than cores. A rank that is bound to
 * a core of its own loses nothing by it. */
static int yield_when_crowded(const tt_launch *launch)
{
    if (!launch->mpi || launch->local_ranks <= usable_cores() || getenv("OMPI_MCA_mpi_yield_when_idle"))
        return 0;
    return setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0) == 0;
}

static void log_world(const tt_world *w, const tt_launch *launch, int yields)
{
    if (w->size == 1)
        tt_log_root(INFO, "world: 1 rank, alone (%s)", launch->how);
    else
        tt_log_root(INFO, "world: %d ranks on %d node%s (%s)", w->size, w->nodes, w->nodes == 1 ? "" : "s", launch->how);
    if (yields)
        tt_log_root(INFO, "world: %d ranks on a node, %d cores for this one: set OMPI_MCA_mpi_yield_when_idle=1",
                    launch->local_ranks, usable_cores());
}

static tt_status join(tt_world **world, int quiet, tt_error *err)
{
    tt_launch launch;
    *world = NULL;
    tt_status st = tt_launch_detect(env, &launch, err);
    if (st != TT_OK)
        return st;
    tt_world *w = calloc(1, sizeof *w);
    if (!w)
        return tt_fail(err, TT_ERR_NOMEM, "joining the job: out of memory");
    int yields = yield_when_crowded(&launch);
    st = launch.mpi ? tt_boot_mpi_open(w, launch.expected, err) : tt_boot_single_open(w, err);
    if (st != TT_OK) {
        free(w);
        return st;
    }
    tt_log_set_rank(w->rank, w->size);
    if (!quiet)
        log_world(w, &launch, yields);
    *world = w;
    return TT_OK;
}

tt_status tt_world_open(tt_world **world, tt_error *err)
{
    return join(world, 0, err);
}

/* Texts agreed on before already say whose they are. */
static int names_a_rank(const char *text)
{
    if (strncmp(text, "rank ", 5) != 0 || !isdigit((unsigned char)text[5]))
        return 0;
    text += 5;
    while (isdigit((unsigned char)*text))
        text++;
    return *text == ':';
}

static void print_message(tt_status st, const char *text)
{
    char line[TT_ERROR_TEXT_MAX + 64];
    int n = snprintf(line, sizeof line, "titan: %s: %s\n", st == TT_ERR_STOPPED ? "stopped" : "error",
                     *text ? text : tt_status_name(st));
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
        return; /* nowhere to say it */
}

/* A start that was refused is refused alike on all ranks, and there is no way to agree: the first rank speaks. */
static tt_status close_unjoined(tt_status st, const tt_error *err)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    const char *rank = NULL;
    for (size_t i = 0; !rank && i < sizeof names / sizeof names[0]; i++)
        rank = getenv(names[i]);
    if (!rank || atoi(rank) == 0)
        print_message(st, err ? err->text : "");
    return st;
}

/* Ends the job from the one rank that failed while the others did not come. */
static void die_alone(tt_world *w, tt_status st, const char *text)
{
    char line[TT_ERROR_TEXT_MAX + 32];
    if (!*text)
        text = tt_status_name(st);
    if (names_a_rank(text))
        snprintf(line, sizeof line, "%s", text);
    else
        snprintf(line, sizeof line, "rank %d: %s", w->rank, text);
    print_message(st, line);
    w->boot->abort(w->ctx, tt_exit_code(st));
}

/* Whose text it is, unless it is everyone's: all stop alike, or all made the same mistake. `text` is everyone's copy of
 * the first failing rank's, `mine` was this rank's. */
static void name_the_rank(tt_world *w, const tt_vote *v, tt_status st, tt_error *theirs, const char *mine)
{
    int64_t differs = strcmp(theirs->text, mine) != 0;
    if (v->all_failed)
        w->boot->fold(w->ctx, &differs, 1, TT_FOLD_MAX_I64);
    if (!theirs->text[0])
        snprintf(theirs->text, sizeof theirs->text, "%s", tt_status_name(st));
    if ((!v->all_failed || differs) && st != TT_ERR_STOPPED && !names_a_rank(theirs->text))
        tt_fail_context(theirs, st, "rank %d", v->first_failed);
}

/* The agreement: every rank gets the first failing rank's status and text. */
static tt_status agree(tt_world *w, tt_status st, tt_error *err, int closing)
{
    tt_vote v = {.failed = st != TT_OK, .closing = closing};
    const char *mine = err && st != TT_OK ? err->text : "";
    if (w->size == 1 || w->ended)
        return st;
    if (w->boot->vote(w->ctx, &v, st == TT_OK ? 0 : closing ? CLOSE_LIMIT_S : AGREE_LIMIT_S) != 0) {
        die_alone(w, st, mine);
        return st;
    }
    w->ended = v.some_close && !v.all_close;
    if (v.first_failed == w->size)
        return TT_OK;
    tt_error theirs = {.code = st};
    if (v.first_failed == w->rank)
        memcpy(theirs.text, mine, strlen(mine) + 1);
    w->boot->broadcast(w->ctx, &theirs.code, sizeof theirs.code, v.first_failed);
    w->boot->broadcast(w->ctx, theirs.text, sizeof theirs.text, v.first_failed);
    name_the_rank(w, &v, theirs.code, &theirs, mine);
    if (err) {
        err->code = theirs.code;
        memcpy(err->text, theirs.text, sizeof err->text);
    }
    return theirs.code;
}

tt_status tt_world_agree(tt_world *world, tt_status st, tt_error *err)
{
    return agree(world, st, err, 0);
}

tt_status tt_world_close(tt_world **world, tt_status st, const tt_error *err)
{
    if (!*world && st == TT_OK)
        return TT_OK;
    if (!*world && (st == TT_ERR_LAUNCH || join(world, 1, NULL) != TT_OK)) /* failed early: join to end together */
        return close_unjoined(st, err);
    tt_world *w = *world;
    tt_error last = {.code = st};
    if (err)
        memcpy(last.text, err->text, sizeof last.text);
    st = agree(w, st, &last, 1);
    if (st != TT_OK && w->rank == 0)
        print_message(st, last.text);
    w->boot->leave(w->ctx);
    free(w);
    *world = NULL;
    return st;
}

int tt_world_rank(const tt_world *world)
{
    return world->rank;
}

int tt_world_size(const tt_world *world)
{
    return world->size;
}

int tt_world_local_rank(const tt_world *world)
{
    return world->local_rank;
}

int tt_world_local_size(const tt_world *world)
{
    return world->local_size;
}

int tt_world_node(const tt_world *world)
{
    return world->node;
}

int tt_world_nodes(const tt_world *world)
{
    return world->nodes;
}

const char *tt_world_launcher(const tt_world *world)
{
    return world->boot->name;
}

void tt_world_barrier(tt_world *world)
{
    world->boot->barrier(world->ctx);
}

void tt_world_broadcast(tt_world *world, void *data, size_t bytes, int root)
{
    TT_ASSERT(root >= 0 && root < world->size);
    if (bytes)
        world->boot->broadcast(world->ctx, data, bytes, root);
}

void tt_world_sum_i64(tt_world *world, int64_t *data, int n)
{
    world->boot->fold(world->ctx, data, n, TT_FOLD_SUM_I64);
}

void tt_world_max_i64(tt_world *world, int64_t *data, int n)
{
    world->boot->fold(world->ctx, data, n, TT_FOLD_MAX_I64);
}

void tt_world_max_f64(tt_world *world, double *data, int n)
{
    world->boot->fold(world->ctx, data, n, TT_FOLD_MAX_F64);
}

tt_status tt_world_gather(tt_world *world, const void *data, size_t bytes, void **all, size_t *offsets, tt_error *err)
{
    tt_world *w = world;
    tt_status st = TT_OK;
    uint64_t mine = bytes, *sizes = NULL, *one_each = NULL;
    *all = NULL;
    if (w->rank == 0) {
        sizes = calloc((size_t)w->size, sizeof *sizes);
        one_each = calloc((size_t)w->size, sizeof *one_each);
        if (!sizes || !one_each)
            st = tt_fail(err, TT_ERR_NOMEM, "gathering from %d ranks: out of memory", w->size);
    }
    TT_TRY(tt_world_agree(w, st, err));
    for (int r = 0; w->rank == 0 && r < w->size; r++)
        one_each[r] = sizeof mine;
    w->boot->collect(w->ctx, &mine, sizeof mine, sizes, one_each);
    if (w->rank == 0) {
        offsets[0] = 0;
        for (int r = 0; r < w->size; r++)
            offsets[r + 1] = offsets[r] + (size_t)sizes[r];
        *all = malloc(offsets[w->size] + 1); /* never a NULL for nothing */
        if (!*all)
            st = tt_fail(err, TT_ERR_NOMEM, "gathering %zu bytes from %d ranks: out of memory", offsets[w->size], w->size);
    }
    TT_TRY(tt_world_agree(w, st, err));
    w->boot->collect(w->ctx, data, bytes, *all, sizes);
out:
    free(sizes);
    free(one_each);
    return st;
}

void *tt_world_mpi_comm(tt_world *world)
{
    return world->boot->mpi_comm(world->ctx);
}
