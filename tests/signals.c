/* Signals set the flag once, survive a second installation; the clock never goes back. */
#include "base/clock.h"
#include "base/signals.h"
#include "tap.h"

#include <signal.h>

int main(void)
{
    is_int(tt_signals_seen(), 0, "nothing seen at start");
    tt_signals_install();
    raise(SIGUSR1);
    is_int(tt_signals_seen(), SIGUSR1, "USR1 is seen");
    raise(SIGTERM);
    is_int(tt_signals_seen(), SIGUSR1, "the first one counts");
    tt_signals_clear();
    signal(SIGTERM, SIG_IGN);
    tt_signals_install();
    raise(SIGTERM);
    is_int(tt_signals_seen(), SIGTERM, "installing again takes a lost signal back");
    is_str(tt_signals_name(SIGTERM), "SIGTERM", "name");
    is_str(tt_signals_name(SIGSEGV), "a signal", "other name");
    tt_signals_clear();
    raise(SIGUSR2);
    is_int(tt_signals_seen(), SIGUSR2, "USR2 is seen");
    double start = tt_clock_s();
    tt_clock_sleep(0.02);
    double took = tt_clock_s() - start;
    ok(took >= 0.02 && took < 5, "sleeps as long as asked");
    tt_clock_sleep(-1);
    ok(tt_clock_wall_s() > 1.6e9, "wall clock");
    return done_testing();
}
