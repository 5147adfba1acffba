/* JSON documents written whole or not at all. */
#ifndef TT_CONVERT_JSON_FILE_H
#define TT_CONVERT_JSON_FILE_H

#include "base/error.h"

#include <jansson.h>

/** Write doc (indented, keys sorted) to path by way of path.tmp, synced. Takes doc over in any case; NULL is "no memory".
 *  Errors: TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_json_write_take(const char *path, json_t *doc, tt_error *err);

#endif
