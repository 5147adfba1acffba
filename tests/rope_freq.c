/* Rotary frequencies and the table of angles against recorded values of the published models
 * (golden/rope_freq.how). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels_util.h"
#include "models/rope_freq.h"

#define HALF_MAX 128

static void read_row(FILE *f, int n, double *row)
{
    for (int i = 0; i < n; i++)
        if (fscanf(f, "%lf", &row[i]) != 1) {
            diag("tests/golden/rope_freq.txt ends early");
            exit(1);
        }
}

/* One recorded position of one model: its cos and sin lines, from the recorded frequencies. */
static int check_position(FILE *f, const char *name, int half, const double *inv_freq)
{
    double position, want[2][HALF_MAX];
    int wrong = 0;
    if (fscanf(f, " position %lf cos", &position) != 1)
        return 0;
    read_row(f, half, want[0]);
    (void)!fscanf(f, " position %*f sin");
    read_row(f, half, want[1]);
    op_case c = {.name = "rope_table", .attr.scale = 1};
    set(op_in(&c, tensor(TT_I32, 1, 0, 0)), 0, position);
    op_in(&c, tensor(TT_F32, half, 0, 0));
    op_out(&c, tensor(TT_F32, 1, 2 * half, 0), 0);
    for (int i = 0; i < half; i++)
        set(&c.in[1], i, inv_freq[i]);
    op_run(&c, 1, 0);
    for (int i = 0; i < 2 * half; i++)
        wrong += !(fabs(get(&c.out[0], i) - want[i / half][i % half]) <=
                   2e-6 + position * inv_freq[i % half] * 2e-7);
    is_int(wrong, 0, "%s: cos and sin at position %.0f", name, position);
    op_free(&c);
    return 1;
}

int main(void)
{
    char path[4096], name[64];
    const char *root = getenv("top_srcdir");
    int dim, cases = 0;
    double theta;
    tt_rope_scaling s = {0};
    snprintf(path, sizeof path, "%s/tests/golden/rope_freq.txt", root ? root : ".");
    FILE *f = fopen(path, "r");
    if (!f) {
        diag("cannot read %s; run from the top of the source tree or set top_srcdir", path);
        return 1;
    }
    while (
        fscanf(f,
               " case %63s dim %d theta %lf factor %lf low %lf high %lf original_max %lf inv_freq",
               name, &dim, &theta, &s.factor, &s.low_freq_factor, &s.high_freq_factor,
               &s.original_max_position) == 7) {
        double want[HALF_MAX], worst = 0;
        float inv_freq[HALF_MAX];
        s.kind = s.factor > 0 ? TT_ROPE_LLAMA3 : TT_ROPE_PLAIN;
        read_row(f, dim / 2, want);
        tt_rope_inv_freq(dim, theta, &s, inv_freq);
        for (int i = 0; i < dim / 2; i++)
            worst = fmax(worst, fabs(inv_freq[i] / want[i] - 1));
        ok(worst <= 2e-6, "%s: inverse frequencies (worst %.2g)", name, worst);
        while (check_position(f, name, dim / 2, want))
            ;
        cases++;
    }
    is_int(cases, 6, "all cases were read");
    fclose(f);
    return done_testing();
}
