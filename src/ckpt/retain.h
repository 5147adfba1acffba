/* Deleting old checkpoints: only committed and sound ones are counted and only such ones are deleted. */
#ifndef TT_CKPT_RETAIN_H
#define TT_CKPT_RETAIN_H

#include "base/error.h"

/** Keep the keep_latest_k newest sound checkpoints of dir (0 keeps all) and delete the older sound ones; also delete what
 *  dead jobs left: .trash-* and step-N.tmp up to the newest committed step. A folder is renamed to .trash- first, so a
 *  half deleted checkpoint is never taken for one. Foreign, partial and damaged folders stay. One rank calls it.
 *  Errors: TT_ERR_IO (what could be deleted is deleted). */
tt_status tt_ckpt_retain(const char *dir, int keep_latest_k, tt_error *err);

#endif
