# TITAN_LIBCONFIG: libconfig reads configuration files.
# Adds --with-libconfig, sets CONFIG_CFLAGS, CONFIG_LIBS, CONFIG_VERSION.
AC_DEFUN([TITAN_LIBCONFIG], [
TITAN_DEP([CONFIG], [libconfig], [configuration files], [libconfig], [libconfig.h], [config_read_string], [-lconfig],
    [required])
])
