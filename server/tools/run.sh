#!/bin/sh
# What `make run` does once everything is built: starts the server on var/daybreak.db (filled with the historical
# entries when it is new), fetches CIFAR-10, queues one training job for a new database (or when JOB=1), starts a
# local agent and waits. Ctrl-C stops the agent, then the server.
# Settings by environment: BUILD (build), PORT (8080), JOB (1: queue another job), TASK (cifar10-train-quick).
set -eu

build=${BUILD:-build}
port=${PORT:-8080}
task=${TASK:-cifar10-train-quick}
url=http://127.0.0.1:$port
server_pid=
agent_pid=

say() { echo "run: $1"; }

stop() {
    trap '' INT TERM
    # Ctrl-C reached the whole process group already; these make sure when only this shell was told.
    if [ -n "$agent_pid" ]; then
        kill -INT "$agent_pid" 2>/dev/null || true
        wait "$agent_pid" 2>/dev/null || true
    fi
    if [ -n "$server_pid" ]; then
        kill -TERM "$server_pid" 2>/dev/null || true
        wait "$server_pid" 2>/dev/null || true
    fi
    say "stopped; all data is kept in var/"
}

new_token() { # ROLE FILE
    (umask 077 && "$build/daybreakd" token create --role "$1" --name "local-$1" >"$2.new" && mv "$2.new" "$2")
}

mkdir -p var
chmod 700 var
fresh=no
if [ ! -e var/daybreak.db ]; then
    fresh=yes
    say "new database var/daybreak.db: importing the historical DAWNBench entries"
    "$build/daybreakd" import schema/history
fi
[ -s var/operator.token ] || new_token operator var/operator.token
[ -s var/agent.token ] || new_token agent-registration var/agent.token

trap 'stop; exit 130' INT
trap 'stop; exit 143' TERM
"$build/daybreakd" serve --listen "127.0.0.1:$port" >var/server.out 2>>var/server.log &
server_pid=$!
tries=0
until curl -fsS -o /dev/null "$url/readyz" 2>/dev/null; do
    tries=$((tries + 1))
    if ! kill -0 "$server_pid" 2>/dev/null || [ "$tries" -gt 150 ]; then
        say "the server did not start; the end of var/server.log says why (PORT=N chooses another port):"
        tail -n 3 var/server.log >&2
        stop
        exit 4
    fi
    sleep 0.1
done
echo
echo "    Daybreak is at   $url/"
echo "    the quick board  $url/tasks/$task"
echo

"$build/daybreak-agent" data verify cifar10 >/dev/null 2>&1 || {
    say "fetching CIFAR-10 (about 170 MB, once)"
    "$build/daybreak-agent" data fetch cifar10
}
if [ "$fresh" = yes ] || [ "${JOB:-0}" = 1 ]; then
    printf 'header = "Authorization: Bearer %s"\n' "$(cat var/operator.token)" |
        curl -fsS -K - -H 'Content-Type: application/json' -o var/job.json \
            -d "{\"task\":\"$task\",\"workload\":\"cifar10\",\"seeds\":1}" "$url/v1/jobs"
    say "queued one training job for $task; watch it at $url/ (Ctrl-C stops everything)"
else
    say "nothing new queued: 'make run JOB=1' trains once more (Ctrl-C stops everything)"
fi
"$build/daybreak-agent" run --server "$url" --token-file var/agent.token &
agent_pid=$!
status=0
wait "$agent_pid" || status=$?
agent_pid=
stop
exit "$status"
