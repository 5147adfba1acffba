/* See config_table.h. */
#include "base/config_table.h"

#include "base/closest.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const tt_key keys[] = {
#define SECTION(tag, path, doc)
#define KEY(type, section, key, default_text, allowed, status, note, doc)                                           \
    {#section "." #key, #section, #key, default_text, allowed, note, doc, TT_KEY_##type, TT_KEY_##status,           \
     offsetof(tt_config, section.key)},
#define END(member)
#include "base/config_table.def"
};

static const tt_section sections[] = {
#define SECTION(tag, path, doc) {#path, doc},
#define KEY(...)
#define END(member)
#include "base/config_table.def"
};

/* Names that older configs use, and what became of them. */
static const struct {
    const char *old, *now;
} renamed[] = {
    {"training.batch_size", "training.local_batch_size"},
    {"training.seed", "debug.seed"},
    {"training.deterministic", "debug.deterministic"},
    {"training.warmup_steps", "lr_scheduler.warmup_steps"},
    {"training.compile", "compile.enable"},
    {"training.tensor_parallel_degree", "parallelism.tensor_parallel_degree"},
    {"training.data_parallel_degree", "parallelism.data_parallel_shard_degree"},
    {"training.data_parallel_shard_degree", "parallelism.data_parallel_shard_degree"},
    {"training.data_parallel_replicate_degree", "parallelism.data_parallel_replicate_degree"},
    {"training.max_context_length", "training.seq_len"},
    {"training.grad_norm_clipping", "training.max_norm"},
    {"checkpoint.enable_checkpoint", "checkpoint.enable"},
    {"experimental.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree"},
    {"experimental.context_parallel_degree", "parallelism.context_parallel_degree"},
    {"model.tokenizer", "model.tokenizer_path"},
};

#define N_KEYS ((int)(sizeof keys / sizeof keys[0]))
#define N_SECTIONS ((int)(sizeof sections / sizeof sections[0]))
#define N_RENAMED (sizeof renamed / sizeof renamed[0])

struct tt_config_origins {
    char *of[sizeof keys / sizeof keys[0]]; /* owned; NULL = default */
};

int tt_config_n_keys(void)
{
    return N_KEYS;
}

const tt_key *tt_config_key(int i)
{
    return &keys[i];
}

int tt_config_n_sections(void)
{
    return N_SECTIONS;
}

const tt_section *tt_config_section(int i)
{
    return &sections[i];
}

/* name with '-' as '_', cut to room. */
static const char *plain_name(const char *name, char *copy, size_t room)
{
    snprintf(copy, room, "%s", name);
    for (char *c = copy; *c; c++)
        if (*c == '-')
            *c = '_';
    return copy;
}

int tt_config_find_key(const char *name)
{
    char plain[128];
    plain_name(name, plain, sizeof plain);
    for (int i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i].name, plain) == 0)
            return i;
    return -1;
}

int tt_config_is_section(const char *path)
{
    for (int i = 0; i < N_SECTIONS; i++)
        if (strcmp(sections[i].path, path) == 0)
            return 1;
    return 0;
}

static const char *nth_key(void *ctx, int i)
{
    (void)ctx;
    return keys[i].name;
}

static const char *nth_section(void *ctx, int i)
{
    (void)ctx;
    return sections[i].path;
}

/* The key that was meant: renamed, mistyped, or right in a wrong section. */
static const char *meant_key(const char *name)
{
    for (size_t i = 0; i < N_RENAMED; i++)
        if (strcmp(renamed[i].old, name) == 0)
            return renamed[i].now;
    const char *last = strrchr(name, '.');
    for (int i = 0; last && i < N_KEYS; i++)
        if (strcmp(keys[i].key, last + 1) == 0)
            return keys[i].name;
    return tt_closest(name, nth_key, NULL, N_KEYS);
}

tt_status tt_config_unknown(const char *origin, const char *name, int is_section, tt_error *err)
{
    char plain[128];
    plain_name(name, plain, sizeof plain);
    const char *meant = is_section ? tt_closest(plain, nth_section, NULL, N_SECTIONS) : meant_key(plain);
    const char *kind = is_section ? "section" : "key";
    if (meant)
        return tt_fail(err, TT_ERR_CONFIG, "%s: unknown %s '%s'; did you mean '%s'?", origin, kind, name, meant);
    return tt_fail(err, TT_ERR_CONFIG, "%s: unknown %s '%s'; --help lists all keys", origin, kind, name);
}

static int is_number(const tt_key *k)
{
    return k->type >= TT_KEY_INT && k->type <= TT_KEY_OPT_FLOAT;
}

/* One alternative of a range: "a", "a..b", "a..", ">a", "a..<b". */
typedef struct range {
    double low, high;
    int above, below; /* exclusive ends */
} range;

/* strtod would take the first point of "1..": so up to ".." or "|". */
static double range_end(const char *text, const char **end)
{
    char number[32] = "";
    size_t n = 0;
    while (text[n] && text[n] != '|' && strncmp(text + n, "..", 2) != 0 && n < sizeof number - 1)
        n++;
    memcpy(number, text, n);
    *end = text + n;
    return strtod(number, NULL);
}

static const char *parse_range(const char *text, range *r)
{
    const char *end;
    *r = (range){.high = INFINITY, .above = *text == '>'};
    r->low = range_end(text + r->above, &end);
    if (strncmp(end, "..", 2) == 0) {
        end += 2;
        r->below = *end == '<';
        end += r->below;
        if (*end && *end != '|')
            r->high = range_end(end, &end);
    } else if (!r->above) {
        r->high = r->low;
    }
    return *end == '|' ? end + 1 : NULL;
}

static int in_range(const char *allowed, double x)
{
    if (!*allowed)
        return 1;
    for (const char *at = allowed; at;) {
        range r;
        at = parse_range(at, &r);
        if ((r.above ? x > r.low : x >= r.low) && (r.below ? x < r.high : x <= r.high))
            return 1;
    }
    return 0;
}

static size_t describe_range(const char *allowed, char *text, size_t room)
{
    size_t n = 0;
    for (const char *at = allowed; at && n < room;) {
        range r;
        const char *rest = parse_range(at, &r);
        const char *sep = at == allowed ? "" : " or ";
        if (r.above)
            n += (size_t)snprintf(text + n, room - n, "%sabove %g", sep, r.low);
        else if (isinf(r.high))
            n += (size_t)snprintf(text + n, room - n, "%s%g or more", sep, r.low);
        else if (r.low == r.high)
            n += (size_t)snprintf(text + n, room - n, "%s%g", sep, r.low);
        else
            n += (size_t)snprintf(text + n, room - n, "%s%g to %s%g", sep, r.low, r.below ? "below " : "", r.high);
        at = rest;
    }
    return n;
}

/* "a|b|c" as "a, b or c". */
static void describe_words(const char *allowed, char *text, size_t room)
{
    size_t n = 0;
    for (const char *at = allowed; *at && n + 8 < room;) {
        size_t len = strcspn(at, "|");
        const char *sep = at == allowed ? "" : at[len] ? ", " : " or ";
        n += (size_t)snprintf(text + n, room - n, "%s%.*s", sep, (int)len, at);
        at += len + (at[len] == '|');
    }
}

void tt_config_describe_allowed(int i, char *text, size_t room)
{
    const tt_key *k = &keys[i];
    static const char *const kind[] = {"true or false", "true or false", "an integer", "an integer", "a number",
                                       "a number",      "a text",        "a text",     "",           "a list of texts",
                                       "a list of lists of texts"};
    if (k->type == TT_KEY_ENUM) {
        describe_words(k->allowed, text, room);
        return;
    }
    size_t n = (size_t)snprintf(text, room, "%s", kind[k->type]);
    if (is_number(k) && *k->allowed && n + 3 < room) {
        n += (size_t)snprintf(text + n, room - n, ", ");
        describe_range(k->allowed, text + n, room - n);
    }
}

tt_status tt_config_bad_value(const char *origin, int i, const char *value, const char *problem, tt_error *err)
{
    char allowed[256];
    tt_config_describe_allowed(i, allowed, sizeof allowed);
    return tt_fail(err, TT_ERR_CONFIG, "%s: %s = %s %s; allowed: %s", origin, keys[i].name, value, problem, allowed);
}

static tt_status no_memory(tt_error *err)
{
    return tt_fail(err, TT_ERR_NOMEM, "no memory for the config");
}

static tt_status set_origin(tt_config *cfg, int i, const char *origin, tt_error *err)
{
    char *copy = origin ? strdup(origin) : NULL;
    if (origin && !copy)
        return no_memory(err);
    free(cfg->origins->of[i]);
    cfg->origins->of[i] = copy;
    return TT_OK;
}

const char *tt_config_origin_of(const tt_config *cfg, int i)
{
    return cfg->origins->of[i] ? cfg->origins->of[i] : "default";
}

const char *tt_config_origin(const tt_config *cfg, const char *name)
{
    int i = tt_config_find_key(name);
    return i < 0 ? NULL : tt_config_origin_of(cfg, i);
}

static void *field(const tt_config *cfg, int i)
{
    return (char *)cfg + keys[i].offset;
}

static void free_strings(tt_strings *list)
{
    for (int j = 0; j < list->n; j++)
        free(list->items[j]);
    free(list->items);
    *list = (tt_strings){0};
}

tt_status tt_config_put_list(tt_config *cfg, int i, char *const *items, int n, const char *origin, tt_error *err)
{
    tt_strings list = {.items = calloc((size_t)n + 1, sizeof *list.items)};
    for (; list.items && list.n < n; list.n++)
        if (!(list.items[list.n] = strdup(items[list.n])))
            break;
    if (!list.items || list.n < n) {
        free_strings(&list);
        return no_memory(err);
    }
    tt_status st = set_origin(cfg, i, origin, err);
    if (st != TT_OK) {
        free_strings(&list);
        return st;
    }
    free_strings(field(cfg, i));
    *(tt_strings *)field(cfg, i) = list;
    return TT_OK;
}

/* Items between separators, blanks around them dropped; an empty text is an empty list. */
static tt_status put_list_text(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    char sep = keys[i].type == TT_KEY_LISTS ? ';' : ',';
    size_t room = strlen(text) + 2;
    char *copy = strdup(text), **items = calloc(room, sizeof *items);
    tt_status st = TT_OK;
    int n = 0;
    for (char *at = copy; copy && items && at && *at;) {
        char *end = strchr(at, sep);
        if (end)
            *end = '\0';
        at += strspn(at, " ");
        for (size_t len = strlen(at); len && at[len - 1] == ' '; len--)
            at[len - 1] = '\0';
        items[n++] = at;
        at = end ? end + 1 : NULL;
    }
    st = copy && items ? tt_config_put_list(cfg, i, items, n, origin, err) : no_memory(err);
    free(items);
    free(copy);
    return st;
}

static int parse_bool(const char *text)
{
    static const char *const words[][2] = {{"false", "true"}, {"no", "yes"}, {"0", "1"}, {"off", "on"}};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        for (int b = 0; b < 2; b++)
            if (strcmp(text, words[w][b]) == 0)
                return b;
    return -1;
}

/* Decimal, 0x hexadecimal, underscores between digits. Returns 0, or -1 when it is no 64-bit integer. */
static int parse_int(const char *text, int64_t *out)
{
    char digits[80], *end;
    size_t n = 0;
    for (const char *c = text; *c && n < sizeof digits - 1; c++)
        if (*c != '_')
            digits[n++] = *c;
    digits[n] = '\0';
    const char *unsigned_part = digits + (*digits == '-' || *digits == '+');
    errno = 0;
    *out = strtoll(digits, &end, strncmp(unsigned_part, "0x", 2) == 0 ? 16 : 10);
    return *text == '_' || *text == ' ' || end == digits || *end || errno ? -1 : 0;
}

static int in_words(const char *allowed, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = allowed; *at;) {
        size_t len = strcspn(at, "|");
        if (len == n && memcmp(at, word, n) == 0)
            return 1;
        at += len + (at[len] == '|');
    }
    return 0;
}

static tt_status put_int(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    int64_t x;
    if (parse_int(text, &x) != 0)
        return tt_config_bad_value(origin, i, text, "is not a 64-bit integer", err);
    if (!in_range(keys[i].allowed, (double)x) || x == TT_UNSET_INT)
        return tt_config_bad_value(origin, i, text, "is out of range", err);
    *(int64_t *)field(cfg, i) = x;
    return TT_OK;
}

static tt_status put_float(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    char *end;
    double x = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text))
        return tt_config_bad_value(origin, i, text, "is not a number", err);
    if (!isfinite(x) || !in_range(keys[i].allowed, x))
        return tt_config_bad_value(origin, i, text, "is out of range", err);
    *(double *)field(cfg, i) = x;
    return TT_OK;
}

static tt_status put_string(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    char quoted[160];
    if (keys[i].type == TT_KEY_ENUM && !in_words(keys[i].allowed, text)) {
        snprintf(quoted, sizeof quoted, "\"%s\"", text);
        return tt_config_bad_value(origin, i, quoted, "is not a choice", err);
    }
    char *copy = strdup(text);
    if (!copy)
        return no_memory(err);
    free(*(char **)field(cfg, i));
    *(char **)field(cfg, i) = copy;
    return TT_OK;
}

static tt_status put_bool(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    int b = parse_bool(text);
    if (b < 0)
        return tt_config_bad_value(origin, i, text, "is not a truth value", err);
    *(int *)field(cfg, i) = b;
    return TT_OK;
}

tt_status tt_config_put_text(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    const char *from = origin ? origin : "default";
    tt_status st;
    switch (keys[i].type) {
    case TT_KEY_BOOL:
    case TT_KEY_OPT_BOOL:
        st = put_bool(cfg, i, text, from, err);
        break;
    case TT_KEY_INT:
    case TT_KEY_OPT_INT:
        st = put_int(cfg, i, text, from, err);
        break;
    case TT_KEY_FLOAT:
    case TT_KEY_OPT_FLOAT:
        st = put_float(cfg, i, text, from, err);
        break;
    case TT_KEY_LIST:
    case TT_KEY_LISTS:
        return put_list_text(cfg, i, text, origin, err);
    default:
        st = put_string(cfg, i, text, from, err);
    }
    return st == TT_OK ? set_origin(cfg, i, origin, err) : st;
}

/* Optional keys start unset; the others from their default text. */
static tt_status put_default(tt_config *cfg, int i, tt_error *err)
{
    switch (keys[i].type) {
    case TT_KEY_OPT_BOOL:
        *(int *)field(cfg, i) = TT_UNSET_BOOL;
        return TT_OK;
    case TT_KEY_OPT_INT:
        *(int64_t *)field(cfg, i) = TT_UNSET_INT;
        return TT_OK;
    case TT_KEY_OPT_FLOAT:
        *(double *)field(cfg, i) = NAN;
        return TT_OK;
    case TT_KEY_OPT_STR:
        return TT_OK;
    default:
        return tt_config_put_text(cfg, i, keys[i].default_text, NULL, err);
    }
}

tt_status tt_config_create(tt_config **cfg, tt_error *err)
{
    tt_status st = TT_OK;
    *cfg = calloc(1, sizeof **cfg);
    if (!*cfg || !((*cfg)->origins = calloc(1, sizeof *(*cfg)->origins)))
        st = no_memory(err);
    for (int i = 0; st == TT_OK && i < N_KEYS; i++)
        st = put_default(*cfg, i, err);
    if (st != TT_OK)
        tt_config_destroy(cfg);
    return st;
}

void tt_config_destroy(tt_config **cfg)
{
    if (!*cfg)
        return;
    for (int i = 0; i < N_KEYS; i++) {
        if (keys[i].type == TT_KEY_LIST || keys[i].type == TT_KEY_LISTS)
            free_strings(field(*cfg, i));
        else if (keys[i].type == TT_KEY_STR || keys[i].type == TT_KEY_OPT_STR || keys[i].type == TT_KEY_ENUM)
            free(*(char **)field(*cfg, i));
        if ((*cfg)->origins)
            free((*cfg)->origins->of[i]);
    }
    free((*cfg)->origins);
    free(*cfg);
    *cfg = NULL;
}

tt_status tt_config_set(tt_config *cfg, const char *name, const char *text, const char *origin, tt_error *err)
{
    int i = tt_config_find_key(name);
    if (i < 0)
        return tt_config_unknown(origin, name, 0, err);
    return tt_config_put_text(cfg, i, text, origin, err);
}
