/* Generating from published folders: the logits of every prefix against those that the transformers library gave for the same
 * folder (tests/golden/hf.how). */
#include "convert/safetensors.h"
#include "run/generator.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N 24
#define V 320

static const int32_t tokens[N] = {235, 88, 204, 214, 199, 57, 102, 234, 92, 202, 272, 253, 296, 45, 90, 281, 23, 182, 171, 32, 183, 196, 269, 10};

/* Prefixes of 1 .. N tokens in a context of `context`; one that is too short sees the last tokens only. */
static double worst_difference(tt_generator *g, const float *want, int prefixes, int *bad)
{
    double worst = 0;
    for (int n = 1; n <= prefixes; n++) {
        const float *logits;
        int64_t vocab;
        tt_error err = {0};
        if (tt_generator_logits(g, tokens, n, &logits, &vocab, &err) != TT_OK || vocab != 258) {
            diag("%s", err.text);
            ++*bad;
            continue;
        }
        for (int64_t v = 0; v < vocab; v++)
            worst = fmax(worst, fabs((double)logits[v] - want[(n - 1) * V + v]));
    }
    return worst;
}

static void against_reference(tt_world *world, const char *name)
{
    char path[4096];
    const char *root = getenv("TITAN_ROOT");
    const char *byte = "model.tokenizer_path=byte";
    static float want[N * V];
    tt_error err = {0};
    tt_safetensors *file = NULL;
    tt_generator *g = NULL;
    int bad = 0;
    snprintf(path, sizeof path, "%s/tests/golden/hf/logits.safetensors", root ? root : ".");
    is_int(tt_safetensors_open(path, &file, &err), TT_OK, "%s: reference %s", name, err.text);
    is_int(tt_safetensors_read(file, name, want, sizeof want, &err), TT_OK, "%s: its logits %s", name, err.text);
    tt_safetensors_close(&file);
    snprintf(path, sizeof path, "%s/tests/golden/hf/%s", root ? root : ".", name);
    is_int(tt_generator_open(&(tt_generator_opts){.path = path, .settings = &byte, .n_settings = 1, .threads = 1}, &g, &err), TT_OK,
           "%s opens %s", name, err.text);
    is_int(tt_generator_ready(g, world, N + 3, &err), TT_OK, "%s is ready %s", name, err.text);
    double worst = worst_difference(g, want, N, &bad);
    ok(bad == 0 && worst < 1e-4, "%s: the logits of every prefix are the library's (%.2e off)", name, worst);
    tt_generator_close(&g);
}

int main(void)
{
    tt_error err = {0};
    tt_world *world = NULL;
    if (tt_world_open(&world, &err) != TT_OK)
        return 1;
    against_reference(world, "single");
    against_reference(world, "sharded");
    against_reference(world, "tied");
    tt_world_close(&world, TT_OK, &err);
    return done_testing();
}
