/* See layout.h. */
#include "ckpt/layout.h"

#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tt_ckpt_name_step(char *out, int64_t step)
{
    snprintf(out, TT_CKPT_NAME_MAX, "step-%lld", (long long)step);
}

void tt_ckpt_name_temporary(char *out, int64_t step)
{
    snprintf(out, TT_CKPT_NAME_MAX, "step-%lld.tmp", (long long)step);
}

void tt_ckpt_name_trash(char *out, const char *name)
{
    snprintf(out, TT_CKPT_NAME_MAX, ".trash-%.40s", name);
}

void tt_ckpt_name_part(char *out, int rank)
{
    snprintf(out, TT_CKPT_NAME_MAX, "part-%05d.h5", rank);
}

/* Digits after "step-", or 0 when name does not begin so. */
static size_t step_digits(const char *name)
{
    if (strncmp(name, "step-", 5) != 0)
        return 0;
    size_t n = strspn(name + 5, "0123456789");
    return n <= 18 ? n : 0;
}

int64_t tt_ckpt_parse_step(const char *name)
{
    size_t n = step_digits(name);
    return n && name[5 + n] == '\0' ? strtoll(name + 5, NULL, 10) : -1;
}

static int is_leftover(const char *name)
{
    size_t n = step_digits(name);
    return (n && strcmp(name + 5 + n, ".tmp") == 0) ||
           (strncmp(name, ".trash-", 7) == 0 && tt_ckpt_parse_step(name + 7) >= 0);
}

static int compare_steps(const void *a, const void *b)
{
    const tt_ckpt_step_entry *x = a, *y = b;
    if (x->step != y->step)
        return x->step > y->step ? -1 : 1;
    if (x->committed != y->committed)
        return y->committed - x->committed;
    return (int)strlen(x->name) - (int)strlen(y->name);
}

/* array with room for one element more; on failure the old one stays and NULL is returned. */
static void *grown(void *array, int n, size_t size)
{
    return realloc(array, ((size_t)n + 1) * size);
}

static int add_step(tt_ckpt_listing *l, const char *path, const char *name)
{
    tt_ckpt_step_entry *more = grown(l->steps, l->n_steps, sizeof *more);
    char *mark = tt_fs_join(path, TT_CKPT_COMMITTED);
    if (more)
        l->steps = more;
    if (more && mark) {
        tt_ckpt_step_entry *e = &more[l->n_steps++];
        *e = (tt_ckpt_step_entry){.step = tt_ckpt_parse_step(name), .committed = tt_fs_exists(mark)};
        snprintf(e->name, sizeof e->name, "%.40s", name); /* step- and at most 18 digits */
    }
    free(mark);
    return more && mark ? 0 : -1;
}

static int add_leftover(tt_ckpt_listing *l, const char *name)
{
    char **more = grown(l->leftovers, l->n_leftovers, sizeof *more);
    if (!more)
        return -1;
    l->leftovers = more;
    more[l->n_leftovers] = strdup(name);
    return more[l->n_leftovers] ? (l->n_leftovers++, 0) : -1;
}

static int add_foreign(tt_ckpt_listing *l, const char *name)
{
    char *more = NULL;
    if (asprintf(&more, "%s%s%s", l->foreign, *l->foreign ? ", " : "", name) < 0)
        return -1;
    free(l->foreign);
    l->foreign = more;
    return 0;
}

static int add_entry(tt_ckpt_listing *l, const char *dir, const char *name)
{
    char *path = tt_fs_join(dir, name);
    if (!path)
        return -1;
    int folder = tt_fs_is_dir(path), failed;
    if (folder && tt_ckpt_parse_step(name) >= 0)
        failed = add_step(l, path, name);
    else if (folder && is_leftover(name))
        failed = add_leftover(l, name);
    else
        failed = add_foreign(l, name);
    free(path);
    return failed;
}

tt_status tt_ckpt_list(const char *dir, tt_ckpt_listing *listing, tt_error *err)
{
    tt_status st = TT_OK;
    *listing = (tt_ckpt_listing){.foreign = strdup("")};
    DIR *d = opendir(dir);
    if (!d && errno != ENOENT)
        st = tt_fs_fail(err, "list checkpoint folder", dir, errno);
    for (struct dirent *e; d && st == TT_OK && (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            (!listing->foreign || add_entry(listing, dir, e->d_name) != 0))
            st = tt_fail(err, TT_ERR_NOMEM, "listing checkpoint folder %s: out of memory", dir);
    if (d)
        closedir(d);
    if (st != TT_OK)
        tt_ckpt_listing_free(listing);
    else if (listing->n_steps > 1)
        qsort(listing->steps, (size_t)listing->n_steps, sizeof *listing->steps, compare_steps);
    return st;
}

void tt_ckpt_listing_free(tt_ckpt_listing *listing)
{
    for (int i = 0; i < listing->n_leftovers; i++)
        free(listing->leftovers[i]);
    free(listing->leftovers);
    free(listing->steps);
    free(listing->foreign);
    *listing = (tt_ckpt_listing){0};
}
