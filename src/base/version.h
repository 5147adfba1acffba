/* What this build is: version, commit, compiler, backends and the libraries it was built with. */
#ifndef TT_BASE_VERSION_H
#define TT_BASE_VERSION_H

#include <stdio.h>

/** "0.1.0" or "0.1.0-12-g1a2b3c4". */
const char *tt_version(void);

/** Full commit of the sources, "-dirty" behind it when files were changed; "unknown" outside git. */
const char *tt_version_commit(void);

/** What --version shows: "titan-train (titan) 0.1.0" and then one "name: value" line per fact. */
void tt_version_print(FILE *out, const char *program);

#endif
