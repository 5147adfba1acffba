# TITAN_PMIX: ranks started by PMIx (srun --mpi=pmix) join through the MPI library, which has a PMIx client.
# Accepts --with-pmix=check|no; a start over PMIx alone is not part of this version, so `yes` and DIR are refused.
AC_DEFUN([TITAN_PMIX], [
AC_ARG_WITH([pmix],
    [AS_HELP_STRING([--with-pmix=check|no], [start over PMIx without MPI: not in this version])], [], [with_pmix=check])
AS_CASE([$with_pmix],
    [check|no], [],
    [AC_MSG_ERROR([--with-pmix=$with_pmix: this version has no start over PMIx alone; ranks started by srun --mpi=pmix
    join through MPI (--with-mpi). Leave the option out])])
AC_SUBST([with_pmix])
])
