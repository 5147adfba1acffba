/* Host memory of this process: the most it has had resident, and what it may have. */
#ifndef TT_METRICS_USAGE_H
#define TT_METRICS_USAGE_H

#include <stdint.h>

typedef struct tt_usage {
    int64_t peak_bytes;  /* peak resident size since the process began; 0 when unknown */
    int64_t limit_bytes; /* smallest of the cgroup's limits and the machine's memory; 0 when unknown */
} tt_usage;

/** Read both from /proc and /sys/fs/cgroup (version 2 or 1). */
tt_usage tt_usage_read(void);

/** The same with the files below another root folder ("" is the real one), for tests. */
tt_usage tt_usage_read_at(const char *root);

#endif
