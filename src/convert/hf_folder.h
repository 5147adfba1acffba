/* The weights of a published (Hugging Face) model folder: model.safetensors, or shards named by an index.
 *
 * The index's weight_map decides which file holds a tensor; file names are never parsed. Published folders exist whose
 * index and shards disagree, so each mapped name is looked for in its shard's header, and each tensor of a shard in the
 * index, before anything is read. */
#ifndef TT_CONVERT_HF_FOLDER_H
#define TT_CONVERT_HF_FOLDER_H

#include "convert/safetensors.h"

typedef struct tt_hf_folder tt_hf_folder;

/** Open all files of dir and check them against the index. model.safetensors alone wins over an index.
 *  Errors: TT_ERR_DATA naming tensor and file (missing shard, tensor not in its shard, tensor not in the index, damaged
 *  file, no weights at all), TT_ERR_IO. */
tt_status tt_hf_folder_open(const char *dir, tt_hf_folder **folder, tt_error *err);
void tt_hf_folder_close(tt_hf_folder **folder);

/** The path it was opened with; borrowed. */
const char *tt_hf_folder_path(const tt_hf_folder *folder);
/** All tensors, file after file; borrowed. *file (may be NULL) is the file that holds it. */
int tt_hf_folder_count(const tt_hf_folder *folder);
const tt_safetensors_entry *tt_hf_folder_at(const tt_hf_folder *folder, int i, const tt_safetensors **file);
/** The tensor of that name and its file, or NULL. */
const tt_safetensors_entry *tt_hf_folder_find(const tt_hf_folder *folder, const char *name,
                                              const tt_safetensors **file);

/** As tt_safetensors_read_box, in whichever file holds the tensor. Errors: TT_ERR_DATA naming tensor and folder. */
tt_status tt_hf_folder_read_box(const tt_hf_folder *folder, const char *name, const tt_box *box, float *dst,
                                const int64_t *pitch, tt_error *err);

#endif
