#!/bin/sh
# tests/fuzz/test_short.sh: every fuzz target over its corpus and then FUZZ_RUNS (3000) seeded executions, as TAP.
# The programs are made by `make fuzz-programs`. A crash leaves its input in the folder it names.
set -u
bin=${BUILD:-build}/fuzz/bin
runs=${FUZZ_RUNS:-3000}
work=${BUILD:-build}/fuzz/corpus
number=0
failed=0
set -- "$bin"/fuzz_*
if [ ! -x "$1" ]; then
    echo "1..0 # SKIP no fuzz targets in $bin: make fuzz-programs"
    exit 0
fi
echo "1..$#"
for target; do
    number=$((number + 1))
    name=$(basename "$target")
    seeds=tests/fuzz/corpus/${name#fuzz_}
    mkdir -p "$work/$name"
    [ -d "$seeds" ] || seeds=
    # shellcheck disable=SC2086
    if "$target" -seed=1 -runs="$runs" -max_total_time=120 -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix="$work/$name-" "$work/$name" $seeds >"$work/$name.log" 2>&1; then
        echo "ok $number - $name: $(grep -c . "$work/$name.log") lines of log, $runs runs, no fault"
    else
        failed=1
        echo "not ok $number - $name"
        tail -n 20 "$work/$name.log" | sed 's/^/# /'
    fi
done
exit $failed
