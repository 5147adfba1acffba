/* Bodies of the bf16 products of simd.h, for targets with AVX-512 BF16. One instruction adds the
 * products of a pair of neighbours along k to an fp32 sum: products are exact, sums are fp32, and
 * numbers below 2^-126 count as zero. */

/* 8 rows of 8 words become 8 columns: to[i * step + r] = from[r * ld + i], words of two bf16. */
INLINE void transpose_8x8(uint32_t *to, int64_t step, const tt_bf16 *from, int64_t ld)
{
    __m256i in[8], pair[8], quad[8];
    UNROLL(8)
    for (int r = 0; r < 8; r++)
        in[r] = _mm256_loadu_si256((const __m256i_u *)(const void *)(from + r * ld));
    UNROLL(4)
    for (int r = 0; r < 8; r += 2) {
        pair[r] = _mm256_unpacklo_epi32(in[r], in[r + 1]);
        pair[r + 1] = _mm256_unpackhi_epi32(in[r], in[r + 1]);
    }
    UNROLL(2)
    for (int r = 0; r < 8; r += 4)
        for (int h = 0; h < 2; h++) {
            quad[r + 2 * h] = _mm256_unpacklo_epi64(pair[r + h], pair[r + 2 + h]);
            quad[r + 2 * h + 1] = _mm256_unpackhi_epi64(pair[r + h], pair[r + 2 + h]);
        }
    UNROLL(4)
    for (int i = 0; i < 4; i++) {
        __m256i lo = _mm256_permute2x128_si256(quad[i], quad[4 + i], 0x20),
                hi = _mm256_permute2x128_si256(quad[i], quad[4 + i], 0x31);
        _mm256_storeu_si256((__m256i_u *)(void *)(to + i * step), lo);
        _mm256_storeu_si256((__m256i_u *)(void *)(to + (4 + i) * step), hi);
    }
}

static uint32_t pair_at(const tt_bf16 *from, int64_t ld, int apart, int64_t lane, int64_t i,
                        int64_t k)
{
    uint32_t low = from[apart ? lane * ld + i : i * ld + lane];
    uint32_t high = i + 1 < k ? from[apart ? lane * ld + i + 1 : (i + 1) * ld + lane] : 0;
    return low | high << 16;
}

/* One panel with all its lanes; `panel` is a constant where this is inlined. */
INLINE void pack_panel(uint32_t *to, const tt_bf16 *from, int64_t ld, int apart, int64_t k,
                       int panel)
{
    int64_t i = 0;
    if (apart)
        for (; i + 16 <= k; i += 16)
            for (int lane = 0; lane < panel; lane += 8)
                transpose_8x8(to + i / 2 * panel + lane, panel, from + lane * ld + i, ld);
    else
        for (; i + 2 <= k; i += 2) {
            uint32_t *words = to + i / 2 * panel;
            const tt_bf16 *even = from + i * ld, *odd = even + ld;
            IVDEP
            for (int lane = 0; lane < panel; lane++)
                words[lane] = (uint32_t)even[lane] | (uint32_t)odd[lane] << 16;
        }
    for (; i < k; i += 2)
        for (int lane = 0; lane < panel; lane++)
            to[i / 2 * panel + lane] = pair_at(from, ld, apart, lane, i, k);
}

static void bf16_pack(uint32_t *to, const tt_bf16 *from, int64_t ld, int apart, int64_t lanes,
                      int64_t k, int panel)
{
    int64_t lane = 0, words = (k + 1) / 2 * panel;
    for (; lane + panel <= lanes; lane += panel, to += words) {
        const tt_bf16 *first = from + lane * (apart ? ld : 1);
        if (panel == TT_BF16_COLS)
            pack_panel(to, first, ld, apart, k, TT_BF16_COLS);
        else
            pack_panel(to, first, ld, apart, k, TT_BF16_ROWS);
    }
    if (lane == lanes)
        return;
    memset(to, 0, (size_t)words * sizeof *to);
    for (int64_t i = 0; i < k; i += 2)
        for (int64_t l = lane; l < lanes; l++)
            to[i / 2 * panel + l - lane] = pair_at(from, ld, apart, l, i, k);
}

/* 8 rows x 32 columns of C in registers. */
INLINE void bf16_tile(const tt_bf16_product *p, const uint32_t *a, const uint32_t *b, int64_t row,
                      int64_t col)
{
    __m512 acc[TT_BF16_ROWS][2];
    UNROLL(8)
    for (int r = 0; r < TT_BF16_ROWS; r++)
        acc[r][0] = acc[r][1] = _mm512_setzero_ps();
    for (int64_t i = 0; i < p->pairs; i++) {
        __m512bh b0 = (__m512bh)_mm512_loadu_si512(b + i * TT_BF16_COLS),
                 b1 = (__m512bh)_mm512_loadu_si512(b + i * TT_BF16_COLS + 16);
        UNROLL(8)
        for (int r = 0; r < TT_BF16_ROWS; r++) {
            __m512bh w = (__m512bh)_mm512_set1_epi32((int)a[i * TT_BF16_ROWS + r]);
            acc[r][0] = _mm512_dpbf16_ps(acc[r][0], w, b0);
            acc[r][1] = _mm512_dpbf16_ps(acc[r][1], w, b1);
        }
    }
    int64_t cols = p->cols - col, rows = p->rows - row;
    uint32_t mask = cols >= 32 ? ~0u : (1u << cols) - 1;
    __mmask16 m0 = (__mmask16)mask, m1 = (__mmask16)(mask >> 16);
    float *c = p->c + row * p->ldc + col;
    UNROLL(8)
    for (int r = 0; r < TT_BF16_ROWS; r++, c += p->ldc) {
        if (r >= rows)
            break;
        if (p->accumulate) {
            acc[r][0] = _mm512_add_ps(acc[r][0], _mm512_maskz_loadu_ps(m0, c));
            acc[r][1] = _mm512_add_ps(acc[r][1], _mm512_maskz_loadu_ps(m1, c + 16));
        }
        _mm512_mask_storeu_ps(c, m0, acc[r][0]);
        _mm512_mask_storeu_ps(c + 16, m1, acc[r][1]);
    }
}

static void bf16_product(const tt_bf16_product *p)
{
    for (int64_t col = 0; col < p->cols; col += TT_BF16_COLS)
        for (int64_t row = 0; row < p->rows; row += TT_BF16_ROWS)
            bf16_tile(p, p->a + row * p->pairs, p->b + col * p->pairs, row, col);
}
