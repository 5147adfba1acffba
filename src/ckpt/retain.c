/* See retain.h. */
#include "ckpt/retain.h"

#include "base/fs.h"
#include "ckpt/checkpoint.h"
#include "ckpt/layout.h"
#include "ckpt/reader_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Out of sight in one rename, then unlinked. */
static tt_status throw_away(const char *dir, const char *name, tt_error *err)
{
    char trash_name[TT_CKPT_NAME_MAX];
    tt_status st = TT_OK;
    tt_ckpt_name_trash(trash_name, name);
    char *path = tt_fs_join(dir, name), *trash = tt_fs_join(dir, trash_name);
    if (!path || !trash) {
        st = tt_fail(err, TT_ERR_NOMEM, "deleting %s/%s: out of memory", dir, name);
        goto out;
    }
    TT_TRY(tt_fs_remove_all(trash, err));
    if (rename(path, trash) != 0) {
        st = tt_fs_fail(err, "rename to .trash-", path, errno);
        goto out;
    }
    TT_TRY(tt_fs_remove_all(trash, err));
out:
    free(path);
    free(trash);
    return st;
}

static tt_status remove_leftovers(const char *dir, const tt_ckpt_listing *l, int64_t newest, tt_error *err)
{
    tt_status st = TT_OK;
    for (int i = 0; i < l->n_leftovers; i++) {
        const char *name = l->leftovers[i];
        if (name[0] != '.' && strtoll(name + 5, NULL, 10) > newest)
            continue; /* step-N.tmp ahead of us: someone may be writing it */
        char *path = tt_fs_join(dir, name);
        tt_status one = path ? tt_fs_remove_all(path, err) : tt_fail(err, TT_ERR_NOMEM, "deleting %s: out of memory", name);
        free(path);
        st = st == TT_OK ? one : st;
    }
    return st;
}

tt_status tt_ckpt_retain(const char *dir, int keep_latest_k, tt_error *err)
{
    tt_ckpt_listing l;
    int kept = 0;
    int64_t newest = -1;
    tt_status st = tt_ckpt_list(dir, &l, err);
    if (st != TT_OK)
        return st;
    for (int i = 0; i < l.n_steps; i++) {
        if (!l.steps[i].committed)
            continue;
        if (newest < 0)
            newest = l.steps[i].step;
        if (keep_latest_k <= 0)
            break;
        if (!tt_ckpt_is_sound(dir, l.steps[i].name) || kept++ < keep_latest_k)
            continue;
        tt_status one = throw_away(dir, l.steps[i].name, err);
        st = st == TT_OK ? one : st;
    }
    if (newest >= 0) {
        tt_status one = remove_leftovers(dir, &l, newest, err);
        st = st == TT_OK ? one : st;
    }
    tt_ckpt_listing_free(&l);
    return st;
}
