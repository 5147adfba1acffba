# The TOML reader and the config behind it on many broken documents. SEED=N repeats a run, COUNT=N makes it longer.
COUNT=${COUNT:-300000} SEED=${SEED:-$(date +%s)} exec "$top_builddir/tests/toml_fuzz.t"
