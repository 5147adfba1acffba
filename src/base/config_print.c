/* The config as text: one value, the whole file, --help, the manual's list. */
#include "base/config_table.h"
#include "base/version.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A libconfig string of n bytes: quotes, backslashes and control characters escaped. */
static void put_quoted(FILE *out, const char *text, size_t n)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; n > 0; c++, n--) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c == '\n')
            fputs("\\n", out);
        else if (*c < 32)
            fprintf(out, "\\x%02x", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

/* The shortest decimal that reads back as the same double, always with a point or an exponent. */
static void put_float(FILE *out, double x)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    fputs(text, out);
    if (!strpbrk(text, ".e"))
        fputs(".0", out);
}

static void put_int(FILE *out, int64_t x)
{
    fprintf(out, "%lld%s", (long long)x, x > INT32_MAX || x < INT32_MIN ? "L" : "");
}

static void put_list(FILE *out, const tt_strings *list)
{
    fputc('[', out);
    for (int j = 0; j < list->n; j++) {
        fputs(j ? ", " : "", out);
        put_quoted(out, list->items[j], strlen(list->items[j]));
    }
    fputc(']', out);
}

/* Each item is a group of members joined by commas. */
static void put_lists(FILE *out, const tt_strings *list)
{
    fputc('(', out);
    for (int j = 0; j < list->n; j++) {
        fputs(j ? ", [" : "[", out);
        for (const char *at = list->items[j]; *at;) {
            size_t len = strcspn(at, ",");
            fputs(at == list->items[j] ? "" : ", ", out);
            put_quoted(out, at, len);
            at += len + (at[len] == ',');
        }
        fputc(']', out);
    }
    fputc(')', out);
}

/* Returns 0 and writes nothing when the value is unset. */
static int put_value(FILE *out, const tt_config *cfg, int i)
{
    const tt_key *k = tt_config_key(i);
    const void *at = (const char *)cfg + k->offset;
    switch (k->type) {
    case TT_KEY_BOOL:
    case TT_KEY_OPT_BOOL:
        if (*(const int *)at == TT_UNSET_BOOL)
            return 0;
        fputs(*(const int *)at ? "true" : "false", out);
        return 1;
    case TT_KEY_INT:
    case TT_KEY_OPT_INT:
        if (*(const int64_t *)at == TT_UNSET_INT)
            return 0;
        put_int(out, *(const int64_t *)at);
        return 1;
    case TT_KEY_FLOAT:
    case TT_KEY_OPT_FLOAT:
        if (isnan(*(const double *)at))
            return 0;
        put_float(out, *(const double *)at);
        return 1;
    case TT_KEY_LIST:
        put_list(out, at);
        return 1;
    case TT_KEY_LISTS:
        put_lists(out, at);
        return 1;
    default:
        if (!*(char *const *)at)
            return 0;
        put_quoted(out, *(char *const *)at, strlen(*(char *const *)at));
        return 1;
    }
}

char *tt_config_value_text(const tt_config *cfg, int i)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return NULL;
    int set = put_value(out, cfg, i);
    if (fclose(out) != 0 || !set) {
        free(text);
        return NULL;
    }
    return text;
}

int tt_config_same(const tt_config *a, const tt_config *b, int i)
{
    char *x = tt_config_value_text(a, i), *y = tt_config_value_text(b, i);
    int same = x && y ? strcmp(x, y) == 0 : x == y;
    free(x);
    free(y);
    return same;
}

/* Sections that `path` has beyond its common part with `open`: closes and opens groups between two neighbours. */
static void move_to_section(FILE *out, const char *open, const char *path)
{
    size_t same = 0;
    int depth = 0;
    for (size_t c = 0;; c++) {
        int end_open = open[c] == '.' || open[c] == '\0', end_path = path[c] == '.' || path[c] == '\0';
        if (end_open && end_path && c > 0)
            same = c;
        if (open[c] != path[c] || !open[c])
            break;
    }
    for (const char *c = open + same; *c; c++)
        depth += *c == '.' || (c == open);
    int level = 0;
    for (const char *c = open; *c; c++)
        level += *c == '.' || c == open;
    for (; depth > 0; depth--, level--)
        fprintf(out, "%*s};\n", 4 * (level - 1), "");
    for (const char *at = path + same; *at;) {
        at += *at == '.';
        size_t len = strcspn(at, ".");
        fprintf(out, "%*s%.*s = {\n", 4 * level++, "", (int)len, at);
        at += len;
    }
}

static int section_depth(const char *path)
{
    int depth = 1;
    for (; *path; path++)
        depth += *path == '.';
    return depth;
}

/* A file's name may hold anything; a comment ends with its line. */
static void put_comment(FILE *out, const char *text)
{
    fputs("  # ", out);
    for (; *text; text++)
        fputc((unsigned char)*text < 32 ? '?' : *text, out);
}

void tt_config_dump(const tt_config *cfg, FILE *out)
{
    const char *open = "";
    for (int i = 0; i < tt_config_n_keys(); i++) {
        const tt_key *k = tt_config_key(i);
        char *value = tt_config_value_text(cfg, i);
        const char *origin = tt_config_origin_of(cfg, i);
        int indent = 4 * section_depth(k->section);
        if (strcmp(open, k->section) != 0)
            move_to_section(out, open, k->section);
        open = k->section;
        if (value)
            fprintf(out, "%*s%s = %s;", indent, "", k->key, value);
        else
            fprintf(out, "%*s# %s is unset", indent, "", k->key);
        if (strcmp(origin, "default") != 0)
            put_comment(out, origin);
        fputc('\n', out);
        free(value);
    }
    move_to_section(out, open, "");
}

static const char *status_text(const tt_key *k)
{
    static const char *const text[] = {"", " Refused: not in this version.",
                                       " Refused: makes no sense here.", " No effect."};
    return text[k->status];
}

void tt_config_help(FILE *out)
{
    const char *section = "";
    for (int i = 0; i < tt_config_n_keys(); i++) {
        const tt_key *k = tt_config_key(i);
        char allowed[256];
        tt_config_describe_allowed(i, allowed, sizeof allowed);
        if (strcmp(section, k->section) != 0)
            fprintf(out, "\n[%s]\n", k->section);
        section = k->section;
        fprintf(out, "  --%s (%s; default %s)\n      %s.%s\n", k->name, allowed, *k->default_text ? k->default_text : "unset",
                k->doc, status_text(k));
    }
}

/* A backslash would start an escape, a '-' would become a hyphen that cannot be copied. */
static void put_mdoc(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else if (*text == '"')
            fputs("\\(dq", out);
        else
            fputc(*text, out);
    }
}

void tt_config_help_mdoc(FILE *out)
{
    static const char *const explain[] = {
        "", "Another value is refused; not in this version: ",
        "Another value is refused; it makes no sense here: ", "No effect: "};
    for (int s = 0; s < tt_config_n_sections(); s++) {
        int items = 0;
        for (int i = 0; i < tt_config_n_keys(); i++) {
            const tt_key *k = tt_config_key(i);
            char allowed[256];
            if (strcmp(k->section, tt_config_section(s)->path) != 0)
                continue;
            if (!items++)
                fprintf(out, ".Ss %s\n%s.\n.Bl -tag -width Ds\n", k->section, tt_config_section(s)->doc);
            tt_config_describe_allowed(i, allowed, sizeof allowed);
            fprintf(out, ".It Cm %s\n", k->name);
            put_mdoc(out, k->doc);
            fputs(" (", out);
            put_mdoc(out, allowed);
            fputs("; default ", out);
            put_mdoc(out, *k->default_text ? k->default_text : "unset");
            fputs(").\n", out);
            if (k->status == TT_KEY_BUILT)
                continue;
            fputs(explain[k->status], out);
            put_mdoc(out, k->note);
            fputs(".\n", out);
        }
        if (items)
            fputs(".El\n", out);
    }
}

int tt_config_answer(const tt_config *cfg, const char *program, const char *usage, FILE *out)
{
    switch (cfg->request) {
    case TT_HELP:
        fputs(usage, out);
        tt_config_help(out);
        return 1;
    case TT_HELP_MDOC:
        tt_config_help_mdoc(out);
        return 1;
    case TT_VERSION:
        tt_version_print(out, program);
        return 1;
    case TT_PRINT_CONFIG:
        tt_config_dump(cfg, out);
        return 1;
    default:
        return 0;
    }
}
