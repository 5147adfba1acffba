/* Checks a finished program as if its passes were not to be trusted (run after compile in tests and under debug). */
#ifndef TT_GRAPH_VERIFY_H
#define TT_GRAPH_VERIFY_H

#include "graph/program.h"

/** Operands exist and have the op's count; everything read was written before; operands fit the op; only
 *  update, init and restore write state; every hazard between queues and every reuse of space is proved by events; values
 *  stay inside their scope. Errors: TT_ERR_INTERNAL naming part, instruction and value. O(values^2) in the worst case. */
tt_status tt_verify(const tt_program *p, tt_error *err);

/** The checks that hold after any pass on a placed list (shapes, types, operands, gradients' placements), before scopes and
 *  events exist. pass names it in the message. Run after each pass when tt_compile_opts.verify is set. */
tt_status tt_verify_list(const tt_program *p, const tt_instr_list *list, const char *pass, tt_error *err);

#endif
