/* A test device that is unkind in every way a GPU may be: its memory cannot be touched by the host outside kernels and
 * copies (mprotect), fresh memory is poisoned with NaN, and nothing runs when it is enqueued: queues run late, in an
 * adversarial order that their events allow. Programs must give the CPU device's bits on it. */
#ifndef TT_TESTS_DEVICE_FAR_H
#define TT_TESTS_DEVICE_FAR_H

#include "device/device.h"

/** seed chooses the order in which queues take their turns. */
tt_status tt_device_create_far(int n_threads, uint32_t seed, tt_device **device, tt_error *err);

#endif
