/* Names in a checkpoint folder: steps are numbers, what is foreign stays, and only sound checkpoints are counted. */
#include "ckpt_common.h"

#include "ckpt/layout.h"
#include "ckpt/retain.h"
#include "tap.h"

static tt_world *world;
static tt_error err;

/* A checkpoint of one small tensor. */
static void save(const char *dir, int64_t step, int keep)
{
    float x[4] = {1, 2, 3, (float)step};
    tt_ckpt_tensor t = {.name = "model/x", .ndim = 1, .shape = {4}, .count = {4}, .pitch = {4}, .data = x, .owner = 1};
    ok(tt_ckpt_save(world, &(tt_ckpt_options){.dir = dir, .keep_latest_k = keep}, step, "{}", &t, 1, &err) == TT_OK,
       "step %lld saved", (long long)step);
}

static int64_t newest(const char *dir)
{
    tt_ckpt *c = NULL;
    int64_t step = -1;
    if (tt_ckpt_open(dir, -1, &c, &err) == TT_OK && c)
        step = tt_ckpt_step(c);
    tt_ckpt_close(&c);
    return step;
}

static void names(void)
{
    static const struct {
        const char *name;
        long long step;
    } table[] = {{"step-1000", 1000}, {"step-0950", 950}, {"step-0", 0}, {"step-", -1}, {"step-best", -1}, {"step-10.bak", -1},
                 {"step--1", -1}, {"step- 1", -1}, {"Step-1", -1}, {"step-1234567890123456789", -1}, {"step-5.tmp", -1}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        is_int(tt_ckpt_parse_step(table[i].name), table[i].step, "name %s", table[i].name);
}

static void newest_is_a_number(const char *dir)
{
    static const char *const foreign[] = {"step-best", "step-100.bak", "checkpoints-old"};
    int64_t steps[] = {900, 1000, 950};
    is_int(newest(at(dir, "nothing here")), -1, "no folder: no checkpoint, no error");
    for (int i = 0; i < 3; i++)
        save(dir, steps[i], 0);
    ok(rename(at(dir, "step-950"), at(dir, "step-0950")) == 0, "950 is spelled 0950");
    for (int i = 0; i < 3; i++)
        mkdir(at(dir, foreign[i]), 0777);
    put_file(at(dir, "step-2000"), "a file");
    mkdir(at(dir, "step-3000"), 0777); /* uncommitted */
    is_int(newest(dir), 1000, "newest is the committed step with the largest number");
    tt_ckpt_listing l;
    ok(tt_ckpt_list(dir, &l, &err) == TT_OK, "listed");
    is_int(l.n_steps, 4, "four step folders");
    is_int(l.steps[0].step, 3000, "the uncommitted one is first");
    ok(!l.steps[0].committed && l.steps[1].committed, "and known as such");
    is_str(l.steps[2].name, "step-0950", "950 comes third, as spelled");
    ok(strstr(l.foreign, "step-2000") && strstr(l.foreign, "step-best") && strstr(l.foreign, "step-100.bak"),
       "foreign names are told: %s", l.foreign);
    tt_ckpt_listing_free(&l);

    ok(tt_ckpt_retain(dir, 0, &err) == TT_OK, "keep 0");
    ok(tt_fs_exists(at(dir, "step-900")) && tt_fs_exists(at(dir, "step-0950")), "keep 0 deletes nothing");
    mkdir(at(dir, ".trash-step-7"), 0777);
    mkdir(at(dir, "step-800.tmp"), 0777);
    mkdir(at(dir, "step-4000.tmp"), 0777);
    ok(tt_ckpt_retain(dir, 2, &err) == TT_OK, "keep 2");
    ok(tt_fs_exists(at(dir, "step-1000")) && tt_fs_exists(at(dir, "step-0950")), "keep 2 keeps 1000 and 950");
    ok(!tt_fs_exists(at(dir, "step-900")), "and deletes 900");
    ok(!tt_fs_exists(at(dir, ".trash-step-7")) && !tt_fs_exists(at(dir, "step-800.tmp")), "old leftovers go");
    ok(tt_fs_exists(at(dir, "step-4000.tmp")), "one ahead of us stays");
    for (int i = 0; i < 3; i++)
        ok(tt_fs_exists(at(dir, foreign[i])), "%s is left alone", foreign[i]);
    ok(tt_fs_exists(at(dir, "step-3000")) && tt_fs_exists(at(dir, "step-2000")), "so are the partial and the file");
}

static void keeps_sound_ones(const char *dir)
{
    for (int64_t step = 1; step <= 5; step++)
        save(dir, step, 3);
    ok(!tt_fs_exists(at(dir, "step-2")) && tt_fs_exists(at(dir, "step-3")), "saving prunes to the last three");
    damage(at(dir, "step-5/manifest.json"), 20);
    save(dir, 6, 3);
    ok(tt_fs_exists(at(dir, "step-3")), "a damaged checkpoint does not count, so step 3 stays");
    ok(tt_fs_exists(at(dir, "step-5")), "nor is it deleted");
    save(dir, 6, 3);
    is_int(newest(dir), 6, "a step can be saved again");
    ok(!tt_fs_exists(at(dir, ".trash-step-6")), "the replaced one is gone");
}

int main(void)
{
    char dir[] = "/tmp/titan-ckpt-layout-XXXXXX";
    if (!mkdtemp(dir) || tt_world_open(&world, &err) != TT_OK)
        abort();
    names();
    char a[64], b[64];
    snprintf(a, sizeof a, "%s/a", dir);
    snprintf(b, sizeof b, "%s/b", dir);
    newest_is_a_number(a);
    keeps_sound_ones(b);
    tt_fs_remove_all(dir, NULL);
    tt_world_close(&world, TT_OK, NULL);
    return done_testing();
}
