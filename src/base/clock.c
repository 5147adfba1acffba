/* See clock.h. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

static double read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double tt_clock_s(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double tt_clock_wall_s(void)
{
    return read_clock(CLOCK_REALTIME);
}

void tt_clock_sleep(double seconds)
{
    if (!(seconds > 0))
        return;
    struct timespec left = {.tv_sec = (time_t)seconds};
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
        continue;
}
