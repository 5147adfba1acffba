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

static void print_line(const line *l, int steps, double seconds, FILE *out)
{
    const tt_op_time *t = l->t;
    fprintf(out, "%-16s %8.1f %10.2f %6.1f%%", tt_op_info(l->op)->name, (double)t->calls / steps, 1e3 * t->seconds / steps,
            100 * t->seconds / seconds);
    if (t->flops > 0)
        fprintf(out, " %9.1f GFLOP/s\n", t->flops / t->seconds * 1e-9);
    else
        fprintf(out, " %9.1f GB/s\n", t->bytes / t->seconds * 1e-9);
}

void tt_op_table_print(const tt_op_time *times, int steps, double seconds, FILE *out)
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
    fprintf(out, "%-16s %8s %10s %7s\n", "op", "calls", "ms", "share");
    for (int i = 0; i < n; i++)
        print_line(&lines[i], steps, seconds, out);
    fprintf(out, "%-16s %8s %10.2f %6.1f%%  (data, host, and waiting)\n", "the rest", "", 1e3 * (seconds - explained) / steps,
            100 * (1 - explained / seconds));
    fprintf(out, "%-16s %8s %10.2f %6.1f%% are products\n", "a step", "", 1e3 * seconds / steps, 100 * products / seconds);
}
