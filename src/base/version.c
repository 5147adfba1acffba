/* See version.h. build_info.h comes from configure, version_id.h from each make (it follows the commit). */
#include "base/version.h"

#include "base/build_info.h"
#include "base/version_id.h"

#include <string.h>

const char *tt_version(void)
{
    return TT_BUILD_VERSION;
}

const char *tt_version_commit(void)
{
    return TT_BUILD_COMMIT;
}

static const char *sanitizer(void)
{
#if defined __SANITIZE_ADDRESS__
    return "address";
#elif defined __SANITIZE_THREAD__
    return "thread";
#else
    return "none";
#endif
}

void tt_version_print(FILE *out, const char *program)
{
    int mpi = strcmp(TT_BUILD_MPI, "no") != 0;
    fprintf(out, "%s (titan) %s\n", program, TT_BUILD_VERSION);
    fprintf(out, "commit: %s\n", TT_BUILD_COMMIT);
    fprintf(out, "compiler: %s\n", TT_BUILD_COMPILER);
    fprintf(out, "flags: %s\n", TT_BUILD_CFLAGS);
    fprintf(out, "sanitizer: %s\n", sanitizer());
    fprintf(out, "devices: cpu\n");
    fprintf(out, "comm: self%s\n", mpi ? " mpi" : "");
    fprintf(out, "mpi: %s\n", TT_BUILD_MPI);
    fprintf(out, "blas: %s\n", TT_BUILD_BLAS);
    fprintf(out, "hdf5: %s\n", TT_BUILD_HDF5);
    fprintf(out, "libconfig: %s\n", TT_BUILD_CONFIG);
    fprintf(out, "jansson: %s\n", TT_BUILD_JANSSON);
    fprintf(out, "xxhash: %s\n", TT_BUILD_XXHASH);
    fprintf(out, "pcre2: %s\n", TT_BUILD_PCRE2);
    fprintf(out, "zlib: %s\n", TT_BUILD_ZLIB);
    fprintf(out, "zstd: %s\n", TT_BUILD_ZSTD);
}
