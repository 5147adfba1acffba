#!/bin/sh
# Law 2 with more kills and more meshes.
TITAN_LONG=1
export TITAN_LONG
exec sh "$top_srcdir/tests/resume.sh"
