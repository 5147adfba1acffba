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

static json_t *load(const char *name)
{
    json_error_t error;
    json_t *doc = json_load_file(golden(name, ""), JSON_ALLOW_NUL, &error);
    if (!doc)
        skip_all("golden files not found; set TITAN_ROOT");
    return doc;
}

static void refuses(const char *list, const char *folder, int at_least)
{
    json_t *all = load(list), *entry;
    const char *key;
    int n = 0;
    json_object_foreach(all, key, entry) {
        char name[256];
        tt_safetensors *file = NULL;
        tt_error err = {0};
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

/* Write the tensors again and compare all bytes of the file. */
static int same_file_again(const tt_safetensors *file, int n_meta, const char *const *meta)
{
    int n = tt_safetensors_n(file), same = 0;
    tt_safetensors_item *items = calloc((size_t)n + 1, sizeof *items);
    tt_error err = {0};
    char path[] = "/tmp/titan-st-XXXXXX";
    int fd = mkstemp(path);
    for (int i = 0; i < n; i++) {
        const tt_safetensors_info *t = tt_safetensors_at(file, n - 1 - i);
        void *data = malloc((size_t)t->bytes + 1);
        if (tt_safetensors_read(file, t->name, data, (size_t)t->bytes, &err) != TT_OK)
            diag("%s", err.text);
        items[i] = (tt_safetensors_item){t->name, t->dtype, t->ndim, t->shape, data};
    }
    if (tt_safetensors_write(path, items, n, meta, n_meta, &err) != TT_OK)
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
        free((void *)(uintptr_t)items[i].data);
    free(items);
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
            const tt_safetensors_info *t = tt_safetensors_find(file, tensor);
            if (!t) {
                diag("%s lacks %s", key, tensor);
                bad++;
                continue;
            }
            void *data = malloc((size_t)t->bytes + 1);
            bad += tt_safetensors_read(file, tensor, data, (size_t)t->bytes, &err) != TT_OK;
            sha256_hex(data, (size_t)t->bytes, hex);
            free(data);
            bad += strcmp(hex, json_string_value(json_object_get(want, "sha256"))) != 0;
            bad += strcmp(t->dtype, json_string_value(json_object_get(want, "dtype"))) != 0;
            json_t *shape = json_object_get(want, "shape");
            bad += json_array_size(shape) != (size_t)t->ndim;
            for (int d = 0; d < t->ndim; d++)
                bad += json_integer_value(json_array_get(shape, (size_t)d)) != t->shape[d];
        }
        ok(bad == 0 && listed == (size_t)tt_safetensors_n(file), "%s: %zu tensors as expected", key, listed);
        n++;
        tt_safetensors_close(&file);
    }
    ok(n >= 15, "%d files of expected.json", n);
    json_decref(all);
}

static void writes_the_same(void)
{
    static const struct {
        const char *name;
        int n_meta;
    } files[] = {{"single", 1},    {"dtypes", 1}, {"five_hundred", 1}, {"rank8", 1},
                 {"odd_sizes", 1}, {"no_metadata", 0}, {"hand_smallest", 0}};
    const char *const meta[] = {"format", "pt"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char name[256];
        tt_safetensors *file = NULL;
        snprintf(name, sizeof name, "%s.safetensors", files[i].name);
        int fine = tt_safetensors_open(golden(name, ""), &file, NULL) == TT_OK;
        ok(fine && same_file_again(file, files[i].n_meta, meta), "%s: written again it has the library's bytes", name);
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
    const tt_safetensors_item items[] = {{"a", "F32", 2, shape, f32}, {"b", "BF16", 2, shape, bf16},
                                         {"c", "F16", 2, shape, f16}, {"d", "F64", 2, shape, f64},
                                         {"e", "I32", 2, shape, f32}};
    tt_safetensors *file = NULL;
    tt_error err = {0};
    float got[2][4] = {{0}};
    const int64_t pitch[2] = {2, 4};
    tt_box whole = {.ndim = 2, .count = {2, 3}}, right = {.ndim = 2, .start = {0, 1}, .count = {2, 2}};
    is_int(tt_safetensors_write(path, items, 5, NULL, 0, &err), TT_OK, "five types are written %s", err.text);
    is_int(tt_safetensors_open(path, &file, &err), TT_OK, "and opened");
#define READ(name, box) tt_safetensors_read_f32(file, tt_safetensors_find(file, name), box, got[0], pitch, &err)
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

    const tt_safetensors_item twice[] = {items[0], items[0]};
    is_int(tt_safetensors_write(path, twice, 2, NULL, 0, &err), TT_ERR_DATA, "the same name twice is not written");
    is_int(tt_safetensors_write("/nonexistent/x", items, 1, NULL, 0, &err), TT_ERR_IO, "no folder: %s", err.text);
    unlink(path);
}

int main(void)
{
    tt_safetensors *file = NULL;
    tt_error err = {0};
    is_int(tt_safetensors_open("/nonexistent.safetensors", &file, &err), TT_ERR_IO, "no file");
    is_str(err.text, "opening /nonexistent.safetensors: No such file or directory", "text");
    refuses("invalid.json", "invalid/", 60);
    refuses("lenient.json", "lenient/", 6);
    reads_all();
    writes_the_same();
    widens();
    return done_testing();
}
