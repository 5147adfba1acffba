/* Reads a config file: the only file that includes libconfig.h.
 *
 * libconfig 1.5 wraps integers beyond 32 bits, refuses a byte order mark and 1_000, and seeks @include in the working
 * folder. So the text is prepared first, line for line (line numbers stay right): the mark is dropped, numbers are
 * rewritten, and includes outside of groups are read as files of their own, before the values of the including file. */
#include "base/config_table.h"

#include "base/fs.h"

#include <ctype.h>
#include <errno.h>
#include <libconfig.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST_INCLUDE 10

/* One file being read. */
typedef struct source {
    const char *path;
    int depth; /* 0: given by the user; n: included n levels down */
} source;

static tt_status read_source(tt_config *cfg, const source *src, tt_error *err);

typedef struct prepared {
    FILE *out;
    int group;   /* open braces, brackets and parentheses */
    int line;
    char too_big[32]; /* a number that 64 bits do not hold, and its line */
    int too_big_line;
} prepared;

/* A number in libconfig's own form: without underscores, with L when 32 bits do not hold it. Returns its length in text. */
static size_t put_number(prepared *p, const char *text)
{
    char digits[80];
    size_t n = 0, len = 0;
    int sign = *text == '-' || *text == '+';
    int hex = text[sign] == '0' && (text[sign + 1] == 'x' || text[sign + 1] == 'X'), is_int = 1;
    for (; isalnum((unsigned char)text[len]) || text[len] == '_' || text[len] == '.' || (len == 0 && sign) ||
           ((text[len] == '-' || text[len] == '+') && !hex && (text[len - 1] == 'e' || text[len - 1] == 'E'));
         len++) {
        int between = text[len] == '_' && len > 0 && isxdigit((unsigned char)text[len - 1]) && isxdigit((unsigned char)text[len + 1]);
        if (!between && n < sizeof digits - 1)
            digits[n++] = text[len];
        if (len >= (size_t)sign && !isdigit((unsigned char)text[len]) && !between && !hex && text[len] != 'L')
            is_int = 0;
    }
    digits[n] = '\0';
    fputs(digits, p->out);
    errno = 0;
    long long value = strtoll(digits, NULL, hex ? 16 : 10);
    if ((is_int || hex) && errno == ERANGE && !p->too_big_line) {
        snprintf(p->too_big, sizeof p->too_big, "%.30s", digits);
        p->too_big_line = p->line;
    }
    if ((is_int || hex) && digits[n - 1] != 'L' && (value > INT_MAX || value < INT_MIN))
        fputc('L', p->out);
    return len;
}

static size_t put_string(prepared *p, const char *text)
{
    size_t len = 1;
    while (text[len] && text[len] != '"')
        len += text[len] == '\\' && text[len + 1] ? 2 : 1;
    len += text[len] == '"';
    for (size_t i = 0; i < len; i++)
        p->line += text[i] == '\n';
    fwrite(text, 1, len, p->out);
    return len;
}

/* Comments are dropped, their line ends kept. */
static size_t skip_comment(prepared *p, const char *text)
{
    size_t len = 0;
    if (text[1] == '*') {
        for (len = 2; text[len] && !(text[len] == '*' && text[len + 1] == '/'); len++)
            if (text[len] == '\n') {
                p->line++;
                fputc('\n', p->out);
            }
        return len + (text[len] ? 2 : 0);
    }
    return strcspn(text, "\n");
}

/* `@include "path"` at text: reads that file into cfg at once. *len is what the directive takes. */
static tt_status include_file(tt_config *cfg, const source *src, const prepared *p, const char *text, size_t *len, tt_error *err)
{
    const char *open = text + strlen("@include");
    open += strspn(open, " \t");
    const char *close = *open == '"' ? strpbrk(open + 1, "\"\n") : NULL;
    if (!close || *close != '"')
        return tt_fail(err, TT_ERR_CONFIG, "%s:%d: @include needs a file name in quotes on the same line", src->path, p->line);
    if (p->group)
        return tt_fail(err, TT_ERR_CONFIG, "%s:%d: @include inside a group; put it outside of all braces", src->path, p->line);
    char *dir = strdup(src->path), *name = strndup(open + 1, (size_t)(close - open - 1)), *path = NULL;
    char *slash = dir ? strrchr(dir, '/') : NULL;
    tt_status st = TT_OK;
    if (dir && name) {
        if (slash)
            slash[1] = '\0';
        path = tt_fs_join(slash ? dir : "", name);
    }
    source inner = {.path = path, .depth = src->depth + 1};
    if (!path)
        st = tt_fail(err, TT_ERR_NOMEM, "no memory to read %s", src->path);
    else if (inner.depth > DEEPEST_INCLUDE)
        st = tt_fail(err, TT_ERR_CONFIG, "%s:%d: includes are nested more than %d deep; does a file include itself?", src->path,
                     p->line, DEEPEST_INCLUDE);
    else if ((st = read_source(cfg, &inner, err)) == TT_ERR_IO)
        tt_fail_context(err, TT_ERR_CONFIG, "%s:%d: @include", src->path, p->line), st = TT_ERR_CONFIG;
    *len = (size_t)(close + 1 - text);
    free(dir);
    free(name);
    free(path);
    return st;
}

static int starts_number(const char *text, char before)
{
    int sign = *text == '-' || *text == '+';
    return isdigit((unsigned char)text[sign]) && !isalnum((unsigned char)before) && before != '_' && before != '.' &&
           before != '-' && before != '*';
}

/* The file's text as libconfig 1.5 can read it; includes are applied on the way. */
static tt_status prepare(tt_config *cfg, const source *src, const char *text, prepared *p, tt_error *err)
{
    char before = '\n';
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    for (size_t len; *text; before = text[len - 1], text += len) {
        len = 1;
        if (*text == '"') {
            len = put_string(p, text);
        } else if (*text == '#' || (*text == '/' && (text[1] == '/' || text[1] == '*'))) {
            len = skip_comment(p, text);
        } else if (strncmp(text, "@include", 8) == 0) {
            tt_status st = include_file(cfg, src, p, text, &len, err);
            if (st != TT_OK)
                return st;
        } else if (starts_number(text, before)) {
            len = put_number(p, text);
        } else {
            p->group += strchr("{[(", *text) != NULL;
            p->group -= strchr("}])", *text) != NULL;
            p->line += *text == '\n';
            fputc(*text, p->out);
        }
    }
    return TT_OK;
}

static void origin_of(const source *src, const config_setting_t *s, char *text, size_t room)
{
    snprintf(text, room, "%s:%u", src->path, config_setting_source_line(s));
}

/* "wants X but has Y": the value as it was written. */
static tt_status wrong_type(const char *origin, int key, const config_setting_t *s, tt_error *err)
{
    static const char *const kind[] = {[CONFIG_TYPE_NONE] = "nothing",    [CONFIG_TYPE_GROUP] = "a group { … }",
                                       [CONFIG_TYPE_INT] = "an integer",  [CONFIG_TYPE_INT64] = "an integer",
                                       [CONFIG_TYPE_FLOAT] = "a number with a point", [CONFIG_TYPE_STRING] = "a text in quotes",
                                       [CONFIG_TYPE_BOOL] = "true or false", [CONFIG_TYPE_ARRAY] = "a list",
                                       [CONFIG_TYPE_LIST] = "a list"};
    return tt_config_bad_value(origin, key, kind[config_setting_type(s)], "is of another type", err);
}

static tt_status put_setting_list(tt_config *cfg, int key, const config_setting_t *s, const char *origin, tt_error *err)
{
    int n = config_setting_length(s);
    char **items = calloc((size_t)n + 1, sizeof *items);
    tt_status st = items ? TT_OK : tt_fail(err, TT_ERR_NOMEM, "no memory for the config");
    for (int i = 0; st == TT_OK && i < n; i++) {
        items[i] = (char *)config_setting_get_string_elem(s, i);
        if (!items[i])
            st = wrong_type(origin, key, config_setting_get_elem(s, (unsigned)i), err);
    }
    if (st == TT_OK)
        st = tt_config_put_list(cfg, key, items, n, origin, err);
    free(items);
    return st;
}

/* ( ["a", "b"], ["c"] ) as the items "a,b" and "c". */
static tt_status put_setting_lists(tt_config *cfg, int key, const config_setting_t *s, const char *origin, tt_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tt_fail(err, TT_ERR_NOMEM, "no memory for the config");
    tt_status st = TT_OK;
    for (int i = 0; st == TT_OK && i < config_setting_length(s); i++) {
        const config_setting_t *inner = config_setting_get_elem(s, (unsigned)i);
        if (!config_setting_is_array(inner) && !config_setting_is_list(inner))
            st = wrong_type(origin, key, inner, err);
        for (int j = 0; st == TT_OK && j < config_setting_length(inner); j++) {
            const char *member = config_setting_get_string_elem(inner, j);
            if (!member)
                st = wrong_type(origin, key, config_setting_get_elem(inner, (unsigned)j), err);
            else
                fprintf(out, "%s%s", j ? "," : i ? ";" : "", member);
        }
    }
    fclose(out);
    if (st == TT_OK)
        st = tt_config_put_text(cfg, key, text, origin, err);
    free(text);
    return st;
}

static tt_status put_setting(tt_config *cfg, int key, const config_setting_t *s, const char *origin, tt_error *err)
{
    tt_key_type want = tt_config_key(key)->type;
    int is_bool = want == TT_KEY_BOOL || want == TT_KEY_OPT_BOOL, is_float = want == TT_KEY_FLOAT || want == TT_KEY_OPT_FLOAT;
    int is_int = want == TT_KEY_INT || want == TT_KEY_OPT_INT, is_list = want == TT_KEY_LIST || want == TT_KEY_LISTS;
    char text[64];
    switch (config_setting_type(s)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        if (!is_int && !is_float)
            break;
        snprintf(text, sizeof text, "%lld", config_setting_get_int64(s));
        return tt_config_put_text(cfg, key, text, origin, err);
    case CONFIG_TYPE_FLOAT:
        if (!is_float)
            break;
        snprintf(text, sizeof text, "%.15g", config_setting_get_float(s)); /* as people write it, when that is exact */
        if (strtod(text, NULL) != config_setting_get_float(s))
            snprintf(text, sizeof text, "%.17g", config_setting_get_float(s));
        return tt_config_put_text(cfg, key, text, origin, err);
    case CONFIG_TYPE_BOOL:
        if (!is_bool)
            break;
        return tt_config_put_text(cfg, key, config_setting_get_bool(s) ? "true" : "false", origin, err);
    case CONFIG_TYPE_STRING:
        if (is_int || is_float || is_bool || is_list)
            break;
        return tt_config_put_text(cfg, key, config_setting_get_string(s), origin, err);
    case CONFIG_TYPE_ARRAY:
    case CONFIG_TYPE_LIST:
        if (!is_list)
            break;
        return want == TT_KEY_LIST ? put_setting_list(cfg, key, s, origin, err) : put_setting_lists(cfg, key, s, origin, err);
    default:
        break;
    }
    return wrong_type(origin, key, s, err);
}

static tt_status put_group(tt_config *cfg, const source *src, const config_setting_t *group, const char *prefix, tt_error *err)
{
    tt_status st = TT_OK;
    for (int i = 0; st == TT_OK && i < config_setting_length(group); i++) {
        const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);
        char name[256], origin[PATH_MAX + 32];
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", config_setting_name(s));
        origin_of(src, s, origin, sizeof origin);
        int key = tt_config_find_key(name);
        if (key >= 0)
            st = put_setting(cfg, key, s, origin, err);
        else if (!config_setting_is_group(s))
            st = tt_config_unknown(origin, name, 0, err);
        else if (tt_config_is_section(name))
            st = put_group(cfg, src, s, name, err);
        else
            st = tt_config_unknown(origin, name, 1, err);
    }
    return st;
}

static tt_status parse(tt_config *cfg, const source *src, const char *text, tt_error *err)
{
    config_t parsed;
    tt_status st;
    config_init(&parsed);
    if (config_read_string(&parsed, text) != CONFIG_TRUE)
        st = tt_fail(err, TT_ERR_CONFIG, "%s:%d: %s; the form is `section = { key = value; };`", src->path,
                     config_error_line(&parsed), config_error_text(&parsed));
    else
        st = put_group(cfg, src, config_root_setting(&parsed), "", err);
    config_destroy(&parsed);
    return st;
}

static tt_status read_source(tt_config *cfg, const source *src, tt_error *err)
{
    tt_status st;
    char *text = NULL, *ready = NULL;
    size_t size = 0, ready_size = 0;
    prepared p = {.line = 1};
    TT_TRY(tt_fs_read(src->path, &text, &size, err));
    if (strlen(text) != size) {
        st = tt_fail(err, TT_ERR_CONFIG, "%s: is not a text (a zero byte at offset %zu); give a config file", src->path, strlen(text));
        goto out;
    }
    p.out = open_memstream(&ready, &ready_size);
    if (!p.out) {
        st = tt_fail(err, TT_ERR_NOMEM, "no memory to read %s", src->path);
        goto out;
    }
    st = prepare(cfg, src, text, &p, err);
    fclose(p.out);
    if (st == TT_OK && p.too_big_line)
        st = tt_fail(err, TT_ERR_CONFIG, "%s:%d: %s does not fit a 64-bit integer; write a smaller one", src->path, p.too_big_line,
                     p.too_big);
    if (st == TT_OK)
        st = parse(cfg, src, ready, err);
out:
    free(text);
    free(ready);
    return st;
}

tt_status tt_config_read_file(tt_config *cfg, const char *path, tt_error *err)
{
    source src = {.path = path};
    return read_source(cfg, &src, err);
}
