/* Choosing tokens: cuts and order by hand, and the drawn shares against the distribution. */
#include "run/sampling.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

#define V 6

int main(void)
{
    /* probabilities 0.4 0.1 0.3 0.1 0.05 0.05 */
    const double p[V] = {0.4, 0.1, 0.3, 0.1, 0.05, 0.05};
    float x[V];
    tt_error err = {0};
    tt_sampler *s = NULL;
    int64_t n, seen[V] = {0};
    for (int i = 0; i < V; i++)
        x[i] = (float)log(p[i]) + 3;
    is_int(tt_sampler_create(V, &s, &err), TT_OK, "a sampler");
    const tt_sampling all = {.temperature = 1, .top_p = 1};
    for (int i = 0; i < 1000; i++)
        seen[tt_sampler_draw(s, x, &all, (i + 0.5) / 1000)]++;
    int bad = 0;
    for (int i = 0; i < V; i++)
        bad += llabs(seen[i] - (int64_t)lround(1000 * p[i])) > 1;
    is_int(bad, 0, "shares of 1000 even draws are the probabilities");
    is_int(tt_sampler_draw(s, x, &(tt_sampling){.temperature = 0, .top_p = 1}, 0.99), 0, "temperature 0: the likeliest");
    /* Likeliest first: 0 2 1 3 4 5. */
    is_int(tt_sampler_draw(s, x, &(tt_sampling){.temperature = 1, .top_k = 3, .top_p = 1}, 0.9999), 1, "top-k 3 ends at token 1");
    is_int(tt_sampler_draw(s, x, &(tt_sampling){.temperature = 1, .top_p = 0.69}, 0.9999), 2, "top-p 0.69 ends at token 2");
    is_int(tt_sampler_draw(s, x, &(tt_sampling){.temperature = 1, .top_p = 0.71}, 0.9999), 1, "top-p 0.71 needs token 1 too");
    is_int(tt_sampler_draw(s, x, &(tt_sampling){.temperature = 1, .top_p = 1e-9}, 0.9999), 0, "a tiny top-p keeps one");
    /* top-k 2 leaves 4/7 and 3/7: top-p 0.5 of that keeps one, 0.6 both. */
    is_int(tt_sampler_draw(s, x, &(tt_sampling){.temperature = 1, .top_k = 2, .top_p = 0.5}, 0.9999), 0, "top-p is taken of what top-k left");
    is_int(tt_sampler_draw(s, x, &(tt_sampling){.temperature = 1, .top_k = 2, .top_p = 0.6}, 0.9999), 2, "and of its sum");
    /* Temperature 0.5 squares: 0.16 of 0.275. */
    is_int(tt_sampler_draw(s, x, &(tt_sampling){.temperature = 0.5, .top_p = 1}, 0.58), 0, "temperature 0.5 below 0.16/0.275");
    is_int(tt_sampler_draw(s, x, &(tt_sampling){.temperature = 0.5, .top_p = 1}, 0.585), 2, "and above");
    const int32_t *top = tt_sampler_top(s, x, 4, &n);
    ok(n == 4 && top[0] == 0 && top[1] == 2 && top[2] == 1 && top[3] == 3, "the four likeliest, of equal ones the lower id first");
    tt_sampler_top(s, x, 100, &n);
    is_int(n, V, "not more than there are");
    ok(fabs(tt_sampler_logprob(s, x, 2) - log(0.3)) < 1e-6, "log-probability");
    x[1] = -INFINITY;
    is_int(tt_sampler_draw(s, x, &all, 0.9999), 5, "a token of probability 0 does no harm");
    tt_sampler_destroy(&s);
    return done_testing();
}
