/* Options of a program's own, such as titan-plan's --ranks=64. A program with a config takes its own options out of argv
 * first (tt_args_take) and gives what is left to tt_config_from_args; one without a config then checks that only
 * positional arguments are left (tt_args_positional). */
#ifndef TT_BASE_ARGS_H
#define TT_BASE_ARGS_H

#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

typedef struct tt_option {
    const char *name;       /* "max-tokens", without dashes; hyphens and underscores are the same on the command line */
    const char *value_name; /* "N" for --max-tokens=N or --max-tokens N; NULL for a flag */
    const char *doc;        /* one line for --help */
    const char *value;      /* out: NULL when not given, "" for a flag, else the text (borrowed from argv) */
} tt_option;

/** Take the n options out of argv (the last one given wins) and leave the rest, in order; argv[0] stays, *argc shrinks.
 *  Nothing after "--" is looked at. Errors: TT_ERR_USAGE (value missing, a flag with a value). */
tt_status tt_args_take(int *argc, char **argv, tt_option *options, int n, tt_error *err);

/** Refuse any "--name" left in argv, with "did you mean" among the options, and a count outside [least, most].
 *  "--" is dropped. `what` names the arguments in the message ("FILE OUT"). Errors: TT_ERR_USAGE. */
tt_status tt_args_positional(int *argc, char **argv, const tt_option *options, int n, int least, int most, const char *what,
                             tt_error *err);

/** Text of an option to a number. Errors: TT_ERR_USAGE naming the option and the range. */
tt_status tt_args_int(const tt_option *option, int64_t low, int64_t high, int64_t *out, tt_error *err);
tt_status tt_args_float(const tt_option *option, double low, double high, double *out, tt_error *err);

/** The options for --help, two lines each. */
void tt_args_help(const tt_option *options, int n, FILE *out);

/** 1 when the n letters of a and the whole of b are equal, '-' and '_' being the same. */
int tt_args_same_name(const char *a, size_t n, const char *b);

#endif
