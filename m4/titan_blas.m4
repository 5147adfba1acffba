# TITAN_BLAS: a BLAS with the C interface <cblas.h> for matrix products on the CPU; OpenBLAS first.
# Adds --with-blas, sets BLAS_CFLAGS, BLAS_LIBS, BLAS_VERSION.
AC_DEFUN([TITAN_BLAS], [
TITAN_DEP([BLAS], [blas], [matrix products on the CPU], [openblas cblas blas], [cblas.h], [cblas_sgemm], [-lopenblas],
    [required])
])
