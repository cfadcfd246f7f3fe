#!/usr/bin/python3
"""tests/bench/bench_boards.py: the first page of a board of 10,000 entries, whole and as 304, beside nginx with a
static file of the same bytes, in turns on the same cores. Best of ROUNDS (5), each of SECONDS_EACH (3) with wrk."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import daybreak  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = int(os.environ.get("SECONDS_EACH", "3"))
ENTRIES = 10000
CONF = """daemon off; worker_processes 2; pid {d}/pid; error_log {d}/error.log;
events {{}} http {{ access_log off; etag on; default_type application/json; keepalive_requests 100000000;
server {{ listen 127.0.0.1:{port}; root {d}; }} }}"""


def fill(server):
    token, count, tag = server.token("admin", "bench"), 0, 0
    while count < ENTRIES:
        run = subprocess.run(["wrk", "-t2", "-c64", "-d3s", "--timeout", "20s", "-s", os.path.join(HERE, "submit.lua"),
                              f"{server.url}/v1/submissions", "--", token, f"b{tag}"], capture_output=True, text=True, check=True)
        found = re.search(r"requests=(\d+).*non2xx=(\d+)", run.stdout)
        count, tag = count + int(found.group(1)) - int(found.group(2)), tag + 1
        if int(found.group(1)) == int(found.group(2)):
            sys.exit("nothing is accepted")
    return count


def wrk(url, etag=None):
    more = ["-H", f"If-None-Match: {etag}"] if etag else []
    run = subprocess.run(["wrk", "-t1", "-c32", f"-d{SECONDS}s", "--latency", *more, url], capture_output=True, text=True, check=True)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", run.stdout).group(1))
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", run.stdout).groups()
    return rate, float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def fetch(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read(), answer.headers["ETag"]


def main():
    for program in ("wrk", "nginx"):
        if shutil.which(program) is None:
            sys.exit(f"bench_boards.py: {program} is not installed")
    server, folder = daybreak.Server(), tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    port = 20000 + os.getpid() % 20000
    server.start()
    nginx = None
    try:
        print(f"{fill(server)} entries")
        url = f"{server.url}/v1/leaderboards/cifar10-train"
        body, etag = fetch(url)
        with open(os.path.join(folder, "board.json"), "wb") as file:
            file.write(body)
        with open(os.path.join(folder, "conf"), "w", encoding="utf-8") as file:
            file.write(CONF.format(d=folder, port=port))
        nginx = subprocess.Popen(["nginx", "-c", os.path.join(folder, "conf")], stderr=subprocess.DEVNULL)
        peer = f"http://127.0.0.1:{port}/board.json"
        for _ in range(100):
            try:
                peer_etag = fetch(peer)[1]
                break
            except OSError:
                time.sleep(0.05)
        for name, own, other in (("200", None, None), ("304", etag, peer_etag)):
            pairs = [(wrk(url, own), wrk(peer, other)) for _ in range(ROUNDS)]
            ours, theirs = max(p[0] for p in pairs), max(p[1] for p in pairs)
            print(f"{name}: {len(body)} bytes; ours {ours[0]:.0f}/s, p99 {ours[1]:.2f} ms; nginx {theirs[0]:.0f}/s, "
                  f"p99 {theirs[1]:.2f} ms; {100 * ours[0] / theirs[0]:.0f} %", flush=True)
    finally:
        if nginx:
            nginx.terminate()
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(server.folder, ignore_errors=True)


main()
