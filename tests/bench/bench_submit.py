#!/usr/bin/python3
"""tests/bench/bench_submit.py: submissions a second that are on disk when they are answered, with 64 clients, beside the
disk's own sync latency in the same run. Best of ROUNDS (5), each of SECONDS (5) with wrk on the same cores. The
database lies in DAYBREAK_BENCH_DIR (default: the working folder's var/bench): never on a RAM disk, which has no sync."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import daybreak  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = int(os.environ.get("SECONDS_EACH", "5"))
CLIENTS = 64


def sync_latency_us(folder, count=300):
    """Median of `count` writes of 4 KiB at the end of a file, each followed by fdatasync."""
    path = os.path.join(folder, "sync-probe")
    block = b"\0" * 4096
    times = []
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    for i in range(count):
        begin = time.perf_counter_ns()
        os.pwrite(fd, block, i * len(block))
        os.fdatasync(fd)
        times.append((time.perf_counter_ns() - begin) / 1000)
    os.close(fd)
    os.unlink(path)
    return statistics.median(times)


def one_round(server, token, tag):
    run = subprocess.run(["wrk", "-t2", f"-c{CLIENTS}", f"-d{SECONDS}s", "--timeout", "20s", "-s",
                          os.path.join(os.path.dirname(os.path.abspath(__file__)), "submit.lua"), f"{server.url}/v1/submissions",
                          "--", token, tag], capture_output=True, text=True, check=True)
    found = re.search(r"RESULT requests=(\d+) seconds=([\d.]+) p50_us=(\d+) p99_us=(\d+) max_us=(\d+) non2xx=(\d+)", run.stdout)
    if not found:
        sys.exit(f"wrk said:\n{run.stdout}{run.stderr}")
    requests, seconds, p50, p99, worst, refused = (float(x) for x in found.groups())
    for line in run.stdout.splitlines():
        if line.startswith("first refusal"):
            print(line)
    return {"rate": (requests - refused) / seconds, "p50_ms": p50 / 1000, "p99_ms": p99 / 1000, "max_ms": worst / 1000,
            "refused": int(refused), "accepted": int(requests - refused)}


def main():
    if shutil.which("wrk") is None:
        sys.exit("bench_submit.py: wrk is not installed: apt-get install wrk")
    folder = os.environ.get("DAYBREAK_BENCH_DIR", os.path.join(daybreak.ROOT, "var/bench"))
    os.makedirs(folder, exist_ok=True)
    tempfile.tempdir = folder
    server = daybreak.Server()
    token = server.command("token", "create", "--role", "submitter", "--name", "bench", "--submissions-per-day", "1000000000",
                           "--bytes-max", "1000000000000").strip()
    server.start()
    try:
        rounds = []
        print(f"{'round':>5} {'accepted/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8} {'refused':>7} {'sync us before':>14}")
        for i in range(ROUNDS):
            sync_us = sync_latency_us(folder)
            result = one_round(server, token, f"r{i}")
            rounds.append((result, sync_us))
            print(f"{i + 1:>5} {result['rate']:>10.0f} {result['p50_ms']:>8.2f} {result['p99_ms']:>8.2f} {result['max_ms']:>8.2f} "
                  f"{result['refused']:>7} {sync_us:>14.0f}", flush=True)
        best = max(rounds, key=lambda pair: pair[0]["rate"])
        one_client = 1e6 / statistics.median(sync for _, sync in rounds)
        stored = sum(result["accepted"] for result, _ in rounds)
        print(f"best {best[0]['rate']:.0f} accepted/s with {CLIENTS} clients; a sync takes {statistics.median(s for _, s in rounds):.0f} us, so "
              f"one sync each would allow {one_client:.0f}/s: {best[0]['rate'] / one_client:.2f} times that")
        print(f"{stored} were answered 201 and are counted on the board after a kill -9 ...", end=" ", flush=True)
        server.kill()
        server.start()
        counted = int(subprocess.run(["sqlite3", f"file:{server.db}?mode=ro", "SELECT count(*) FROM submission"], capture_output=True,
                                     text=True, check=True).stdout)
        print(f"{counted} are there")  # those under way when wrk stopped may be there, too
        if counted < stored:
            sys.exit("acknowledged submissions are lost")
    finally:
        server.kill()
        shutil.rmtree(server.folder, ignore_errors=True)


main()
