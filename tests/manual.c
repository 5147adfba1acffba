/* titan.conf(5) lists exactly the keys of the table: the part between its two marks is what tt_config_help_mdoc writes.
 * After a change of the table run this program with TITAN_UPDATE=1 and top_srcdir set: it rewrites that part. */
#include "base/config.h"
#include "base/fs.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define BEGIN ".\\\" keys: begin (made from src/base/config_table.def)\n"
#define END ".\\\" keys: end\n"

int main(void)
{
    const char *top = getenv("top_srcdir");
    char *page = NULL, *keys = NULL, *path = tt_fs_join(top ? top : ".", "man/titan.conf.5");
    size_t n = 0;
    tt_error err = {0};
    ok(tt_fs_read(path, &page, NULL, &err) == TT_OK, "the page is there %s", err.text);
    FILE *out = open_memstream(&keys, &n);
    tt_config_help_mdoc(out);
    fclose(out);
    char *begin = page ? strstr(page, BEGIN) : NULL, *end = page ? strstr(page, END) : NULL;
    if (ok(begin && end && begin < end, "it has both marks")) {
        begin += strlen(BEGIN);
        int same = (size_t)(end - begin) == n && memcmp(begin, keys, n) == 0;
        if (!same && getenv("TITAN_UPDATE")) {
            char *text = NULL;
            size_t size = 0;
            out = open_memstream(&text, &size);
            fprintf(out, "%.*s%s%s", (int)(begin - page), page, keys, end);
            fclose(out);
            same = tt_fs_write(path, text, size, &err) == TT_OK;
            free(text);
        }
        ok(same, "its keys are those of the table (to rewrite them: TITAN_UPDATE=1 top_srcdir=. tests/manual.t)");
    }
    free(page);
    free(keys);
    free(path);
    return done_testing();
}
