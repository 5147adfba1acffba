/* Four ranks: what any mesh saves any mesh reads, with boxes uneven or empty and owners replicated; and one rank's full
 * disk is everyone's error and nobody's checkpoint. */
#include "ckpt_common.h"

#include "tap.h"
#include "tap_world.h"

#include <errno.h>
#include <sys/mount.h>

static tt_world *world;
static tt_error err;
static int rank;

static const struct {
    const char *name;
    tt_dtype dtype;
    int ndim;
    int64_t shape[3];
} logical[] = {
    {"model/tok_embeddings.weight", TT_F32, 2, {6, 10}}, {"model/wq.weight", TT_BF16, 2, {5, 7}},
    {"model/norm.weight", TT_F32, 1, {3}},               {"model/one", TT_F32, 1, {1}},
    {"optim/exp_avg/w", TT_F32, 3, {4, 6, 5}},           {"data/cursor", TT_I64, 0, {0}},
    {"model/large", TT_BF16, 2, {130, 257}},
};
#define N ((int)(sizeof logical / sizeof logical[0]))

enum { FSDP4, GRID2x2, HSDP2x2, ONE, N_MESHES };
static const char *const mesh_name[N_MESHES] = {"dp_shard 4", "dp_shard 2 x tp 2", "dp_replicate 2 x dp_shard 2", "one rank"};

/* This rank's boxes on a mesh. */
static void place(int mesh, tt_ckpt_tensor *t)
{
    for (int i = 0; i < N; i++) {
        t[i] = (tt_ckpt_tensor){.name = logical[i].name, .dtype = logical[i].dtype, .ndim = logical[i].ndim, .owner = 1};
        memcpy(t[i].shape, logical[i].shape, sizeof logical[i].shape);
        memcpy(t[i].count, logical[i].shape, sizeof logical[i].shape);
        int last = t[i].ndim - 1;
        if (t[i].ndim == 0) {
            t[i].owner = rank == 0;
        } else if (mesh == FSDP4) {
            cut(t[i].shape[0], 4, rank, &t[i].start[0], &t[i].count[0]);
        } else if (mesh == GRID2x2) {
            cut(t[i].shape[0], 2, rank / 2, &t[i].start[0], &t[i].count[0]);
            if (last > 0)
                cut(t[i].shape[last], 2, rank % 2, &t[i].start[last], &t[i].count[last]);
            else
                t[i].owner = rank % 2 == 0; /* vectors are replicated on tp */
        } else if (mesh == HSDP2x2) {
            cut(t[i].shape[last], 2, rank % 2, &t[i].start[last], &t[i].count[last]);
            t[i].owner = rank / 2 == 0;
        } else if (rank != 0) {
            t[i].count[0] = 0;
        }
        give_memory(&t[i], rank % 3);
    }
}

static void release(tt_ckpt_tensor *t)
{
    for (int i = 0; i < N; i++)
        free(t[i].data);
}

static void any_to_any(const char *dir)
{
    tt_ckpt_tensor t[N];
    for (int from = 0; from < N_MESHES; from++) {
        place(from, t);
        for (int i = 0; i < N; i++)
            visit(&t[i], i, 0);
        ok(tt_ckpt_save(world, &(tt_ckpt_options){.dir = dir, .keep_latest_k = 2}, from, "{\"mesh\": 1}", t, N, &err) == TT_OK,
           "saved on %s %s", mesh_name[from], err.text);
        release(t);
        for (int to = 0; to < N_MESHES; to++) {
            tt_ckpt *c = NULL;
            int64_t wrong = 0;
            place(to, t);
            ok(tt_ckpt_open(dir, -1, &c, &err) == TT_OK && c && tt_ckpt_step(c) == from, "the newest is opened");
            tt_status st = c ? tt_ckpt_read(c, t, N, &err) : TT_ERR_CKPT;
            for (int i = 0; i < N && st == TT_OK; i++)
                wrong += visit(&t[i], i, 1);
            ok(st == TT_OK && wrong == 0, "%s -> %s: bit equal (%s)", mesh_name[from], mesh_name[to], st ? err.text : "");
            ok(c && tt_ckpt_verify(c, &err) == TT_OK, "and sound");
            tt_ckpt_close(&c);
            release(t);
        }
        tt_world_barrier(world);
    }
    ok(!tt_fs_exists(at(dir, "step-1")) && tt_fs_exists(at(dir, "step-2")) && tt_fs_exists(at(dir, "step-3")), "the last two are kept");
}

static void one_bad_rank(const char *dir)
{
    float x[8] = {0};
    tt_ckpt_tensor t = {.name = "model/x", .ndim = 1, .shape = {32}, .start = {rank * 8}, .count = {8}, .pitch = {8}, .data = x, .owner = 1};
    tt_ckpt_tensor bad = t;
    if (rank == 2)
        bad.pitch[0] = 4;
    ok(tt_ckpt_save(world, &(tt_ckpt_options){.dir = dir}, 50, "{}", &bad, 1, &err) == TT_ERR_INTERNAL, "a bad tensor on rank 2");
    is_str(err.text,
           "the checkpoint of step 50 was not saved: rank 2: saving tensor model/x: its box, pitch "
           "or data do not fit its shape;"
           " this is a fault of titan: please report it with this text and the configuration",
           "every rank knows");
    bad = t;
    if (rank == 3)
        bad.name = "model/y";
    ok(tt_ckpt_save(world, &(tt_ckpt_options){.dir = dir}, 50, "{}", &bad, 1, &err) == TT_ERR_INTERNAL &&
           strstr(err.text, "the ranks do not list the same tensors"), "another list on rank 3");
    bad = t;
    if (rank == 1)
        bad.start[0] = 0;
    ok(tt_ckpt_save(world, &(tt_ckpt_options){.dir = dir}, 50, "{}", &bad, 1, &err) == TT_ERR_CKPT && strstr(err.text, "two shards overlap"),
       "two ranks own the same rows: %s", err.text);
    ok(!tt_fs_exists(at(dir, "step-50")) && !tt_fs_exists(at(dir, "step-50.tmp")), "nothing is left");
}

/* A small file system of its own, when we may mount one. */
static void full_disk(const char *dir)
{
    char disk[128];
    int64_t mounted = 0;
    snprintf(disk, sizeof disk, "%s/disk", dir);
    if (rank == 0) {
        mkdir(disk, 0777);
        mounted = mount("tmpfs", disk, "tmpfs", 0, "size=6m") == 0;
        if (!mounted)
            diag("no small tmpfs: %s", strerror(errno));
    }
    tt_world_broadcast(world, &mounted, sizeof mounted, 0);
    if (!mounted) {
        ok(1, "a full disk # SKIP mounting a tmpfs needs root");
        return;
    }
    int64_t rows = 500;
    tt_ckpt *c = NULL;
    for (int step = 1; step <= 2; step++, rows = 2000) { /* 4 x 0.5 MB, then 4 x 2 MB */
        tt_ckpt_tensor t = {.name = "model/w", .ndim = 2, .shape = {4 * rows, 256}, .start = {rank * rows, 0}, .count = {rows, 256}, .owner = 1};
        give_memory(&t, 0);
        visit(&t, 1, 0);
        tt_status st = tt_ckpt_save(world, &(tt_ckpt_options){.dir = disk, .keep_latest_k = 1}, step, "{}", &t, 1, &err);
        if (step == 1)
            ok(st == TT_OK, "the small one fits %s", err.text);
        else
            ok(st == TT_ERR_IO && strstr(err.text, "the checkpoint of step 2 was not saved: rank ") && strstr(err.text, "free"),
               "the large one does not: %s", err.text);
        free(t.data);
    }
    ok(!tt_fs_exists(at(disk, "step-2")) && !tt_fs_exists(at(disk, "step-2.tmp")), "nothing is left of it");
    ok(tt_ckpt_open(disk, -1, &c, &err) == TT_OK && c && tt_ckpt_step(c) == 1 && tt_ckpt_verify(c, &err) == TT_OK,
       "the older one is whole");
    tt_ckpt_close(&c);
    tt_world_barrier(world);
    if (rank == 0)
        ok(umount(disk) == 0, "unmounted");
    else
        ok(1, "unmounted");
}

int main(void)
{
    char dir[] = "/tmp/titan-ckpt-ranks-XXXXXX", sub[64];
    if (tt_world_open(&world, &err) != TT_OK)
        return 1;
    tap_join(world);
    rank = tt_world_rank(world);
    if (tt_world_size(world) != 4)
        skip_all("needs four ranks");
    if (rank == 0 && !mkdtemp(dir))
        abort();
    tt_world_broadcast(world, dir, sizeof dir, 0);
    snprintf(sub, sizeof sub, "%s/any", dir);
    any_to_any(sub);
    one_bad_rank(sub);
    full_disk(dir);
    tt_world_barrier(world);
    if (rank == 0)
        tt_fs_remove_all(dir, NULL);
    int failed = done_testing();
    tt_world_close(&world, TT_OK, NULL);
    return failed;
}
