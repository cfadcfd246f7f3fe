#!/usr/bin/env python3
"""tests/e2e/test_dawnbench.py: DAWNBench through the commands `import`, `board` and `check`, as TAP.

The history in schema/history is imported into a new database; every board must equal the expected one in TSV, CSV
and JSON, also as of two earlier days; every broken file must get its verdict, code and line; the warnings of all
entries must be the expected ones. DAYBREAKD names the program (default build/daybreakd).
"""
import csv
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "support")]
import dawnbench as dawn  # noqa: E402
from daybreak import DAYBREAKD, Tap  # noqa: E402

tap = Tap()


def check(name, faults):
    dawn.check(tap, name, faults)


def run(*arguments, db=None, cwd=None):
    environment = dict(os.environ)
    environment.pop("DAYBREAK_DB", None)
    if db is not None:
        environment["DAYBREAK_DB"] = db
    done = subprocess.run([DAYBREAKD, *arguments], capture_output=True, env=environment, cwd=cwd, timeout=120,
                          check=False)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def findings(text):
    rows = []
    for line in text.splitlines():
        place, severity, code, field, detail, hint = line.split("\t")
        path, _, number = place.rpartition(":")
        rows.append({"path": path, "line": int(number), "severity": severity, "code": code, "field": field,
                     "detail": detail, "hint": hint})
    return rows


def test_boards(db):
    for task, by, as_of, rows in dawn.boards():
        more = [] if as_of is None else ["--as-of", as_of]
        name = f"{task} by {by}" + (f" as of {as_of}" if as_of else "")
        code, out, err = run("board", task, "--by", by, "--format", "tsv", *more, db=db)
        check(f"{name}: TSV", dawn.compare(rows, dawn.from_tsv(out)) if code == 0 else [err])
        header = out.split("\n", 1)[0].split("\t")
        wanted = ["rank", "file", "model", "author", "hardware", "framework"] + \
            (["seconds", "cost", "epoch", "date"] if task.endswith("train") else ["ms", "cost", "accuracy", "date"])
        check(f"{name}: the columns are DAWNBench's", header == wanted)
        code, out, err = run("board", task, "--by", by, "--format", "json", *more, db=db)
        board = json.loads(out) if code == 0 else {}
        check(f"{name}: JSON", dawn.compare(rows, dawn.from_items(board["items"], task)) if board else [err])
        check(f"{name}: JSON's members", board.get("task") == task and board.get("by") == by and
                  board.get("as_of") == as_of and all(item["tier"] == "reported" and item["tied"] is False
                                                      for item in board["items"]))
        code, out, err = run("board", task, "--by", by, "--format", "csv", *more, db=db)
        items = list(csv.DictReader(out.splitlines()))
        check(f"{name}: CSV", dawn.compare(rows, dawn.from_items(items, task)) if code == 0 else [err])


def test_board_usage(db):
    for arguments in (["cifar10-inference", "--by", "cost"], ["cifar10-train", "--by", "latency"],
                      ["cifar10-train", "--by", "speed"], ["nothing"], [],
                      ["cifar10-train", "--format", "xml"], ["cifar10-train", "--as-of", "2018-4-1"],
                      ["cifar10-train", "--best", "team"], ["cifar10-train", "--tier", "gold"], ["cifar10-train", "--devices", "0"],
                      ["cifar10-train", "--cloud", ""], ["cifar10-train", "--hardware", "x" * 201], ["cifar10-train", "--from", "x"],
                      ["cifar10-train", "--to", "2019-02-30"]):
        code, out, err = run("board", *arguments, db=db)
        check("board " + " ".join(arguments) + " is wrong usage", code == 3 and out == "" and err != "")
    code, out, err = run("board", "cifar10-train", "--by", "energy", db=db)
    check("energy is not available: no history has a reading", code == 2 and "energy" in err)
    code, out, err = run("board", "cifar10-train-quick", db=db)
    check("a board without entries has its header alone", code == 0 and len(out.splitlines()) == 1)
    code, out, err = run("board", "cifar10-train", "--db", "/nonexistent/x.db")
    check("a database that is not there is said so", code in (2, 4) and out == "" and err != "")
    code, out, err = run("board", "cifar10-train", "--by", "cost", "--format", "json", db=db)
    reasons = {row["name"]: row["reason"] for row in json.loads(out)["not_ranked"]}
    check("an entry without a price is below the cost board, with the reason",
              reasons.get("ajay_resnet9_4v100_pytorch") == "no costPerHour was given")


def test_facets(db):
    with open(os.path.join(dawn.HISTORY, "facets.tsv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    entries = [os.path.relpath(path, dawn.HISTORY)[:-5] for path in
               sorted(glob.glob(os.path.join(dawn.HISTORY, "*", "*", "*.json")))]
    check("facets.tsv has every entry once", sorted(row["entry"] for row in rows) == sorted(entries))
    code, out, err = run("board", "imagenet-train", "--format", "json", db=db)
    items = {item["name"]: item for item in json.loads(out)["items"]}
    check("facets reach the board", items["fastai_resnet50_p3_16_machine_pytorch"].get("devices") == 128 and
          items["fastai_resnet50_p3_16_machine_pytorch"].get("cloud") == "aws")
    check("what is unknown is absent", "devices" not in items["google_resnet50_tpupod_tensorflow18"] and
          "cloud" not in items["zte_resnet50_2_machine_tensorflow112"])


def test_broken():
    worst = {"accept": 0, "accept_with_warning": 1, "reject": 2}
    for row in dawn.manifest():
        code, out, err = run("check", "--task", row["task_id"], row["path"])
        found = findings(out)
        faults = [] if code == worst[row["expected"]] else [f"exit code {code}: {err}"]
        if not dawn.has_finding(row, found):
            faults.append(f"no {row['code']} among {[(f['code'], f['line'], f['field']) for f in found]}")
        if any(f["path"] != row["path"] or not f["detail"] or not f["hint"] for f in found):
            faults.append("a finding without path, detail or hint")
        check(f"broken/{row['file']}: {row['expected']} {row['code']}", faults)


def test_warnings():
    paths = [path for kind in ("json", "tsv") for path in
             sorted(glob.glob(os.path.join(dawn.HISTORY, "*", "*", "*." + kind)))]
    wanted = {}
    with open(os.path.join(dawn.FIXTURES, "expected", "warnings.tsv"), encoding="utf-8") as file:
        for line in file.read().splitlines()[1:]:
            entry, codes = line.split("\t")
            wanted[entry] = set(codes.split())
    code, out, err = run("check", "--history", *paths)
    got = {}
    for finding in findings(out):
        entry = os.path.relpath(os.path.splitext(finding["path"])[0], dawn.HISTORY)
        got.setdefault(entry, set()).add(finding["code"])
    check("the warnings of all entries are the expected ones",
              [f"{entry}: {got.get(entry)} in place of {wanted.get(entry)}"
               for entry in sorted(set(wanted) | set(got)) if wanted.get(entry) != got.get(entry)])
    check("they are warnings and no advice, and the exit code says so",
              code == 1 and all(f["severity"] == "warning" for f in findings(out)))
    check("an entry without any is good", run("check", "--history", paths[0])[0] == 0)
    code, out, err = run("check", *[p for p in paths if "davidcpage" in p])
    check("as a new submission it gets advice, which changes no verdict",
              code == 0 and any(f["severity"] == "advice" for f in findings(out)))


def schema_faults(schema, value, root):
    """The part of JSON Schema that schema/entry.schema.json uses: a list of faults."""
    if "$ref" in schema:
        return schema_faults(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], value, root)
    kinds = {"object": dict, "string": str, "boolean": bool, "number": (int, float), "null": type(None)}
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    faults = []
    if wanted and not any(isinstance(value, kinds[kind]) and not (kind == "number" and isinstance(value, bool))
                          for kind in wanted):
        return [f"{value!r} is none of {wanted}"]
    if "const" in schema and value != schema["const"]:
        faults.append(f"{value!r} is not {schema['const']!r}")
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)) or \
                re.search(schema.get("pattern", ""), value) is None:
            faults.append(f"{value!r} has not the length or the form")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if value <= schema.get("exclusiveMinimum", value - 1) or value < schema.get("minimum", value) or \
                value > schema.get("maximum", value):
            faults.append(f"{value!r} is out of range")
    elif isinstance(value, dict):
        faults += [f"{key} is missing" for key in schema.get("required", []) if key not in value]
        for key, part in schema.get("properties", {}).items():
            faults += [f"{key}: {fault}" for fault in schema_faults(part, value[key], root)] if key in value else []
    for word, counts in (("oneOf", (1,)), ("anyOf", range(1, 100))):
        parts = schema.get(word, [])
        if parts and sum(not schema_faults(part, value, root) for part in parts) not in counts:
            faults.append(f"fits {word} wrongly")
    if "not" in schema and not schema_faults(schema["not"], value, root):
        faults.append("fits what it must not")
    return faults


def test_schema():
    with open(os.path.join(dawn.ROOT, "schema", "entry.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    faults = []
    for path in sorted(glob.glob(os.path.join(dawn.HISTORY, "*", "*", "*.json"))):
        with open(path, encoding="utf-8-sig") as file:
            faults += [f"{path}: {fault}" for fault in schema_faults(schema, json.load(file), schema)]
    check("every real entry fits entry.schema.json", faults)
    for name in ("version_v0.1_cost_NA", "cost_per_hour_string"):
        with open(os.path.join(dawn.FIXTURES, "broken", name + ".json"), encoding="utf-8-sig") as file:
            check(f"broken/{name}.json does not", schema_faults(schema, json.load(file), schema) != [])


def test_check_usage(folder):
    stray = os.path.join(folder, "stray.json")
    with open(stray, "w", encoding="utf-8") as file:
        file.write("{}")
    check("without --task the path must say which", run("check", stray)[0] == 3)
    check("an unknown task is wrong usage", run("check", "--task", "nothing", stray)[0] == 3)
    check("no file is wrong usage", run("check", "--task", "cifar10-train")[0] == 3)
    check("another ending is wrong usage", run("check", "--task", "cifar10-train", folder)[0] == 3)
    code, out, err = run("check", "--task", "cifar10-train", os.path.join(folder, "no.json"))
    check("a file that is not there is an error of its own", code in (2, 4) and out == "" and "no.json" in err)
    check("the worst of several files decides",
              run("check", "--task", "cifar10-train", stray,
                  os.path.join(dawn.HISTORY, "CIFAR10", "train", "basenet.tsv"))[0] == 2)
    check("--help is good", run("check", "--help")[0] == 0)
    code, out, err = run("check", "--codes")
    rows = [line.split("\t") for line in out.splitlines()]
    check("--codes lists every code once, with meaning and hint",
          code == 0 and len({row[1] for row in rows}) == len(rows) > 50 and all(len(row) == 4 and all(row) for row in rows))
    with open(os.path.join(dawn.ROOT, "docs", "codes.md"), encoding="utf-8") as file:
        intake = file.read().partition("\n## ")[0]  # what follows is compared by tests/lint/test_codes.py
    listed = [line for line in intake.splitlines() if line.startswith("| `")]
    check("docs/codes.md begins with that list",
          listed == [f"| `{code}` | {severity} | {meaning} | {hint} |" for severity, code, meaning, hint in rows])


def test_import(folder):
    tree, db = os.path.join(folder, "tree"), os.path.join(folder, "partly.db")
    source = os.path.join(dawn.HISTORY, "CIFAR10", "train")
    target = os.path.join(tree, "CIFAR10", "train")
    os.makedirs(target)
    check("a tree without entries takes nothing", run("import", tree, db=db)[0] == 2)
    for name in ("basenet.json", "basenet.tsv", "diux_cifar_g3.json"):
        shutil.copy(os.path.join(source, name), target)
    code, out, err = run("import", tree, db=db)
    check("an entry without its progress file is refused, the other one taken",
              code == 1 and "taken=1 known=0 refused=1" in err and
              any(f["code"] == "missing_file" and f["severity"] == "error" for f in findings(out)))
    os.remove(os.path.join(target, "diux_cifar_g3.json"))
    code, out, err = run("import", tree, db=db)
    check("what is known is left alone", code == 0 and "taken=0 known=1 refused=0" in err)
    with open(os.path.join(target, "basenet.json"), "a", encoding="utf-8") as file:
        file.write("{}")
    code, out, err = run("import", tree, db=os.path.join(folder, "other.db"))
    check("when all are refused nothing is taken", code == 2 and "taken=0 known=0 refused=1" in err)
    with open(os.path.join(tree, "facets.tsv"), "w", encoding="utf-8") as file:
        file.write("entry\tkind\n")
    check("facets.tsv must have its columns", run("import", tree, db=db)[0] == 2)
    check("a folder is needed", run("import", db=db)[0] == 3)


def main():
    with tempfile.TemporaryDirectory() as folder:
        db = os.path.join(folder, "new", "daybreak.db")
        code, out, err = run("import", dawn.HISTORY, db=db)
        entries = len(glob.glob(os.path.join(dawn.HISTORY, "*", "*", "*.json")))
        check("the whole history is taken", code == 0 and f"taken={entries} known=0 refused=0" in err)
        check("no address is printed", "@example.org" not in out + err)
        code, out, err = run("import", dawn.HISTORY, db=db)
        check("a second import leaves all as it is", code == 0 and f"taken=0 known={entries}" in err)
        test_boards(db)
        test_board_usage(db)
        test_facets(db)
        test_broken()
        test_warnings()
        test_schema()
        test_check_usage(folder)
        test_import(folder)
    tap.done()


if __name__ == "__main__":
    main()
