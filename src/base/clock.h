/* Time for measuring: seconds that never jump. */
#ifndef TT_BASE_CLOCK_H
#define TT_BASE_CLOCK_H

/** Monotonic seconds since an arbitrary start. */
double tt_clock_s(void);

/** Sleep for at least `seconds`, also across signals. */
void tt_clock_sleep(double seconds);

/** Seconds since 1970 (wall clock, may jump): for time stamps only. */
double tt_clock_wall_s(void);

#endif
