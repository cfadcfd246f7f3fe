#!/usr/bin/env python3
"""tests/e2e/test_variance.py: the spread of the runs, on page and API, against an independent computation, as TAP.

The ten declared seeds of docs/results/cifar10 as one entry; a made-up NCF entry of 100 runs, of which the first 50 that
converged are scored; the logs of tests/fixtures, and the real ones of ../shared/data/mlperf where they are, against their tables.
"""
import csv
import decimal
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "support"))
from daybreak import DAYBREAKD, ROOT, Server, Tap  # noqa: E402
from measures import near, page_table, variance_row  # noqa: E402

RESULTS = os.path.join(ROOT, "docs", "results", "cifar10")
FIXTURES = os.path.join(ROOT, "tests", "fixtures", "mlperf")
SHARED = os.path.join(ROOT, os.pardir, "shared", "data", "mlperf")
SEEDS = range(31, 41)
ON_PAGE = ("n", "reached", "p", "mean_s", "cv", "cv_epochs", "cv_per_epoch", "epoch_share", "runs_needed")
tap = Tap()


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def crossing(text, target):
    """(TTA in s, epochs) of the first row at the target; None: it has none."""
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        if decimal.Decimal(row["top1Accuracy"]) >= decimal.Decimal(target):
            return float(decimal.Decimal(row["hours"]) * 3600), float(row["epoch"])
    return None


def compare(want, row, cells, rounded=0.0):
    """The faults of a row of the API and of the page's cells, which have nine digits; rounded: by how much `want` may be off."""
    def same(key, got):
        return near(want[key], got) or got is not None and abs(want[key] - got) <= rounded + 1e-8 * abs(got)
    faults = [f"{key}: API {row.get(key)}, not {value}" for key, value in want.items() if not same(key, row.get(key))]
    faults += [f"{key}: page {cells[key]}, not {want[key]}" for key in ON_PAGE if key in want and not same(key, cells.get(key, {}).get("v"))]
    return faults


def both(server, task, entry):
    """The entry's row of the API and of the page."""
    rows = [row for row in server.json("GET", f"/v1/analysis/variance?task={task}")["items"] if row["entry"] == entry]
    lines = [line for line in page_table(server, f"/tasks/{task}/variance") if line["entry"]["href"] == f"/entries/{entry}"]
    if len(rows) != 1 or len(lines) != 1:
        raise RuntimeError(f"{task}: entry {entry} has {len(rows)} rows, {len(lines)} lines")
    return rows[0], lines[0]


def submit_seeds(server):
    texts = [read(os.path.join(RESULTS, f"cifar10-muon_seed{seed}.tsv")) for seed in SEEDS]
    entry = json.loads(read(os.path.join(RESULTS, f"cifar10-muon_seed{SEEDS[0]}.json")))
    for member in ("seed", "wall_s", "tta_s"):  # of one run
        entry["misc"].pop(member)
    entry["misc"]["seeds"] = list(SEEDS)
    body = {"task": "cifar10-train", "name": "cifar10-muon", "entry": json.dumps(entry),
            "progress": [{"name": f"seed{seed}.tsv", "text": text} for seed, text in zip(SEEDS, texts)]}
    answer = server.json("POST", "/v1/submissions", body, server.token("submitter"))
    return server.json("GET", f"/v1/submissions/{answer['submission']}")["entry"], [crossing(text, "94.0") for text in texts]


def test_seeds():
    with Server() as server:
        server.start()
        entry, trials = submit_seeds(server)
        want = variance_row(trials)
        row, cells = both(server, "cifar10-train", entry)
        tap.ok((want["n"], want["reached"]) == (10, 9), "nine of the ten declared seeds reached 94 %", want)
        faults = compare(want, row, cells)
        tap.ok(not faults, "seeds: n, mean, CV, split, P(target), intervals and runs needed are those of the files", "\n".join(faults))
        tap.ok(cells["mean_s"]["sub"] != "" and cells["p"]["sub"] == f"{100 * want['p_low']:.2f}\u00a0% to {100 * want['p_high']:.2f}\u00a0%",
               "seeds: the page shows both intervals", cells)
        listed = [trial for trial in server.json("GET", "/v1/analysis/variance?task=cifar10-train")["trials"] if trial["entry"] == entry]
        faults = [f"{trial}, not {got}" for trial, got in zip(trials, listed)
                  if (trial is None) != ("tta_s" not in got) or got["scored"] != (trial is not None) or
                  trial is not None and not (near(trial[0], got["tta_s"]) and trial[1] == got["epochs"] and
                                             near(trial[0] / trial[1], got["per_epoch_s"]) and near(trial[0] / want["mean_s"], got["to_mean"]))]
        tap.ok(len(listed) == 10 and not faults, "seeds: every run stands there in order, the missed one without a time", "\n".join(faults))
        shown = server.json("GET", f"/v1/entries/{entry}")["trials"]
        tap.ok(near(want["cv"], shown["cv"]) and near(want["mean_s"], shown["mean_s"]) and shown["reached"] == shown["scored"] == 9,
               "seeds: the entry says the same", shown)


NCF = """:::MLPv0.5.0 ncf 1541720000.0 (a.py:1) run_start
:::MLPv0.5.0 ncf 1541720000.1 (a.py:2) input_batch_size: 1024
{evals}:::MLPv0.5.0 ncf {stop:.3f} (a.py:9) run_stop: {{"success": {success}}}
"""


def write_ncf(folder):
    """100 logs; each trial as written, None where the target was missed."""
    chance, trials = random.Random(5), []
    os.makedirs(folder)
    for run in range(100):
        epochs, tta, reached = chance.randrange(8, 15), round(chance.uniform(100, 140), 3), run % 7 != 3
        evals = "".join(f':::MLPv0.5.0 ncf {1541720000 + (e + 1) * tta / (epochs + 1):.3f} (a.py:5) eval_accuracy: '
                        f'{{"epoch": {e}, "value": {0.635 if reached and e == epochs - 1 else 0.5}}}\n' for e in range(epochs))
        trials.append((tta, float(epochs)) if reached else None)
        with open(os.path.join(folder, f"result_{run}.txt"), "w", encoding="utf-8") as log:
            log.write(NCF.format(evals=evals, stop=1541720000 + tta, success="true" if reached else "false"))
    return trials


def test_first_scored():
    with tempfile.TemporaryDirectory() as tree, Server() as server:
        trials = write_ncf(os.path.join(tree, "v0.5/acme/box/ncf"))
        server.command("import-mlperf", tree)
        server.start()
        want = variance_row(trials, scored=50)
        row, cells = both(server, "mlperf-v0.5-ncf", 1)
        faults = compare(want, row, cells)
        tap.ok((want["reached"], want["scored"]) == (86, 50) and not faults, "NCF: the first 50 that converged are scored", "\n".join(faults))
        scored = [trial["run"] for trial in server.json("GET", "/v1/analysis/variance?task=mlperf-v0.5-ncf")["trials"] if trial["scored"]]
        tap.ok(len(scored) == 50 and scored == sorted(scored), "NCF: 50 runs say that they are scored", scored)
        shown = server.json("GET", "/v1/entries/1")["trials"]
        tap.ok((shown["n"], shown["reached"], shown["scored"]) == (100, 86, 50) and near(want["cv"], shown["cv"]),
               "NCF: the entry has the same CV", shown)
        board = server.json("GET", "/v1/leaderboards/mlperf-v0.5-ncf")["items"][0]
        tap.ok(near(want["cv"], board["cv"], 1e-5), "NCF: the board has the same CV", board)
        check_paper(server, [{"cv_tta_pop_pct": 100 * want["cv_population"],
                              "cv_epochs_pct": 100 * want["cv_epochs"], "cv_sec_per_epoch_pct": 100 * want["cv_per_epoch"]}], "NCF")


def check_paper(server, rows, name):
    """The claims about MLPerf v0.5, from the CVs of its entries in per cent."""
    paper = page_table(server, "/docs/paper")
    api = server.json("GET", "/v1/analysis/paper")["items"]
    tap.ok([line["claim"]["text"] for line in paper] == [row["claim"] for row in api] and
           [line["numbers"]["text"] for line in paper] == [row["numbers"] for row in api], f"{name}: the paper's page says what the API does", paper)
    tta, epochs, per_epoch = ([float(row[key]) for row in rows] for key in ("cv_tta_pop_pct", "cv_epochs_pct", "cv_sec_per_epoch_pct"))
    vary = [(e, s) for e, s in zip(epochs, per_epoch) if e > 0]
    ratio = max((e / s for e, s in vary), default=0)
    want = {"TTA varies little": (not any(cv >= 14 for cv in tta), len(tta),
                                  (f"{sum(cv >= 14 for cv in tta)} of {len(tta)} entries", f"the largest is {max(tta):.2f} % with n")),
            "TTA varies because": (all(e > s for e, s in vary), len(vary),
                                   (f"in {sum(e > s for e, s in vary)} of {len(vary)} entries", f"up to {ratio:.1f} times as much")),
            "The time of an epoch": (not any(cv >= 3 for cv in per_epoch), len(per_epoch),
                                     (f"{sum(cv >= 3 for cv in per_epoch)} of {len(per_epoch)} entries", f"the largest is {max(per_epoch):.2f} %"))}
    for claim, (holds, count, words) in want.items():
        row = [item for item in api if item["claim"].startswith(claim)][0]
        verdict = "not testable" if count == 0 else "holds" if holds else "fails"
        tap.ok(row["verdict"] == verdict and row["n"] == count and (count == 0 or all(word in row["numbers"] for word in words)),
               f"{name}: the paper's claim \"{claim} ..\" {verdict} by the same numbers", f"{row}\n{words}")


def test_logs(tree, what):
    with Server() as server:
        done = subprocess.run([DAYBREAKD, "import-mlperf", tree, "--db", server.db], capture_output=True, text=True, timeout=120, check=False)
        server.start()
        with open(os.path.join(tree, "expected.tsv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        tap.ok(done.returncode == 1 and len(rows) > 2, f"{what}: stored", done.stderr)
        for row in rows:
            task = f"mlperf-{row['round']}-" + {"mask": "maskrcnn"}.get(row["benchmark"], row["benchmark"])
            name = f"{row['submitter']}_{row['system']}"
            board = server.json("GET", f"/v1/leaderboards/{task}")["items"]
            entry = [item["entry"] for item in board if item["name"] == name][0]
            got, cells = both(server, task, entry)
            want = {"n": int(row["runs"]), "reached": int(row["converged"]), "scored": int(row["scored"]),
                    "p": int(row["converged"]) / int(row["runs"]), "mean_s": float(row["mean_tta_s"]),
                    "cv": float(row["cv_tta_pct"]) / 100, "cv_population": float(row["cv_tta_pop_pct"]) / 100,
                    "cv_epochs": float(row["cv_epochs_pct"]) / 100, "cv_per_epoch": float(row["cv_sec_per_epoch_pct"]) / 100}
            times = compare({key: want[key] for key in ("n", "reached", "scored", "p", "mean_s")}, got, cells, 5e-7)  # six places
            faults = times + compare({key: want[key] for key in want if key.startswith("cv")}, got, cells, 5e-9)  # six, per cent
            tap.ok(not faults, f"{what}: {row['round']} {name} {row['benchmark']} has the spread of expected.tsv", "\n".join(faults))
        check_paper(server, [row for row in rows if row["round"] == "v0.5"], what)


test_seeds()
test_first_scored()
test_logs(FIXTURES, "fixtures")
if os.path.isfile(os.path.join(SHARED, "expected.tsv")):
    test_logs(SHARED, "real logs")
else:
    tap.skip("real logs", "../shared/data/mlperf is not there")
tap.done()
