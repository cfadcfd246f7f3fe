#!/usr/bin/env python3
"""tests/e2e/test_train.py: real programs, real kernels, a real (tiny) training: the workload `cifar10-tiny` on data that
this test makes: each class has a colour of its own, so that a network that learns at all learns it.

What `train` leaves behind is checked file by file, then resuming and determinism, then the same training as a job.
"""
import atexit
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from colours import COUNT, make_data  # noqa: E402
from daybreak import AGENT, DAYBREAKD, Server, Tap, wait_until  # noqa: E402
import shutil  # noqa: E402
import tempfile  # noqa: E402

TASK = "cifar10-train-quick"
WAIT_S = 900


def train(folder, *words, env=None):
    return subprocess.run([AGENT, "train", "cifar10-tiny", "--task", TASK, "--data", os.path.join(folder, "cifar10"),
                           "--threads", "2", *words], env=dict(os.environ, DAYBREAK_TEST_WORKLOAD="1", **(env or {})),
                          capture_output=True, text=True, timeout=WAIT_S, check=False)


def read(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def curve(out):
    """What the evaluations counted, without times."""
    events = [json.loads(line) for line in read(out, "events.ndjson").splitlines()]
    return [(e["epoch"], e["correct"], e["total"], e.get("loss")) for e in events if e["kind"] == "eval"]


def check_files(tap, folder):
    out = os.path.join(folder, "a")
    done = train(folder, "--seed", "7", "--out", out, "--target", "20", "--author", "A. Tester", "--author-email",
                 "a@example.org", "--cost-per-hour", "0.25", "--instance", "test.small")
    tap.ok(done.returncode == 0 and "reached=yes" in done.stdout, "a tiny training learns its colours", done.stdout + done.stderr)
    names = sorted(os.listdir(out))
    tap.ok(names == ["checkpoint.safetensors", "cifar10-tiny_seed7.json", "cifar10-tiny_seed7.profile.json", "cifar10-tiny_seed7.tsv",
                     "events.ndjson", "model.safetensors"], "it leaves entry, progress, profile, model, checkpoint and events", names)
    entry = json.loads(read(out, "cifar10-tiny_seed7.json"))
    misc = entry["misc"]
    tap.ok(entry["author"] == "A. Tester" and entry["costPerHour"] == 0.25 and "test.small" in entry["hardware"] and
           misc["seed"] == 7 and misc["task"] == TASK and len(misc["plan_sha256"]) == 64, "the entry says who, where and how", entry)
    rows = read(out, "cifar10-tiny_seed7.tsv").decode().splitlines()
    cells = [row.split("\t") for row in rows[1:]]
    tap.ok(rows[0] == "epoch\thours\ttop1Accuracy" and len(cells) >= 2 and all(len(c[1].split(".")[1]) == 9 for c in cells),
           "the progress file has hours with nine decimals", rows)
    tap.ok([float(c[1]) for c in cells] == sorted(float(c[1]) for c in cells), "whose times grow", rows)
    events = [json.loads(line) for line in read(out, "events.ndjson").splitlines()]
    tap.ok([e["seq"] for e in events] == list(range(1, len(events) + 1)) and
           [e["mono_ns"] for e in events] == sorted(e["mono_ns"] for e in events), "events are dense and in order of time")
    check_clock(tap, events)
    header = read(out, "model.safetensors")
    size = int.from_bytes(header[:8], "little")
    meta = json.loads(header[8:8 + size])
    tap.ok(meta["__metadata__"]["seed"] == "7" and any("conv" in name for name in meta), "the model is safetensors", list(meta)[:5])
    return out


def check_clock(tap, events):
    """Official time from the events alone: wall to the end of the last step, minus what is left out."""
    start = next(e["mono_ns"] for e in events if e["kind"] == "run_start")
    first = next(e["mono_ns"] for e in events if e["kind"] == "phase_begin" and e["phase"] == "train")
    trained = left_out = begin = 0
    answers, good = set(), True
    for event in events:
        if event["kind"] == "phase_begin":
            begin = event["mono_ns"]
        elif event["kind"] == "phase_end" and event["phase"] == "train":
            trained = event["mono_ns"]
        elif event["kind"] == "phase_end" and event["phase"] in ("evaluate", "checkpoint"):
            left_out += event["mono_ns"] - begin
        elif event["kind"] == "eval":
            wall = event["wall_ns"]
            answers.add(trained - wall)  # the answer to run_start: one moment, between its stamp and the training
            good = good and event["official_ns"] in (wall - left_out, 2 * wall // 3) and event["official_ns"] >= 2 * wall // 3
    tap.ok(len(answers) == 1 and start <= min(answers) <= first, "the clock starts at the answer to run_start", answers)
    tap.ok(good, "official time is wall time without evaluations and checkpoints, 2/3 of it at least")
    order = [e["phase"] for e in events if e["kind"] == "phase_begin"]
    tap.ok(order[:4] == ["setup", "train", "evaluate", "checkpoint"], "phases come in their order", order)


def check_determinism(tap, folder, first):
    again = os.path.join(folder, "b")
    train(folder, "--seed", "7", "--out", again)
    tap.ok(curve(first) == curve(again) and curve(first), "the same seed gives the same curve", f"{curve(first)}\n{curve(again)}")
    tap.ok(read(first, "model.safetensors") == read(again, "model.safetensors"), "and the same weights, bit by bit")
    other = os.path.join(folder, "c")
    train(folder, "--seed", "8", "--out", other)
    tap.ok(hashlib.sha256(read(first, "model.safetensors")).digest() != hashlib.sha256(read(other, "model.safetensors")).digest(),
           "another seed gives other weights")


def check_resume(tap, folder, first):
    half = os.path.join(folder, "half")
    agent = subprocess.Popen([AGENT, "train", "cifar10-tiny", "--task", TASK, "--data", os.path.join(folder, "cifar10"), "--threads",
                              "2", "--seed", "7", "--out", half], env=dict(os.environ, DAYBREAK_TEST_WORKLOAD="1"),
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    atexit.register(agent.kill)
    checkpoint = os.path.join(half, "checkpoint.safetensors")
    wait_until(lambda: os.path.exists(checkpoint), WAIT_S, 0.002)
    agent.send_signal(signal.SIGTERM)
    _, words = agent.communicate(timeout=WAIT_S)
    if agent.returncode != 4:
        tap.skip("SIGTERM stops behind the epoch", "the training was over before the signal")
        # Its last checkpoint is at the end; the resume below needs one from before.
        return
    tap.ok("--resume" in words and len(curve(half)) < len(curve(first)), "SIGTERM stops behind the epoch and says how to go on", words)
    rest = os.path.join(folder, "rest")
    done = train(folder, "--resume", checkpoint, "--out", rest)
    tap.ok(curve(half) + curve(rest) == curve(first) and done.returncode in (0, 2), "a resumed training goes on as if never stopped",
           f"{curve(half)} + {curve(rest)} != {curve(first)}\n{done.stderr}")
    tap.ok(read(rest, "model.safetensors") == read(first, "model.safetensors"), "to the same weights, bit by bit")
    entry = json.loads(read(rest, "cifar10-tiny_seed7.json"))
    tap.ok(entry["misc"].get("resumed") is True, "and its entry is marked", entry["misc"])
    pair = [os.path.join(rest, f"cifar10-tiny_seed7.{ending}") for ending in ("json", "tsv")]
    judged = subprocess.run([DAYBREAKD, "check", "--task", TASK, *pair], capture_output=True, text=True, timeout=WAIT_S, check=False)
    tap.ok(judged.returncode == 2 and "run_not_ranked" in judged.stdout, "and refused by the boards", judged.stdout)


def misc_of(out):
    return json.loads(read(out, "cifar10-tiny_seed7.json"))["misc"]


def model_meta(out):
    model = read(out, "model.safetensors")
    return json.loads(model[8:8 + int.from_bytes(model[:8], "little")])["__metadata__"]


def check_partial(tap, folder, first):
    """A run goes to its recipe's end: one that --max-epochs ends before is marked and refused, even when it reached."""
    tap.ok("partial" not in misc_of(first) and "partial" not in model_meta(first), "a whole run has no mark")
    for name, epochs, early in (("short", "1", True), ("whole", "1000", False)):
        out = os.path.join(folder, name)
        done = train(folder, "--seed", "7", "--out", out, "--target", "1", "--max-epochs", epochs, "--author", "A. Tester",
                     "--author-email", "a@example.org")
        marks = (misc_of(out).get("partial", False), model_meta(out).get("partial", "false") == "true", "partial" in done.stderr)
        tap.ok(done.returncode == 0 and marks == (early, early, early),
               f"--max-epochs {epochs}: entry, model and words are {'marked' if early else 'as without it'}", f"{marks} {done.stderr}")
        pair = [os.path.join(out, f"cifar10-tiny_seed7.{ending}") for ending in ("json", "tsv")]
        judged = subprocess.run([DAYBREAKD, "check", "--task", TASK, *pair], capture_output=True, text=True, timeout=WAIT_S, check=False)
        tap.ok(("run_not_ranked" in judged.stdout) == early and (judged.returncode == 2 or not early),
               f"and it is {'refused by the boards' if early else 'not refused for that'}", judged.stdout)


def check_recipe(tap, folder):
    out = os.path.join(folder, "muon")
    done = train(folder, "--seed", "7", "--out", out, "--recipe", "cifar10-tiny-muon", "--max-epochs", "1")
    misc = json.loads(read(out, "cifar10-tiny-muon_seed7.json"))["misc"]
    tap.ok("recipe=cifar10-tiny-muon" in done.stdout and misc["recipe"] == "cifar10-tiny-muon" and "Muon" in misc["optimizer"],
           "another recipe of the workload is trained and named", f"{done.stdout} {done.stderr}")


def check_misuse(tap, folder):
    missed = train(folder, "--seed", "7", "--out", os.path.join(folder, "d"), "--target", "100", "--max-epochs", "1")
    tap.ok(missed.returncode == 2 and "reached=no" in missed.stdout and "--author" in missed.stderr,
           "a target that was missed is 2, and what completes the entry is said", missed.stdout + missed.stderr)
    empty = train(folder, "--data", os.path.join(folder, "nothing"), "--out", os.path.join(folder, "e"))
    tap.ok(empty.returncode == 3, "an option given twice is wrong usage", empty.stderr)
    lost = subprocess.run([AGENT, "train", "cifar10-tiny", "--data", os.path.join(folder, "nothing"), "--out",
                           os.path.join(folder, "e")], env=dict(os.environ, DAYBREAK_TEST_WORKLOAD="1"), capture_output=True,
                          text=True, timeout=WAIT_S, check=False)
    tap.ok(lost.returncode == 2 and "data fetch cifar10" in lost.stderr and not os.path.exists(os.path.join(folder, "e", "events.ndjson")),
           "missing data says how to get it, and the folder stays free", lost.stderr)
    for words, code in ((("--recipe", "cifar10-94"), 2), (("--isa", "abacus"), 3), (("--device", "cuda"), 2), (("--precision", "f8"), 3), (("--target", "hot"), 3)):
        bad = train(folder, "--out", os.path.join(folder, "e"), *words)
        tap.ok(bad.returncode == code and bad.stderr.strip(), f"{' '.join(words)} is refused with {code}", f"{bad.returncode} {bad.stderr}")
    devices = subprocess.run([AGENT, "devices"], capture_output=True, text=True, timeout=WAIT_S, check=False).stdout
    lacking = [line.split()[1] for line in devices.splitlines() if line.startswith("isa ") and not line.endswith(": used")]
    for word in lacking:  # the child finds it out, the parent says it
        bad = train(folder, "--out", os.path.join(folder, "e"), "--isa", word)
        tap.ok(bad.returncode == 2 and f"has no {word};" in bad.stderr and bad.stderr.count("\n") == 1,
               f"--isa {word} is not there and refused in one sentence", f"{bad.returncode} {bad.stderr}")
    if not lacking:
        tap.skip("an --isa that is not there is refused in one sentence", "this host has every instruction set")
    hidden = subprocess.run([AGENT, "train", "synthetic"], capture_output=True, text=True, timeout=WAIT_S, check=False,
                            env={k: v for k, v in os.environ.items() if k != "DAYBREAK_TEST_WORKLOAD"})
    tap.ok(hidden.returncode == 3, "test workloads are not there without being asked for", hidden.stderr)


def check_steps(tap, folder):
    """`bench --steps` times so many whole steps, each beside the host's multiply-adds, and says what it timed."""
    out = os.path.join(folder, "steps.json")
    words = [AGENT, "bench", "--steps", "cifar10-tiny", "--data", os.path.join(folder, "cifar10"), "--runs", "3", "--profile"]
    done = subprocess.run([*words, "--json", out], env=dict(os.environ, DAYBREAK_TEST_WORKLOAD="1"), capture_output=True, text=True,
                          timeout=WAIT_S, check=False)
    found = json.loads(read(out)) if done.returncode == 0 else {}
    tap.ok(found and len(found["step_seconds"]) == 3 and min(found["step_seconds"]) > 0 and found["step_flops"] > 0 and
           abs(found["images_per_s"] * found["median_s"] - found["facts"]["batch"]) < 1e-6 and found["share_of_ceiling"] > 0,
           "bench times whole steps", done.stderr + str(found))
    tap.ok("conv2d_grad_weight" in done.stdout and f"{found['images_per_s']:.1f} images/s" in done.stdout, "and says where their time goes", done.stdout)
    none = subprocess.run([AGENT, "bench", "--steps", "nothing"], capture_output=True, text=True, timeout=WAIT_S, check=False)
    tap.ok(none.returncode == 2 and "nothing" in none.stderr, "a workload that is not there is named", none.stderr)


def check_job(tap, folder):
    with Server() as server:
        server.start()
        made = server.json("POST", "/v1/jobs", {"task": TASK, "workload": "cifar10-tiny", "seeds": 1}, server.token("operator"))
        token = os.path.join(server.folder, "registration.token")
        with open(token, "w", encoding="ascii") as out:
            out.write(server.token("agent-registration"))
        env = dict(os.environ, DAYBREAK_TEST_WORKLOAD="1", DAYBREAK_CACHE=folder, DAYBREAK_STATE=os.path.join(server.folder, "agent"))
        done = subprocess.run([AGENT, "run", "--server", server.url, "--token-file", token, "--once"], env=env, capture_output=True,
                              text=True, timeout=WAIT_S, check=False)
        run = server.json("GET", f"/v1/runs/{made['runs'][0]}")
        items = server.epochs(made["runs"][0])
        tap.ok(done.returncode == 0 and run["state"] in ("reached", "missed") and len(items) >= 2,
               "the same training as a job streams its epochs", f"{done.stderr} {run}")
        tap.ok(all(item["total"] == COUNT for item in items), "each counted on the whole test set", items)
        out = os.path.join(folder, "job")
        train(folder, "--seed", str(run["seed"]), "--out", out)
        pairs = list(zip((item["loss"] for item in items), (loss for _, _, _, loss in curve(out))))
        tap.ok(len(pairs) == 3 and all(abs(a - b) < 1e-7 for a, b in pairs), "and train with the run's seed has the same losses", f"{curve(out)} {items}")
        tap.ok("plan=" in run.get("plan", "") or "plan_sha256=" in run.get("plan", ""), "the run's page can name its plan", run)


def main():
    tap = Tap()
    folder = tempfile.mkdtemp(prefix="daybreak-train-")
    try:
        make_data(os.path.join(folder, "cifar10"))
        begun = time.monotonic()
        first = check_files(tap, folder)
        print(f"# one tiny training: {time.monotonic() - begun:.1f} s", flush=True)
        check_determinism(tap, folder, first)
        check_resume(tap, folder, first)
        check_partial(tap, folder, first)
        check_recipe(tap, folder)
        check_misuse(tap, folder)
        check_steps(tap, folder)
        check_job(tap, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    tap.done()


if __name__ == "__main__":
    main()
