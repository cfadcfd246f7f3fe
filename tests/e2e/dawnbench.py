"""tests/e2e/dawnbench.py: DAWNBench's expected boards and broken files, and how boards are held against them.

Shared by test_dawnbench.py (through the commands) and test_dawnbench_api.py (through HTTP). The fixtures are
copies of real files; README and manifest of their source say how the expected values were computed.
"""
import csv
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIXTURES = os.path.join(ROOT, "tests", "fixtures", "dawnbench")
HISTORY = os.path.join(ROOT, "schema", "history")
FOLDERS = ("CIFAR10", "ImageNet", "SQuAD")
BOARDS = {"train": {"time": "time", "cost": "cost"},
          "inference": {"latency": "latency", "cost": "inference-cost"}}
AS_OF = (None, "2018-04-20", "2019-12-31")
TEXTS = ("model", "author", "hardware", "framework")


def check(tap, name, faults):
    """A test point: faults is a list of sentences, or a truth value (true: good)."""
    good = faults is True or faults == [] or faults == ""
    tap.ok(good, name, "" if isinstance(faults, bool) else "\n".join(map(str, faults)))


def task_id(folder, phase):
    return f"{folder.lower()}-{phase}"


def boards():
    """(task, by, as_of, rows) of every expected board."""
    for as_of in AS_OF:
        folder = "expected" if as_of is None else f"expected_as_of_{as_of}"
        for name in FOLDERS:
            for phase, kinds in BOARDS.items():
                for label, by in kinds.items():
                    path = os.path.join(FIXTURES, folder, f"{name}_{phase}_{label}.tsv")
                    with open(path, encoding="utf-8", newline="") as file:
                        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
                    yield task_id(name, phase), by, as_of, rows


def near(want, got):
    """Within 1e-6, and of its own size for what is smaller than that; empty equals empty."""
    if want == "" or got in ("", None):
        return want == "" and got in ("", None)
    want, got = float(want), float(got)
    return abs(want - got) <= (1e-6 if abs(want) >= 1e-3 else 1e-6 * abs(want))


def compare(rows, got):
    """Expected rows against [{place, name, <TEXTS>, value, cost, last, date}]: a list of faults."""
    faults = []
    if len(rows) != len(got):
        faults.append(f"{len(got)} rows, expected {len(rows)}")
    for want, have in zip(rows, got):
        value = want.get("seconds", want.get("ms"))
        last = want.get("epoch", want.get("accuracy"))
        where = f"rank {want['rank']} {want['file']}"
        if str(have["place"]) != want["rank"] or have["name"] != want["file"]:
            faults.append(f"{where}: place {have['place']} {have['name']}")
        for key in TEXTS:
            if (have[key] or "") != want[key]:
                faults.append(f"{where}: {key} is {have[key]!r}, expected {want[key]!r}")
        if not near(value, have["value"]) or not near(want["cost"], have["cost"]) or not near(last, have["last"]):
            faults.append(f"{where}: {have['value']} {have['cost']} {have['last']}, "
                          f"expected {value} {want['cost']} {last}")
        if have["date"] != want["date"]:
            faults.append(f"{where}: date {have['date']}, expected {want['date']}")
    return faults


def from_tsv(text):
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    return [{"place": row["rank"], "name": row["file"], **{key: row[key] for key in TEXTS},
             "value": row.get("seconds", row.get("ms")), "cost": row["cost"],
             "last": row.get("epoch", row.get("accuracy")), "date": row["date"]} for row in rows]


def from_items(items, task):
    """Items of the board's JSON, or rows of its CSV: an absent member and an empty cell alike."""
    train = task.endswith("train")
    return [{"place": item["place"], "name": item["name"],
             **{key: plain(item.get(key)) for key in TEXTS},
             "value": item.get("tta_s" if train else "latency_ms"), "cost": item.get("cost_usd", ""),
             "last": item.get("epoch" if train else "accuracy"), "date": item["date"]} for item in items]


def plain(text):
    """A CSV cell without the quote that keeps spreadsheets from taking it for a formula."""
    return text[1:] if text and text[0] == "'" and text[1:2] in ("=", "+", "-", "@") else text


def manifest():
    """Rows of the manifest of broken files, with code, line and field or detail taken apart."""
    path = os.path.join(FIXTURES, "broken", "manifest.tsv")
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            code, _, tail = row["code"].partition(":")
            row["path"] = os.path.join(FIXTURES, "broken", row["file"])
            row["task_id"] = task_id(row["task"], row["phase"])
            row["want_code"] = code
            row["want_line"] = int(tail[5:]) if tail.startswith("line ") else None
            row["want_tail"] = tail if tail and not tail.startswith("line ") else None
            yield row


def has_finding(row, findings):
    """Whether one of [{code, line, field, detail}] is what the manifest's row asks for."""
    return any(finding["code"] == row["want_code"] and
               (row["want_line"] is None or int(finding.get("line") or 0) == row["want_line"]) and
               (row["want_tail"] is None or row["want_tail"] in (finding.get("field"), finding.get("detail")))
               for finding in findings)
