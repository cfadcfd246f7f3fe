#!/usr/bin/python3
"""tests/bench/bench_onednn.py: every convolution of the workloads beside oneDNN's in its best layouts, through its C API
(onednn_conv.c), on the same threads: ROUNDS (5) rounds, each RUNS (3) of ours and then of theirs for every shape. Medians, and
the ratio of the two; its geometric mean last. PRECISION: f32 and, where this host has products of bf16, bf16."""
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
AGENT = os.path.join(BUILD, "daybreak-agent")
PEER = os.path.join(BUILD, "onednn_conv")
THREADS = int(os.environ.get("THREADS", str(len(os.sched_getaffinity(0)))))
ROUNDS, RUNS = int(os.environ.get("ROUNDS", "5")), int(os.environ.get("RUNS", "3"))
OPS = ("conv2d", "conv2d_grad_input", "conv2d_grad_weight")
SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)x(\d+) -> (\d+), (\d+)x\d+")


def build_peer():
    source = os.path.join(ROOT, "tests/bench/onednn_conv.c")
    built = subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O2", "-D_GNU_SOURCE", "-o", PEER, source, "-ldnnl"], check=False)
    if built.returncode != 0:
        sys.exit("bench_onednn.py: oneDNN is not installed: apt-get install libdnnl-dev")


def ours(precision, isa):
    """Seconds and kernel by (op, shape)."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([AGENT, "bench", "--ops", ",".join(OPS), "--runs", str(RUNS), "--threads", str(THREADS), "--precision",
                        precision, "--isa", isa, "--json", out.name], check=True, stdout=subprocess.DEVNULL)
        rows = json.load(open(out.name, encoding="utf-8"))["kernels"]
    return {(row["op"], row["shape"]): row for row in rows}


def request(op, shape, dtype):
    n, h, w, c, k, taps = SHAPE.match(shape).groups()
    return f"{op} {n} {h} {w} {c} {k} {taps} {(int(taps) - 1) // 2} {dtype} {RUNS}\n"


def theirs(keys, dtype):
    done = subprocess.run([PEER], input="".join(request(op, shape, dtype) for op, shape in keys), check=True, capture_output=True,
                          text=True, env=dict(os.environ, OMP_NUM_THREADS=str(THREADS)))
    return {key: [float(word) for word in line.split()] for key, line in zip(keys, done.stdout.splitlines(), strict=True)}


def compare(precision, isa):
    print(f"{precision}, --isa {isa}, {THREADS} threads: medians of {ROUNDS} rounds; theirs of {RUNS} runs in each, ours of as many")
    found = {}
    for _ in range(ROUNDS):
        mine = ours(precision, isa)
        peer = theirs(list(mine), precision)
        for key, row in mine.items():
            times = found.setdefault(key, {"kernel": row["kernel"], "flops": row["flops"], "ours": [], "theirs": []})
            times["ours"].append(row["seconds"])
            times["theirs"] += peer[key]
    logs = []
    for (op, shape), times in found.items():
        mine, peer = statistics.median(times["ours"]), statistics.median(times["theirs"])
        logs.append(math.log(peer / mine))
        print(f"  {op:19} {shape:30} {1e3 * mine:8.3f} ms {times['flops'] / mine / 1e9:6.0f} GFLOP/s, oneDNN {1e3 * peer:8.3f} ms, "
              f"ratio {peer / mine:5.2f}  {times['kernel']}")
    print(f"  geometric mean of the ratios: {math.exp(statistics.mean(logs)):.2f}")


def main():
    build_peer()
    flags = open("/proc/cpuinfo", encoding="utf-8").read()
    compare("f32", "avx512" if "avx512f" in flags else "auto")
    if "avx512_bf16" in flags:
        compare("bf16", "auto")


main()
