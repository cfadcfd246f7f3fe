#!/usr/bin/env python3
"""tests/e2e/test_profile.py: the profile of a real (tiny) training: what it says adds up, fusion changes what counting
predicts, and an agent sends it to the server, which draws the roofline from it. No time is asserted.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from colours import make_data  # noqa: E402
from daybreak import AGENT, Server, Tap  # noqa: E402

TASK = "cifar10-train-quick"
WAIT_S = 900
LEVELS = ("l1", "l2", "l3", "memory")
# Numbers of one size that pass through a batch norm and its activation, forward and backward, and flops a number
# (agent/kernels/ops.c), by the ops that do it. Fused: bn_act reads x and writes y; its gradient reads x and dy for the
# sums, then both again and writes dx. One by one: each op reads and writes its own.
FUSED = {"bn_act": (2, 3), "bn_act_grad_stats": (2, 9), "bn_act_grad_apply": (3, 8)}
SINGLE = {"bn_apply": (2, 2), "unary": (2, 1), "unary_grad": (3, 2), "bn_grad_stats": (2, 5), "bn_grad_apply": (3, 4)}


def run(*words, env=None):
    return subprocess.run([AGENT, *words], env=dict(os.environ, DAYBREAK_TEST_WORKLOAD="1", **(env or {})), capture_output=True,
                          text=True, timeout=WAIT_S, check=False)


def profile_of(folder, name, *words):
    """(exit status, profile or None, what it said) of a tiny training."""
    out = os.path.join(folder, name)
    done = run("train", "cifar10-tiny", "--task", TASK, "--data", os.path.join(folder, "cifar10"), "--threads", "2", "--seed", "3",
               "--out", out, *words)
    path = os.path.join(out, "cifar10-tiny_seed3.profile.json")
    if not os.path.exists(path):
        return done.returncode, None, done.stderr
    with open(path, encoding="utf-8") as file:
        return done.returncode, json.load(file), done.stderr


def check_sums(tap, profile):
    groups, step = profile["groups"], profile["step"]
    total = sum(g["seconds"] for g in groups)
    tap.ok(abs(total - step["seconds"]) <= 0.05 * step["seconds"], "the groups' times add up to the step", f"{total} {step}")
    phases = {p: sum(g["seconds"] for g in groups if g["phase"] == p) for p in ("data", "forward", "backward", "optimiser")}
    tap.ok(all(abs(phases[p] - profile["phases"][p + "_s"]) < 1e-9 for p in phases) and min(phases.values()) > 0,
           "so do the phases, each of which takes some", f"{phases} {profile['phases']}")
    tap.ok(profile["phases"]["evaluation_s"] > 0 and abs(step["examples_per_s"] * step["plain_s"] - profile["batch"]) < 1e-6,
           "evaluation and examples a second are told", profile["phases"])
    roofs = {level["level"] for level in profile["ceilings"]["levels"]}
    tap.ok("memory" in roofs and all(level["read_bytes_per_s"] > 0 and level["copy_bytes_per_s"] > 0
                                     for level in profile["ceilings"]["levels"]) and
           {peak["type"] for peak in profile["ceilings"]["peaks"]} >= {g["type"] for g in groups},
           "memory and each type that is multiplied have their roofs", profile["ceilings"])
    tap.ok(all(g["l1_bytes"] >= g["l2_bytes"] >= g["l3_bytes"] >= g["memory_bytes"] >= 0 and g["source"] == "modelled" and
               g["flops_done"] <= g["flops"] for g in groups), "bytes fall from level to level, and no kernel does more flops than asked")
    kinds = {g["kind"] for g in groups}
    tap.ok({"conv2d", "conv2d_grad_input", "conv2d_grad_weight", "matmul", "augment", "sgd"} <= kinds, "every kind of kernel is there", kinds)
    convs = [g for g in groups if g["kind"] == "conv2d" and g["phase"] == "forward"]
    tap.ok(all(g["flops"] > 0 for g in convs) and all(g["flops"] == 0 for g in groups if g["kind"].startswith(("bn", "unary", "pool"))),
           "flops of products are those of convolutions and matrix products alone")


def intensity(profile, kinds, labels):
    """Flops a byte of these kinds, without the one-off layers that have no batch norm."""
    groups = [g for g in profile["groups"] if g["kind"] in kinds and any(g["label"].startswith(label) for label in labels)]
    return sum(g["flops_other"] for g in groups) / sum(g["l1_bytes"] for g in groups)


def counted(kinds):
    return sum(flops for _, flops in kinds.values()) / sum(numbers for numbers, _ in kinds.values())


def check_fusion(tap, fused, single):
    if not any(g["kind"] == "bn_act" for g in fused["groups"]):
        tap.skip("without fusion, intensity falls as counting predicts", "no fused kernel on this host")
        return
    labels = sorted({g["label"] for g in fused["groups"] if g["kind"] == "bn_act"})
    tap.ok(fused["fusion"] is True and single["fusion"] is False and not any(g["kind"].startswith("bn_act") for g in single["groups"]),
           "a profile says whether its step was fused")
    have = intensity(fused, FUSED, labels) / intensity(single, SINGLE, labels)
    want = counted(FUSED) / counted(SINGLE)
    tap.ok(abs(have / want - 1) < 0.02, "without fusion, the intensity of batch norm and activation falls as counting predicts", f"{have} {want}")
    products = [sum(g["flops"] for g in p["groups"]) for p in (fused, single)]
    tap.ok(products[0] == products[1] > 0, "while the products stay the same", products)


def check_job(tap, folder):
    with Server() as server:
        server.start()
        token = os.path.join(server.folder, "registration.token")
        with open(token, "w", encoding="ascii") as out:
            out.write(server.token("agent-registration"))
        operator = server.token("operator")
        env = {"DAYBREAK_CACHE": folder, "DAYBREAK_STATE": os.path.join(server.folder, "agent")}
        runs = []
        for words in ((), ("--no-profile",)):
            made = server.json("POST", "/v1/jobs", {"task": TASK, "workload": "cifar10-tiny", "seeds": 1}, operator)
            done = run("run", "--server", server.url, "--token-file", token, "--once", *words, env=env)
            runs.append((made["runs"][0], done))
        number, done = runs[0]
        state = server.json("GET", f"/v1/runs/{number}")["state"]
        tap.ok(done.returncode == 0 and state in ("reached", "missed") and "profile_sent" in done.stderr, "an agent sends the profile of its run",
               done.stderr)
        profile = server.json("GET", f"/v1/runs/{number}/profile")
        tap.ok(profile["workload"] == "cifar10-tiny" and len(profile["groups"]) > 20, "the server has it", profile)
        roofline = server.json("GET", f"/v1/analysis/roofline?run={number}")
        tap.ok(abs(roofline["groups_s"] - sum(g["seconds"] for g in profile["groups"])) < 1e-9 and
               {r["roof"] for r in roofline["roofs"]} >= {"memory", "f32"} and
               all(k["roof"] in {r["roof"] for r in roofline["roofs"]} for k in roofline["kernels"]),
               "and draws its roofline: each kernel names the roof that binds it", roofline)
        number, done = runs[1]
        status = server.request("GET", f"/v1/runs/{number}/profile")[0]
        tap.ok(done.returncode == 0 and status == 404, "--no-profile sends none", f"{status} {done.stderr}")


def main():
    tap = Tap()
    folder = tempfile.mkdtemp(prefix="daybreak-profile-")
    try:
        make_data(os.path.join(folder, "cifar10"))
        status, fused, words = profile_of(folder, "fused")
        if tap.ok(status in (0, 2) and fused is not None, "a training leaves its profile", words):
            check_sums(tap, fused)
            status, single, words = profile_of(folder, "single", "--no-fusion")
            if tap.ok(status in (0, 2) and single is not None, "one without fusion does, too", words):
                check_fusion(tap, fused, single)
        status, none, words = profile_of(folder, "none", "--no-profile")
        tap.ok(status in (0, 2) and none is None, "--no-profile leaves none", words)
        check_job(tap, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    tap.done()


if __name__ == "__main__":
    main()
