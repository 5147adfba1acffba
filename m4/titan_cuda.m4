# TITAN_CUDA: the GPU backend.
# Accepts --with-cuda=check|no and --with-nccl=check|no; this version computes on the CPU only, so `yes` and DIR are
# refused rather than built without.
AC_DEFUN([TITAN_CUDA], [
AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=check|no], [GPU backend: not in this version, CPU only])], [], [with_cuda=check])
AC_ARG_WITH([nccl],
    [AS_HELP_STRING([--with-nccl=check|no], [GPU collectives: not in this version])], [], [with_nccl=check])
AS_CASE([$with_cuda],
    [check|no], [],
    [AC_MSG_ERROR([--with-cuda=$with_cuda: this version has no CUDA backend; it computes on the CPU. Leave the option out])])
AS_CASE([$with_nccl],
    [check|no], [],
    [AC_MSG_ERROR([--with-nccl=$with_nccl: this version has no CUDA backend and so no NCCL; ranks talk over MPI. Leave the option out])])
AC_SUBST([with_cuda])
AC_SUBST([with_nccl])
])
