/* Between the reader and retention. */
#ifndef TT_CKPT_READER_PRIV_H
#define TT_CKPT_READER_PRIV_H

/** 1 when dir/name opens as a checkpoint: committed, manifest sound, all files there with their sizes. */
int tt_ckpt_is_sound(const char *dir, const char *name);

#endif
