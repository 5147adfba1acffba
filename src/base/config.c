/* Reads a config file: the only file that includes libconfig.h.
 *
 * libconfig 1.5 wraps integers beyond 32 bits, refuses a byte order mark and 1_000, and seeks @include in the working
 * folder. So the text is prepared first, line for line (line numbers stay right): the mark is dropped, numbers are
 * rewritten, and includes outside of groups are read as files of their own, before the values of the including file. */
#include "base/config_value.h"

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
        st = tt_fail(err, TT_ERR_CONFIG,
                     "%s:%d: includes are nested more than %d deep; take out the @include by which "
                     "a file includes itself",
                     src->path, p->line, DEEPEST_INCLUDE);
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

/* A double as people write it, when that is exact. */
static void write_double(double x, char *text, size_t room)
{
    snprintf(text, room, "%.15g", x);
    if (strtod(text, NULL) != x)
        snprintf(text, room, "%.17g", x);
}

static tt_status value_of(const config_setting_t *s, tt_config_value *v, tt_error *err)
{
    char number[64];
    const char *text = number;
    tt_status st = TT_OK;
    switch (config_setting_type(s)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        v->kind = TT_VALUE_INT;
        snprintf(number, sizeof number, "%lld", config_setting_get_int64(s));
        break;
    case CONFIG_TYPE_FLOAT:
        v->kind = TT_VALUE_FLOAT;
        write_double(config_setting_get_float(s), number, sizeof number);
        break;
    case CONFIG_TYPE_BOOL:
        v->kind = TT_VALUE_BOOL;
        text = config_setting_get_bool(s) ? "true" : "false";
        break;
    case CONFIG_TYPE_STRING:
        v->kind = TT_VALUE_TEXT;
        text = config_setting_get_string(s);
        break;
    case CONFIG_TYPE_ARRAY:
    case CONFIG_TYPE_LIST:
        st = tt_config_value_list(v, config_setting_length(s), err);
        for (int i = 0; st == TT_OK && i < v->n; i++)
            st = value_of(config_setting_get_elem(s, (unsigned)i), &v->items[i], err);
        return st;
    default:
        v->kind = TT_VALUE_GROUP;
        return TT_OK;
    }
    v->text = strdup(text);
    return v->text ? TT_OK
                   : tt_fail(err, TT_ERR_NOMEM, "no memory for the config's %s; free some",
                             config_setting_name(s));
}

static tt_status put_setting(tt_config *cfg, const tt_config_name *name, const config_setting_t *s,
                             const char *origin, tt_error *err)
{
    tt_config_value v = {0};
    tt_status st = value_of(s, &v, err);
    if (st == TT_OK)
        st = tt_config_put_named(cfg, name, &v, origin, err);
    tt_config_value_free(&v);
    return st;
}

static tt_status put_group(tt_config *cfg, const source *src, const config_setting_t *group, const char *prefix, tt_error *err)
{
    tt_status st = TT_OK;
    for (int i = 0; st == TT_OK && i < config_setting_length(group); i++) {
        const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);
        char name[256], origin[PATH_MAX + 32];
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", config_setting_name(s));
        origin_of(src, s, origin, sizeof origin);
        tt_config_name found;
        if (tt_config_find_name(name, &found))
            st = put_setting(cfg, &found, s, origin, err);
        else if (!config_setting_is_group(s))
            st = tt_config_unknown(origin, name, 0, err);
        else if (tt_config_is_any_section(name))
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

static int is_toml(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".toml") == 0;
}

static tt_status read_source(tt_config *cfg, const source *src, tt_error *err)
{
    tt_status st;
    char *text = NULL, *ready = NULL;
    size_t size = 0, ready_size = 0;
    prepared p = {.line = 1};
    TT_TRY(tt_fs_read(src->path, &text, &size, err));
    if (is_toml(src->path)) {
        st = tt_config_read_toml(cfg, src->path, text, size, err);
        goto out;
    }
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
