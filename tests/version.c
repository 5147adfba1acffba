/* --version: the facts of the build, one a line. */
#include "tap.h"

#include "base/version.h"

#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    tt_version_print(f, "titan-x");
    fclose(f);
    /* From make, not from a macro: objects are not rebuilt when only the version changed. */
    const char *version = getenv("TITAN_TEST_VERSION");
    if (!version)
        version = tt_version();
    char first[256];
    snprintf(first, sizeof first, "titan-x (titan) %s\ncommit: ", version);
    is_str(tt_version(), version, "the version is configure's");
    ok(strncmp(text, first, strlen(first)) == 0, "the first line names program and version");
    ok(strstr(text, tt_version_commit()) != NULL && strlen(tt_version_commit()) >= 7, "the commit is told");
    static const char *const fact[] = {"\ncompiler: ", "\ndevices: cpu\n", "\ncomm: self", "\nmpi: ", "\nhdf5: ", "\nblas: "};
    for (size_t i = 0; i < sizeof fact / sizeof fact[0]; i++)
        ok(strstr(text, fact[i]) != NULL, "a line%.*s", (int)strcspn(fact[i] + 1, ":") + 1, fact[i]);
    ok(size > 0 && text[size - 1] == '\n', "ends with a line");
    free(text);
    return done_testing();
}
