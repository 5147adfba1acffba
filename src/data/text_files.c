/* See text_files.h: which files a name means. */
#include "base/closest.h"
#include "base/fs.h"
#include "data/text_files_priv.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

int tt_text_ends_with(const char *name, size_t n, const char *suffix)
{
    const size_t m = strlen(suffix);
    return n > m && strncasecmp(name + n - m, suffix, m) == 0;
}

tt_status tt_text_refuse_columns(const char *path, const char *kind, tt_error *err)
{
    if (strcmp(kind, "Parquet") == 0)
        return tt_fail(err, TT_ERR_DATA, "%s is a Parquet file, which titan does not read; make JSON lines of it, for example with\n"
                       "  python3 -c 'import pandas; pandas.read_parquet(\"%s\", columns=[\"text\"]).to_json(\"%s.jsonl.gz\", "
                       "orient=\"records\", lines=True)'", path, path, path);
    return tt_fail(err, TT_ERR_DATA, "%s is an Arrow file, which titan does not read; make JSON lines of its folder, for example with\n"
                   "  python3 -c 'import datasets; datasets.load_from_disk(\"FOLDER\").to_json(\"data.jsonl.gz\")'", path);
}

void tt_text_list_free(tt_text_list *list)
{
    for (int i = 0; i < list->n; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (tt_text_list){0};
}

static tt_status append(tt_text_list *list, const char *path, int64_t bytes, tt_error *err)
{
    const size_t n = strlen(path);
    if (tt_text_ends_with(path, n, ".parquet"))
        return tt_text_refuse_columns(path, "Parquet", err);
    if (tt_text_ends_with(path, n, ".arrow") || tt_text_ends_with(path, n, ".feather"))
        return tt_text_refuse_columns(path, "Arrow", err);
    if (list->n == list->room) {
        const int room = list->room ? 2 * list->room : 64;
        char **paths = realloc(list->paths, (size_t)room * sizeof *paths);
        if (!paths)
            return tt_fail(err, TT_ERR_NOMEM, "listing text files: no memory for %d names", room);
        list->paths = paths;
        list->room = room;
    }
    char *copy = strdup(path);
    if (!copy)
        return tt_fail(err, TT_ERR_NOMEM, "listing text files: no memory for %s", path);
    list->paths[list->n++] = copy;
    list->bytes += bytes;
    return TT_OK;
}

/* --- names that are near ------------------------------------------------------------------------------------------------------------ */

enum { NEAR = 4 };

typedef struct near_name {
    char name[256];
    int distance;
} near_name;

static void keep_nearest(near_name *best, int *n, const char *name, int distance)
{
    int at = *n < NEAR ? (*n)++ : NEAR;
    for (; at > 0 && (distance < best[at - 1].distance ||
                      (distance == best[at - 1].distance && strcmp(name, best[at - 1].name) < 0)); at--)
        if (at < NEAR)
            best[at] = best[at - 1];
    if (at < NEAR) {
        snprintf(best[at].name, sizeof best[at].name, "%s", name);
        best[at].distance = distance;
    }
}

/* "; data holds a.txt, b.txt, …" for a name that was not found. */
static void describe_near(const char *path, char *out, size_t room)
{
    near_name best[NEAR + 1];
    int n = 0, all = 0;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char dir[4096];
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1, slash ? path : ".");
    DIR *d = opendir(dir);
    if (!d) {
        snprintf(out, room, "; the folder %.300s cannot be read (%s)", dir, strerror(errno));
        return;
    }
    for (const struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        all++;
        keep_nearest(best, &n, e->d_name, tt_edit_distance(name, e->d_name));
    }
    closedir(d);
    size_t used = (size_t)snprintf(out, room, n ? "; the folder %.300s holds " : "; the folder %.300s is empty", dir);
    for (int i = 0; i < n && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%s", i ? ", " : "", best[i].name);
    if (all > n && used < room)
        snprintf(out + used, room - used, " and %d more", all - n);
}

/* --- files, folders, patterns --------------------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int is_text_name(const char *name)
{
    static const char *const forms[] = {".txt", ".jsonl", ".ndjson", ".json"}, *const packed[] = {".gz", ".zst"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++)
        if (tt_text_ends_with(name, n, packed[i])) {
            n -= strlen(packed[i]);
            break;
        }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (tt_text_ends_with(name, n, forms[i]))
            return name[0] != '.';
    return 0;
}

/* The text files of a folder are appended unsorted; *other is the name of one that holds columns. */
static tt_status scan_folder(tt_text_list *list, const char *folder, char *other, size_t room, tt_error *err)
{
    tt_status st = TT_OK;
    struct stat info;
    DIR *d = opendir(folder);
    if (!d)
        return tt_fs_fail(err, "read the folder", folder, errno);
    for (const struct dirent *e; (e = readdir(d));) {
        const size_t n = strlen(e->d_name);
        if (tt_text_ends_with(e->d_name, n, ".parquet") || tt_text_ends_with(e->d_name, n, ".arrow"))
            snprintf(other, room, "%s/%s", folder, e->d_name);
        if (!is_text_name(e->d_name))
            continue;
        char *path = tt_fs_join(folder, e->d_name);
        if (!path)
            TT_TRY(tt_fail(err, TT_ERR_NOMEM, "listing %s: no memory", folder));
        if (stat(path, &info) != 0)
            st = tt_fs_fail(err, "look at", path, errno);
        else if (!S_ISDIR(info.st_mode))
            st = append(list, path, info.st_size, err);
        free(path);
        TT_TRY(st);
    }
out:
    closedir(d);
    return st;
}

static tt_status add_folder(tt_text_list *list, const char *folder, tt_error *err)
{
    char other[4096] = "";
    const int first = list->n;
    tt_status st = scan_folder(list, folder, other, sizeof other, err);
    if (st != TT_OK)
        return st;
    if (list->n > first) {
        qsort(list->paths + first, (size_t)(list->n - first), sizeof *list->paths, compare_names);
        return TT_OK;
    }
    if (other[0])
        return append(list, other, 0, err);
    return tt_fail(err, TT_ERR_DATA, "the folder %s has no text files; looked for *.txt, *.jsonl, *.ndjson and *.json, also with .gz or "
                   ".zst behind; give the files or a pattern such as %s/*", folder, folder);
}

static tt_status add_pattern(tt_text_list *list, const char *pattern, tt_error *err)
{
    char near[1024];
    tt_status st = TT_OK;
    struct stat info;
    glob_t found = {0};
    const int code = glob(pattern, GLOB_NOSORT, NULL, &found), first = list->n;
    if (code != 0 && code != GLOB_NOMATCH) {
        globfree(&found);
        return code == GLOB_NOSPACE ? tt_fail(err, TT_ERR_NOMEM, "listing %s: no memory", pattern)
                                    : tt_fail(err, TT_ERR_IO,
                                              "listing %s: a folder cannot be read (%s); check the "
                                              "path and its permissions",
                                              pattern, strerror(errno));
    }
    if (code == 0)
        qsort(found.gl_pathv, found.gl_pathc, sizeof found.gl_pathv[0], compare_names);
    for (size_t i = 0; code == 0 && i < found.gl_pathc; i++) {
        if (stat(found.gl_pathv[i], &info) != 0)
            TT_TRY(tt_fs_fail(err, "look at", found.gl_pathv[i], errno));
        if (!S_ISDIR(info.st_mode))
            TT_TRY(append(list, found.gl_pathv[i], info.st_size, err));
    }
    if (list->n == first) {
        describe_near(pattern, near, sizeof near);
        st = tt_fail(err, TT_ERR_DATA, "no file %s %s%s; give text files, a folder of them, or a pattern such as data/*.jsonl.gz",
                     strpbrk(pattern, "*?[") ? "matches" : "is called", pattern, near);
    }
out:
    globfree(&found);
    return st;
}

tt_status tt_text_list_add(tt_text_list *list, const char *path, tt_error *err)
{
    struct stat info;
    if (strcmp(path, "-") == 0)
        return append(list, path, 0, err);
    if (stat(path, &info) != 0) /* a name that exists is no pattern */
        return add_pattern(list, path, err);
    return S_ISDIR(info.st_mode) ? add_folder(list, path, err) : append(list, path, info.st_size, err);
}

/* --- counts ----------------------------------------------------------------------------------------------------------------------------- */

void tt_text_counts_add(tt_text_counts *to, const tt_text_counts *from)
{
    to->files += from->files;
    to->documents += from->documents;
    to->empty += from->empty;
    to->blank += from->blank;
    to->bad += from->bad;
    to->repaired += from->repaired;
    to->surrogates += from->surrogates;
    to->bytes_in += from->bytes_in;
    to->bytes_out += from->bytes_out;
    to->text_bytes += from->text_bytes;
    if (!to->first_bad[0])
        memcpy(to->first_bad, from->first_bad, sizeof to->first_bad);
}

void tt_text_counts_print(const tt_text_counts *c, FILE *out)
{
    const struct { int64_t n; const char *one, *many; } kinds[] = {
        {c->empty, "empty text left out", "empty texts left out"},
        {c->blank, "blank line", "blank lines"},
        {c->bad, "bad line left out", "bad lines left out"},
        {c->repaired, "document with ill-formed UTF-8 repaired", "documents with ill-formed UTF-8 repaired"},
        {c->surrogates, "half of a pair of surrogates made U+FFFD", "halves of pairs of surrogates made U+FFFD"},
    };
    fprintf(out, "%lld file%s, %lld bytes, %lld document%s of %lld bytes", (long long)c->files, c->files == 1 ? "" : "s",
            (long long)c->bytes_in, (long long)c->documents, c->documents == 1 ? "" : "s", (long long)c->text_bytes);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].n)
            fprintf(out, ", %lld %s", (long long)kinds[i].n, kinds[i].n == 1 ? kinds[i].one : kinds[i].many);
    fputc('\n', out);
    if (c->bad)
        fprintf(out, "the first bad line: %s\n", c->first_bad);
}
