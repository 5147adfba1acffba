/* See signals.h. The flag is one of the two pieces of global state that the project allows. */
#include "base/signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t seen;

static void remember(int signal)
{
    if (signal == SIGINT && seen) {
        struct sigaction dfl = {.sa_handler = SIG_DFL};
        sigaction(SIGINT, &dfl, NULL);
        raise(SIGINT);
        return;
    }
    if (!seen)
        seen = signal;
}

void tt_signals_install(void)
{
    static const int signals[] = {SIGTERM, SIGUSR1, SIGUSR2, SIGINT, SIGHUP};
    struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    struct sigaction now;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (signals[i] == SIGHUP && sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            continue; /* started by nohup: it is to outlive its terminal */
        sigaction(signals[i], &action, NULL);
    }
}

int tt_signals_seen(void)
{
    return seen;
}

void tt_signals_clear(void)
{
    seen = 0;
}

const char *tt_signals_name(int signal)
{
    switch (signal) {
    case SIGTERM: return "SIGTERM";
    case SIGUSR1: return "SIGUSR1";
    case SIGUSR2: return "SIGUSR2";
    case SIGINT: return "SIGINT";
    case SIGHUP: return "SIGHUP";
    default: return "a signal";
    }
}
