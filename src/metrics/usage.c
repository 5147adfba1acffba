/* See usage.h. In a batch job the limit that kills is the cgroup's, not the machine's, and it may sit on any parent. */
#include "metrics/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "Key:   123 kB" of a /proc file as bytes; 0 when it is not there. */
static int64_t proc_kb(const char *root, const char *file, const char *key)
{
    char path[1024], line[256];
    int64_t bytes = 0;
    size_t n = strlen(key);
    snprintf(path, sizeof path, "%s%s", root, file);
    FILE *f = fopen(path, "r");
    while (f && bytes == 0 && fgets(line, sizeof line, f))
        if (strncmp(line, key, n) == 0 && line[n] == ':')
            bytes = strtoll(line + n + 1, NULL, 10) * 1024;
    if (f)
        fclose(f);
    return bytes;
}

/* A limit file: bytes, or 0 for none ("max", or version 1's huge number). */
static int64_t limit_in(const char *root, const char *base, const char *group, const char *file)
{
    char path[4096], text[64] = "";
    int n = snprintf(path, sizeof path, "%s%s%s/%s", root, base, group, file);
    FILE *f = n > 0 && (size_t)n < sizeof path ? fopen(path, "r") : NULL;
    if (f && !fgets(text, sizeof text, f))
        text[0] = '\0';
    if (f)
        fclose(f);
    int64_t bytes = strtoll(text, NULL, 10);
    return bytes > 0 && bytes < INT64_MAX / 4 ? bytes : 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a == 0 ? b : b == 0 || a < b ? a : b;
}

/* Smallest limit of a group and its parents. */
static int64_t limit_up(const char *root, const char *base, char *group, const char *file)
{
    int64_t limit = 0;
    for (;;) {
        limit = least(limit, limit_in(root, base, group, file));
        char *slash = strrchr(group, '/');
        if (!slash)
            return limit;
        *slash = '\0';
    }
}

/* Lines of /proc/self/cgroup: "0::/path" (version 2) and "9:memory:/path" (version 1). */
static int64_t cgroup_limit(const char *root)
{
    char path[1024], line[2048];
    int64_t limit = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *kind = strchr(line, ':'), *group = kind ? strchr(kind + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        if (kind[1] == '\0')
            limit = least(limit, limit_up(root, "/sys/fs/cgroup", group, "memory.max"));
        else if (strcmp(kind + 1, "memory") == 0)
            limit = least(limit, limit_up(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
    if (f)
        fclose(f);
    return limit;
}

tt_usage tt_usage_read_at(const char *root)
{
    return (tt_usage){
        .peak_bytes = proc_kb(root, "/proc/self/status", "VmHWM"),
        .limit_bytes = least(cgroup_limit(root), proc_kb(root, "/proc/meminfo", "MemTotal")),
    };
}

tt_usage tt_usage_read(void)
{
    return tt_usage_read_at("");
}
