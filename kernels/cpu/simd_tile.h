/* Bodies of the attention tiles of simd.h, and the table itself, for whatever target includes them.
 *
 * Tiles are transposed: one row per key, one lane per query. So maxima and sums over keys are
 * lane-wise, K and V are read where they lie (as broadcast elements), and only the queries are ever
 * transposed. */

#if VL == 16
#define ROWS 8
#elif VL == 8
#define ROWS 6
#else
#define ROWS 4
#endif

/* `rows` x `vecs` accumulators in registers; both are constants where this is inlined. */
INLINE void product_block(const tt_block_product *p, int64_t r0, int64_t l0, int rows, int vecs)
{
    vf acc[ROWS][2];
    const float *a = p->a + r0 * p->a_row, *b = p->b + l0;
    float *c = p->c + r0 * p->ldc + l0;
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(2)
        for (int v = 0; v < vecs; v++)
            acc[r][v] = p->accumulate ? load(c + r * p->ldc + v * VL) : splat(0.0f);
    }
    for (int64_t i = 0; i < p->k; i++) {
        vf bv[2];
        UNROLL(2)
        for (int v = 0; v < vecs; v++)
            bv[v] = load(b + i * p->ldb + v * VL);
        UNROLL(8)
        for (int r = 0; r < rows; r++) {
            vf av = splat(a[r * p->a_row + i * p->a_term]);
            UNROLL(2)
            for (int v = 0; v < vecs; v++)
                acc[r][v] += av * bv[v];
        }
    }
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(2)
        for (int v = 0; v < vecs; v++)
            store(c + r * p->ldc + v * VL, acc[r][v]);
    }
}

static void product(const tt_block_product *p)
{
    for (int64_t l = 0; l < p->lanes;) {
        int64_t r = 0;
        if (l + 2 * VL <= p->lanes) {
            for (; r + ROWS <= p->rows; r += ROWS)
                product_block(p, r, l, ROWS, 2);
            for (; r + 2 <= p->rows; r += 2)
                product_block(p, r, l, 2, 2);
            for (; r < p->rows; r++)
                product_block(p, r, l, 1, 2);
            l += 2 * VL;
        } else {
            for (; r + ROWS <= p->rows; r += ROWS)
                product_block(p, r, l, ROWS, 1);
            for (; r < p->rows; r++)
                product_block(p, r, l, 1, 1);
            l += VL;
        }
    }
}

/* All ones where lane sees the key: lo <= key <= hi. */
INLINE vi sees(const int32_t *lo, const int32_t *hi, int64_t key)
{
    vi k = (int32_t)key - (vi){0};
    return (*(const vi_any *)lo <= k) & (*(const vi_any *)hi >= k);
}

static int softmax_tile(float *t, int64_t rows, int64_t key, const int32_t *lo, const int32_t *hi,
                        int masked, float *m, float *l, float *alpha)
{
    int moved = 0;
    for (int q = 0; q < TT_LANES; q += VL) {
        vf old = load(m + q), top = old;
        for (int64_t r = 0; r < rows; r++) {
            vf x = load(t + r * TT_LANES + q);
            if (masked) {
                x = choose(sees(lo + q, hi + q, key + r), x, splat(-INFINITY));
                store(t + r * TT_LANES + q, x);
            }
            top = vmax(x, top);
        }
        vf shrink = vexp(old - top), sum = splat(0.0f);
        for (int64_t r = 0; r < rows; r++) {
            vf e = vexp(load(t + r * TT_LANES + q) - top);
            store(t + r * TT_LANES + q, e);
            sum += e;
        }
        store(m + q, top);
        store(l + q, load(l + q) * shrink + sum);
        store(alpha + q, shrink);
        for (int k = 0; k < VL; k++)
            moved |= alpha[q + k] != 1.0f;
    }
    return moved;
}

static void scale_lanes(float *t, int64_t rows, const float *alpha)
{
    for (int q = 0; q < TT_LANES; q += VL) {
        vf a = load(alpha + q);
        for (int64_t r = 0; r < rows; r++)
            store(t + r * TT_LANES + q, load(t + r * TT_LANES + q) * a);
    }
}

static void softmax_tile_bwd(float *t, float *d, int64_t rows, int64_t key, const int32_t *lo,
                             const int32_t *hi, int masked, const float *lse, const float *delta,
                             float scale)
{
    for (int q = 0; q < TT_LANES; q += VL) {
        vf vl = load(lse + q), vdelta = load(delta + q), vs = splat(scale);
        for (int64_t r = 0; r < rows; r++) {
            float *tp = t + r * TT_LANES + q, *dp = d + r * TT_LANES + q;
            vf p = vexp(load(tp) - vl), g = p * (load(dp) - vdelta) * vs;
            if (masked) {
                vi seen = sees(lo + q, hi + q, key + r);
                p = choose(seen, p, splat(0.0f));
                g = choose(seen, g, splat(0.0f));
            }
            store(tp, p);
            store(dp, g);
        }
    }
}

const tt_simd TABLE = {
    .name = TABLE_NAME,
    .from_bf16 = from_bf16,
    .to_bf16 = to_bf16,
    .add = add,
    .axpy = axpy,
    .sumsq = sumsq,
    .dot3 = dot3,
    .dot = dot,
    .norm = norm,
    .norm_dx = norm_dx,
    .norm_dw = norm_dw,
    .rotate_split = rotate_split,
    .rotate_pairs = rotate_pairs,
    .swiglu = swiglu,
    .swiglu_bwd = swiglu_bwd,
    .max = max_of,
    .sum_exp = sum_exp,
    .exp_scale = exp_scale,
    .adam = adam,
    .product = product,
    .softmax_tile = softmax_tile,
    .scale_lanes = scale_lanes,
    .softmax_tile_bwd = softmax_tile_bwd,
#ifdef TABLE_BF16
    .bf16_pack = bf16_pack,
    .bf16_product = bf16_product,
#endif
};
