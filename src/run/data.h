/* The data of a job: its tokenizer, its training rows and its validation rows, as the configuration says. */
#ifndef TT_RUN_DATA_H
#define TT_RUN_DATA_H

#include "base/config.h"
#include "data/loader.h"

typedef struct tt_job_data {
    tt_tokenizer *tokenizer;
    tt_loader *train, *validation; /* validation NULL when it is off */
} tt_job_data;

/** Open all of it; vocab is the number of rows of the model's embedding. The caller closes with tt_job_data_close, also after an error.
 *  Not collective. Errors: those of tt_tokenizer_open, tt_dataset_find, tt_loader_open. */
tt_status tt_job_data_open(const tt_config *cfg, int64_t vocab, tt_job_data *data, tt_error *err);
void tt_job_data_close(tt_job_data *data); /* accepts zeros */

/** What a resume must find again: the tokenizer's identity in hex, and in *text (malloc'd) how the samples are cut and from how many tokens;
 *  NULL when that is not known before reading. Errors: TT_ERR_NOMEM. */
tt_status tt_job_data_identity(const tt_config *cfg, const tt_job_data *data, char tokenizer[33], char **text, tt_error *err);

/** Say in the log what the data is, and what a step of `rows` rows means for it. */
void tt_job_data_log(const tt_config *cfg, const tt_job_data *data, int64_t rows);

#endif
