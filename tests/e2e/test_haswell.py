#!/usr/bin/env python3
"""tests/e2e/test_haswell.py: a processor with AVX2 and FMA but without AVX-512, played by qemu-x86_64: what is chosen there,
that a training has the bits of `--isa avx2` on this host, and that what the processor lacks is refused.

qemu computes every lane in software and owes nothing to this host's units. train_bits trains in its own process, because
the agent's child would be started outside of the emulator.
"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from daybreak import AGENT, ROOT, Tap  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
TRAIN_BITS = os.path.join(BUILD, "tests/support/train_bits")
QEMU = shutil.which("qemu-x86_64")
HASWELL = [QEMU, "-cpu", "Haswell"]
WAIT_S = 900
STEPS = 5


def run(*words):
    """The outcome, its stderr without what qemu says of bits that only an operating system would use."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S, check=False,
                          env=dict(os.environ, DAYBREAK_TEST_WORKLOAD="1"))
    done.stderr = "".join(line for line in done.stderr.splitlines(True) if not line.startswith("qemu-x86_64: warning:"))
    return done


def why_not():
    """Why this cannot run here, or None."""
    if QEMU is None:
        return "no qemu-x86_64: apt-get install qemu-user"
    version = tuple(int(part) for part in re.search(r"version (\d+)\.(\d+)", run(QEMU, "--version").stdout).groups())
    if version < (7, 2):
        return f"qemu {version[0]}.{version[1]} emulates no AVX2: 7.2 is the first"
    with open(os.path.join(BUILD, "flags"), encoding="utf-8") as file:
        if "-fsanitize" in file.read():
            return "qemu-user has no room for a sanitizer's shadow memory"
    return None


def check_choice(tap):
    done = run(*HASWELL, AGENT, "devices")
    used = re.findall(r"^isa +(\S+) .*: used$", done.stdout, re.M)
    tap.ok(done.returncode == 0 and used == ["avx2"], "avx2 is chosen where AVX-512 is not there", done.stdout + done.stderr)


def check_bits(tap):
    there = run(*HASWELL, TRAIN_BITS, "auto")
    facts = json.loads(there.stdout) if there.returncode == 0 else {}
    tap.ok(facts and facts["host"] == facts["isa"] == "avx2" and facts["steps"] == STEPS, "a training without AVX-512 ends",
           there.stdout + there.stderr)
    name = "and every variable has the bits that --isa avx2 gives on this host"
    here = run(TRAIN_BITS, "avx2")
    if "has no avx2" in here.stderr:
        tap.skip(name, "this host has no AVX2")
    else:
        same = here.returncode == 0 and {**json.loads(here.stdout), "host": "avx2"} == facts
        tap.ok(same, name, here.stdout + here.stderr + there.stdout)


def check_refusals(tap):
    for word in ("avx512", "avx512-bf16", "amx"):
        for command in (["devices"], ["bench"], ["bench", "--steps", "cifar10-tiny"], ["devices", "--plan", "cifar10-tiny"]):
            done = run(*HASWELL, AGENT, *command, "--isa", word)
            tap.ok(done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1 and
                   f"has no {word}; the best here is avx2" in done.stderr,
                   f"{' '.join(command)} --isa {word} is refused in one sentence", f"{done.returncode} {done.stderr}{done.stdout}")


def main():
    reason = why_not()
    if reason is not None:
        print(f"1..0 # SKIP {reason}")
        return
    tap = Tap()
    check_choice(tap)
    check_bits(tap)
    check_refusals(tap)
    tap.done()


main()
