/* A program as text: what this rank will do, to read, to compare in tests, and to recognise again.
 *
 * One line per instruction: index, queue, role, block, outputs with type and placement = op, inputs, attributes, waits.
 * A value is NAME%NUMBER; its type stands where it is made: dtype, this rank's extents ("of" the logical ones when they
 * differ), placement on the axes over which it is not replicated. Layers that are alike are shown once; their initial
 * standard deviations may differ. */
#ifndef TT_GRAPH_PRINT_H
#define TT_GRAPH_PRINT_H

#include "graph/program.h"

#include <stdio.h>

typedef struct tt_print_opts {
    int unfolded; /* 1: every layer */
    int offsets;  /* 1: also where each value lies; implies unfolded */
    int parts;    /* bit mask of tt_part_id; 0 = all */
} tt_print_opts;

/** The whole program: mesh, parameters, saved values, parts. opts may be NULL (folded, all parts). */
void tt_program_print(const tt_program *p, FILE *out, const tt_print_opts *opts);

/** What the forward keeps for the backward, block by block, with bytes: the recompute policy's choice made visible. */
void tt_program_print_saved(const tt_program *p, FILE *out, int unfolded);

/** XXH3-64 of the unfolded text without offsets: equal programs have equal hashes, wherever they were built. */
uint64_t tt_program_hash(const tt_program *p);

/** "compute", "gather", …; and F, I, W or - for a role. */
const char *tt_queue_name(tt_queue queue);
char tt_role_letter(tt_role role);

/** "bf16[16,32 of 32,32] dp_shard:S0" into text (cut when it does not fit). Returns text. */
char *tt_value_type_text(const tt_program *p, tt_vid v, char *text, size_t size);

#endif
