#!/usr/bin/python3
"""tests/http/test_codes.py: every finding code of the intake, by its own sample, over HTTP. The code is among the findings
of `validate`; a sample with an error is refused with 422 (413 when it is too large), nothing is stored, and the server still serves."""
import json
import os
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
from daybreak import ROOT, Server, Tap  # noqa: E402

CODES = os.path.join(ROOT, os.environ.get("BUILD", "build"), "tests/support/print_codes")
BOUNDARY = "----daybreak-codes-boundary"


def form(row, name=None):
    parts = [("task", None, row["task"].encode())]
    for part, ending in (("entry", "json"), ("progress", "tsv")):
        if part in row:
            parts.append((part, f"sample.{ending}", bytes.fromhex(row[part])))
    if "further" in row:
        parts.append(("progress", "second.tsv", bytes.fromhex(row["further"])))
    if name:
        parts.append(("name", None, name.encode()))
    out = b""
    for part, file, data in parts:
        out += f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{part}\"".encode()
        out += f"; filename=\"{file}\"".encode() if file else b""
        out += b"\r\n\r\n" + data + b"\r\n"
    return out + f"--{BOUNDARY}--\r\n".encode()


def stored(server):
    with sqlite3.connect(f"file:{server.db}?mode=ro", uri=True) as db:
        return db.execute("SELECT (SELECT count(*) FROM submission), (SELECT count(*) FROM entry)").fetchone()


def check(server, token, row, number):
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    status, _, body = server.request("POST", "/v1/submissions/validate", form(row), None, headers)
    answer = json.loads(body)
    if row["code"] == "file_too_large":
        if status != 413 or answer["errors"][0]["code"] != row["code"]:
            return f"validate: {status} {body!r}"
    elif status != 200:
        return f"validate: {status} {body[:400]!r}"
    elif row["whole"] and not ("entry" in row and "progress" in row):
        pass  # a missing file is no fault of validate, which takes either alone
    elif not any(f["code"] == row["code"] and f["severity"] == row["severity"] for f in answer["findings"]):
        return f"validate found {[(f['code'], f['severity']) for f in answer['findings']]}"
    if row["severity"] != "error":
        return ""
    before = stored(server)
    status, _, body = server.request("POST", "/v1/submissions", form(row, f"sample-{number}"), token, headers)
    if status != (413 if row["code"] == "file_too_large" else 422):
        return f"create: {status} {body[:400]!r}"
    if row["code"] not in [item["code"] for item in json.loads(body)["errors"]]:
        return f"create: {body[:400]!r}"
    if stored(server) != before:
        return "something was stored"
    return "" if server.request("GET", "/healthz")[0] == 200 else "the server no longer serves"


def main():
    tap = Tap()
    rows = [json.loads(line) for line in subprocess.run([CODES], capture_output=True, text=True, check=True).stdout.splitlines()]
    with Server() as server:
        server.start()
        token = server.token("submitter")
        for number, row in enumerate(rows):
            if row["history"]:
                tap.skip(f"{row['code']} ({row['severity']})", "a code of published history: tests/unit/server/test_intake.c")
            else:
                fault = check(server, token, row, number)
                tap.ok(not fault, f"{row['code']} ({row['severity']})", fault)
        tap.ok(server.stop() == 0, "the server stops cleanly", server.log_tail())
    tap.done()


main()
