/* safetensors against files of the reference library: what it refuses we refuse, what it reads we read, and what we
 * write has its bytes. */
#include "convert/safetensors.h"
#include "sha256.h"
#include "tap.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

static char *golden(const char *name, const char *folder)
{
    static char path[4096];
    const char *root = getenv("TITAN_ROOT");
    snprintf(path, sizeof path, "%s/tests/golden/safetensors/%s%s", root ? root : ".", folder, name);
    return path;
}

/* A NUL in a name is spelled as text, as the reader does. */
static json_t *load(const char *name)
{
    FILE *in = fopen(golden(name, ""), "rb");
    if (!in)
        skip_all("golden files not found; set TITAN_ROOT");
    char *text = calloc(1, 1 << 20), *nul;
    size_t n = fread(text, 1, (1 << 20) - 16, in);
    fclose(in);
    while ((nul = strstr(text, "nul\\u0000x"))) {
        memmove(nul + 4, nul + 3, n + 1 - (size_t)(nul + 3 - text));
        n++;
    }
    json_error_t error;
    json_t *doc = json_loads(text, JSON_ALLOW_NUL, &error);
    free(text);
    if (!doc)
        diag("%s: %s", name, error.text);
    return doc;
}

static void refuses(const char *list, const char *folder, int at_least, const char *but)
{
    json_t *all = load(list), *entry;
    const char *key;
    int n = 0;
    json_object_foreach(all, key, entry) {
        char name[256];
        tt_safetensors *file = NULL;
        tt_error err = {0};
        if (strcmp(key, but) == 0)
            continue;
        snprintf(name, sizeof name, "%s.safetensors", key);
        tt_status st = tt_safetensors_open(golden(name, folder), &file, &err);
        if (!ok(st == TT_ERR_DATA && !file && strstr(err.text, name), "refused: %s%s: %.150s", folder, key,
                strrchr(err.text, '/') ? strrchr(err.text, '/') + 1 : err.text))
            diag("status %d: %s", st, err.text);
        tt_safetensors_close(&file);
        n++;
    }
    ok(n >= at_least, "%d files of %s tried", n, list);
    json_decref(all);
}

/* Write a whole file in one go. */
static tt_status write_file(const char *path, const tt_safetensors_spec *specs, const void *const *data,
                            const int64_t *bytes, int n, tt_error *err)
{
    tt_safetensors_writer *writer = NULL;
    tt_status st = TT_OK;
    TT_TRY(tt_safetensors_create(path, specs, n, &writer, err));
    for (int i = 0; i < n; i++) {
        int64_t half = bytes[i] / 2; /* in two pieces, the second one first */
        TT_TRY(tt_safetensors_put(writer, i, half, (const char *)data[i] + half, bytes[i] - half, err));
        TT_TRY(tt_safetensors_put(writer, i, 0, data[i], half, err));
    }
    TT_TRY(tt_safetensors_finish(&writer, err));
out:
    tt_safetensors_abandon(&writer);
    return st;
}

/* Write the tensors again and compare all bytes of the file. */
static int same_file_again(const tt_safetensors *file)
{
    int n = tt_safetensors_count(file), same = 0;
    tt_safetensors_spec *specs = calloc((size_t)n + 1, sizeof *specs);
    void **data = calloc((size_t)n + 1, sizeof *data);
    int64_t *bytes = calloc((size_t)n + 1, sizeof *bytes);
    tt_error err = {0};
    char path[] = "/tmp/titan-st-XXXXXX";
    int fd = mkstemp(path);
    for (int i = 0; i < n; i++) {
        const tt_safetensors_entry *t = tt_safetensors_at(file, n - 1 - i);
        bytes[i] = t->end - t->begin;
        data[i] = malloc((size_t)bytes[i] + 1);
        if (tt_safetensors_read(file, t->name, data[i], (size_t)bytes[i], &err) != TT_OK)
            diag("%s", err.text);
        specs[i] = (tt_safetensors_spec){t->name, t->dtype, t->ndim, t->shape};
    }
    if (write_file(path, specs, (const void *const *)data, bytes, n, &err) != TT_OK)
        diag("%s", err.text);
    FILE *a = fopen(path, "rb"), *b = fopen(tt_safetensors_path(file), "rb");
    if (a && b) {
        int x, y;
        do {
            x = fgetc(a);
            y = fgetc(b);
        } while (x == y && x != EOF);
        same = x == y;
    }
    if (a)
        fclose(a);
    if (b)
        fclose(b);
    for (int i = 0; i < n; i++)
        free(data[i]);
    free(data);
    free(specs);
    free(bytes);
    close(fd);
    unlink(path);
    return same;
}

static void reads_all(void)
{
    json_t *all = load("expected.json"), *entry, *want;
    const char *key, *tensor;
    int n = 0;
    json_object_foreach(all, key, entry) {
        char name[256];
        tt_safetensors *file = NULL;
        tt_error err = {0};
        int bad = 0;
        snprintf(name, sizeof name, "%s.safetensors", key);
        if (!ok(tt_safetensors_open(golden(name, ""), &file, &err) == TT_OK, "%s opens", key)) {
            diag("%s", err.text);
            continue;
        }
        json_t *tensors = json_object_get(entry, "tensors");
        size_t listed = 0;
        void *it;
        for (it = json_object_iter(tensors); it; it = json_object_iter_next(tensors, it), listed++) {
            char hex[65];
            tensor = json_object_iter_key(it);
            want = json_object_iter_value(it);
            const tt_safetensors_entry *t = tt_safetensors_find(file, tensor);
            if (!t) {
                diag("%s lacks %s", key, tensor);
                bad++;
                continue;
            }
            void *data = malloc((size_t)(t->end - t->begin) + 1);
            bad += tt_safetensors_read(file, tensor, data, (size_t)(t->end - t->begin), &err) != TT_OK;
            sha256_hex(data, (size_t)(t->end - t->begin), hex);
            free(data);
            bad += strcmp(hex, json_string_value(json_object_get(want, "sha256"))) != 0;
            bad += strcmp(t->dtype, json_string_value(json_object_get(want, "dtype"))) != 0;
            json_t *shape = json_object_get(want, "shape");
            bad += json_array_size(shape) != (size_t)t->ndim;
            for (int d = 0; d < t->ndim; d++)
                bad += json_integer_value(json_array_get(shape, (size_t)d)) != t->shape[d];
        }
        ok(bad == 0 && listed == (size_t)tt_safetensors_count(file), "%s: %zu tensors as expected", key, listed);
        n++;
        tt_safetensors_close(&file);
    }
    ok(n >= 15, "%d files of expected.json", n);
    json_decref(all);
}

static void writes_the_same(void)
{
    static const char *const files[] = {"single", "dtypes", "five_hundred", "rank8", "odd_sizes"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char name[256];
        tt_safetensors *file = NULL;
        snprintf(name, sizeof name, "%s.safetensors", files[i]);
        int fine = tt_safetensors_open(golden(name, ""), &file, NULL) == TT_OK;
        ok(fine && same_file_again(file), "%s: written again it has the library's bytes", name);
        tt_safetensors_close(&file);
    }
}

static void widens(void)
{
    char path[] = "/tmp/titan-st-XXXXXX";
    close(mkstemp(path));
    const float f32[6] = {1, -2, 3.5f, 1e-40f, 5, 6};
    const uint16_t bf16[6] = {0x3f80, 0xc000, 0x4060, 0x0001, 0x7f80, 0x8000};
    const uint16_t f16[6] = {0x3c00, 0xc000, 0x4300, 0x0001, 0x7c00, 0x8400};
    const double f64[6] = {1, -2, 3.5, 1e300, 0.1, 6};
    const int64_t shape[2] = {2, 3};
    const tt_safetensors_spec specs[] = {
        {"a", "F32", 2, shape}, {"b", "BF16", 2, shape}, {"c", "F16", 2, shape}, {"d", "F64", 2, shape}, {"e", "I32", 2, shape}};
    const void *const data[] = {f32, bf16, f16, f64, f32};
    const int64_t bytes[] = {24, 12, 12, 48, 24};
    tt_safetensors *file = NULL;
    tt_error err = {0};
    float got[2][4] = {{0}};
    const int64_t pitch[2] = {2, 4};
    tt_box whole = {.ndim = 2, .count = {2, 3}}, right = {.ndim = 2, .start = {0, 1}, .count = {2, 2}};
    is_int(write_file(path, specs, data, bytes, 5, &err), TT_OK, "five types are written %s", err.text);
    is_int(tt_safetensors_open(path, &file, &err), TT_OK, "and opened");
#define READ(name, box) tt_safetensors_read_box(file, name, box, got[0], pitch, &err)
    ok(READ("a", &whole) == TT_OK && memcmp(got[0], f32, 12) == 0 && memcmp(got[1], f32 + 3, 12) == 0 && got[0][3] == 0,
       "F32 as it is, padding untouched");
    ok(READ("b", &whole) == TT_OK && got[0][0] == 1 && got[0][1] == -2 && got[0][2] == 3.5f && got[1][0] > 0 &&
           got[1][1] == INFINITY && signbit(got[1][2]), "BF16 is exact");
    ok(READ("c", &whole) == TT_OK && got[0][0] == 1 && got[0][1] == -2 && got[0][2] == 3.5f && got[1][0] == 0x1p-24f &&
           got[1][1] == INFINITY && got[1][2] == -0x1p-14f, "F16 is exact, subnormals too");
    ok(READ("d", &right) == TT_OK && got[0][0] == -2 && got[0][1] == 3.5f && got[1][0] == 0.1f && got[1][1] == 6,
       "F64 rounds; a box of columns");
    is_int(READ("e", &whole), TT_ERR_DTYPE, "I32 is no weight: %s", err.text);
    right.count[1] = 3;
    is_int(READ("a", &right), TT_ERR_SHAPE, "a box outside is refused");
    is_int(tt_safetensors_read(file, "zz", got, 4, &err), TT_ERR_DATA, "a missing name: %s", err.text);
    tt_safetensors_close(&file);

    const tt_safetensors_spec twice[] = {specs[0], specs[0]};
    tt_safetensors_writer *writer = NULL;
    is_int(tt_safetensors_create(path, twice, 2, &writer, &err), TT_ERR_DATA, "a name twice: %s", err.text);
    is_int(tt_safetensors_create("/nonexistent/x", specs, 1, &writer, &err), TT_ERR_IO, "no folder: %s", err.text);
    unlink(path);
    is_int(tt_safetensors_create(path, specs, 2, &writer, &err), TT_OK, "begun");
    is_int(tt_safetensors_put(writer, 1, 8, f32, 5, &err), TT_ERR_SHAPE, "bytes outside a tensor: %s", err.text);
    is_int(tt_safetensors_finish(&writer, &err), TT_ERR_INTERNAL, "bytes missing: %s", err.text);
    ok(access(path, F_OK) != 0, "nothing has the final name");
    unlink(path);
}

int main(void)
{
    tt_safetensors *file = NULL;
    tt_error err = {0};
    is_int(tt_safetensors_open("/nonexistent.safetensors", &file, &err), TT_ERR_IO, "no file");
    ok(strstr(err.text, "/nonexistent.safetensors") && strstr(err.text, "No such file"), "it says so: %s", err.text);
    refuses("invalid.json", "invalid/", 60, "");
    refuses("lenient.json", "lenient/", 5, "extra_field"); /* unknown keys of a tensor are for later versions */
    reads_all();
    writes_the_same();
    widens();
    return done_testing();
}
