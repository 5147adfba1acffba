/* Who lives where when: the memory plan of one rank as JSON.
 *
 * Memory is planned, so this is no sample: it is what every step does. "scopes" and "uses" are bytes by purpose as
 * titan-plan prints them; "values" are what stays (state, step, frame) with offsets from the start of their scope; each of
 * "parts" has its scratch: "instructions" with the bytes in use at each, and "values" with offset, bytes and the first and last
 * instruction that touches them. */
#ifndef TT_PROFILE_MEMORY_MAP_H
#define TT_PROFILE_MEMORY_MAP_H

#include "graph/program.h"

/** Write it to path, whose folder exists. peak_bytes is the process's or device's measured peak. Errors: TT_ERR_IO,
 *  TT_ERR_NOMEM. */
tt_status tt_memory_map_write(const tt_program *p, int64_t peak_bytes, const char *path, tt_error *err);

#endif
