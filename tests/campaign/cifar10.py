#!/usr/bin/env python3
"""tests/campaign/cifar10.py: full trainings of the task cifar10-train, one after another, in a folder: entry, curve, model and
events of each seed. A seed whose training has ended is not trained again, so a campaign that was stopped goes on. Ends with
the table of all that have ended, in Markdown, and what docs/results keeps of them.

SEEDS (11 12 .. 20) as words, declared before the first is begun; TASK (cifar10-train); OUT (var/campaign/TASK); WORDS more
words for `train`. What a table says of times holds for a quiet machine alone: the load is printed with each run."""
import glob
import json
import math
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
AGENT = os.path.join(os.environ.get("BUILD", os.path.join(ROOT, "build")), "daybreak-agent")
TASK = os.environ.get("TASK") or "cifar10-train"
OUT = os.environ.get("OUT") or os.path.join(ROOT, "var/campaign", TASK)
SEEDS = [int(word) for word in (os.environ.get("SEEDS") or " ".join(map(str, range(11, 21)))).split()]
TARGET = 94.0 if TASK == "cifar10-train" else 70.0


def entry_of(seed):
    """The entry of a training that has ended, or None."""
    found = glob.glob(os.path.join(OUT, str(seed), f"*_seed{seed}.json"))
    return found[0] if found else None


def train(seed):
    folder = os.path.join(OUT, str(seed))
    print(f"seed {seed}: load {os.getloadavg()[0]:.2f}", flush=True)
    subprocess.run([AGENT, "train", "cifar10", "--task", TASK, "--seed", str(seed), "--out", folder,
                    *os.environ.get("WORDS", "").split()], check=False, stdout=subprocess.DEVNULL)
    if entry_of(seed) is None:
        sys.exit(f"cifar10.py: seed {seed} left no entry; a folder that holds a broken run must be moved away: {folder}")


def curve_of(entry):
    with open(entry[:-len("json")] + "tsv", encoding="utf-8") as file:
        rows = [line.split("\t") for line in file.read().splitlines()[1:]]
    return [(float(epoch), 3600 * float(hours), float(accuracy)) for epoch, hours, accuracy in rows]


def wilson(hits, count):
    """95 % score interval (Wilson 1927)."""
    z = 1.959963984540054
    share, divisor = hits / count, 1 + z * z / count
    middle, half = share + z * z / (2 * count), z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (middle - half) / divisor, (middle + half) / divisor


def table(seeds):
    times, finals = [], []
    print("| seed | accuracy by epoch, per cent | first at the target | official time, s |\n|---|---|---|---|")
    for seed in seeds:
        curve = curve_of(entry_of(seed))
        reached = next(((epoch, seconds) for epoch, seconds, accuracy in curve if accuracy >= TARGET), None)
        finals.append(curve[-1][2])
        if reached:
            times.append(reached[1])
        print(f"| {seed} | {' '.join(f'{accuracy:.2f}' for _, _, accuracy in curve)} | "
              f"{f'epoch {reached[0]:g}' if reached else 'never'} | {f'{reached[1]:.1f}' if reached else f'({curve[-1][1]:.1f})'} |")
    low, high = wilson(len(times), len(seeds))
    facts = json.load(open(entry_of(seeds[0]), encoding="utf-8"))["misc"]
    print(f"\nn = {len(seeds)}; P(target) = {len(times)} of {len(seeds)} (Wilson 95 %: {low:.2f} to {high:.2f}); final accuracy: mean "
          f"{statistics.mean(finals):.3f} %, standard deviation {statistics.stdev(finals) if len(finals) > 1 else math.nan:.3f}")
    if len(times) > 1:
        print(f"TTA of those that reached it: median {statistics.median(times):.1f} s, mean {statistics.mean(times):.1f} s, CV "
              f"{100 * statistics.stdev(times) / statistics.mean(times):.1f} % (n - 1)")
    print(f"recipe {facts['recipe']}, build {facts['build']}, {facts['precision']}, {facts['isa']}, {facts['threads']} threads")


def main():
    for seed in SEEDS:
        if entry_of(seed) is None:
            train(seed)
    table([seed for seed in SEEDS if entry_of(seed) is not None])


if __name__ == "__main__":
    main()
