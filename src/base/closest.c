/* See closest.h. Optimal string alignment distance, three rows at a time. */
#include "base/closest.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LONGEST 127

static int min3(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

int tt_edit_distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    int rows[3][LONGEST + 1];
    if (la > LONGEST || lb > LONGEST)
        return 1000;
    int *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= lb; j++)
        last[j] = (int)j;
    for (size_t i = 1; i <= la; i++) {
        now[0] = (int)i;
        for (size_t j = 1; j <= lb; j++) {
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        int *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[lb];
}

/* How far a known word may be from a mistyped one. */
static int is_near(const char *word, const char *known, int distance)
{
    int limit = (int)strlen(known) / 3;
    return distance <= (limit > 2 ? limit : 2) && distance < (int)strlen(word);
}

const char *tt_closest(const char *word, const char *(*nth)(void *ctx, int i), void *ctx, int n)
{
    const char *best = NULL;
    int distance = 1000;
    for (int i = 0; i < n; i++) {
        const char *known = nth(ctx, i);
        int d = strcasecmp(word, known) == 0 ? 0 : tt_edit_distance(word, known);
        if (d < distance && is_near(word, known, d)) {
            distance = d;
            best = known;
        }
    }
    return best;
}

static const char *nth_of_array(void *ctx, int i)
{
    return ((const char *const *)ctx)[i];
}

tt_status tt_closest_hint_word(tt_error *err, tt_status st, const char *word,
                               const char *const *words, int n)
{
    const char *meant = tt_closest(word, nth_of_array, (void *)words, n);
    if (meant && 2 * tt_edit_distance(word, meant) >= (int)strlen(word))
        meant = NULL;
    for (int i = 0; i < n; i++)
        if (strcasecmp(word, words[i]) == 0)
            meant = words[i];
    return meant ? tt_fail_remedy(err, st, "did you mean \"%s\"?", meant) : st;
}

/* The name in folder nearest to `name`; of two equally near the first in the order of letters. */
static int closest_entry(const char *folder, const char *name, char *best, size_t room)
{
    DIR *dir = opendir(folder);
    int distance = 1000;
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        int d = tt_edit_distance(name, e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            strlen(e->d_name) >= room || !is_near(name, e->d_name, d))
            continue;
        if (d < distance || (d == distance && strcmp(e->d_name, best) < 0)) {
            distance = d;
            snprintf(best, room, "%s", e->d_name);
        }
    }
    if (dir)
        closedir(dir);
    return distance < 1000;
}

int tt_closest_path(const char *path, char *meant, size_t room)
{
    char there[PATH_MAX], name[256], best[256];
    size_t at = 0, n = strlen(path);
    if (n == 0 || n >= sizeof there || access(path, F_OK) == 0)
        return 0;
    for (size_t end; at < n; at = end + (path[end] == '/')) { /* path[0, at) exists */
        end = at + strcspn(path + at, "/");
        snprintf(there, sizeof there, "%.*s", (int)end, path);
        if (end == at || access(there, F_OK) == 0)
            continue;
        if (end - at >= sizeof name)
            return 0;
        snprintf(name, sizeof name, "%.*s", (int)(end - at), path + at);
        snprintf(there, sizeof there, "%.*s", (int)at, path);
        return closest_entry(at ? there : ".", name, best, sizeof best) &&
               (size_t)snprintf(meant, room, "%s%s%s", there, best, path + end) < room &&
               access(meant, F_OK) == 0;
    }
    return 0;
}

tt_status tt_closest_hint(tt_error *err, tt_status st, const char *path)
{
    char meant[PATH_MAX];
    if (st != TT_OK && err && path && !strstr(err->text, "did you mean") &&
        tt_closest_path(path, meant, sizeof meant))
        tt_fail_remedy(err, st, "did you mean %s?", meant);
    return st;
}
