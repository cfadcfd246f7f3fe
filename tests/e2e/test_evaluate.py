#!/usr/bin/env python3
"""tests/e2e/test_evaluate.py: saved models, scored on sets that they have and have not seen: the counts are those of the
training's own evaluations, what a set is to a model is said, and an entry takes the scores along.
"""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from colours import COUNT, make_data  # noqa: E402
from daybreak import AGENT, Tap  # noqa: E402

TASK = "cifar10-train-quick"
WAIT_S = 900
NEW = 200  # images of the set that stands for CIFAR-10.1


def run(*words):
    return subprocess.run([AGENT, *words], env=dict(os.environ, DAYBREAK_TEST_WORKLOAD="1"), capture_output=True, text=True,
                          timeout=WAIT_S, check=False)


def train(folder, name, *words):
    """The folder of a training, whose evaluations count whole sets, and what its last one counted."""
    out = os.path.join(folder, name)
    done = run("train", "cifar10-tiny", "--recipe", "cifar10-tiny-whole", "--task", TASK, "--data", os.path.join(folder, "cifar10"),
               "--threads", "2", "--seed", "5", "--no-profile", "--out", out, *words)
    with open(os.path.join(out, "events.ndjson"), encoding="utf-8") as file:
        last = [event for event in map(json.loads, file) if event["kind"] == "eval"][-1]
    return out, (last["correct"], last["total"]), done


def save(path, kind, shape, data):
    """An array as NumPy saves it."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def make_new_set(folder):
    """The first images of the test file, channels innermost, as a set of their own."""
    os.makedirs(folder)
    images, labels = b"", []
    with open(os.path.join(folder, "../cifar10/test_batch.bin"), "rb") as file:
        for _ in range(NEW):
            record = file.read(3073)
            labels.append(record[0])
            planes = record[1:]
            images += b"".join(bytes(planes[1024 * c + i] for c in range(3)) for i in range(1024))
    save(os.path.join(folder, "cifar10.1_v6_data.npy"), "|u1", (NEW, 32, 32, 3), images)
    save(os.path.join(folder, "cifar10.1_v6_labels.npy"), "<i4", f"({NEW},)", struct.pack(f"<{NEW}i", *labels))


def evaluate(folder, out, *words):
    path = os.path.join(folder, "scores.json")
    if os.path.exists(path):
        os.remove(path)
    done = run("evaluate", "cifar10-tiny", "--model", os.path.join(out, "model.safetensors"), "--data", os.path.join(folder, "cifar10"),
               "--threads", "2", "--json", path, *words)
    if done.returncode != 0:
        return {}, {}, done
    with open(path, encoding="utf-8") as file:
        scores = json.load(file)
    return scores, {row["set"]: row for row in scores["sets"]}, done


def check_scores(tap, folder):
    usual, counted, _ = train(folder, "usual")
    scores, sets, done = evaluate(folder, usual)
    tap.ok(done.returncode == 0 and (sets["test"]["correct"], sets["test"]["total"]) == counted and counted[1] == COUNT,
           "the test set counts what the training counted", f"{done.stderr} {sets} {counted}")
    tap.ok({name: row["exposure"] for name, row in sets.items()} == {"test": "unseen", "tune": "trained", "fresh": "trained"} and
           scores["holdout"] is False, "an ordinary model has seen both parts of the training images", scores)
    tap.ok("cifar10.1 is left out" in done.stderr, "a set whose files are not there is left out, and named", done.stderr)
    held, counted, _ = train(folder, "held", "--holdout")
    make_new_set(os.path.join(folder, "cifar10.1"))
    scores, sets, done = evaluate(folder, held)
    tap.ok(done.returncode == 0 and (sets["tune"]["correct"], sets["tune"]["total"]) == counted and counted[1] == 5000,
           "tune counts what a training that held it out counted", f"{done.stderr} {sets} {counted}")
    tap.ok({name: row["exposure"] for name, row in sets.items()} ==
           {"test": "unseen", "tune": "tuned", "fresh": "unseen", "cifar10.1": "unseen"} and scores["holdout"] is True,
           "which has seen neither test nor fresh images", scores)
    tap.ok(sets["fresh"]["total"] == 5000 and sets["cifar10.1"]["total"] == NEW and len({row["data_sha256"] for row in sets.values()}) == 4,
           "each set is whole, and a set of its own", sets)
    gap = 100 * (sets["fresh"]["correct"] / sets["fresh"]["total"] - sets["test"]["correct"] / sets["test"]["total"])
    line = next(line for line in done.stdout.splitlines() if line.startswith("fresh"))
    tap.ok(f"{gap:+.2f} points" in line and "unseen" in line, "the gap to the test set stands beside it", line)
    return usual, held


def check_entry(tap, folder, usual, held):
    entry = os.path.join(usual, "cifar10-tiny-whole_seed5.json")
    with open(entry, encoding="utf-8") as file:
        before = json.load(file)
    for out in (usual, held, held):
        _, _, done = evaluate(folder, out, "--entry", entry)
        if not tap.ok(done.returncode == 0, "an entry takes the scores along", done.stderr):
            return
    with open(entry, encoding="utf-8") as file:
        after = json.load(file)
    models = after["misc"].pop("generalisation")
    tap.ok([model["holdout"] for model in models] == [False, True] and after == before, "a model once, and nothing else of it changes", models)


def check_misuse(tap, folder, usual):
    garbage = os.path.join(folder, "garbage")
    with open(garbage, "wb") as out:
        out.write(random.Random(1).randbytes(1000))
    model = os.path.join(usual, "model.safetensors")
    data = ("--data", os.path.join(folder, "cifar10"))
    for words, code, said in ((("--model", garbage, *data), 3, "no model that train has written"),
                              (("--model", os.path.join(folder, "none"), *data), 4, "none"),
                              ((), 2, "--model"),
                              (("--model", model, "--recipe", "cifar10-94", *data), 3, "recipe"),
                              (("--model", model, "--data", folder), 3, "cannot open"),
                              (("--model", model, *data, "--entry", garbage), 3, "no entry")):
        done = run("evaluate", "cifar10-tiny", *words)
        tap.ok(done.returncode != 0 and said in done.stderr and done.stderr.strip().count("\n") < 3, f"refused: {said}",
               f"{code} {done.returncode} {done.stderr}")
    with open(model, "rb") as file:
        whole = file.read()
    with open(garbage, "wb") as out:  # every number is a NaN
        header = 8 + int.from_bytes(whole[:8], "little")
        out.write(whole[:header] + b"\xff" * (len(whole) - header))
    done = run("evaluate", "cifar10-tiny", "--model", garbage, *data)
    tap.ok(done.returncode != 0 and "not finite" in done.stderr, "refused: weights that are no numbers", done.stderr)
    new = os.path.join(folder, "cifar10.1", "cifar10.1_v6_labels.npy")
    for kind, shape, bytes_, said in (("<i4", f"({NEW},)", struct.pack(f"<{NEW}i", *[10] * NEW), "label 0 is not 0 to 9"),
                                      ("<i4", f"({NEW - 1},)", struct.pack(f"<{NEW - 1}i", *[1] * (NEW - 1)), "199 labels for 200 images"),
                                      ("<f4", f"({NEW},)", b"\0" * 4 * NEW, "of type <f4")):
        save(new, kind, shape, bytes_)
        _, _, done = evaluate(folder, usual)
        tap.ok(done.returncode != 0 and said in done.stderr, f"a faulty set is refused: {said}", done.stderr)


def main():
    tap = Tap()
    folder = tempfile.mkdtemp(prefix="daybreak-evaluate-")
    try:
        make_data(os.path.join(folder, "cifar10"))
        usual, held = check_scores(tap, folder)
        check_entry(tap, folder, usual, held)
        check_misuse(tap, folder, usual)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    tap.done()


if __name__ == "__main__":
    main()
