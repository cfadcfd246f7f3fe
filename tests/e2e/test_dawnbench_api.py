#!/usr/bin/env python3
"""tests/e2e/test_dawnbench_api.py: DAWNBench through HTTP, as TAP.

The same boards and broken files as test_dawnbench.py, and for every code of a finding a submission that has it: an
error is answered 422 with its code and stores nothing, warnings and advice are told and change no verdict.
"""
import csv
import json
import os
import subprocess
import sys
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "support")]
import dawnbench as dawn  # noqa: E402
from daybreak import DAYBREAKD, Server, Tap  # noqa: E402

tap = Tap()

NAMED = {"author": "A. Example", "authorEmail": "someone@example.org", "framework": "Example 1.0",
         "model": "ResNet 9", "hardware": "1 CPU"}
ENTRY = {"version": "v1.0", **NAMED, "timestamp": "2026-11-30"}
INFERENCE = {**ENTRY, "latency": 1.5, "top1Accuracy": 94.5}
HEADER = "epoch\thours\ttop1Accuracy\n"
ROWS = HEADER + "1\t0.1\t90\n2\t0.2\t94.0\n"
# Codes that no submission of today can have.
HISTORY_ONLY = {"f1_looks_like_percent"}
# Refused by the form of the request already.
TOO_LARGE = {"file_too_large"}


def check(name, faults):
    dawn.check(tap, name, faults)


def entry(**more):
    return json.dumps({**ENTRY, **more})


def inference(**more):
    return json.dumps({**INFERENCE, **more})


def without(*fields):
    return json.dumps({key: value for key, value in ENTRY.items() if key not in fields})


# code -> (task, entry, progress): one fault each, the rest as good as it can be. None: not sent; a list: of runs.
CASES = {
    "missing_file": ("cifar10-train", entry(), None),
    "empty_file": ("cifar10-train", " \n", ROWS),
    "nul_byte": ("cifar10-train", entry(), ROWS + "3\t0.3\t94\0\n"),
    "not_utf8": ("cifar10-train", b'{"author": "Andr\xe9"}', ROWS),
    "json_syntax": ("cifar10-train", entry()[:-1] + ",}", ROWS),
    "json_duplicate_key": ("cifar10-train", '{"version": "v1.0",' + entry()[1:], ROWS),
    "json_depth": ("cifar10-train", entry(misc=json.loads("[" * 20 + "]" * 20)), ROWS),
    "json_number": ("cifar10-train", entry()[:-1] + ', "costPerHour": NaN}', ROWS),
    "number_too_long": ("cifar10-train", entry(), "epoch\thours\ttop1Accuracy\n1\t0." + "1" * 5000 + "\t94.5\n"),
    "json_trailing": ("cifar10-train", entry() + "{}", ROWS),
    "not_an_object": ("cifar10-train", "[]", ROWS),
    "missing_field": ("cifar10-train", without("hardware"), ROWS),
    "empty_field": ("cifar10-train", entry(author=" "), ROWS),
    "bad_type": ("cifar10-train", entry(costPerHour="0.9"), ROWS),
    "bad_version": ("cifar10-train", entry(version="v2.0"), ROWS),
    "bad_date": ("cifar10-train", entry(timestamp="2026-02-30"), ROWS),
    "hidden_character": ("cifar10-train", entry(author="ada\u202egnp.exe"), ROWS),
    "text_too_long": ("cifar10-train", entry(model="x" * 513), ROWS),
    "too_many_fields": ("cifar10-train", entry(**{f"field{i}": i for i in range(250)}), ROWS),
    "out_of_range": ("squad-inference", json.dumps({**ENTRY, "latency": 1.5, "f1Score": 82.5}), None),
    "looks_like_fraction": ("cifar10-train", entry(), HEADER + "1\t0.1\t0.9\n2\t0.2\t0.95\n"),
    "threshold_not_reached": ("cifar10-inference", inference(top1Accuracy=93.99), None),
    "tsv_blank_line": ("cifar10-train", entry(), HEADER + "1\t0.1\t90\n\n2\t0.2\t94\n"),
    "too_many_columns": ("cifar10-train", entry(), "\t".join(map(str, range(17))) + "\n"),
    "tsv_header": ("cifar10-train", entry(), "epoch\thours\ttop1\n1\t0.1\t94\n"),
    "no_rows": ("cifar10-train", entry(), HEADER),
    "tsv_fields": ("cifar10-train", entry(), HEADER + "1 0.1 90\n2\t0.2\t94\n"),
    "not_a_number": ("cifar10-train", entry(), HEADER + "1\t0,1\t90\n2\t0.2\t94\n"),
    "hours_decrease": ("cifar10-train", entry(), HEADER + "1\t0.2\t90\n2\t0.1\t94\n"),
    "run_not_ranked": ("cifar10-train", entry(misc={"holdout": True}), ROWS),
    "file_too_large": ("cifar10-train", entry() + " " * 65536, ROWS),
    "file_not_used": ("cifar10-inference", inference(), ROWS),
    "misc_not_object": ("cifar10-train", entry(misc="CUDA 8.0"), ROWS),
    "cost_not_per_item": ("cifar10-inference", inference(cost=0.002), None),
    "timestamp_not_padded": ("cifar10-train", entry(timestamp="2026-11-1"), ROWS),
    "date_in_future": ("cifar10-train", entry(timestamp="2999-01-01"), ROWS),
    "date_implausible": ("cifar10-train", entry(timestamp="1970-01-01"), ROWS),
    "email_without_at": ("cifar10-train", entry(authorEmail="example.org"), ROWS),
    "value_implausible": ("cifar10-train", entry(costPerHour=1e6), ROWS),
    "field_misspelt": ("cifar10-train", entry(cost_per_hour=0.9), ROWS),
    "files_look_swapped": ("cifar10-train", ROWS, ROWS),
    "path_not_file": ("cifar10-train", "resnet9.json", ROWS),
    "accuracy_hours_look_swapped": ("cifar10-train", entry(), HEADER + "1\t60\t0.1\n2\t80\t0.2\n3\t79\t0.3\n4\t94\t0.4\n"),
    "top1_top5_look_swapped": ("imagenet-train", entry(), "epoch\thours\ttop1Accuracy\ttop5Accuracy\n"
                               "1\t1\t80\t60\n2\t2\t90\t70\n3\t3\t92\t74\n4\t4\t96\t94\n"),
    "versions_missing": ("cifar10-train", entry(misc={"optimizer": "SGD"}), ROWS),
    "command_missing": ("cifar10-train", entry(misc={"optimizer": "SGD"}), ROWS),
    "seeds_missing": ("cifar10-train", entry(misc={"optimizer": "SGD"}), ROWS),
    "run_missed": ("cifar10-train", entry(), [ROWS, HEADER + "1\t0.1\t90\n2\t0.2\t93\n", HEADER + "1\t0.1\t94\n"]),
    "equal_logs": ("cifar10-train", entry(), [ROWS, ROWS]),
    "equal_seeds": ("cifar10-train", entry(misc={"seeds": [1, 1]}), [ROWS, HEADER + "1\t0.1\t94\n"]),
    "seeds_unclear": ("cifar10-train", entry(misc={"seeds": "1, 2"}), [ROWS, HEADER + "1\t0.1\t94\n"]),
    "epoch_from_0": ("cifar10-train", entry(), HEADER + "0\t0.1\t90\n1\t0.2\t94\n"),
    "epoch_not_increasing": ("cifar10-train", entry(), HEADER + "1\t0.1\t90\n1\t0.2\t94\n"),
    "epoch_hours_look_swapped": ("cifar10-train", entry(), "hours\tepoch\ttop1Accuracy\n"
                                 "1\t0.1\t80\n2\t0.2\t90\n3\t0.3\t94\n4\t0.4\t95\n"),
    "hours_look_per_epoch": ("cifar10-train", entry(), HEADER + "1\t0.1\t80\n2\t0.1\t90\n3\t0.11\t94\n4\t0.11\t94\n"),
    "hours_look_like_seconds": ("cifar10-train", entry(), HEADER + "1\t60\t80\n2\t120\t94\n"),
    "date_old": ("cifar10-train", entry(timestamp="2025-01-01"), ROWS),
    "field_not_used": ("cifar10-train", entry(latency=1.5), ROWS),
    "misc_empty": ("cifar10-train", entry(misc={}), ROWS),
    "hyperparameters_missing": ("cifar10-train", entry(misc={"optimizer": "SGD"}), ROWS),
    "schedule_epochs_differ": ("cifar10-train", entry(misc={"schedule": [{"epochs": 30}]}), ROWS),
    "code_missing": ("cifar10-train", entry(), ROWS),
    "code_not_http": ("cifar10-train", entry(codeURL="javascript:alert(1)"), ROWS),
    "commit_missing": ("cifar10-train", entry(codeURL="https://example.org/code"), ROWS),
    "commit_not_hash": ("cifar10-train", entry(commitHash="master"), ROWS),
    "framework_version_missing": ("cifar10-train", entry(framework="PyTorch"), ROWS),
    "hardware_count_missing": ("cifar10-train", entry(hardware="a workstation"), ROWS),
    "price_evidence_missing": ("cifar10-train", entry(costPerHour=0.9), ROWS),
    "cost_absent": ("cifar10-train", entry(), ROWS),
    "blacklist_unstated": ("imagenet-train", entry(), "epoch\thours\ttop1Accuracy\ttop5Accuracy\n1\t1\t75\t93\n"),
}


def send(server, path, task, entry_file, progress_file, name="sample", token=None):
    """Multipart, with the bytes as they are. (status, answer)"""
    boundary = uuid.uuid4().hex
    body = b""
    runs = progress_file if isinstance(progress_file, list) else [progress_file]
    for part, value, ending in (("task", task, None), ("entry", entry_file, ".json"),
                                *(("progress", run, f"-{i}.tsv") for i, run in enumerate(runs))):
        if value is None:
            continue
        file_name = f'; filename="{name}{ending}"' if ending else ""
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{part}"{file_name}\r\n\r\n'.encode()
        body += (value if isinstance(value, bytes) else value.encode()) + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    status, headers, data = server.request("POST", path, body, token,
                                           {"Content-Type": f"multipart/form-data; boundary={boundary}"})
    return status, json.loads(data), headers


def known_codes():
    """code -> severity, as `check --codes` lists them."""
    out = subprocess.run([DAYBREAKD, "check", "--codes"], capture_output=True, text=True, check=True).stdout
    return {line.split("\t")[1]: line.split("\t")[0] for line in out.splitlines()}


def test_boards(server):
    for task, by, as_of, rows in dawn.boards():
        query = f"/v1/leaderboards/{task}?by={by}&limit=1000" + (f"&as_of={as_of}" if as_of else "")
        name = f"{task} by {by}" + (f" as of {as_of}" if as_of else "")
        status, _, data = server.request("GET", query)
        check(f"{name}: JSON", dawn.compare(rows, dawn.from_items(json.loads(data)["items"], task))
              if status == 200 else [data])
        status, headers, data = server.request("GET", query, headers={"Accept": "text/csv"})
        items = list(csv.DictReader(data.decode("utf-8").splitlines()))
        check(f"{name}: CSV", dawn.compare(rows, dawn.from_items(items, task))
              if status == 200 and headers["Content-Type"].startswith("text/csv") else [data])
        check(f"{name}: no address", b"@example.org" not in data)


def test_paging(server):
    items, cursor = [], ""
    while True:
        page = server.json("GET", f"/v1/leaderboards/cifar10-train?by=time&limit=7{cursor}")
        items += page["items"]
        if "next_cursor" not in page:
            break
        cursor = "&cursor=" + page["next_cursor"]
    whole = server.json("GET", "/v1/leaderboards/cifar10-train?by=time&limit=1000")["items"]
    check("pages of 7 add up to the whole board", items == whole and len(whole) > 14)
    part = server.json("GET", "/v1/leaderboards/cifar10-train?by=time&framework=tensorflow")["items"]
    check("a filter keeps the places of the whole board",
          0 < len(part) < len(whole) and all(item in whole for item in part))


def test_broken(server):
    for row in dawn.manifest():
        with open(row["path"], "rb") as file:
            data = file.read()
        is_entry = row["file"].endswith(".json")
        status, verdict, _ = send(server, "/v1/submissions/validate", row["task_id"], data if is_entry else None,
                                  None if is_entry else data)
        if status != 200:
            check(f"broken/{row['file']}", [f"{status} {verdict}"])
            continue
        findings = verdict["findings"]
        faults = [] if verdict["valid"] == (row["expected"] != "reject") else ["another verdict"]
        if row["expected"] == "accept_with_warning" and not any(f["severity"] == "warning" for f in findings):
            faults.append("no warning")
        if not dawn.has_finding(row, findings):
            faults.append(f"no {row['code']}")
        told = subprocess.run([DAYBREAKD, "check", "--task", row["task_id"], row["path"]], capture_output=True,
                              check=False).stdout.decode("utf-8").splitlines()
        here = ["\t".join([f"{row['path']}:{f.get('line', 0)}", f["severity"], f["code"], f.get("field", ""),
                           f["detail"], f.get("hint", "")]) for f in findings]
        if told != here:
            faults.append(f"`check` says otherwise: {told} {here}")
        check(f"broken/{row['file']}: {row['expected']} {row['code']}, in the words of `check`", faults)


def test_codes(server, token):
    severities = known_codes()
    check("every code has a case here", sorted(set(severities) ^ (set(CASES) | HISTORY_ONLY)))
    for code, (task, entry_file, progress_file) in CASES.items():
        severity = severities.get(code)
        status, verdict, _ = send(server, "/v1/submissions/validate", task, entry_file, progress_file)
        if code in TOO_LARGE:
            check(f"{code}: 413 from both", status == 413 and
                  send(server, "/v1/submissions", task, entry_file, progress_file, token=token)[0] == 413)
            continue
        if code == "missing_file":  # a dry run takes either file alone
            check("missing_file: validate takes a file alone", status == 200 and verdict["valid"])
        else:
            check(f"{code}: validate tells {severity}",
                  status == 200 and any(f["code"] == code and f["severity"] == severity for f in verdict["findings"])
                  and verdict["valid"] == (severity != "error") or [status, verdict])
        if severity != "error":
            continue
        status, problem, headers = send(server, "/v1/submissions", task, entry_file, progress_file, token=token)
        check(f"{code}: a submission is refused with it, and with how to mend it",
              status == 422 and headers["Content-Type"] == "application/problem+json" and
              any(f["code"] == code and f["severity"] == "error" and f["hint"] for f in problem["errors"])
              or [status, problem])
    stored = server.json("GET", "/v1/submissions?limit=1000", token=token)["items"]
    check("nothing of it was stored, and the history is still all there is",
          [item for item in stored if item["name"] == "sample"] + ([] if len(stored) == 87 else [len(stored)]))


def test_submission(server, token):
    good = json.dumps({**ENTRY, "costPerHour": 3.06})
    rows = HEADER + "1\t0.01\t90\n2\t0.0123456789\t94.0\n3\t0.02\t93\n"
    status, verdict, _ = send(server, "/v1/submissions/validate", "cifar10-train", good, rows)
    check("validate says time, cost and place", status == 200 and verdict["valid"] and
          abs(verdict["tta_s"] - 44.44444404) < 1e-9 and abs(verdict["cost_usd"] - 0.037777777434) < 1e-12 and
          verdict["place"] == 3 or [status, verdict])
    ranked = {by: len(server.json("GET", f"/v1/leaderboards/cifar10-train?by={by}&limit=1000")["items"]) for by in ("time", "cost")}
    cheaper = [one for one in server.json("GET", "/v1/leaderboards/cifar10-train?by=cost&limit=1000")["items"]
              if one["cost_usd"] < verdict["cost_usd"]]
    check("validate says the place on each board, and of how many",
          [(one["by"], one["place"], one["of"], one["value"]) for one in verdict["places"]] ==
          [("time", 3, ranked["time"] + 1, verdict["tta_s"]), ("cost", len(cheaper) + 1, ranked["cost"] + 1, verdict["cost_usd"])]
          or verdict["places"])
    status, answer, headers = send(server, "/v1/submissions", "cifar10-train", good, rows, "my-run", token)
    check("a good submission is created", status == 201 and "Location" in headers or [status, answer])
    check("and tells the same places", answer["places"] == verdict["places"] or answer)
    board = server.json("GET", "/v1/leaderboards/cifar10-train?by=time&limit=1000")["items"]
    mine = [item for item in board if item["name"] == "my-run"]
    check("it stands at that place, between its neighbours",
          len(mine) == 1 and mine[0]["place"] == 3 and board[2] == mine[0] and mine[0]["tier"] == "reported"
          and mine[0]["epoch"] == 2 and abs(mine[0]["accuracy"] - 94.0) < 1e-12 or mine)
    status, problem, _ = send(server, "/v1/submissions", "cifar10-train", good, rows, "again", token)
    check("the same files again are a duplicate, whatever the name", status == 409 or [status, problem])
    status, problem, _ = send(server, "/v1/submissions", "cifar10-train", good, rows.replace("0.02\t", "0.03\t"),
                              "my-run", token)
    check("a name is taken once", status == 409 or [status, problem])
    status, problem, _ = send(server, "/v1/submissions", "cifar10-train", good, rows, "my-run")
    check("without a token nothing is taken", status == 401 or [status, problem])
    _, _, data = server.request("GET", "/v1/leaderboards/cifar10-train?limit=1000")
    check("its address is not on the board", b"someone@example.org" not in data)


def test_command(server):
    """`daybreakd board` and the API show the same rows, whatever is asked for."""
    asked = [{"best": "author"}, {"best": "entry"}, {"tier": "reported"}, {"tier": "witnessed"}, {"hardware": "v100"}, {"hardware": "GPU"},
             {"devices": "8"}, {"framework": "pytorch"}, {"cloud": "public"}, {"cloud": "none"}, {"cloud": "aws"}, {"from": "2018-04-01"},
             {"to": "2018-04-20"}, {"from": "2018-01-01", "to": "2018-12-31", "hardware": "tpu", "best": "author"}]
    for task in ("imagenet-train", "cifar10-inference"):
        for query in asked:
            words = [part for key, text in query.items() for part in ("--" + key, text)]
            done = subprocess.run([DAYBREAKD, "board", task, "--format", "json", "--db", server.db, *words], capture_output=True, text=True, check=False)
            want = server.json("GET", f"/v1/leaderboards/{task}?limit=1000&" + "&".join(f"{key}={text}" for key, text in query.items()))
            got = json.loads(done.stdout) if done.returncode == 0 else {}
            check(f"board {task} {' '.join(words)}: as the API's", got == want and got.get("items") is not None or [done.stderr, len(want["items"])])


def main():
    with Server(history=True) as server:
        server.start()
        token = server.token("submitter")
        test_boards(server)
        test_paging(server)
        test_command(server)
        test_broken(server)
        test_codes(server, token)
        test_submission(server, token)
        check("the server still answers", server.request("GET", "/healthz")[0] == 200)
        check("and stops cleanly", server.stop() == 0)
    tap.done()


if __name__ == "__main__":
    main()
