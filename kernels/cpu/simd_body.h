/* Bodies of the row loops of simd.h, for whatever target includes them. Loops without a reduction
 * are plain C that the compiler vectorises; IVDEP says that an output is an input exactly or not
 * at all. */

static void from_bf16(float *y, const tt_bf16 *x, int64_t n)
{
    uint32_t *bits = (uint32_t *)(void *)y;
    IVDEP
    for (int64_t i = 0; i < n; i++) {
        uint32_t u = (uint32_t)x[i] << 16;
        memcpy(&bits[i], &u, 4);
    }
}

static void to_bf16(tt_bf16 *y, const float *x, int64_t n)
{
    IVDEP
    for (int64_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &x[i], 4);
        uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
        uint32_t nan = (u >> 16) | 0x40u;
        y[i] = (tt_bf16)((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
    }
}

static void add(float *y, const float *a, const float *b, int64_t n)
{
    IVDEP
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

static void axpy(float *y, const float *x, float a, int64_t n)
{
    IVDEP
    for (int64_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

static double sumsq(const float *x, int64_t n)
{
    vd s0 = {0}, s1 = {0};
    int64_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL) {
        vd a = __builtin_convertvector(load(x + i), vd),
           b = __builtin_convertvector(load(x + i + VL), vd);
        s0 += a * a;
        s1 += b * b;
    }
    double rest = 0;
    for (; i < n; i++)
        rest += (double)x[i] * (double)x[i];
    s0 += s1;
    return sum_lanes(&s0) + rest;
}

static double dot3(const float *a, const float *b, const float *c, int64_t n)
{
    vd s = {0};
    int64_t i = 0;
    for (; i + VL <= n; i += VL)
        s += __builtin_convertvector(load(a + i) * load(b + i), vd) *
             __builtin_convertvector(load(c + i), vd);
    double rest = 0;
    for (; i < n; i++)
        rest += (double)(a[i] * b[i]) * (double)c[i];
    return sum_lanes(&s) + rest;
}

static float dot(const float *a, const float *b, int64_t n)
{
    vf s = {0};
    int64_t i = 0;
    for (; i + VL <= n; i += VL)
        s += load(a + i) * load(b + i);
    double rest = 0;
    for (; i < n; i++)
        rest += (double)a[i] * (double)b[i];
    vd wide = __builtin_convertvector(s, vd);
    return (float)(sum_lanes(&wide) + rest);
}

static void norm(float *y, const float *x, const float *w, float r, int64_t n)
{
    IVDEP
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * r * w[i];
}

static void norm_dx(float *dx, const float *dy, const float *x, const float *w, float r, float c,
                    int64_t n)
{
    IVDEP
    for (int64_t i = 0; i < n; i++)
        dx[i] = r * (dy[i] * w[i]) - c * x[i];
}

static void norm_dw(float *dw, const float *dy, const float *x, float r, int64_t n)
{
    IVDEP
    for (int64_t i = 0; i < n; i++)
        dw[i] += dy[i] * (x[i] * r);
}

static void rotate_split(float *y, const float *x, const float *c, const float *s, float sign,
                         int64_t half)
{
    IVDEP
    for (int64_t j = 0; j < half; j++) {
        float a = x[j], b = x[half + j], t = sign * s[j];
        y[j] = a * c[j] - b * t;
        y[half + j] = a * t + b * c[j];
    }
}

static void rotate_pairs(float *y, const float *x, const float *c, const float *s, float sign,
                         int64_t half)
{
    IVDEP
    for (int64_t j = 0; j < half; j++) {
        float a = x[2 * j], b = x[2 * j + 1], t = sign * s[j];
        y[2 * j] = a * c[j] - b * t;
        y[2 * j + 1] = a * t + b * c[j];
    }
}

INLINE vf sigmoid(vf g)
{
    return splat(1.0f) / (splat(1.0f) + vexp(-g));
}

static void swiglu(float *h, const float *g, const float *u, int64_t n)
{
    int64_t i = 0;
    for (; i + VL <= n; i += VL) {
        vf a = load(g + i);
        store(h + i, a * sigmoid(a) * load(u + i));
    }
    if (i < n) {
        vf a = load_part(g + i, n - i, 0);
        store_part(h + i, a * sigmoid(a) * load_part(u + i, n - i, 0), n - i);
    }
}

/* silu(g) = g s with s = sigmoid(g); its derivative is s + g s (1 - s). */
INLINE void swiglu_bwd_step(vf dh, vf g, vf u, vf *dg, vf *du)
{
    vf s = sigmoid(g), gs = g * s;
    *du = dh * gs;
    *dg = dh * u * (s + gs * (splat(1.0f) - s));
}

static void swiglu_bwd(float *dg, float *du, const float *dh, const float *g, const float *u,
                       int64_t n)
{
    int64_t i = 0;
    vf a, b;
    for (; i + VL <= n; i += VL) {
        swiglu_bwd_step(load(dh + i), load(g + i), load(u + i), &a, &b);
        store(dg + i, a);
        store(du + i, b);
    }
    if (i < n) {
        swiglu_bwd_step(load_part(dh + i, n - i, 0), load_part(g + i, n - i, 0),
                        load_part(u + i, n - i, 0), &a, &b);
        store_part(dg + i, a, n - i);
        store_part(du + i, b, n - i);
    }
}

static float max_of(const float *x, int64_t n)
{
    vf m = splat(-INFINITY);
    int64_t i = 0;
    for (; i + VL <= n; i += VL)
        m = vmax(load(x + i), m);
    if (i < n)
        m = vmax(load_part(x + i, n - i, -INFINITY), m);
    float best = m[0];
    for (int k = 1; k < VL; k++)
        best = m[k] > best ? m[k] : best;
    return best;
}

/* Four fp32 sums per lane: a chunk of 1024 adds a few dozen numbers to each before fp64 takes over.
 */
static double sum_exp(const float *x, float m, int64_t n)
{
    vf s[4] = {{0}}, vm = splat(m);
    int64_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL)
        for (int k = 0; k < 4; k++)
            s[k] += vexp(load(x + i + k * VL) - vm);
    for (; i + VL <= n; i += VL)
        s[0] += vexp(load(x + i) - vm);
    if (i < n)
        s[1] += vexp(load_part(x + i, n - i, -INFINITY) - vm);
    vd sum = {0};
    for (int k = 0; k < 4; k++)
        sum += __builtin_convertvector(s[k], vd);
    return sum_lanes(&sum);
}

static void exp_scale(float *y, const float *x, float m, float a, int64_t n)
{
    vf vm = splat(m), va = splat(a);
    int64_t i = 0;
    for (; i + VL <= n; i += VL)
        store(y + i, va * vexp(load(x + i) - vm));
    if (i < n)
        store_part(y + i, va * vexp(load_part(x + i, n - i, 0) - vm), n - i);
}

INLINE void adam_step(vf *w, vf *m, vf *v, vf g, const tt_adam_step *p)
{
    g = g * splat(p->coef) + splat(p->l2) * *w;
    *m += splat(p->one_minus_beta1) * (g - *m);
    *v = splat(p->beta2) * *v + splat(p->one_minus_beta2) * g * g;
    vf denominator = vsqrt(*v) / splat(p->root_correction) + splat(p->eps);
    *w = *w * splat(p->decay) - splat(p->step_size) * (*m / denominator);
}

static void adam(float *w, float *m, float *v, const float *g, const tt_adam_step *p, int64_t n)
{
    const tt_adam_step step = *p;
    int64_t i = 0;
    vf wi, mi, var;
    for (; i + VL <= n; i += VL) {
        wi = load(w + i), mi = load(m + i), var = load(v + i);
        adam_step(&wi, &mi, &var, load(g + i), &step);
        store(w + i, wi);
        store(m + i, mi);
        store(v + i, var);
    }
    if (i < n) {
        wi = load_part(w + i, n - i, 0), mi = load_part(m + i, n - i, 0),
        var = load_part(v + i, n - i, 0);
        adam_step(&wi, &mi, &var, load_part(g + i, n - i, 0), &step);
        store_part(w + i, wi, n - i);
        store_part(m + i, mi, n - i);
        store_part(v + i, var, n - i);
    }
}
