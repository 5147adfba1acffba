/* Bytes: which scope a value lives in, and where.
 *
 * State and step values are laid end to end. Frame values (forward -> backward) are too: all are alive in between.
 * Scratch is packed over the instructions of a part (pack.h); space is reused only where the events prove that its last
 * reader is done. Nothing is allocated after this: an operand is base + offset. */
#ifndef TT_PASSES_MEMORY_H
#define TT_PASSES_MEMORY_H

#include "graph/ops.h"

/* What planning needs to know of a device; never the device itself. */
typedef struct tt_device_profile {
    const char *name;
    int n_threads;
    /** Scratch bytes a kernel needs (shapes only; data pointers are NULL). */
    size_t (*workspace)(const char *op, const tt_attrs *attr, const tt_tensor *in, int n_in, const tt_tensor *out,
                        int n_out, int n_threads);
} tt_device_profile;

/** Give instructions their workspace values (before the order pass, so that hazards on them are seen too). */
void tt_plan_workspaces(tt_program *p, const tt_device_profile *device);
/** Decide scopes and offsets (after the order pass). */
void tt_plan_memory(tt_program *p);

#endif
