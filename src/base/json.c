/* See json.h. */
#include "base/json.h"

#include <math.h>
#include <string.h>

int tt_utf8_length(const char *s)
{
    const unsigned char *c = (const unsigned char *)s;
    if (c[0] < 0x80)
        return 1;
    int n = c[0] >= 0xc2 && c[0] < 0xe0 ? 2 : (c[0] & 0xf0) == 0xe0 ? 3 : c[0] >= 0xf0 && c[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
        (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return n;
}

void tt_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const char *s = text; *s;) {
        const int n = tt_utf8_length(s);
        if (n == 0)
            fputs("\\ufffd", out);
        else if (n == 1 && (strchr("\"\\<>&", *s) || (unsigned char)*s < 32))
            fprintf(out, "\\u%04x", (unsigned char)*s);
        else
            fwrite(s, 1, (size_t)n, out);
        s += n ? n : 1;
    }
    fputc('"', out);
}

void tt_json_number(FILE *out, double x)
{
    if (!isfinite(x))
        fputs("null", out);
    else if (x == floor(x) && fabs(x) < 1e15)
        fprintf(out, "%.0f", x);
    else
        fprintf(out, "%.9g", x);
}
