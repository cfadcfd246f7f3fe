#!/usr/bin/env python3
"""tests/e2e/test_mlperf.py: MLPerf's training logs through `import-mlperf`, as TAP.

Each table of a tree must equal the expected one to 6 significant digits, and what must be refused is refused, each in
one sentence. Stored, every entry stands on its task's board with the score of that table, its runs, and the verdict of
every rule. The tree of tests/fixtures always; the real logs of ../shared/data/mlperf where they are.
"""
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile

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


def refusals(err):
    return sorted(line for line in err.splitlines() if " is refused: " in line)


def judged_alike(name, tree, want_code, want):
    """The table and the store refuse the same entries with the same sentences and exit status; want: path: words."""
    stored, _, told = run(tree, "--db", os.path.join(os.path.dirname(tree), "alike.db"))
    for table in TABLES:
        code, out, err = run(tree, "--format", "tsv", "--table", table)
        rows = [line.split("\t") for line in out.splitlines()[1:]]
        listed = {"/".join(row[:4]) for row in rows if table != "runs"}
        tap.ok(code == stored == want_code and refusals(err) == refusals(told) and not listed & set(want) and
               len(refusals(err)) == len(want) and
               all(any(f" {path} is refused: " in line and words in line for line in refusals(err)) for path, words in want.items()),
               f"{name}: {table} and the store refuse alike", f"{code} {stored}\n{err}\n{told}\n{listed}")


def entries_of(tree):
    """The folders of logs that are taken, as paths in the tree."""
    return ["/".join((row["round"], row["submitter"], row["system"], row["benchmark"])) for row in expected(tree)]


def test_no_score():
    """Values beyond a double: no run converges, so that no entry has a score; one that names no round of ours, too."""
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "tree")
        paths = [path for path in entries_of(FIXTURES) if not any(
            name.endswith(".gz") for name in os.listdir(os.path.join(FIXTURES, path)))]
        for path in paths:
            shutil.copytree(os.path.join(FIXTURES, path), os.path.join(tree, path))
            for name in os.listdir(os.path.join(tree, path)):
                with open(os.path.join(tree, path, name), "r+", encoding="utf-8") as log:
                    text = re.sub(r'("(?:value|BBOX|SEGM)": ?)[0-9.eE+-]+', r"\g<1>1e999", log.read())
                    log.seek(0)
                    log.write(text)
                    log.truncate()
        judged_alike("values beyond a double", tree, 2, {path: "" for path in paths})


def test_unknown_places():
    """Logs of a round that is not ours, or too high in the tree, are refused; a folder of another kind is none."""
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "tree")
        known = entries_of(FIXTURES)[0]
        places = {"v9.9/x/y/ssd": "there is no round v9.9", "V0.5/x/y/ssd": "there is no round V0.5",
                  known.rpartition("/")[0]: "not in <round>/<submitter>/<system>/<benchmark>/",
                  "v9.8/x": "not in <round>/<submitter>/<system>/<benchmark>/"}
        shutil.copytree(os.path.join(FIXTURES, known), os.path.join(tree, known))
        log = sorted(os.listdir(os.path.join(tree, known)))[0]
        for path in places:
            os.makedirs(os.path.join(tree, path), exist_ok=True)
            shutil.copy(os.path.join(tree, known, log), os.path.join(tree, path, log))
        os.makedirs(os.path.join(tree, "docs", "a", "b", "c"))
        judged_alike("logs at places that are none", tree, 1, places)
        shutil.rmtree(os.path.join(tree, known.partition("/")[0]))
        judged_alike("only such places", tree, 2, {path: words for path, words in places.items() if path in ("v9.9/x/y/ssd", "V0.5/x/y/ssd", "v9.8/x")})


test_tree(FIXTURES, "fixtures")
test_store(FIXTURES, "fixtures")
if os.path.isdir(SHARED):
    test_tree(SHARED, "real logs")
    test_store(SHARED, "real logs")
else:
    tap.skip("real logs", "../shared/data/mlperf is not there")
test_no_score()
test_unknown_places()
test_usage()
tap.done()
