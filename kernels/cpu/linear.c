/* linear: y[N,M] = x[N,K] W[M,K]^T and its two gradients, dx = dy W and dW (+)= dy^T x. All three
 * are one product. */
#include "kernels/cpu/cpu_priv.h"
#include "kernels/cpu/gemm.h"

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

size_t tt_cpu_linear_workspace(const tt_shapes *s)
{
    return tt_gemm_workspace(s->in[0].dtype, s->out[0].dtype, s->n_threads);
}
