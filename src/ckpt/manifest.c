/* See manifest.h. The text is hashed before it is parsed, so a fault found here was written, not suffered; it is refused
 * all the same, as every number is used to read files. */
#include "ckpt/manifest.h"

#include "ckpt/layout.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- tiling ---- */

static int compare_starts(const void *a, const void *b)
{
    const tt_ckpt_shard *x = *(const tt_ckpt_shard *const *)a, *y = *(const tt_ckpt_shard *const *)b;
    int64_t s = x->box.ndim ? x->box.start[0] : 0, t = y->box.ndim ? y->box.start[0] : 0;
    return s < t ? -1 : s > t;
}

/* No two of the n boxes meet: sorted by their first dim, only those that reach into the next have to be compared. */
static int any_overlap(const tt_ckpt_shard **sorted, int64_t n)
{
    tt_box common;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            const tt_box *a = &sorted[i]->box, *b = &sorted[j]->box;
            if (a->ndim && b->start[0] >= a->start[0] + a->count[0])
                break;
            if (tt_box_intersect(a, b, &common))
                return 1;
        }
    return 0;
}

tt_status tt_ckpt_manifest_check(const tt_ckpt_manifest *m, tt_error *err)
{
    for (int i = 0; i < m->n_tensors; i++) {
        const tt_ckpt_entry *e = &m->tensors[i];
        tt_box whole = {.ndim = e->ndim};
        memcpy(whole.count, e->shape, sizeof whole.count);
        int64_t held = 0, wanted = tt_box_elems(&whole);
        const tt_ckpt_shard **sorted = malloc(((size_t)e->n_shards + 1) * sizeof(tt_ckpt_shard *));
        if (!sorted)
            return tt_fail(err, TT_ERR_NOMEM, "checking the shards of %s: out of memory", e->name);
        int inside = 1;
        for (int64_t k = 0; k < e->n_shards; k++) {
            sorted[k] = &m->shards[e->first_shard + k];
            inside &= sorted[k]->box.ndim == e->ndim && tt_box_inside(&sorted[k]->box, e->shape);
            held += tt_box_elems(&sorted[k]->box);
        }
        qsort(sorted, (size_t)e->n_shards, sizeof(tt_ckpt_shard *), compare_starts);
        int overlap = inside && any_overlap(sorted, e->n_shards);
        free(sorted);
        if (!inside || overlap || held != wanted)
            return tt_fail(err, TT_ERR_CKPT,
                           "the %lld shards of tensor %s hold %lld elements, the tensor has "
                           "%lld%s; each element needs one owner: check what wrote them",
                           (long long)e->n_shards, e->name, (long long)held, (long long)wanted,
                           !inside   ? ", and a shard lies outside of it"
                           : overlap ? ", and two shards overlap"
                                     : "");
    }
    return TT_OK;
}

/* ---- writing ---- */

static void put_list(FILE *out, const int64_t *values, int n)
{
    fputc('[', out);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%" PRId64, i ? "," : "", values[i]);
    fputc(']', out);
}

/* A JSON string; -1 when the text is not UTF-8. */
static int put_text(FILE *out, const char *text)
{
    json_t *value = json_string(text);
    char *escaped = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    if (escaped)
        fputs(escaped, out);
    free(escaped);
    json_decref(value);
    return escaped ? 0 : -1;
}

static void put_hash(FILE *out, tt_ckpt_hash hash)
{
    char text[33];
    tt_ckpt_hash_text(hash, text);
    fprintf(out, "\"%s\"", text);
}

static int put_tensor(FILE *out, const tt_ckpt_manifest *m, const tt_ckpt_entry *e)
{
    fputs("{\"name\": ", out);
    if (put_text(out, e->name) != 0)
        return -1;
    fprintf(out, ", \"dtype\": \"%s\", \"shape\": ", tt_dtype_name(e->dtype));
    put_list(out, e->shape, e->ndim);
    fputs(", \"shards\": [", out);
    for (int64_t k = 0; k < e->n_shards; k++) {
        const tt_ckpt_shard *s = &m->shards[e->first_shard + k];
        fprintf(out, "%s[%d, %" PRId64 ", %" PRId64 ", ", k ? ", " : "", s->file, s->offset, s->bytes);
        put_list(out, s->box.start, s->box.ndim);
        fputs(", ", out);
        put_list(out, s->box.count, s->box.ndim);
        fputs(", ", out);
        put_hash(out, s->hash);
        fputc(']', out);
    }
    fputs("]}", out);
    return 0;
}

tt_status tt_ckpt_manifest_text(const tt_ckpt_manifest *m, char **text, size_t *length, tt_error *err)
{
    int bad = 0;
    *text = NULL;
    FILE *out = open_memstream(text, length);
    if (!out)
        return tt_fail(err, TT_ERR_NOMEM, "writing the manifest: out of memory");
    fprintf(out, "{\"format\": \"titan-checkpoint\", \"version\": 1, \"step\": %" PRId64 ",\n \"meta\": ", m->step);
    bad |= put_text(out, m->meta);
    fprintf(out, ",\n \"index\": {\"file\": \"%s\", \"bytes\": %" PRId64 ", \"xxh3_128\": ", TT_CKPT_INDEX, m->index_bytes);
    put_hash(out, m->index_hash);
    fputs("},\n \"files\": [", out);
    for (int i = 0; i < m->n_files; i++)
        fprintf(out, "%s\n  {\"file\": \"%s\", \"bytes\": %" PRId64 "}", i ? "," : "", m->files[i].name, m->files[i].bytes);
    fputs("],\n \"tensors\": [", out);
    for (int i = 0; i < m->n_tensors && !bad; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        bad |= put_tensor(out, m, &m->tensors[i]);
    }
    fputs("]}\n", out);
    int failed = ferror(out) | fclose(out);
    if (bad || failed) {
        free(*text);
        *text = NULL;
        return bad ? tt_fail(err, TT_ERR_CKPT,
                             "writing the manifest: a tensor's name or the meta text is not UTF-8; "
                             "use names of letters in tensors and in \"meta\"")
                   : tt_fail(err, TT_ERR_NOMEM, "writing the manifest: out of memory");
    }
    return TT_OK;
}

/* ---- reading ---- */

static int get_list(const json_t *list, int64_t *values, int n)
{
    if (!json_is_array(list) || (int)json_array_size(list) != n)
        return -1;
    for (int i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, (size_t)i);
        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return -1;
        values[i] = json_integer_value(v);
    }
    return 0;
}

static int get_hash(const json_t *value, tt_ckpt_hash *hash)
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32)
        return -1;
    return sscanf(text, "%16" SCNx64 "%16" SCNx64, &hash->high, &hash->low) == 2 ? 0 : -1;
}

static int get_shard(const json_t *value, const tt_ckpt_manifest *m, const tt_ckpt_entry *e, tt_ckpt_shard *s)
{
    int64_t numbers[3];
    json_t *head = json_array();
    for (size_t i = 0; i < 3; i++)
        json_array_append(head, json_array_get(value, i));
    int bad = get_list(head, numbers, 3);
    json_decref(head);
    s->box.ndim = e->ndim;
    if (bad || json_array_size(value) != 6 || get_list(json_array_get(value, 3), s->box.start, e->ndim) ||
        get_list(json_array_get(value, 4), s->box.count, e->ndim) || get_hash(json_array_get(value, 5), &s->hash) ||
        numbers[0] >= m->n_files || !tt_box_inside(&s->box, e->shape))
        return -1;
    s->file = (int)numbers[0];
    s->offset = numbers[1];
    s->bytes = numbers[2];
    if (s->bytes != tt_box_elems(&s->box) * (int64_t)tt_dtype_size(e->dtype) || s->bytes > m->files[s->file].bytes ||
        s->offset > m->files[s->file].bytes - s->bytes)
        return -1;
    return 0;
}

static int get_tensor(const json_t *value, tt_ckpt_manifest *m, int i)
{
    tt_ckpt_entry *e = &m->tensors[i];
    const char *name = json_string_value(json_object_get(value, "name"));
    const char *dtype = json_string_value(json_object_get(value, "dtype"));
    const json_t *shape = json_object_get(value, "shape"), *shards = json_object_get(value, "shards");
    e->name = name ? strdup(name) : NULL;
    if (!e->name || !dtype || tt_dtype_parse(dtype, &e->dtype) != 0 || json_array_size(shape) > TT_MAX_DIMS ||
        get_list(shape, e->shape, (int)json_array_size(shape)) || !json_is_array(shards))
        return -1;
    int64_t elems = 8; /* of at most 8 bytes: no later product overflows */
    e->ndim = (int)json_array_size(shape);
    for (int d = 0; d < e->ndim; d++)
        if (e->shape[d] > 0 && __builtin_mul_overflow(elems, e->shape[d], &elems))
            return -1;
    e->first_shard = m->n_shards;
    e->n_shards = (int64_t)json_array_size(shards);
    for (int64_t k = 0; k < e->n_shards; k++, m->n_shards++) {
        m->shards[m->n_shards].tensor = i;
        if (get_shard(json_array_get(shards, (size_t)k), m, e, &m->shards[m->n_shards]) != 0)
            return -1;
    }
    return 0;
}

static int get_file(const json_t *value, tt_ckpt_file *f)
{
    const char *name = json_string_value(json_object_get(value, "file"));
    const json_t *bytes = json_object_get(value, "bytes");
    if (!name || !*name || strchr(name, '/') || strlen(name) >= sizeof f->name || !json_is_integer(bytes) ||
        json_integer_value(bytes) < 0)
        return -1;
    snprintf(f->name, sizeof f->name, "%s", name);
    f->bytes = json_integer_value(bytes);
    return 0;
}

static int get_header(const json_t *root, tt_ckpt_manifest *m, tt_ckpt_file *index)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    const char *meta = json_string_value(json_object_get(root, "meta"));
    const json_t *step = json_object_get(root, "step"), *at = json_object_get(root, "index");
    if (!format || strcmp(format, "titan-checkpoint") != 0 || !meta || !json_is_integer(step) || get_file(at, index) != 0 ||
        get_hash(json_object_get(at, "xxh3_128"), &m->index_hash) != 0)
        return -1;
    m->step = json_integer_value(step);
    m->index_bytes = index->bytes;
    m->meta = strdup(meta);
    return m->meta ? 0 : -1;
}

static int compare_by_name(const void *a, const void *b, void *manifest)
{
    const tt_ckpt_manifest *m = manifest;
    return strcmp(m->tensors[*(const int *)a].name, m->tensors[*(const int *)b].name);
}

static tt_status parse(const json_t *root, tt_ckpt_manifest *m, tt_error *err)
{
    const json_t *files = json_object_get(root, "files"), *tensors = json_object_get(root, "tensors");
    tt_ckpt_file index;
    size_t n_shards = 0;
    int version = (int)json_integer_value(json_object_get(root, "version"));
    if (version != 1)
        return tt_fail(err, TT_ERR_CKPT, "its format version is %d, this program reads 1; use a newer titan", version);
    if (get_header(root, m, &index) != 0 || !json_is_array(files) || !json_is_array(tensors))
        return tt_fail(err, TT_ERR_CKPT,
                       "format, step, meta, index, files or tensors are missing or malformed "
                       "(\"manifest.json\"); use another step");
    for (size_t i = 0; i < json_array_size(tensors); i++)
        n_shards += json_array_size(json_object_get(json_array_get(tensors, i), "shards"));
    m->files = calloc(json_array_size(files) + 1, sizeof *m->files);
    m->tensors = calloc(json_array_size(tensors) + 1, sizeof *m->tensors);
    m->shards = calloc(n_shards + 1, sizeof *m->shards);
    m->by_name = calloc(json_array_size(tensors) + 1, sizeof *m->by_name);
    if (!m->files || !m->tensors || !m->shards || !m->by_name)
        return tt_fail(err, TT_ERR_NOMEM, "no memory for a manifest of %zu shards", n_shards);
    for (size_t i = 0; i < json_array_size(files); i++, m->n_files++)
        if (get_file(json_array_get(files, i), &m->files[i]) != 0)
            return tt_fail(err, TT_ERR_CKPT,
                           "entry %zu of \"files\" is malformed; use another step", i);
    for (size_t i = 0; i < json_array_size(tensors); i++) {
        m->by_name[m->n_tensors++] = (int)i; /* counted first: what it owns has to be freed */
        if (get_tensor(json_array_get(tensors, i), m, (int)i) != 0)
            return tt_fail(err, TT_ERR_CKPT,
                           "entry %zu of \"tensors\" (%s) is malformed; use another step", i,
                           m->tensors[i].name ? m->tensors[i].name : "no name");
    }
    qsort_r(m->by_name, (size_t)m->n_tensors, sizeof *m->by_name, compare_by_name, m);
    return tt_ckpt_manifest_check(m, err);
}

tt_status tt_ckpt_manifest_parse(const char *text, size_t length, tt_ckpt_manifest *manifest, tt_error *err)
{
    json_error_t je;
    *manifest = (tt_ckpt_manifest){0};
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &je);
    tt_status st =
        root ? parse(root, manifest, err)
             : tt_fail(err, TT_ERR_CKPT, "it is not valid JSON: %s (line %d); use another step",
                       je.text, je.line);
    json_decref(root);
    if (st != TT_OK)
        tt_ckpt_manifest_free(manifest);
    return st;
}

void tt_ckpt_manifest_free(tt_ckpt_manifest *m)
{
    for (int i = 0; i < m->n_tensors; i++)
        free(m->tensors[i].name);
    free(m->tensors);
    free(m->files);
    free(m->shards);
    free(m->by_name);
    free(m->meta);
    *m = (tt_ckpt_manifest){0};
}

/* ---- names ---- */

int tt_ckpt_manifest_find(const tt_ckpt_manifest *m, const char *name)
{
    int low = 0, high = m->n_tensors;
    while (low < high) {
        int mid = low + (high - low) / 2, order = strcmp(m->tensors[m->by_name[mid]].name, name);
        if (order == 0)
            return m->by_name[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return -1;
}

/* Edit distance of two names cut to 255 characters. */
static int distance(const char *a, const char *b)
{
    int row[256], n = (int)strnlen(b, 255);
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1] && i < 256; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

const char *tt_ckpt_manifest_closest(const tt_ckpt_manifest *m, const char *name)
{
    const char *best = "";
    int least = 1 << 20;
    for (int i = 0; i < m->n_tensors; i++) {
        int d = distance(name, m->tensors[i].name);
        if (d < least) {
            least = d;
            best = m->tensors[i].name;
        }
    }
    return best;
}
