#!/usr/bin/env python3
"""tests/e2e/test_admin.py: what the programs owe whoever runs them: one server on a database, and no secret that
nobody has.
"""
import fcntl
import os
import sqlite3
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from daybreak import DAYBREAKD, ROOT, Server, Tap  # noqa: E402

WAIT_S = 120
HISTORY = os.path.join(ROOT, "schema/history")


def run(*words, **kwargs):
    kwargs.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([DAYBREAKD, *words], stderr=subprocess.PIPE, text=True, timeout=WAIT_S, check=False, **kwargs)


def serve_again(db, *words):
    """(exit status, stderr) of a further server; one that does serve is ended and has no exit status."""
    process = subprocess.Popen([DAYBREAKD, "serve", "--listen", "127.0.0.1:0", "--db", db, *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    if "listening on" in process.stdout.readline():
        process.terminate()
        process.communicate(timeout=WAIT_S)
        return None, "it serves"
    _, words = process.communicate(timeout=WAIT_S)
    return process.returncode, words


def dump(db):
    """All that is stored."""
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def one_server(tap):
    with Server() as server:
        server.start()
        before = server.json("GET", "/healthz")
        link = os.path.join(server.folder, "link.db")
        os.symlink(server.db, link)
        for name in (server.db, link):
            status, words = serve_again(name)
            tap.ok(status == 4 and words.strip().count("\n") == 0 and "another server serves the database" in words,
                   f"a second server on one database is refused with 4 and one sentence ({os.path.basename(name)})", f"{status} {words}")
        tap.ok(server.alive() and server.json("GET", "/healthz") == before, "the first goes on")
        lock = server.db + ".lock"
        tap.ok(stat.S_IMODE(os.stat(lock).st_mode) == 0o600, "the lock is private")
        tap.ok(serve_again(server.db, "--read-only")[0] is None, "a read-only server needs no lock")
        tap.ok(server.token("submitter").startswith("dbk_"), "token works beside a server")
        tap.ok(run("import", HISTORY, "--db", server.db).returncode in (0, 1), "and import")
        tap.ok(run("board", "cifar10-train", "--by", "time", "--db", server.db).returncode == 0, "and board")
        server.kill()
        tap.ok(os.path.exists(lock), "a server that is killed leaves the file")
        server.start()
        tap.ok(server.alive(), "but not the lock")
        tap.ok(server.stop() == 0 and serve_again(server.db)[0] is None, "one that is stopped leaves none either")
        with open(lock, "rb") as held:  # as a server of another version would
            fcntl.flock(held, fcntl.LOCK_EX)
            stored = dump(server.db)
            tap.ok(serve_again(server.db)[0] == 4 and dump(server.db) == stored, "a refused server changes nothing")
            fresh = os.path.join(server.folder, "fresh.db")
            with open(fresh + ".lock", "wb") as other:
                fcntl.flock(other, fcntl.LOCK_EX)
                tap.ok(serve_again(fresh)[0] == 4 and not os.path.exists(fresh), "and makes no database")


def no_orphaned_token(tap):
    create = ("token", "create", "--role", "operator", "--name", "lost", "--db")
    with Server() as server:
        db = server.db
        with open("/dev/full", "wb") as full:
            lost = run(*create, db, stdout=full)
        tap.ok(lost.returncode == 4 and "revoked" in lost.stderr and lost.stderr.count("\n") == 1,
               "a token that cannot be printed is an error that says its end", f"{lost.returncode} {lost.stderr}")
        reader, writer = os.pipe()
        os.close(reader)
        broken = run(*create, db, stdout=writer)
        os.close(writer)
        tap.ok(broken.returncode == 4 and "revoked" in broken.stderr, "so is one whose reader went away", f"{broken.returncode} {broken.stderr}")
        closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", DAYBREAKD, *create, db], stderr=subprocess.PIPE, text=True,
                                timeout=WAIT_S, check=False)
        tap.ok(closed.returncode == 4 and "revoked" in closed.stderr, "and one for a closed stdout", f"{closed.returncode} {closed.stderr}")
        kept = server.token("operator", "kept")
        rows = [line.split("\t") for line in server.command("token", "list").splitlines()]
        column = rows[0].index("revoked")
        states = {row[0]: row[column] == "-" for row in rows[1:]}
        tap.ok(len(states) == 4 and [id for id, good in states.items() if good] == [kept.split("_")[2]],
               "only the token that somebody has is good", rows)


def scopes_and_quotas(tap):
    create = ("token", "create", "--name", "n", "--role")
    with Server() as server:
        server.command(*create, "operator", "--scopes", "jobs tasks")
        server.command(*create, "submitter", "--submissions-per-day", "0", "--bytes-max", "5")
        server.command(*create, "admin")
        rows = [line.split("\t") for line in server.command("token", "list").splitlines()]
        listed = [dict(zip(rows[0], row)) for row in rows[1:]]
        tap.ok([row["scopes"] for row in listed] == ["jobs tasks", "submit webhooks", "submit review jobs tasks tokens webhooks"],
               "list shows the scopes that a token has", listed)
        tap.ok([(row["submissions_per_day"], row["bytes_max"]) for row in listed] == [("10000", "17179869184"), ("0", "5"), ("-", "-")],
               "and its quotas", listed)
        for words in (("submitter", "--scopes", "review"), ("submitter", "--scopes", ""), ("submitter", "--scopes", "submit, webhooks"),
                      ("submitter", "--bytes-max", "-1"), ("agent",), ("king",)):
            wrong = run(*create, *words, "--db", server.db)
            tap.ok(wrong.returncode == 3 and wrong.stdout == "" and wrong.stderr.count("\n") == 1, f"{' '.join(words)!r} is wrong usage",
                   f"{wrong.returncode} {wrong.stderr}")
        tap.ok(run("token", "list", "--scopes", "submit", "--db", server.db).returncode == 3, "scopes belong to create")
        tap.ok(len(server.command("token", "list").splitlines()) == 4, "and nothing was made of these")
        for words in (("--trusted-proxy", "unix"), ("--trusted-proxy", "localhost"), ("--rate-address", "-1")):
            wrong = run("serve", "--listen", "127.0.0.1:0", *words, "--db", server.db)
            tap.ok(wrong.returncode == 3, f"serve {' '.join(words)} is wrong usage", f"{wrong.returncode} {wrong.stderr}")


def main():
    tap = Tap()
    for part in (one_server, no_orphaned_token, scopes_and_quotas):
        part(tap)
    tap.done()


if __name__ == "__main__":
    main()
