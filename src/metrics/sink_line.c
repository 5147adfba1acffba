/* The step line; see sinks.h. */
#include "metrics/sinks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* x with `decimals` digits behind the point and commas between thousands, into out[64]. */
static const char *with_commas(double x, int decimals, char out[64])
{
    char plain[48];
    int n = snprintf(plain, sizeof plain, "%.*f", decimals, x);
    if (n < 0 || (size_t)n >= sizeof plain || !isfinite(x)) {
        snprintf(out, 64, "%g", x);
        return out;
    }
    const char *p = plain;
    char *q = out;
    if (*p == '-')
        *q++ = *p++;
    for (size_t left = strcspn(p, "."); left > 0; left--) {
        *q++ = *p++;
        if (left % 3 == 1 && left > 1)
            *q++ = ',';
    }
    strcpy(q, p);
    return out;
}

int tt_sink_line_format(const tt_report *r, int color, char *out, size_t size)
{
    static const char *const on[] = {"\033[31m", "\033[32m", "\033[38;2;180;60;0m", "\033[38;2;54;234;195m",
                                     "\033[34m", "\033[36m", "\033[35m", "\033[39m"};
    static const char *const off[] = {"", "", "", "", "", "", "", ""};
    const char *const *c = color ? on : off;
    char tps[64], tflops[64], mfu[32];
    snprintf(mfu, sizeof mfu, isnan(r->mfu_percent) ? "N/A" : "%.2f%%", r->mfu_percent);
    int n = snprintf(out, size,
                     "%sstep: %2lld  %sloss: %8.5f  %sgrad_norm: %7.4f  %smemory: %5.2fGiB(%.2f%%)  %stps: %s  "
                     "%stflops: %s  %smfu: %s%s\n",
                     c[0], (long long)r->step, c[1], r->loss, c[2], r->grad_norm, c[3], r->memory_gib, r->memory_percent,
                     c[4], with_commas(r->tps, 0, tps), c[5], with_commas(r->tflops, 2, tflops), c[6], mfu, c[7]);
    return n < 0 ? 0 : (size_t)n < size ? n : (int)size - 1;
}
