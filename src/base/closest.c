/* See closest.h. Optimal string alignment distance, three rows at a time. */
#include "base/closest.h"

#include <string.h>

#define LONGEST 127

static int min3(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

int tt_edit_distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    int rows[3][LONGEST + 1];
    if (la > LONGEST || lb > LONGEST)
        return 1000;
    int *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= lb; j++)
        last[j] = (int)j;
    for (size_t i = 1; i <= la; i++) {
        now[0] = (int)i;
        for (size_t j = 1; j <= lb; j++) {
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        int *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[lb];
}

const char *tt_closest(const char *word, const char *(*nth)(void *ctx, int i), void *ctx, int n)
{
    const char *best = NULL;
    int distance = 1000;
    for (int i = 0; i < n; i++) {
        const char *known = nth(ctx, i);
        int d = tt_edit_distance(word, known), limit = (int)strlen(known) / 3;
        if (d <= (limit > 2 ? limit : 2) && d < distance && d < (int)strlen(word)) {
            distance = d;
            best = known;
        }
    }
    return best;
}
