/* The table of CPU kernels: what tt_cpu_kernel finds by name, and how much scratch each needs. */
#include <string.h>

#include "kernels/cpu/cpu_priv.h"

static const struct {
    const char *name;
    tt_kernel_fn fn;
} kernels[] = {
#define X(name) {#name, tt_cpu_##name},
    TT_CPU_KERNELS(X)
#undef X
};

/* Kernels that need scratch; the others work in registers and on the stack. */
static const struct {
    const char *name;
    size_t (*bytes)(const tt_shapes *s);
} workspaces[] = {
    {"linear", tt_cpu_linear_workspace},
    {"linear_dx", tt_cpu_linear_workspace},
    {"linear_dw", tt_cpu_linear_workspace},
    {"linear_dx_sum", tt_cpu_linear_workspace},
    {"attention", tt_cpu_attention_workspace},
    {"attention_bwd", tt_cpu_attention_bwd_workspace},
    {"sumsq", tt_cpu_sumsq_workspace},
};

tt_kernel_fn tt_cpu_kernel(const char *name)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return kernels[i].fn;
    return NULL;
}

size_t tt_cpu_workspace(const char *name, const tt_attrs *attr, const tt_tensor *in, int n_in,
                        const tt_tensor *out, int n_out, int n_threads)
{
    tt_shapes s = {
        .attr = attr, .in = in, .n_in = n_in, .out = out, .n_out = n_out, .n_threads = n_threads};
    for (size_t i = 0; i < sizeof workspaces / sizeof workspaces[0]; i++)
        if (strcmp(workspaces[i].name, name) == 0)
            return (workspaces[i].bytes(&s) + 63) / 64 * 64;
    return 0;
}
