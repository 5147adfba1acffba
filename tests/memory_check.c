/* memory_check FILE: does a memory map fit together? Values lie inside of their scope; of one part, two scratch values whose
 * lives meet on one queue's time do not share bytes; the bytes in use follow from the lives. Prints what is wrong. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static int bad;
#define want(condition, ...) ((condition) || (bad++, printf(__VA_ARGS__), putchar('\n'), 0))

static json_int_t number(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void check_part(const json_t *part)
{
    const json_t *values = json_object_get(part, "values"), *code = json_object_get(part, "instructions");
    const char *name = json_string_value(json_object_get(part, "name"));
    const size_t n = json_array_size(code);
    json_int_t most = 0;
    for (size_t j = 0; j < n; j++) {
        json_int_t in_use = 0;
        for (size_t v = 0; v < json_array_size(values); v++) {
            const json_t *x = json_array_get(values, v);
            if (number(x, "first") <= (json_int_t)j && number(x, "last") >= (json_int_t)j)
                in_use += number(x, "bytes");
        }
        want(in_use == number(json_array_get(code, j), "in_use_bytes"), "%s %zu: %lld bytes in use", name, j, (long long)in_use);
        most = in_use > most ? in_use : most;
    }
    want(most <= number(part, "scratch_bytes"), "%s: more in use than reserved", name);
    for (size_t v = 0; v < json_array_size(values); v++) {
        const json_t *x = json_array_get(values, v);
        want(number(x, "first") <= number(x, "last") && number(x, "last") < (json_int_t)n, "%s: a life outside of the part", name);
        want(number(x, "offset") + number(x, "bytes") <= number(part, "scratch_bytes"), "%s: a value outside of the scratch", name);
        for (size_t w = 0; w < v; w++) {
            const json_t *y = json_array_get(values, w);
            const int meet = number(x, "first") <= number(y, "last") && number(y, "first") <= number(x, "last");
            const int share = number(x, "offset") < number(y, "offset") + number(y, "bytes") &&
                              number(y, "offset") < number(x, "offset") + number(x, "bytes");
            want(!meet || !share, "%s: values %lld and %lld share bytes while both are in use", name, (long long)number(x, "id"),
                 (long long)number(y, "id"));
        }
    }
}

int main(int argc, char **argv)
{
    json_t *root = argc == 2 ? json_load_file(argv[1], 0, NULL) : NULL, *part, *value;
    const json_t *scopes = json_object_get(root, "scopes");
    json_int_t reserved = 0, kept = 0;
    size_t i;
    want(root, "%s: no map", argc == 2 ? argv[1] : "usage");
    reserved += number(scopes, "state") + number(scopes, "step") + number(scopes, "frame") * number(root, "frames") + number(scopes, "scratch");
    want(reserved > 0 && reserved == number(root, "reserved_bytes"), "scopes are %lld bytes", (long long)reserved);
    want(number(root, "measured_peak_bytes") > 0, "no measured peak");
    json_array_foreach(json_object_get(root, "values"), i, value) {
        kept += number(value, "bytes");
        want(number(value, "offset") + number(value, "bytes") <= number(scopes, json_string_value(json_object_get(value, "scope"))),
             "value %lld lies outside of its scope", (long long)number(value, "id"));
    }
    want(kept > 0, "nothing lasts");
    json_array_foreach(json_object_get(root, "parts"), i, part)
        check_part(part);
    want(i >= 5, "%zu parts", i);
    json_decref(root);
    return bad ? 1 : 0;
}
