/* Packing one part's scratch: offsets such that values share space only where the events prove it safe.
 *
 * Two values may overlap when every access of one is known to be done before the first access of the other. The whole
 * part is known in advance, so values are placed largest first, each into the smallest gap left by those it meets. */
#ifndef TT_PASSES_PACK_H
#define TT_PASSES_PACK_H

#include "graph/program.h"

#define TT_MEMORY_ALIGN ((size_t)256)

static inline size_t tt_memory_align(size_t bytes)
{
    return (bytes + TT_MEMORY_ALIGN - 1) & ~(TT_MEMORY_ALIGN - 1);
}

/** Place the scratch values of a part whose waits are set: offsets, scratch_bytes, scratch_floor. */
void tt_pack_part(tt_program *p, tt_part *part);

#endif
