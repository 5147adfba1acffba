/* See dataset_names.h. */
#include "data/dataset_names.h"

#include "base/closest.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name, the folder looked in when no path is given, what it is, and the patterns of its files (in this order). */
static const struct known {
    const char *name, *folder, *what, *pattern[3];
} known[] = {
    {"c4", "data/c4", "the files en/c4-train.*.json.gz of allenai/c4", {"en/c4-train.*.json.gz", "c4-train.*.json.gz", NULL}},
    {"c4_validation", "data/c4", "the files en/c4-validation.*.json.gz of allenai/c4",
     {"en/c4-validation.*.json.gz", "c4-validation.*.json.gz", NULL}},
    {"c4_test", "tests/assets/c4_test", "a file data.json of JSON lines with a field \"text\"", {"data.json", "*.json*", NULL}},
};
#define N_KNOWN (sizeof known / sizeof known[0])

static const struct known *find(const char *name)
{
    for (size_t i = 0; i < N_KNOWN; i++)
        if (!strcmp(known[i].name, name))
            return &known[i];
    return NULL;
}

static char *join(const char *folder, const char *name)
{
    char *text = malloc(strlen(folder) + strlen(name) + 2);
    TT_ASSERT(text);
    sprintf(text, "%s/%s", folder, name);
    return text;
}

/* The first pattern with a file in `folder`; NULL when there is none. */
static char *files_in(const struct known *k, const char *folder)
{
    for (int i = 0; k->pattern[i]; i++) {
        glob_t found = {0};
        char *pattern = join(folder, k->pattern[i]);
        const int there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
        globfree(&found);
        if (there)
            return pattern;
        free(pattern);
    }
    return NULL;
}

static const char *nth_name(void *ctx, int i)
{
    (void)ctx;
    return known[i].name;
}

static tt_status nowhere(const char *key, const char *name, tt_error *err)
{
    const char *near = tt_closest(name, nth_name, NULL, (int)N_KNOWN);
    return tt_fail(err, TT_ERR_CONFIG, "%s.dataset = \"%s\" has no files%s%s%s: titan downloads nothing; set %s.dataset_path to a file, a "
                   "folder of .txt or .jsonl files, a pattern, or token shards", key, name, near ? " (did you mean \"" : "",
                   near ? near : "", near ? "\"?)" : "", key);
}

tt_status tt_dataset_find(const char *key, const char *name, const char *path, char **out, tt_error *err)
{
    const struct known *k = find(name);
    *out = k ? files_in(k, path ? path : k->folder) : NULL;
    if (!*out && path)
        *out = strdup(path);
    if (*out)
        return TT_OK;
    if (!k)
        return nowhere(key, name, err);
    return tt_fail(err, TT_ERR_CONFIG, "%s.dataset = \"%s\" has no files: titan downloads nothing; put %s into the folder %s here, or set "
                   "%s.dataset_path to a file, a folder of .txt or .jsonl files, a pattern, or token shards", key, name, k->what,
                   k->folder, key);
}
