/* The backward, on the logical graph: each forward instruction in reverse emits the instructions of its gradients. */
#ifndef TT_PASSES_DIFFERENTIATE_H
#define TT_PASSES_DIFFERENTIATE_H

#include "graph/ops.h"

/** Append the backward of list[0 .. list->n) to list, given the gradient of one value (dx of x). Input gradients get role
 *  I, weight gradients role W and grad_of = the parameter; several uses of a parameter give several such instructions.
 *  Gradients of activations used more than once are added in reverse order of use. */
void tt_differentiate(tt_program *p, tt_instr_list *list, tt_vid x, tt_vid dx);

#endif
