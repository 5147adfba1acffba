/* One rank's checkpoints: what is wrong is refused by name, any box comes back from any box, and other people's tools
 * (h5dump) see whole tensors. */
#include "ckpt_common.h"

#include "tap.h"

#include <signal.h>
#include <sys/resource.h>

static tt_world *world;
static tt_error err;
static char dir[64];

static tt_status save_at(int64_t step, const char *meta, tt_ckpt_tensor *tensors, int n)
{
    err.text[0] = '\0';
    return tt_ckpt_save(world, &(tt_ckpt_options){.dir = dir}, step, meta, tensors, n, &err);
}

/* A tensor held whole by this rank, with padded memory and known values. */
static tt_ckpt_tensor whole(const char *name, tt_dtype dtype, int ndim, const int64_t *shape, int number, int64_t pad)
{
    tt_ckpt_tensor t = {.name = name, .dtype = dtype, .ndim = ndim, .owner = 1};
    memcpy(t.shape, shape, (size_t)ndim * sizeof shape[0]);
    memcpy(t.count, shape, (size_t)ndim * sizeof shape[0]);
    give_memory(&t, pad);
    visit(&t, number, 0);
    return t;
}

/* The box of `of` cut as part `part` of `n` along each dim in turn, read from c and compared. */
static int64_t read_part(tt_ckpt *c, const tt_ckpt_tensor *of, int number, int axis, int n, int part)
{
    tt_ckpt_tensor t = *of;
    if (t.ndim)
        cut(t.shape[axis % t.ndim], n, part, &t.start[axis % t.ndim], &t.count[axis % t.ndim]);
    give_memory(&t, 2);
    int64_t elems = 1, wrong = tt_ckpt_read(c, &t, 1, &err) == TT_OK ? visit(&t, number, 1) : 1000000;
    for (int d = 0; d < t.ndim; d++)
        elems *= t.count[d];
    if (painted(&t) > elems * (int64_t)tt_dtype_size(t.dtype))
        wrong += 1000; /* the padding was touched */
    free(t.data);
    return wrong;
}

static void round_trip(void)
{
    const int64_t s0[1] = {0}, s1[1] = {7}, s2[2] = {13, 9}, s3[3] = {4, 5, 6}, s4[4] = {2, 3, 4, 5}, none[2] = {0, 5}, big[2] = {700, 900};
    tt_ckpt_tensor t[] = {
        whole("model/scalar", TT_I64, 0, s0, 0, 1),     whole("model/norm.weight", TT_F32, 1, s1, 1, 1),
        whole("model/wq.weight", TT_BF16, 2, s2, 2, 3), whole("model/experts", TT_BF16, 3, s3, 3, 1),
        whole("optim/exp_avg/wq.weight", TT_F32, 2, s2, 4, 0), whole("data/ids", TT_I64, 3, s3, 5, 2),
        whole("model/half", TT_F16, 2, s2, 6, 1),       whole("model/double", TT_F64, 4, s4, 7, 1),
        whole("model/bytes", TT_U8, 1, s1, 8, 1),       whole("model/ints", TT_I32, 2, s2, 9, 1),
        whole("model/empty", TT_F32, 2, none, 10, 0),   whole("model/big", TT_F32, 2, big, 11, 5),
    };
    int n = sizeof t / sizeof t[0];
    tt_ckpt *c = NULL;
    ok(save_at(3, "{\"step\": 3,  \"x\": \"y\"}", t, n) == TT_OK, "saved: %s", err.text);
    ok(tt_ckpt_open(dir, -1, &c, &err) == TT_OK && c, "opened");
    is_int(tt_ckpt_step(c), 3, "its step");
    is_str(tt_ckpt_meta(c), "{\"step\": 3,  \"x\": \"y\"}", "meta comes back as given");
    is_int(tt_ckpt_n_tensors(c), n, "all tensors");
    for (int i = 0; i < n; i++) {
        int64_t wrong = 0, shape[TT_MAX_DIMS];
        int ndim;
        tt_dtype dtype;
        is_str(tt_ckpt_tensor_info(c, i, &dtype, &ndim, shape), t[i].name, "name of tensor %d", i);
        ok(dtype == t[i].dtype && ndim == t[i].ndim, "its dtype and dims");
        for (int axis = 0; axis < 3; axis++) /* three shapes of boxes: whole, halves, thirds along another dim */
            for (int part = 0; part < axis + 1; part++)
                wrong += read_part(c, &t[i], i, axis, axis + 1, part);
        is_int(wrong, 0, "%s: every box equals what was saved", t[i].name);
    }
    ok(tt_ckpt_verify(c, &err) == TT_OK, "verify");
    tt_ckpt_close(&c);
    for (int i = 0; i < n; i++)
        free(t[i].data);
}

static void refusals(void)
{
    const int64_t shape[2] = {4, 6}, other[2] = {6, 4};
    tt_ckpt_tensor t = whole("model/layers.0.attention.wq.weight", TT_F32, 2, shape, 1, 0), u = t, twice[2] = {t, t};
    tt_ckpt *c = NULL;
    char text[512];
    ok(save_at(4, "not json", &t, 1) == TT_ERR_INTERNAL, "meta that is not JSON");
    ok(save_at(4, "[1]", &t, 1) == TT_ERR_INTERNAL, "meta that is not an object");
    u.count[1] = 7;
    ok(save_at(4, "{}", &u, 1) == TT_ERR_INTERNAL && strstr(err.text, u.name), "a box outside of its tensor: %s", err.text);
    u = t;
    u.owner = 0;
    ok(save_at(4, "{}", &u, 1) == TT_ERR_CKPT, "nobody owns it");
    is_str(err.text,
           "the checkpoint of step 4 was not saved: the 0 shards of tensor "
           "model/layers.0.attention.wq.weight hold 0 elements, the tensor has 24; each element "
           "needs one owner: check what wrote them",
           "its text");
    ok(save_at(4, "{}", twice, 2) != TT_OK, "one name twice: %s", err.text);
    ok(!tt_fs_exists(at(dir, "step-4")) && !tt_fs_exists(at(dir, "step-4.tmp")), "nothing is left of the refused saves");

    ok(save_at(4, "{}", &t, 1) == TT_OK && tt_ckpt_open(dir, 4, &c, &err) == TT_OK, "saved and opened by number");
    u = t;
    u.name = "model/layers.0.attention.wk.weight";
    ok(tt_ckpt_read(c, &u, 1, &err) == TT_ERR_CONFIG, "a name that is not there");
    snprintf(text, sizeof text,
             "checkpoint %s/step-4 has no tensor %s; the closest of its 1 is %s; use the config "
             "the checkpoint was made with, or another job.dump_folder",
             dir, u.name, t.name);
    is_str(err.text, text, "names the closest");
    u = t;
    memcpy(u.shape, other, sizeof other);
    ok(tt_ckpt_read(c, &u, 1, &err) == TT_ERR_CONFIG, "another shape");
    snprintf(text, sizeof text, "tensor %s is float32 [4, 6] in checkpoint %s/step-4 and float32 [6, 4] in this model; use the config the checkpoint was made with, or another job.dump_folder",
             t.name, dir);
    is_str(err.text, text, "shows both");
    u = t;
    u.dtype = TT_BF16;
    ok(tt_ckpt_read(c, &u, 1, &err) == TT_ERR_CONFIG && strstr(err.text, "bfloat16 [4, 6]"), "another dtype");
    tt_ckpt_close(&c);
    ok(tt_ckpt_open(dir, 77, &c, &err) == TT_ERR_CKPT && !c, "a step that is not there");
    snprintf(text, sizeof text, "there is no checkpoint of step 77 in %s, the newest is step-4; choose another step or leave the step out", dir);
    is_str(err.text, text, "its text");
    free(t.data);
}

/* Newest = step 11, damaged in one way; step 10 is sound. */
static void expect_skip(const char *what, const char *part_of_text)
{
    tt_ckpt *c = NULL;
    ok(tt_ckpt_open(dir, 11, &c, &err) == TT_ERR_CKPT && strstr(err.text, "step-11") && strstr(err.text, part_of_text),
       "%s: refused by name: %s", what, err.text);
    ok(tt_ckpt_open(dir, -1, &c, &err) == TT_OK && c && tt_ckpt_step(c) == 10, "and step 10 is used");
    tt_ckpt_close(&c);
}

static void damaged(void)
{
    const int64_t shape[2] = {40, 50};
    tt_ckpt_tensor t = whole("model/w", TT_F32, 2, shape, 1, 0);
    tt_ckpt *c = NULL;
    char mark[4096], part[4096], index[4096], manifest[4096];
    snprintf(mark, sizeof mark, "%s/step-11/COMMITTED", dir);
    snprintf(part, sizeof part, "%s/step-11/part-00000.h5", dir);
    snprintf(index, sizeof index, "%s/step-11/index.h5", dir);
    snprintf(manifest, sizeof manifest, "%s/step-11/manifest.json", dir);
    ok(save_at(10, "{}", &t, 1) == TT_OK, "step 10");

    struct stat sb;
    ok(save_at(11, "{}", &t, 1) == TT_OK && stat(part, &sb) == 0 && truncate(part, sb.st_size - 1) == 0, "a part cut by a byte");
    expect_skip("truncated part", "its file part-00000.h5 has");
    ok(save_at(11, "{}", &t, 1) == TT_OK && unlink(part) == 0, "a part missing");
    expect_skip("missing part", "its file part-00000.h5 cannot be used: No such file or directory");
    ok(save_at(11, "{}", &t, 1) == TT_OK && unlink(index) == 0, "the index missing");
    expect_skip("missing index", "index.h5");
    ok(save_at(11, "{}", &t, 1) == TT_OK && unlink(manifest) == 0, "the manifest missing");
    expect_skip("missing manifest", "manifest.json");
    ok(save_at(11, "{}", &t, 1) == TT_OK, "a bit of the manifest");
    damage(manifest, 100);
    expect_skip("damaged manifest", "COMMITTED does not hold the hash of manifest.json");
    ok(save_at(11, "{}", &t, 1) == TT_OK, "a bit of COMMITTED");
    damage(mark, 3);
    expect_skip("damaged COMMITTED", "COMMITTED does not hold the hash");
    ok(save_at(11, "{}", &t, 1) == TT_OK && truncate(mark, 0) == 0, "COMMITTED is empty");
    expect_skip("empty COMMITTED", "COMMITTED does not hold the hash");
    ok(save_at(11, "{}", &t, 1) == TT_OK && unlink(mark) == 0, "no COMMITTED");
    expect_skip("uncommitted", "was never finished");

    ok(save_at(11, "{}", &t, 1) == TT_OK && stat(part, &sb) == 0, "a byte of the weights");
    damage(part, sb.st_size - 5000); /* 8,000 bytes of weights end the file, or nearly */
    ok(tt_ckpt_open(dir, -1, &c, &err) == TT_OK && tt_ckpt_step(c) == 11, "opening is cheap and does not see it");
    ok(tt_ckpt_read(c, &t, 1, &err) == TT_ERR_CKPT && strstr(err.text, "part-00000.h5") && strstr(err.text, "model/w"),
       "reading does: %s", err.text);
    ok(tt_ckpt_verify(c, &err) == TT_ERR_CKPT && strstr(err.text, "part-00000.h5"), "so does verify");
    tt_ckpt_close(&c);
    ok(save_at(11, "{}", &t, 1) == TT_OK, "a bit of the index");
    damage(index, 200);
    ok(tt_ckpt_open(dir, 11, &c, &err) == TT_OK && tt_ckpt_read(c, &t, 1, &err) == TT_OK, "weights are read without it");
    ok(tt_ckpt_verify(c, &err) == TT_ERR_CKPT && strstr(err.text, "index.h5"), "verify sees it: %s", err.text);
    tt_ckpt_close(&c);
    free(t.data);
}

/* The limit of file sizes plays the full disk; tests/ckpt_ranks has a real one. */
static void no_room(void)
{
    const int64_t shape[2] = {1000, 1000};
    tt_ckpt_tensor t = whole("model/w", TT_F32, 2, shape, 1, 0);
    tt_ckpt *c = NULL;
    struct rlimit old, small;
    ok(save_at(20, "{}", &t, 1) == TT_OK, "step 20");
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 1 << 20;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    tt_status st = save_at(21, "{}", &t, 1);
    setrlimit(RLIMIT_FSIZE, &old);
    ok(st == TT_ERR_IO && strstr(err.text, "ulimit -f"), "no room: %s", err.text);
    ok(!tt_fs_exists(at(dir, "step-21")) && !tt_fs_exists(at(dir, "step-21.tmp")), "nothing is left");
    ok(tt_ckpt_open(dir, -1, &c, &err) == TT_OK && tt_ckpt_step(c) == 20 && tt_ckpt_verify(c, &err) == TT_OK, "step 20 is intact");
    tt_ckpt_close(&c);
    free(t.data);
}

#define MANY 300

/* Names of 200 characters, 70 KB of meta: both must be in the index for other tools. */
static void many_long_names(void)
{
    static char names[MANY][240], meta[70100];
    static tt_ckpt_tensor t[MANY];
    const int64_t shape[1] = {3};
    tt_ckpt *c = NULL;
    int64_t wrong = 0;
    for (int i = 0; i < MANY; i++) {
        int n = snprintf(names[i], sizeof names[i], "model/layer.%d.", i);
        memset(names[i] + n, 'a' + i % 26, (size_t)(200 - n));
        t[i] = whole(names[i], i % 2 ? TT_BF16 : TT_F32, 1, shape, i, 0);
    }
    int n = snprintf(meta, sizeof meta, "{\"config\": \"");
    memset(meta + n, 'x', (size_t)(70000 - n));
    snprintf(meta + 70000, sizeof meta - 70000, "\"}");
    ok(save_at(30, meta, t, MANY) == TT_OK, "saved: %s", err.text);
    ok(tt_ckpt_open(dir, 30, &c, &err) == TT_OK && strcmp(tt_ckpt_meta(c), meta) == 0, "70 KB of meta");
    for (int i = 0; i < MANY; i++)
        wrong += read_part(c, &t[i], i, 0, 1, 0);
    is_int(wrong, 0, "300 tensors with names of 200 characters");
    tt_ckpt_close(&c);
    for (int i = 0; i < MANY; i++)
        free(t[i].data);
}

/* Lines of a command's output that contain `text`, or -1. */
static int count_lines(const char *command, const char *text)
{
    char line[1 << 17];
    int n = 0;
    FILE *p = popen(command, "r");
    if (!p)
        return -1;
    while (fgets(line, sizeof line, p))
        n += strstr(line, text) != NULL;
    return pclose(p) == 0 ? n : -1;
}

static void h5dump_sees(void)
{
    const int64_t shape[2] = {2, 3};
    char command[512];
    if (system("h5dump --version >/dev/null 2>&1") != 0) {
        ok(1, "h5dump sees whole tensors # SKIP no h5dump (hdf5-tools)");
        return;
    }
    tt_ckpt_tensor t[2] = {whole("model/f", TT_F32, 2, shape, 1, 1), whole("model/b", TT_BF16, 2, shape, 1, 1)};
    ((float *)t[0].data)[4] = 1234.5f;    /* row 1, column 0 */
    ((uint16_t *)t[1].data)[4] = 0x4049;  /* 3.140625 */
    ok(save_at(40, "{\"k\": \"v\"}", t, 2) == TT_OK, "saved");
    snprintf(command, sizeof command, "h5dump -d /model/f %s/step-40/index.h5", dir);
    is_int(count_lines(command, "(1,0): 1234.5"), 1, "h5dump shows a float of the index");
    snprintf(command, sizeof command, "h5dump -d /model/b %s/step-40/index.h5", dir);
    is_int(count_lines(command, "(1,0): 3.14062"), 1, "and a bfloat16");
    snprintf(command, sizeof command, "h5dump -a /meta %s/step-40/index.h5", dir);
    is_int(count_lines(command, "\"{\"k\": \"v\"}\""), 1, "and meta");
    snprintf(command, sizeof command, "h5dump -A %s/step-30/index.h5", dir);
    is_int(count_lines(command, "DATASET \"layer."), MANY, "and all long names");
    snprintf(command, sizeof command, "h5dump -a /meta %s/step-30/index.h5", dir);
    ok(count_lines(command, "xxxxxxxx") > 0, "and the long meta");
    ok(unlink(at(dir, "step-40/part-00000.h5")) == 0, "without the part");
    snprintf(command, sizeof command, "h5dump -d /model/f %s/step-40/index.h5", dir);
    is_int(count_lines(command, "nan, nan, nan"), 2, "the index shows NaN, not zeros");
    free(t[0].data);
    free(t[1].data);
}

int main(void)
{
    snprintf(dir, sizeof dir, "/tmp/titan-ckpt-XXXXXX");
    if (!mkdtemp(dir) || tt_world_open(&world, &err) != TT_OK)
        abort();
    refusals();
    tt_fs_remove_all(at(dir, "step-4"), NULL);
    round_trip();
    damaged();
    no_room();
    many_long_names();
    h5dump_sees();
    tt_fs_remove_all(dir, NULL);
    tt_world_close(&world, TT_OK, NULL);
    return done_testing();
}
