/* What differs between the configurations of several runs, from the texts of their config.cfg. Read line by line, not by the
 * parser of the configuration, so that files of other versions of titan can be compared too. */
#ifndef TT_REPORT_CONFIG_DIFF_H
#define TT_REPORT_CONFIG_DIFF_H

typedef struct tt_config_difference {
    char *key;     /* "optimizer.lr"; owned, as all here */
    char **value;  /* by run; NULL = unset, or the run has no config */
    char **origin; /* by run: "FILE:LINE", "command line"; NULL = the default */
} tt_config_difference;

/** Keys that have not the same value in all of n texts (NULL = no config: takes no part), in the order in which they come.
 *  job.dump_folder and job.config_file, which say which run it is and not how, are left out. Returns them (malloc'd) and
 *  their number in *n_out. Free with tt_config_diff_free. */
tt_config_difference *tt_config_diff(char *const *text, int n, int *n_out);
void tt_config_diff_free(tt_config_difference *d, int n_differences, int n);

#endif
