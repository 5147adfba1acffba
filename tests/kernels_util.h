/* Shared by the kernel tests: operands between red zones, a run of one op with a guarded workspace,
 * and the check that every op goes through.
 *
 * Operands are deliberately not aligned to vectors. check_op runs an op with pools of 1, 2 and 3
 * threads: each result is within tolerance of the reference, a second run gives the same bits,
 * outputs are written whole (they start as NaN), and no byte around an operand or the workspace
 * changes. */
#ifndef TT_TESTS_KERNELS_UTIL_H
#define TT_TESTS_KERNELS_UTIL_H

#include "kernels/cpu/pool.h"
#include "kernels/kernels.h"
#include "tap.h"

#define MAX_OPERANDS 8

typedef struct op_case {
    const char *name;
    tt_attrs attr;
    int n_in, n_out;
    tt_tensor in[MAX_OPERANDS], out[MAX_OPERANDS];
    double *want[MAX_OPERANDS]; /* owned: fp64 reference of each output, without what was there
                                   before */
    double tol[MAX_OPERANDS];   /* of the reference's largest element; half a bf16 step comes on top
                                   for bf16 */
    double floor;    /* least magnitude that tolerances refer to, for results that cancel */
    int accumulates; /* try accumulate 1 as well */
    const tt_simd *simd; /* run with this instruction set; NULL: the best */
} op_case;

/* A fresh tensor of zeros; unused dims 0. Freed by op_free. */
tt_tensor tensor(tt_dtype dtype, int64_t d0, int64_t d1, int64_t d2);
void tensor_free(tt_tensor *t);
int64_t numel(const tt_tensor *t);
double get(const tt_tensor *t, int64_t i);
void set(const tt_tensor *t, int64_t i, double value);

/* Reproducible numbers: uniform in [-a, a) around `center`. */
double uniform(uint64_t *state);
void fill(const tt_tensor *t, uint64_t *state, double center, double a);

/* Add an operand to a case. */
tt_tensor *op_in(op_case *c, tt_tensor t);
tt_tensor *op_out(op_case *c, tt_tensor t, double tol);

/* Run once with a pool of `threads`; returns 1 when the red zones are whole. */
int op_run(op_case *c, int threads, int accumulate);

/* The check described above, as one TAP line. Frees nothing. */
void check_op(op_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

void op_free(op_case *c);

#endif
