/* ckpt_equal A B: do two checkpoints (step folders) hold the same tensors, byte for byte?
 *
 * Exit 0 when they do; 1 naming the first tensor that differs, or that only one has; another code when one cannot be read.
 * Both are read through their manifests, so checkpoints written by different meshes compare. */
#include "base/fs.h"
#include "ckpt/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tt_status open_step(const char *path, tt_ckpt **c, tt_error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || strncmp(slash, "/step-", 6))
        return tt_fail(err, TT_ERR_USAGE, "%s is not of the form FOLDER/step-N", path);
    char *dir = strndup(path, (size_t)(slash - path));
    tt_status st = tt_ckpt_open(dir, strtoll(slash + 6, NULL, 10), c, err);
    free(dir);
    return st;
}

/* The i-th tensor of `like` from c, whole, in fresh memory. */
static tt_status read_whole(const tt_ckpt *like, int i, tt_ckpt *c, char **data, size_t *bytes, tt_error *err)
{
    tt_ckpt_tensor t = {0};
    t.name = tt_ckpt_tensor_info(like, i, &t.dtype, &t.ndim, t.shape);
    *bytes = tt_dtype_size(t.dtype);
    for (int d = 0; d < t.ndim; d++) {
        t.count[d] = t.pitch[d] = t.shape[d];
        *bytes *= (size_t)t.shape[d];
    }
    t.data = *data = calloc(1, *bytes + 1);
    return *data ? tt_ckpt_read(c, &t, 1, err) : tt_fail(err, TT_ERR_NOMEM, "no memory for %s", t.name);
}

/* 1 and a line when the i-th tensor differs. */
static tt_status compare(tt_ckpt *a, tt_ckpt *b, int i, int *differs, tt_error *err)
{
    char *x = NULL, *y = NULL;
    size_t n, m, at = 0;
    tt_status st;
    TT_TRY(read_whole(a, i, a, &x, &n, err));
    TT_TRY(read_whole(a, i, b, &y, &m, err));
    *differs = memcmp(x, y, n) != 0;
    while (*differs && x[at] == y[at])
        at++;
    if (*differs)
        printf("%s differs at byte %zu of %zu\n", tt_ckpt_tensor_info(a, i, NULL, NULL, NULL), at, n);
out:
    free(x);
    free(y);
    return st;
}

int main(int argc, char **argv)
{
    tt_error err = {0};
    tt_status st;
    tt_ckpt *a = NULL, *b = NULL;
    int differs = 0;
    if (argc != 3)
        TT_TRY(tt_fail(&err, TT_ERR_USAGE, "usage: ckpt_equal FOLDER/step-N FOLDER/step-N"));
    TT_TRY(open_step(argv[1], &a, &err));
    TT_TRY(open_step(argv[2], &b, &err));
    if (tt_ckpt_n_tensors(a) != tt_ckpt_n_tensors(b)) {
        printf("%d tensors and %d\n", tt_ckpt_n_tensors(a), tt_ckpt_n_tensors(b));
        differs = 1;
    }
    for (int i = 0; i < tt_ckpt_n_tensors(a) && !differs; i++)
        TT_TRY(compare(a, b, i, &differs, &err));
out:
    tt_ckpt_close(&a);
    tt_ckpt_close(&b);
    if (st != TT_OK)
        fprintf(stderr, "ckpt_equal: %s\n", err.text);
    return st != TT_OK ? tt_exit_code(st) : differs;
}
