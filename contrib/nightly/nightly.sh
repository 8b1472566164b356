#!/usr/bin/env bash
# One run a night into a folder, and what became of it over time. By hand, by cron, or as a job of Slurm (scrontab):
#   #SCRON --nodes=16 --ntasks-per-node=4 --time=00:20:00
#   0 3 * * * /path/to/nightly.sh /shared/nightly srun
# Arguments: the folder that the nights fill, then how to launch (mpirun, srun, nothing for the simulated machine).
# Environment: TAILBACK is the program, OPTIONS are those of the run, SINCE leaves out nights before that date (what is accepted).
# Exit code: that of the run if it did not pass, else 3 if tonight is worse than usual or a figure changed to the worse, else 0.
set -u
folder=${1:?the folder that the nights fill}
shift
tailback=${TAILBACK:-tailback}
mkdir -p "$folder" || exit 1
# shellcheck disable=SC2086
"$@" "$tailback" run gpcnet ${OPTIONS:-} --quiet --out "$folder/$(date -u +%Y-%m-%dT%H%M%S)" >"$folder/last.txt" 2>&1
run=$?
"$tailback" history "$folder" ${SINCE:+--since "$SINCE"} --format html >"$folder/history.html"
"$tailback" history "$folder" ${SINCE:+--since "$SINCE"} >"$folder/history.txt"
history=$?
"$tailback" report "$(ls -d "$folder"/2*/ | tail -n 1)" --format openmetrics >"$folder/tailback.prom"
[ $run -ne 0 ] && { cat "$folder/last.txt"; exit $run; }
[ $history -eq 3 ] && grep -E '^!|WORSE' "$folder/history.txt"
exit $history
