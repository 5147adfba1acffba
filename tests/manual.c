/* titan.conf(5) lists exactly the keys of the table and the names of other versions: the parts
 * between two marks are what tt_config_help_mdoc and tt_config_names_mdoc write. After a change of
 * the tables run this program with TITAN_UPDATE=1 and top_srcdir set: it rewrites those parts. */
#include "base/config.h"
#include "base/fs.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static void test_part(const char *path, const char *begin_mark, const char *end_mark,
                      void (*write)(FILE *out))
{
    char *page = NULL, *part = NULL;
    size_t n = 0;
    tt_error err = {0};
    ok(tt_fs_read(path, &page, NULL, &err) == TT_OK, "the page is there %s", err.text);
    FILE *out = open_memstream(&part, &n);
    write(out);
    fclose(out);
    char *begin = page ? strstr(page, begin_mark) : NULL,
         *end = page ? strstr(page, end_mark) : NULL;
    if (ok(begin && end && begin < end, "it has both marks")) {
        begin += strlen(begin_mark);
        int same = (size_t)(end - begin) == n && memcmp(begin, part, n) == 0;
        if (!same && getenv("TITAN_UPDATE")) {
            char *text = NULL;
            size_t size = 0;
            out = open_memstream(&text, &size);
            fprintf(out, "%.*s%s%s", (int)(begin - page), page, part, end);
            fclose(out);
            same = tt_fs_write(path, text, size, &err) == TT_OK;
            free(text);
        }
        ok(same, "what is between is the table's (to rewrite it: TITAN_UPDATE=1 top_srcdir=. "
                 "tests/manual.t)");
    }
    free(page);
    free(part);
}

int main(void)
{
    const char *top = getenv("top_srcdir");
    char *path = tt_fs_join(top ? top : ".", "man/titan.conf.5");
    test_part(path, ".\\\" keys: begin (made from src/base/config_table.def)\n",
              ".\\\" keys: end\n", tt_config_help_mdoc);
    test_part(path, ".\\\" names: begin (made from src/base/config_alias.def)\n",
              ".\\\" names: end\n", tt_config_names_mdoc);
    free(path);
    return done_testing();
}
