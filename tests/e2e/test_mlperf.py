#!/usr/bin/env python3
"""tests/e2e/test_mlperf.py: MLPerf's training logs through `import-mlperf`, as TAP.

Each table of a tree must equal the expected one to 6 significant digits, and what must be refused is refused, each in
one sentence. Stored, every entry stands on its task's board with the score of that table, its runs, and the verdict of
every rule. The tree of tests/fixtures always; the real logs of ../shared/data/mlperf where they are.
"""
import csv
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "support"))
from daybreak import DAYBREAKD, ROOT, Server, Tap  # noqa: E402

FIXTURES = os.path.join(ROOT, "tests", "fixtures", "mlperf")
SHARED = os.path.join(ROOT, os.pardir, "shared", "data", "mlperf")
TABLES = {"entries": "expected.tsv", "runs": "expected_runs.tsv", "rcp": "expected_rcp.tsv"}
REFUSED = {
    FIXTURES: {"v0.6/acme/box/minigo": "no run_stop", "v5.0/acme/box/chess": "no benchmark chess",
               "v5.0/acme/box/llama2_70b_lora": "1 of the 10 runs"},
    SHARED: {"v0.6/NVIDIA/dgx1_ngc19.05_tensorflow/minigo": "no run_stop",
             "v0.6/NVIDIA/dgx2_ngc19.05_pytorch/maskrcnn": "2 of the 5 runs"},
}
tap = Tap()


def run(*words):
    done = subprocess.run([DAYBREAKD, "import-mlperf", *words], capture_output=True, timeout=120, check=False)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def same(want, got):
    """Equal as texts, or as numbers to 6 significant digits."""
    if want == got:
        return True
    try:
        return abs(float(want) - float(got)) <= 5e-6 * abs(float(want))
    except ValueError:
        return False


def compare(path, text):
    """A list of faults: header and rows, cell by cell."""
    with open(path, encoding="utf-8", newline="") as file:
        wanted = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = list(csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    faults = [] if len(rows) == len(wanted) else [f"{len(rows)} lines, expected {len(wanted)}"]
    for number, (want, got) in enumerate(zip(wanted, rows), 1):
        cells = zip(want, got)
        if len(want) != len(got) or not all(same(a, b) for a, b in cells):
            faults.append(f"line {number}: {got}, expected {want}")
    return faults


def test_tree(tree, name):
    for table, expected in TABLES.items():
        code, out, err = run(tree, "--format", "tsv", "--table", table)
        faults = compare(os.path.join(tree, expected), out)
        tap.ok(not faults and code == 1, f"{name}: {table} are the expected ones", "\n".join(faults) or err)
    sentences = [line.split(": ", 1)[1] for line in err.splitlines() if line.startswith("daybreakd import-mlperf: ")]
    got = {line.split(" is refused: ")[0]: line.split(" is refused: ")[1] for line in sentences}
    want = REFUSED[tree]
    tap.ok(set(got) == set(want) and all(words in got[path] for path, words in want.items()),
           f"{name}: what must be refused is, each in one sentence", err)


def expected(tree):
    with open(os.path.join(tree, "expected.tsv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def task_of(row):
    return f"mlperf-{row['round']}-" + {"mask": "maskrcnn"}.get(row["benchmark"], row["benchmark"])


def check_entry(server, tree, row, faults):
    """One stored entry against its row: score, runs, checks, and a log's bytes."""
    board = server.json("GET", f"/v1/leaderboards/{task_of(row)}")
    name = f"{row['submitter']}_{row['system']}"
    items = [item for item in board["items"] if item["name"] == name]
    if len(items) != 1 or not same(row["score_s"], str(items[0]["tta_s"])) or items[0]["n"] != int(row["runs"]):
        faults.append(f"{task_of(row)} {name}: {items}")
        return
    entry = server.json("GET", f"/v1/entries/{items[0]['entry']}")
    reached = [run for run in entry["runs"] if run["state"] == "reached"]
    checks = entry["checks"]
    if len(entry["runs"]) != int(row["runs"]) or len(reached) != int(row["converged"]):
        faults.append(f"{name}: {len(reached)} of {len(entry['runs'])} runs reached the target")
    if not all(check["detail"] for check in checks) or \
            sum(check["rule"] == "convergence" and check["verdict"] == "pass" for check in checks) != len(reached):
        faults.append(f"{name}: {checks[:3]}")
    folder = os.path.join(tree, row["round"], row["submitter"], row["system"], row["benchmark"])
    file = [check["file"] for check in checks if check["rule"] == "clock"][0]
    status, _, data = server.request("GET", f"/v1/submissions/{entry['submission']}/files/{file}")
    with open(os.path.join(folder, file), "rb") as log:
        if status != 200 or data != log.read():
            faults.append(f"{name}: {file} does not come back as it was: {status}")


def test_store(tree, name):
    with Server() as server:
        for again in ("", " a second time changes nothing"):
            done = subprocess.run([DAYBREAKD, "import-mlperf", tree, "--db", server.db], capture_output=True, text=True,
                                  timeout=120, check=False)
            count = len(expected(tree))
            words = f"taken={0 if again else count} known={count if again else 0} refused={len(REFUSED[tree])}"
            tap.ok(done.returncode == 1 and words in done.stderr, f"{name}: stored{again}", done.stderr)
        server.start()
        faults = []
        for row in expected(tree):
            check_entry(server, tree, row, faults)
        tap.ok(not faults, f"{name}: boards, runs, checks and logs are those of the tree", "\n".join(faults))
        status, _, page = server.request("GET", "/")
        section = page.partition(b'id="mlperf-h"')[2].partition(b"</section>")[0]
        tap.ok(status == 200 and section.count(b"/tasks/mlperf-") == len({task_of(row) for row in expected(tree)}),
               f"{name}: the home page has one row for each task with entries", section.count(b"/tasks/mlperf-"))
        status, _, page = server.request("GET", "/entries/1")
        tap.ok(status == 200 and b'id="checks"' in page and b"run_stop" in page, f"{name}: an entry's page shows its checks")


def test_usage():
    for words, code in ((["/nowhere"], 2), ([FIXTURES, "--format", "tsv", "--table", "colours"], 3), ([FIXTURES, "--format", "xml"], 3),
                        ([FIXTURES, "--table", "runs"], 3),
                        ([], 3), ([HERE], 2)):
        got, out, err = run(*words)
        tap.ok(got == code and out == "" and err.count("\n") <= 2, f"import-mlperf {' '.join(words)}: exit {code}",
               f"{got} {out}{err}")


test_tree(FIXTURES, "fixtures")
test_store(FIXTURES, "fixtures")
if os.path.isdir(SHARED):
    test_tree(SHARED, "real logs")
    test_store(SHARED, "real logs")
else:
    tap.skip("real logs", "../shared/data/mlperf is not there")
test_usage()
tap.done()
