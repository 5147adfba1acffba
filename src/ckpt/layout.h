/* Names inside a checkpoint folder, and what is there: steps are compared as numbers, never as text.
 *
 *   DIR/step-1000/            a checkpoint: manifest.json, COMMITTED, index.h5, part-00000.h5 …
 *   DIR/step-1000.tmp/        being written, or left by a job that died
 *   DIR/.trash-step-900/      being deleted
 * "step-0950" counts as step 950. Everything else (step-best, a file named step-2000) is foreign: named in the log, never
 * touched. */
#ifndef TT_CKPT_LAYOUT_H
#define TT_CKPT_LAYOUT_H

#include "base/error.h"

#include <stdint.h>

#define TT_CKPT_MANIFEST "manifest.json"
#define TT_CKPT_COMMITTED "COMMITTED"
#define TT_CKPT_INDEX "index.h5"
#define TT_CKPT_NAME_MAX 48 /* bytes of a name made here, NUL included */

/** Names into out[TT_CKPT_NAME_MAX]: "step-N", "step-N.tmp", ".trash-NAME", "part-RRRRR.h5". */
void tt_ckpt_name_step(char *out, int64_t step);
void tt_ckpt_name_temporary(char *out, int64_t step);
void tt_ckpt_name_trash(char *out, const char *name);
void tt_ckpt_name_part(char *out, int rank);

/** Step number of a folder name "step-<1 to 18 digits>", else -1. */
int64_t tt_ckpt_parse_step(const char *name);

typedef struct tt_ckpt_step_entry {
    int64_t step;
    char name[TT_CKPT_NAME_MAX]; /* as it is on disk */
    int committed;               /* a file COMMITTED is in it */
} tt_ckpt_step_entry;

typedef struct tt_ckpt_listing {
    tt_ckpt_step_entry *steps; /* owned; newest first; of one number: committed first, then the unpadded name */
    int n_steps;
    char **leftovers; /* owned; step-N.tmp and .trash-step-N */
    int n_leftovers;
    char *foreign; /* owned; the other names, "a, b, c", or "" */
} tt_ckpt_listing;

/** What is in dir. A dir that does not exist is an empty listing. Errors: TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_ckpt_list(const char *dir, tt_ckpt_listing *listing, tt_error *err);
void tt_ckpt_listing_free(tt_ckpt_listing *listing);

#endif
