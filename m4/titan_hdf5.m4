# TITAN_HDF5: HDF5 (the serial library is enough: every rank writes files of its own) for checkpoints.
# Adds --with-hdf5, sets HDF5_CFLAGS, HDF5_LIBS, HDF5_VERSION.
AC_DEFUN([TITAN_HDF5], [
TITAN_DEP([HDF5], [hdf5], [checkpoints], [hdf5 hdf5-serial], [hdf5.h], [H5Dcreate2], [-lhdf5], [required])
])
