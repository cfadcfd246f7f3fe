#!/usr/bin/env python3
"""tests/e2e/test_infer.py: a tiny model is trained, then `infer` classifies the test images one at a time; a started server takes
the entry that comes of it, which says what the events of the training said: nothing but the clock may differ.

The data are those of test_train.py with two classes, whose colours a tiny training tells apart surely.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daybreak import AGENT, DAYBREAKD, Server, Tap  # noqa: E402
from test_train import COUNT, WAIT_S, make_data, read, train  # noqa: E402

TASK = "cifar10-inference"
AUTHOR = ("--author", "A. Tester", "--author-email", "a@example.org")


def infer(folder, model, *words, workload="cifar10-tiny", data="cifar10"):
    return subprocess.run([AGENT, "infer", workload, "--model", model, "--data", os.path.join(folder, data), *words],
                          env=dict(os.environ, DAYBREAK_TEST_WORKLOAD="1"), capture_output=True, text=True, timeout=WAIT_S, check=False)


def facts_of(line):
    return dict(word.split("=", 1) for word in line.split())


def check_entry(tap, folder, model):
    out = os.path.join(folder, "entry")
    done = infer(folder, model, "--out", out, "--cost-per-hour", "0.09", "--instance", "test.small", *AUTHOR)
    said = facts_of(done.stdout) if done.stdout else {}
    tap.ok(done.returncode == 0 and said["reached"] == "yes" and said["task"] == TASK, "a model of colours is good enough",
           f"{done.returncode} {done.stdout} {done.stderr}")
    path = os.path.join(out, "cifar10-tiny_infer.json")
    tap.ok(os.listdir(out) == [os.path.basename(path)] and said["entry"] == path, "it leaves one entry and names it", os.listdir(out))
    entry = json.loads(read(path))
    misc = entry["misc"]
    correct = int(said["correct"])
    tap.ok(int(said["total"]) == COUNT and entry["top1Accuracy"] == correct / COUNT * 100 and misc["correct"] == correct,
           "the accuracy is that of all test images", entry)
    tap.ok(float(said["latency_ms"]) == entry["latency"] > 0 and 0 < misc["latency_median_ms"] <= misc["latency_p99_ms"] and
           float(said["median_ms"]) == misc["latency_median_ms"], "mean, median and p99 are in their order", said)
    tap.ok(abs(entry["cost"] / (0.09 * entry["latency"] / 3.6e6) - 1) < 1e-9, "an item costs the price for its time", entry)
    tap.ok(misc["model_file"] == "model.safetensors" and misc["model_sha256"] == hashlib.sha256(read(model)).hexdigest() and
           misc["model_seed"] == "7", "the model's file is named with its digest", misc)
    tap.ok(misc["batch"] == 1 and misc["threads"] == 1 and misc["views"] == 1 and misc["task"] == TASK and
           "test.small" in entry["hardware"] and "learning_rate" not in misc, "and how it was run", misc)
    return path, correct


def check_server(tap, path):
    judged = subprocess.run([DAYBREAKD, "check", "--task", TASK, path], capture_output=True, text=True, timeout=WAIT_S, check=False)
    tap.ok(judged.returncode == 0 and "error" not in judged.stdout and "warning" not in judged.stdout, "the validator finds no fault",
           judged.stdout + judged.stderr)
    with Server() as server:
        server.start()
        token = os.path.join(server.folder, "me.token")
        with open(token, "w", encoding="ascii") as out:
            out.write(server.token("submitter"))
        sent = subprocess.run([AGENT, "submit", "--server", server.url, "--token-file", token, path], capture_output=True, text=True,
                              timeout=WAIT_S, check=False)
        tap.ok(sent.returncode == 0, "a server takes it", sent.stdout + sent.stderr)
        entry = json.loads(read(path))
        for by, field in (("latency", "latency_ms"), ("inference-cost", "cost_usd")):
            board = server.json("GET", f"/v1/leaderboards/{TASK}?by={by}")
            rows = [row for row in board["items"] if row["author"] == "A. Tester"]
            want = entry["latency" if by == "latency" else "cost"]
            tap.ok(len(rows) == 1 and abs(rows[0][field] / want - 1) < 1e-2, f"and ranks it by {by}", json.dumps(board)[:2000])


def check_again(tap, folder, model, correct):
    again = infer(folder, model, "--out", os.path.join(folder, "again"), "--recipe", "cifar10-tiny")
    tap.ok(facts_of(again.stdout)["correct"] == str(correct) and "--author NAME" in again.stderr,
           "a second inference counts the same, and says what its entry lacks", again.stdout + again.stderr)
    views = infer(folder, model, "--out", os.path.join(folder, "views"), "--views", "6")
    misc = json.loads(read(folder, "views", "cifar10-tiny_infer.json"))["misc"]
    medians = [misc["latency_median_ms"], json.loads(read(folder, "again", "cifar10-tiny_infer.json"))["misc"]["latency_median_ms"]]
    tap.ok(misc["views"] == 6 and medians[0] > medians[1], "six views are stated, and are not free", f"{views.stdout} {medians}")
    over = infer(folder, model, "--out", os.path.join(folder, "again"))
    tap.ok(over.returncode == 2 and "already" in over.stderr, "an entry is not written over", over.stderr)


def check_missed(tap, folder):
    """A model that was hardly trained: the entry is written, and says so by its exit code."""
    out = os.path.join(folder, "green")
    train(folder, "--seed", "7", "--out", out, "--max-epochs", "0.1")
    done = infer(folder, os.path.join(out, "model.safetensors"), "--out", os.path.join(folder, "missed"), *AUTHOR)
    tap.ok(done.returncode == 2 and "reached=no" in done.stdout, "a model below the target is 2", done.stdout + done.stderr)
    path = os.path.join(folder, "missed", "cifar10-tiny_infer.json")
    judged = subprocess.run([DAYBREAKD, "check", "--task", TASK, path], capture_output=True, text=True, timeout=WAIT_S, check=False)
    tap.ok(judged.returncode == 2 and "error" in judged.stdout, "and refused by the validator", judged.stdout)


def check_misuse(tap, folder, model):
    cut = os.path.join(folder, "cut.safetensors")
    with open(cut, "wb") as out:
        out.write(read(model)[:-100])
    text = os.path.join(folder, "text.safetensors")
    with open(text, "w", encoding="ascii") as out:
        out.write("This is no model at all, though it is a file.\n")
    cases = [
        ("a truncated file", (cut,), {}, 2, "no model that train has written"),
        ("a text", (text,), {}, 2, "no model that train has written"),
        ("a file that is not there", (os.path.join(folder, "none"),), {}, 2, "none"),
        ("another recipe", (model, "--recipe", "cifar10-tiny-whole"), {}, 2, "recipe cifar10-tiny, not cifar10-tiny-whole"),
        ("a recipe of no workload", (model, "--recipe", "nothing"), {}, 2, 'no recipe "nothing"'),
        ("a model of another workload", (model,), {"workload": "cifar10"}, 2, 'no recipe "cifar10-tiny", which is that of'),
        ("a workload that is not there", (model,), {"workload": "nothing"}, 3, "nothing"),
        ("a workload without inference", (model,), {"workload": "synthetic"}, 2, "no inference"),
        ("data that are not there", (model,), {"data": "nowhere"}, 2, "data_batch_1.bin"),
        ("three views", (model, "--views", "3"), {}, 3, "1 or 6 views"),
        ("a price of nothing", (model, "--cost-per-hour", "0"), {}, 3, "--cost-per-hour"),
    ]
    for name, words, how, code, sentence in cases:
        out = os.path.join(folder, "misuse")
        done = infer(folder, words[0], *words[1:], "--out", out, **how)
        tap.ok(done.returncode == code and sentence in done.stderr and done.stderr.count("\n") == 1 and not os.path.exists(out),
               f"{name} is refused in one sentence", f"{done.returncode} {done.stderr}")
    bare = subprocess.run([AGENT, "infer", "cifar10"], capture_output=True, text=True, timeout=WAIT_S, check=False)
    tap.ok(bare.returncode == 3 and "--model" in bare.stderr, "without a model it says which option names it", bare.stderr)


def main():
    tap = Tap()
    folder = tempfile.mkdtemp(prefix="daybreak-infer-")
    try:
        make_data(os.path.join(folder, "cifar10"), classes=2)
        train(folder, "--seed", "7", "--out", os.path.join(folder, "model"))
        model = os.path.join(folder, "model", "model.safetensors")
        path, correct = check_entry(tap, folder, model)
        check_server(tap, path)
        check_again(tap, folder, model, correct)
        check_missed(tap, folder)
        check_misuse(tap, folder, model)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    tap.done()


if __name__ == "__main__":
    main()
