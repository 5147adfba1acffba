/* init: fills the box of a logical tensor that is held here. The value of an element depends on the
 * seed, the parameter's key and the element's index in the logical tensor only: not on the box, the
 * mesh or the threads. */
#include <math.h>

#include "base/rng.h"
#include "kernels/cpu/cpu_priv.h"

#define TURN 6.283185307179586476925

typedef struct job {
    const tt_kernel_args *args;
    uint64_t key;
} job;

/* Box-Muller on 53-bit uniforms; draws outside [lo, hi] are repeated with the next block of the
 * counter. */
static float draw(const tt_attrs *attr, uint64_t key, uint64_t index)
{
    for (uint32_t again = 0;; again++) {
        uint32_t word[4], counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), again, 0};
        tt_philox4x32(counter, (uint32_t[2]){(uint32_t)key, (uint32_t)(key >> 32)}, word);
        double u = tt_unit53(word[0], word[1]), turn = tt_unit53(word[2], word[3]);
        float x = (float)(attr->std * sqrt(-2.0 * log(1.0 - u)) * cos(TURN * turn));
        if (!(attr->lo < attr->hi) || (x >= attr->lo && x <= attr->hi))
            return x;
    }
}

/* Index in the logical tensor of local element i, or -1 for padding. */
static int64_t logical_index(const tt_tensor *w, const tt_attrs *attr, int64_t i)
{
    int64_t index = 0, stride = 1;
    for (int d = w->ndim - 1; d >= 0; d--) {
        int64_t at = i % w->dim[d];
        i /= w->dim[d];
        if (at >= attr->box_count[d])
            return -1;
        index += (attr->box_start[d] + at) * stride;
        stride *= attr->full_dim[d];
    }
    return index;
}

static void fill_chunks(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    const tt_attrs *attr = j->args->attr;
    const tt_tensor *w = &j->args->out[0];
    float *data = w->data;
    (void)thread;
    for (int64_t i = begin * TT_CHUNK; i < tt_min64(end * TT_CHUNK, tt_numel(w)); i++) {
        int64_t index = logical_index(w, attr, i);
        if (index < 0 || attr->dist == TT_INIT_ZEROS)
            data[i] = 0.0f;
        else
            data[i] = attr->dist == TT_INIT_ONES ? 1.0f : draw(attr, j->key, (uint64_t)index);
    }
}

void tt_cpu_init(const tt_kernel_args *args)
{
    int64_t seed = *(const int64_t *)args->in[0].data;
    job j = {args, tt_mix64((uint64_t)seed) ^ args->attr->key};
    tt_pool_run(args->pool, fill_chunks, &j, tt_div_up(tt_numel(&args->out[0]), TT_CHUNK));
}
