/* Log lines on stderr: tt_log_root speaks once (rank 0), tt_log_all on each rank with a prefix.
 * The level, the rank and the prefix are set once at start (the only global state beside the signal flag). */
#ifndef TT_BASE_LOG_H
#define TT_BASE_LOG_H

typedef enum tt_log_level { TT_LOG_DEBUG, TT_LOG_INFO, TT_LOG_WARN, TT_LOG_ERROR } tt_log_level;

/** Set rank and world size once; before it, the process speaks as rank 0 of 1. */
void tt_log_set_rank(int rank, int size);
/** Coordinates shown in the prefix of tt_log_all, such as "dps0 tp3" (copied); NULL clears. */
void tt_log_set_place(const char *place);
void tt_log_set_level(tt_log_level level);
/** Copy every line of this rank to a file as well (NULL stops); used for <dump_folder>/logs/rank-N.log. Returns 0 or errno. */
int tt_log_set_file(const char *path);

/** What the macros call: one line when level is loud enough, on rank 0 only when root_only. */
void tt_log_write(tt_log_level level, int root_only, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define tt_log_root(level, ...) tt_log_write(TT_LOG_##level, 1, __VA_ARGS__)
#define tt_log_all(level, ...) tt_log_write(TT_LOG_##level, 0, __VA_ARGS__)

#endif
