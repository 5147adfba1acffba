/* Data sets by name: where the files of a name such as "c4" lie. titan downloads nothing. */
#ifndef TT_DATA_DATASET_NAMES_H
#define TT_DATA_DATASET_NAMES_H

#include "base/error.h"

/** The path to open for data set `name` of config section `key` ("training"): malloc'd in *out, for tt_source_open. With `path` (may be
 *  NULL) that is where the files are: a file, a pattern, or a folder, in which a known name has its own files. Without it a known name is looked for
 *  in the working folder. Errors: TT_ERR_CONFIG (no path and nothing found: says where to put the files; names a known one near it). */
tt_status tt_dataset_find(const char *key, const char *name, const char *path, char **out, tt_error *err);

#endif
