/* See op_table.h. */
#include "profile/op_table.h"

#include "graph/ops.h"

#include <stdlib.h>

typedef struct line {
    int op;
    const tt_op_time *t;
} line;

static int dearest_first(const void *a, const void *b)
{
    double x = ((const line *)a)->t->seconds, y = ((const line *)b)->t->seconds;
    return x < y ? 1 : x > y ? -1 : ((const line *)a)->op - ((const line *)b)->op;
}

/* Communication is bound by what connects the ranks, which is no ceiling measured here. */
static void print_line(const line *l, int steps, double seconds, const tt_ceilings *c, FILE *out)
{
    const tt_op_time *t = l->t;
    const int is_product = t->flops > 0;
    double rate = (is_product ? t->flops : t->bytes) / t->seconds;
    fprintf(out, "%-16s %8.1f %10.2f %6.1f%% %9.1f %-7s", tt_op_info(l->op)->name, (double)t->calls / steps,
            1e3 * t->seconds / steps, 100 * t->seconds / seconds, rate * 1e-9, is_product ? "GFLOP/s" : "GB/s");
    if (c && !tt_op_is_comm(l->op))
        fprintf(out, " %9.0f%%", 100 * rate / (is_product ? c->flops : c->bytes));
    fputc('\n', out);
}

static void print_ceilings(const tt_ceilings *c, FILE *out)
{
    fprintf(out, "ceilings         %.1f GFLOP/s (product of %d x %d x %d, %s), %.1f GB/s (copy of %zu MiB); %d threads\n",
            c->flops * 1e-9, TT_CEILING_SIDE, TT_CEILING_SIDE, TT_CEILING_SIDE, tt_dtype_name(c->dtype), c->bytes * 1e-9,
            c->copied >> 20, c->threads);
}

void tt_op_table_print(const tt_op_time *times, int steps, double seconds, const tt_ceilings *ceilings, FILE *out)
{
    line lines[TT_N_OPS];
    double explained = 0, products = 0;
    int n = 0;
    for (int op = 0; op < TT_N_OPS; op++)
        if (times[op].seconds > 0) {
            lines[n++] = (line){op, &times[op]};
            explained += times[op].seconds;
            products += op == TT_OP_linear || op == TT_OP_linear_dx || op == TT_OP_linear_dw || op == TT_OP_linear_dx_sum
                            ? times[op].seconds
                            : 0;
        }
    qsort(lines, (size_t)n, sizeof *lines, dearest_first);
    fprintf(out, "%-16s %8s %10s %7s %9s %-7s%s\n", "op", "calls", "ms", "share", "rate", "", ceilings ? " of ceiling" : "");
    for (int i = 0; i < n; i++)
        print_line(&lines[i], steps, seconds, ceilings, out);
    fprintf(out, "%-16s %8s %10.2f %6.1f%%  (data, host, and waiting)\n", "the rest", "", 1e3 * (seconds - explained) / steps,
            100 * (1 - explained / seconds));
    fprintf(out, "%-16s %8s %10.2f %6.1f%% are products of linear layers, %.1f%% are not\n", "a step", "",
            1e3 * seconds / steps, 100 * products / seconds, 100 * (1 - products / seconds));
    if (ceilings)
        print_ceilings(ceilings, out);
}
