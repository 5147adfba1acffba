/* The request to stop: SIGTERM, SIGUSR1 and SIGUSR2 set one flag, which the trainer reads at step boundaries.
 * SIGINT does so once as well; a second one ends the process at once. */
#ifndef TT_BASE_SIGNALS_H
#define TT_BASE_SIGNALS_H

/** Install the handlers; calling it again (after a library took a signal) installs them again. */
void tt_signals_install(void);

/** Number of the first signal that came, 0 when none has. */
int tt_signals_seen(void);

/** "SIGTERM", … for messages; "a signal" for others. */
const char *tt_signals_name(int signal);

/** Forget what was seen (tests). */
void tt_signals_clear(void);

#endif
