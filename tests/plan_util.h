/* Small programs for the tests of passes: any rank of any mesh, compiled without a world. */
#ifndef TT_TESTS_PLAN_UTIL_H
#define TT_TESTS_PLAN_UTIL_H

#include "graph/ops.h"
#include "passes/compile.h"

/* What a test varies; the rest has defaults (see plan_options). */
typedef struct plan_case {
    int replicate, shard, tp, rank; /* 0 = 1 rank on that axis */
    int layers;                     /* 0 = 3 */
    int batch, microbatches;        /* 0 = 2, 1 */
    int no_sp;
    tt_recompute_opts recompute;
    tt_reshard reshard;
    tt_dtype compute;
    unsigned fusions_off;
} plan_case;

/** The tiny model of the tests: dim 16, 4 heads of 4, 4 kv heads, ffn 24, vocabulary 32. */
tt_status plan_model(int layers, tt_model **model, tt_error *err);
tt_compile_opts plan_options(const plan_case *c);
/** Compile a case. On failure prints the reason and ends the test program. */
tt_program *plan_program(const plan_case *c);
/** Instructions of one op in a part, on one queue (-1: any). */
int plan_count(const tt_program *p, tt_part_id part, int op, int queue);

#endif
