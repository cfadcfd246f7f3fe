#!/usr/bin/env python3
"""tests/e2e/test_retention.py: what docs/retention.md says ages out goes when it says, and nothing else ever does.

Rows of known ages are put into a database while no server runs; the next one sweeps them in its first second.
"""
import os
import sqlite3
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from daybreak import ROOT, Server, Tap, wait_until  # noqa: E402

WAIT_S = 120
HOUR_MS = 3600 * 1000
DAY_MS = 24 * HOUR_MS
ENTRY = """{"version": "v1.0", "author": "A", "authorEmail": "a@example.org", "framework": "F 1", "model": "M", "hardware": "1 H",
"timestamp": "2026-11-30", "costPerHour": 1.5}"""
PROGRESS = "epoch\thours\ttop1Accuracy\n1\t0.001\t50\n2\t0.002\t94.1\n"

# Table, what identifies a row of ours, how one of an age (ms) is made, how long it is kept.
AGEING = (
    ("change", "topic", "INSERT INTO change (topic, kind, ref, at_ms) VALUES (:name, 'board', 1, :now - :age)", 7 * DAY_MS),
    ("idempotency", "key", "INSERT INTO idempotency (token_id, key, body_sha256, status, body, created_ms) "
                           "VALUES (1, :name, zeroblob(32), 201, x'7b7d', :now - :age)", 2 * DAY_MS),
    ("session", "hex(secret_sha256)", "INSERT INTO session (secret_sha256, token_id, created_ms, expires_ms) "
                                      "VALUES (CAST(printf('%-32s', :name) AS BLOB), 1, 1, :now - :age)", DAY_MS),
    ("delivery", "kind", "INSERT INTO delivery (webhook_id, kind, body, state, next_ms, created_ms, ended_ms) "
                         "VALUES (1, :name, x'7b7d', 'delivered', 1, 1, :now - :age)", 30 * DAY_MS),
)
LIVING = {"setting", "sqlite_stat1"}  # alive_ms: the server writes that it lives


def fill(server):
    """One of most things, so that a sweep has something to spare."""
    submitter, operator = server.token("submitter"), server.token("operator")
    server.command("prices", "import", os.path.join(ROOT, "tests/fixtures/prices/lambda.csv"))
    server.start()
    server.json("POST", "/v1/submissions", {"task": "cifar10-train", "name": "one", "entry": ENTRY, "progress": PROGRESS}, submitter)
    server.json("POST", "/v1/jobs", {"task": "cifar10-train-quick", "seeds": 2}, operator)
    server.stop()


def ageing(tap):
    """The rows of AGEING that the server's statements know: one of a part that is not built yet is skipped."""
    with open(os.path.join(ROOT, "schema/queries.sql"), encoding="utf-8") as file:
        statements = file.read()
    for row in AGEING:
        if f"DELETE FROM {row[0]} " in statements:
            yield row
        else:
            tap.skip(f"{row[0]} ages out", "nothing writes it yet")


def connect(server):
    return sqlite3.connect(server.db, isolation_level=None)


def rows_of(db):
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
    return {table: sorted(map(repr, db.execute(f"SELECT * FROM {table}"))) for table in tables if table not in LIVING}


def names_of(db, table, column):
    return {name for (name,) in db.execute(f"SELECT {column} FROM {table}")}


def main():
    tap = Tap()
    rows = list(ageing(tap))
    with Server() as server:
        fill(server)
        db, now = connect(server), int(time.time() * 1000)
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("INSERT INTO webhook (token_id, url, kinds_json, secret, created_ms, ended_ms) "
                   "VALUES (1, 'https://example.org/', '[]', zeroblob(32), 1, 2)")
        for table, column, insert, kept in rows:
            for name, age in (("old", kept + HOUR_MS), ("ancient", 100 * kept), ("young", kept - HOUR_MS), ("new", 0)):
                db.execute(insert, {"name": name, "now": now, "age": age})
        db.execute("INSERT INTO delivery (webhook_id, kind, body, state, next_ms, created_ms) "
                   "VALUES (1, 'unended', x'7b7d', 'waiting', 9e15, 1)")
        before = rows_of(db)
        db.close()
        server.start()
        db = connect(server)
        gone = wait_until(lambda: all(len(rows_of(db)[table]) <= len(before[table]) - 2 for table, *_ in rows), WAIT_S)
        server.stop()
        after = rows_of(db)
        tap.ok(gone, "the first sweep takes what is too old", {table: (len(before[table]), len(after[table])) for table, *_ in rows})
        for table, column, _, kept in rows:
            lost = set(before[table]) - set(after[table])
            names = names_of(db, table, column)
            hexed = lambda name: f"{name:<32}".encode().hex().upper() if "hex(" in column else name  # noqa: E731
            tap.ok(len(lost) == 2 and not set(after[table]) - set(before[table]) and hexed("old") not in names
                   and hexed("ancient") not in names and {hexed("young"), hexed("new")} <= names,
                   f"{table}: rows older than {kept // HOUR_MS} hours go, those an hour younger stay", f"{sorted(lost)} {names}")
        swept = {table for table, *_ in rows}
        changed = [table for table in before if table not in swept and before[table] != after.get(table)]
        tap.ok(not changed, f"none of the other {len(before) - len(swept)} tables changes",
               [(table, set(before[table]) ^ set(after[table])) for table in changed])
        tap.ok(all(before[table] for table in ("submission", "entry", "run", "epoch", "job", "token", "price", "price_catalog",
                                               "submission_event", "version")), "and those had rows to lose")
        for table in ("submission", "submission_event", "entry", "run", "price", "price_catalog"):
            try:
                db.execute(f"DELETE FROM {table}")
                tap.ok(False, f"{table}: a row can be deleted")
            except sqlite3.IntegrityError as fault:
                tap.ok("never deleted" in str(fault), f"{table}: the database itself refuses to delete", fault)
        db.close()
        with open(os.path.join(ROOT, "docs/retention.md"), encoding="utf-8") as page:
            text = page.read()
        tables = {name.strip("`, ") for line in text.splitlines() if line.startswith("|") for name in line.split("|")[1].split("`")}
        tap.ok(set(before) | LIVING - {"sqlite_stat1"} <= tables, "docs/retention.md has every table",
               sorted(set(before) - tables))
    tap.done()


if __name__ == "__main__":
    main()
