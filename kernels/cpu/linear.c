/* linear: y[N,M] = x[N,K] W[M,K]^T and its two gradients, dx = dy W and dW (+)= dy^T x. All three
 * are one product; linear_dx_sum adds up several. */
#include "kernels/cpu/cpu_priv.h"
#include "kernels/cpu/gemm.h"

#define MAX_TERMS 8 /* of linear_dx_sum */

void tt_cpu_linear(const tt_kernel_args *args)
{
    const tt_tensor *x = &args->in[0], *w = &args->in[1], *y = &args->out[0];
    tt_gemm_run(&(tt_gemm){.m = tt_rows(x),
                           .n = w->dim[0],
                           .k = tt_cols(x),
                           .a = x->data,
                           .b = w->data,
                           .b_transposed = 1,
                           .ab_dtype = x->dtype,
                           .c = y->data,
                           .c_dtype = y->dtype},
                args->workspace, args->pool);
}

void tt_cpu_linear_dx(const tt_kernel_args *args)
{
    const tt_tensor *dy = &args->in[0], *w = &args->in[1], *dx = &args->out[0];
    tt_gemm_run(&(tt_gemm){.m = tt_rows(dy),
                           .n = tt_cols(w),
                           .k = tt_cols(dy),
                           .a = dy->data,
                           .b = w->data,
                           .ab_dtype = dy->dtype,
                           .c = dx->data,
                           .c_dtype = dx->dtype},
                args->workspace, args->pool);
}

void tt_cpu_linear_dw(const tt_kernel_args *args)
{
    const tt_tensor *dy = &args->in[0], *x = &args->in[1], *dw = &args->out[0];
    tt_gemm_run(&(tt_gemm){.m = tt_cols(dy),
                           .n = tt_cols(x),
                           .k = tt_rows(dy),
                           .a = dy->data,
                           .a_transposed = 1,
                           .b = x->data,
                           .ab_dtype = dy->dtype,
                           .c = dw->data,
                           .c_dtype = dw->dtype,
                           .accumulate = args->accumulate},
                args->workspace, args->pool);
}

/* dx = sum of dy_i W_i over pairs of operands, in one product; a pair without columns adds nothing.
 */
void tt_cpu_linear_dx_sum(const tt_kernel_args *args)
{
    const tt_tensor *dx = &args->out[0];
    tt_gemm term[MAX_TERMS];
    int n = 0;
    TT_ASSERT(args->n_in <= 2 * MAX_TERMS);
    for (int k = 0; k < args->n_in; k += 2) {
        const tt_tensor *dy = &args->in[k], *w = &args->in[k + 1];
        if (tt_cols(dy) == 0 && (n > 0 || k + 2 < args->n_in))
            continue;
        term[n] = (tt_gemm){.m = tt_rows(dy),
                            .n = tt_cols(w),
                            .k = tt_cols(dy),
                            .a = dy->data,
                            .b = w->data,
                            .ab_dtype = dy->dtype,
                            .c = dx->data,
                            .c_dtype = dx->dtype};
        if (n > 0)
            term[n - 1].plus = &term[n];
        n++;
    }
    tt_gemm_run(&term[0], args->workspace, args->pool);
}

size_t tt_cpu_linear_workspace(const tt_shapes *s)
{
    return tt_gemm_workspace(s->in[0].dtype, s->out[0].dtype, s->n_threads);
}
