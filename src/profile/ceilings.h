/* What this machine can do at most, measured where and when it is asked: the rate of a large square
 * product and of a copy, with the kernels and the threads of a device. The op table prints ops
 * beside them. */
#ifndef TT_PROFILE_CEILINGS_H
#define TT_PROFILE_CEILINGS_H

#include "base/dtype.h"
#include "device/device.h"

#define TT_CEILING_SIDE 1024 /* rows, columns and terms of the product */

typedef struct tt_ceilings {
    double flops; /* of the product, a second */
    double bytes; /* read and written by the copy, a second */
    tt_dtype dtype;
    size_t copied; /* bytes of each side of the copy */
    int threads;
} tt_ceilings;

/** Measure both on the device, which must be idle: a product of `dtype` operands, and a copy of
 * twice the last cache, at least 64 MiB and at most 256 MiB. Takes some 0.3 s and gives the memory
 * back. Not collective, but ranks that share a node should measure together, as they run. Errors:
 * TT_ERR_NOMEM, and what the device's tasks give. */
tt_status tt_ceilings_measure(tt_device *device, tt_dtype dtype, tt_ceilings *c, tt_error *err);

#endif
