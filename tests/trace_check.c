/* trace_check FILE RANK RANKS LAYERS STEPS: is this a whole trace of a training step? Prints what is wrong; exit 1 then. */
#include "graph/ops.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TRACKS = 32, MAX_OPEN = 64 };

typedef struct slice {
    double start, end;
    int track;
} slice;

static int bad;
#define want(condition, ...) ((condition) || (bad++, printf(__VA_ARGS__), putchar('\n'), 0))

static int by_start(const void *a, const void *b)
{
    const slice *x = a, *y = b;
    if (x->track != y->track)
        return x->track - y->track;
    return x->start < y->start ? -1 : x->start > y->start;
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* An instruction's arguments say what it was. */
static void check_args(const json_t *e)
{
    const json_t *a = json_object_get(e, "args");
    static const char *const needed[] = {"layer", "role", "part", "instruction", "microbatch", "in", "out", "bytes", "waits"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        want(json_object_get(a, needed[i]), "%s: no %s", text(e, "name"), needed[i]);
    want(tt_op_find(text(e, "name")) >= 0, "%s is no op", text(e, "name"));
    const json_t *out = json_array_get(json_object_get(a, "out"), 0);
    if (out)
        want(strchr(json_string_value(out), '[') && strchr(json_string_value(out), '%'), "%s is no value with its shape", json_string_value(out));
    if (!strcmp(text(e, "name"), "linear"))
        want(json_number_value(json_object_get(a, "flops")) > 0, "a linear without FLOPs");
    if (!strcmp(text(e, "cat"), "communication"))
        want(json_number_value(json_object_get(a, "sent_bytes")) > 0 && json_object_get(a, "waited_us"), "a communication that sends nothing");
}

static void check_tracks(slice *s, size_t n)
{
    qsort(s, n, sizeof *s, by_start);
    for (size_t i = 1; i < n; i++)
        if (s[i].track == s[i - 1].track)
            want(s[i].start >= s[i - 1].end - 0.002, "track %d: a slice begins at %.3f, before the end of the one before, %.3f", s[i].track, s[i].start, s[i - 1].end);
}

int main(int argc, char **argv)
{
    json_error_t where;
    json_t *root = argc == 6 ? json_load_file(argv[1], 0, &where) : NULL, *events = json_object_get(root, "traceEvents"), *e;
    size_t index, n = 0;
    if (!json_is_array(events)) {
        printf("%s: no trace\n", argv[1]);
        return 1;
    }
    const int rank = atoi(argv[2]), ranks = atoi(argv[3]), layers = atoi(argv[4]), steps = atoi(argv[5]);
    slice *s = calloc(json_array_size(events) + 1, sizeof *s);
    int seen_layer[64] = {0}, embedding = 0, head = 0, update = 0, comm = 0, seen_steps = 0, backward = 0;
    char *named = calloc(MAX_TRACKS, 1);
    json_array_foreach(events, index, e) {
        const char *phase = text(e, "ph"), *cat = text(e, "cat"), *layer = text(json_object_get(e, "args"), "layer");
        const int track = (int)json_integer_value(json_object_get(e, "tid"));
        want(json_integer_value(json_object_get(e, "pid")) == rank, "an event of another rank");
        if (!strcmp(phase, "M")) {
            named[track % MAX_TRACKS] |= !strcmp(text(e, "name"), "thread_name");
            continue;
        }
        want(!strcmp(phase, "X"), "phase %s", phase); /* complete: a begin with its end */
        const double start = json_number_value(json_object_get(e, "ts")), length = json_number_value(json_object_get(e, "dur"));
        want(length >= 0 && start > 0, "%s: a slice from %g for %g", text(e, "name"), start, length);
        want(named[track % MAX_TRACKS], "track %d has no name", track);
        s[n++] = (slice){start, start + length, track};
        if (!strcmp(cat, "op") || !strcmp(cat, "communication"))
            check_args(e);
        comm += !strcmp(cat, "communication");
        seen_steps += !strcmp(cat, "step");
        backward += !strcmp(cat, "part") && !strcmp(text(e, "name"), "backward");
        embedding += !strcmp(layer, "embedding");
        head += !strcmp(layer, "head");
        update += !strcmp(text(e, "name"), "adamw");
        if (!strncmp(layer, "layers.", 7) && atoi(layer + 7) < 64)
            seen_layer[atoi(layer + 7)]++;
    }
    check_tracks(s, n);
    for (int l = 0; l < layers; l++)
        want(seen_layer[l] > 5, "layer %d has %d slices", l, seen_layer[l]);
    want(!seen_layer[layers], "more layers than there are");
    want(embedding && head && update && backward, "embedding %d, head %d, update %d, backward %d", embedding, head, update, backward);
    want(seen_steps == steps, "%d steps", seen_steps);
    want((comm > 0) == (ranks > 1), "%d communications on %d ranks", comm, ranks);
    printf("%zu slices, %d communications\n", n, comm);
    free(s);
    free(named);
    json_decref(root);
    return bad ? 1 : 0;
}
