#!/usr/bin/python3
"""tests/e2e/test_webhooks.py: what webhooks are told, by a receiver on the loopback device: bodies, signatures, tries that
fail, restarts between, addresses that are refused, tokens that end. Prints TAP."""
import hashlib
import hmac
import http.server
import json
import os
import re
import sqlite3
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from daybreak import Server, Tap, wait_until  # noqa: E402
from openapi import Spec  # noqa: E402

WAIT_S = 60
TASK = "cifar10-train-quick"
REVIEWED = "cifar10-train"
PRIVATE = ("--webhook-allow-private", "--webhook-timeout-ms", "2000")


class Receiver:
    """Answers with what `plan` holds for each request, in order, then 204; keeps what came. A plan's item is a status, or
    a function that gives one, which may wait."""

    def __init__(self, plan=()):
        self.plan = list(plan)
        self.seen = []
        self.lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with outer.lock:
                    outer.seen.append((self.path, dict(self.headers), body))
                    answer = outer.plan.pop(0) if outer.plan else 204
                status = answer() if callable(answer) else answer
                try:
                    self.send_response(status)
                    if status == 302:
                        self.send_header("Location", f"{outer.url}/elsewhere")
                    if status == 200:  # more than is read
                        self.send_header("Content-Length", str(1 << 20))
                        self.end_headers()
                        self.wfile.write(b"x" * (1 << 20))
                        return
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    pass  # nobody waits for it any more

            def log_message(self, *unused):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.server.shutdown()
        self.server.server_close()


def queue_and_cancel(server, operator):
    """One job that is stopped: its run ends."""
    made = server.json("POST", "/v1/jobs", {"task": TASK, "workload": "synthetic", "seeds": 1}, operator)
    server.json("POST", f"/v1/jobs/{made['jobs'][0]}/cancel", None, operator)
    return made


def hook(server, token, url, kinds, **more):
    return server.json("POST", "/v1/webhooks", {"url": url, "kinds": kinds, **more}, token)


def deliveries(server, token, made):
    return server.json("GET", f"/v1/webhooks/{made['webhook']}/deliveries", None, token)["items"]


def all_ended(server, token, made, count):
    items = deliveries(server, token, made)
    return len(items) >= count and all(item["state"] != "waiting" for item in items)


def signed(secret, headers, body):
    text = f"{headers['Daybreak-Delivery']}.{headers['Daybreak-Timestamp']}.".encode() + body
    return headers["Daybreak-Signature"] == "v1=" + hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


def delivered(tap):
    with Server() as server, Receiver([200]) as receiver:
        server.start(extra=PRIVATE)
        token = server.token("operator")
        made = hook(server, token, receiver.url + "/hook?a=b", ["run", "submission"], task=TASK)
        other = hook(server, token, receiver.url + "/other", ["record"])
        job = queue_and_cancel(server, token)
        good = wait_until(lambda: all_ended(server, token, made, 2), WAIT_S)
        items = deliveries(server, token, made)
        tap.ok(good and all(item["state"] == "delivered" and item["tries"] == 1 for item in items),
               "what happens is told once, an answer that is too long notwithstanding", items)
        notices = [json.loads(body) for _, _, body in receiver.seen]
        tap.ok(any(n["kind"] == "run" and n["task"] == TASK and n["data"]["run"] == job["runs"][0] and
                   n["data"]["state"] == "cancelled" for n in notices), "the run's end is among it", notices)
        tap.ok(any(n["kind"] == "submission" and n["data"]["state"] == "queued" for n in notices), "so are its states", notices)
        tap.ok(all(path == "/hook?a=b" and signed(made["secret"], headers, body) for path, headers, body in receiver.seen),
               "each is signed as documented", receiver.seen)
        tap.ok(deliveries(server, token, other) == [], "another kind is not told")
        first = items[-1]
        again = server.json("POST", f"/v1/webhooks/{made['webhook']}/deliveries/{first['delivery']}/redeliver", None, token)
        came = wait_until(lambda: sum(h["Daybreak-Delivery"] == str(first["delivery"]) for _, h, _ in receiver.seen) == 2, WAIT_S)
        tap.ok(again["tries"] == 0 and came, "one is sent again when asked for, under its number", again)
        stranger = server.token("submitter")
        status, _, _ = server.request("GET", f"/v1/webhooks/{made['webhook']}", token=stranger)
        tap.ok(status == 404 and "secret" not in server.json("GET", f"/v1/webhooks/{made['webhook']}", None, token),
               "it is its token's alone, and its secret nobody's any more", status)


def send(server, token, name, hours):
    entry = {"version": "v1.0", "author": "Ada", "authorEmail": "a@example.org", "framework": "F 1", "model": "M", "hardware": "1 H",
             "timestamp": "2026-11-30", "costPerHour": 3}
    return server.json("POST", "/v1/submissions", {"task": REVIEWED, "name": name, "entry": json.dumps(entry), "progress":
                       f"epoch\thours\ttop1Accuracy\n1\t{hours / 2}\t50\n2\t{hours}\t94.5\n"}, token)


def accept(server, token, sent):
    server.json("POST", f"/v1/submissions/{sent['submission']}/reviews", {"action": "accept", "reason": "good"}, token)


def reviewed(tap):
    """What a review makes happen: every body whole, each by the documented schema and signature."""
    with Server() as server, Receiver() as receiver:
        server.start(extra=PRIVATE)
        owner, reviewer, operator = (server.token(role) for role in ("submitter", "reviewer", "operator"))
        path = f"/v1/tasks/{REVIEWED}"
        server.json("PATCH", path, {"review": "all", "reason": "a test"}, operator,
                    headers={"If-Match": server.request("GET", path)[1]["ETag"]})
        made = hook(server, reviewer, receiver.url, ["record", "entry", "comment"])
        boards = hook(server, operator, receiver.url + "/board", ["board"])
        first = send(server, owner, "first", 0.02)
        here = f"/v1/submissions/{first['submission']}"
        asked = server.json("POST", f"{here}/comments", {"text": "why?", "file": "first.tsv", "line": 2}, reviewer)["comment"]
        answered = server.json("POST", f"{here}/comments", {"text": "so", "thread": asked}, owner)["comment"]
        accept(server, reviewer, first)
        slower = send(server, owner, "slower", 0.04)
        accept(server, reviewer, slower)
        faster = send(server, owner, "faster", 0.01)
        accept(server, reviewer, faster)
        server.json("PATCH", here, {"hardware": "2 H", "reason": "as its log says"}, reviewer,
                    headers={"If-Match": server.request("GET", here)[1]["ETag"]})
        server.json("POST", f"/v1/submissions/{faster['submission']}/withdraw", {"reason": "wrong clock"}, owner)

        def entry(sent, name, **more):
            return "entry", {"entry": sent["entry"], "name": name, "author": "Ada", "state": "accepted",
                             "submission": sent["submission"], **more}

        def record(sent, name, by, unit, value):
            return "record", {"entry": sent["entry"], "name": name, "author": "Ada", "by": by, "unit": unit, "value": value}

        want = [("comment", {"comment": asked, "submission": first["submission"], "file": "first.tsv", "line": 2}),
                ("comment", {"comment": answered, "submission": first["submission"], "thread": asked}),
                entry(first, "first"), record(first, "first", "time", "s", 72), record(first, "first", "cost", "USD", 0.06),
                entry(slower, "slower"),
                entry(faster, "faster"), record(faster, "faster", "time", "s", 36), record(faster, "faster", "cost", "USD", 0.03),
                entry(faster, "faster", state="withdrawn", reason="it was withdrawn: wrong clock")]
        wait_until(lambda: all_ended(server, reviewer, made, len(want)) and all_ended(server, operator, boards, 1), WAIT_S)
        told = [json.loads(body) for path, _, body in receiver.seen if path == "/"]
        tap.ok([(one["kind"], one["data"]) for one in told] == want,
               "comments, entries that come and go, and records are told in order, each body whole",
               "\n".join(f"{one['kind']} {one['data']}" for one in told))
        changed = [json.loads(body)["data"] for path, _, body in receiver.seen if path == "/board"]
        tap.ok(changed[-2:] == [{"entry": first["entry"]}, {"entry": faster["entry"]}], "a correction is told as a change of its boards",
               changed)
        spec = Spec()
        faults = [fault.message for one in told for fault in spec.validator({"$ref": "#/components/schemas/Notice"}).iter_errors(one)]
        tap.ok(told and not faults, "as openapi.yaml describes a Notice", faults)
        tap.ok(all(one["task"] == REVIEWED and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["at"]) for one in told),
               "with task and time", told)
        tap.ok(all(signed((boards if path == "/board" else made)["secret"], headers, body) and headers["Daybreak-Kind"] == json.loads(body)["kind"] and
                   headers["Daybreak-Try"] == "1" for path, headers, body in receiver.seen), "signed, and named in a header")
        _, headers, body = receiver.seen[0]
        tap.ok(not signed(made["secret"], headers, body + b" ") and not signed("whs_" + "0" * 64, headers, body),
               "a signature is of these bytes by this secret alone")


def ended(tap):
    """Ten live ones each; those of a token that was revoked are given up by the next sweep."""
    with Server() as server, Receiver([500] * 100) as receiver:
        server.start(extra=PRIVATE)
        token, admin = server.token("operator"), server.token("admin")
        made = [hook(server, token, receiver.url, ["run"]) for _ in range(10)]
        status, _, answer = server.request("POST", "/v1/webhooks", {"url": receiver.url, "kinds": ["run"]}, token)
        tap.ok(status == 409 and json.loads(answer)["code"] == "too-many-webhooks", "an eleventh is refused", answer)
        mine = hook(server, admin, receiver.url, ["board"])
        tap.ok(mine["webhook"] > made[-1]["webhook"], "but not another token's first")
        server.json("DELETE", f"/v1/webhooks/{made[0]['webhook']}", None, token, expect=(204,))
        made[0] = hook(server, token, receiver.url, ["run"])
        tap.ok(made[0]["waiting"] == 0, "one deleted makes room for another", made[0])
        queue_and_cancel(server, admin)
        wait_until(lambda: len(receiver.seen) >= 11, WAIT_S)
        server.json("DELETE", f"/v1/tokens/{token.split('_')[2]}", None, admin, expect=(200, 204))
        server.stop()
        server.start(extra=PRIVATE)
        with sqlite3.connect(server.db, timeout=WAIT_S) as db:
            def reasons():
                return db.execute("SELECT reason, ended_ms IS NULL FROM webhook WHERE token_id = ? AND id <> 1", (token.split("_")[2],)).fetchall()
            wait_until(lambda: all(reason for reason, _ in reasons()), WAIT_S)
            tap.ok(set(reasons()) == {("its token was revoked", 0)} and len(reasons()) == 10, "a revoked token's are given up, with the reason", reasons())
            left = db.execute("SELECT DISTINCT state, error FROM delivery JOIN webhook ON webhook.id = webhook_id WHERE reason <> ''").fetchall()
            tap.ok(left == [("failed", "its token was revoked")], "what waited for them is dropped", left)
        tap.ok("reason" not in server.json("GET", f"/v1/webhooks/{mine['webhook']}", None, admin), "the other token's stays")


def failing(tap):
    with Server() as server, Receiver([500]) as receiver, Receiver([302]) as moved, Receiver([410]) as gone:
        released = threading.Event()
        server.start(extra=PRIVATE)
        token = server.token("operator")
        made = hook(server, token, receiver.url, ["run"])
        elsewhere = hook(server, token, moved.url, ["run"])
        over = hook(server, token, gone.url, ["run"])
        nobody = hook(server, token, "http://127.0.0.1:1024/", ["run"])
        with Receiver([lambda: 204 if released.wait(WAIT_S) else 500]) as slow:
            late = hook(server, token, slow.url, ["run"])
            queue_and_cancel(server, token)
            good = wait_until(lambda: all_ended(server, token, made, 1), WAIT_S)
            item = deliveries(server, token, made)[0]
            tap.ok(good and item["state"] == "delivered" and item["tries"] == 2 and item["http_status"] == 204,
                   "a 500 is tried again", item)
            ids = {headers["Daybreak-Delivery"] for _, headers, _ in receiver.seen}
            tap.ok(len(receiver.seen) == 2 and len(ids) == 1, "under the same number", ids)
            wait_until(lambda: all_ended(server, token, elsewhere, 1), WAIT_S)
            tap.ok(all(path == "/" for path, _, _ in moved.seen) and len(moved.seen) == 2, "a redirect is not followed", moved.seen)
            timed = wait_until(lambda: deliveries(server, token, late)[0]["tries"] >= 1 and
                               "error" in deliveries(server, token, late)[0], WAIT_S)
            item = deliveries(server, token, late)[0]
            tap.ok(timed and "imeout" in item["error"] and item["state"] == "waiting", "who does not answer in time is asked later", item)
            released.set()
        item = server.json("GET", f"/v1/webhooks/{over['webhook']}", None, token)
        tap.ok("410" in item.get("reason", "") and deliveries(server, token, over)[0]["state"] == "failed",
               "410 ends the webhook", item)
        item = deliveries(server, token, nobody)[0]
        tap.ok(item["state"] == "waiting" and item.get("error", "").startswith("no answer"), "nobody there is said so", item)
        server.json("DELETE", f"/v1/webhooks/{nobody['webhook']}", None, token, expect=(204,))
        status, _, _ = server.request("GET", f"/v1/webhooks/{nobody['webhook']}", token=token)
        tap.ok(status == 404, "a webhook that was deleted is gone", status)
        count = len(receiver.seen)
        server.json("DELETE", f"/v1/webhooks/{made['webhook']}", None, token, expect=(204,))
        probe = hook(server, token, moved.url + "/probe", ["run"])
        queue_and_cancel(server, token)
        wait_until(lambda: all_ended(server, token, probe, 1), WAIT_S)
        tap.ok(len(receiver.seen) == count, "and is told nothing more", receiver.seen)


def restarts(tap):
    """Killed while the receiver has the delivery and has not answered: it comes again."""
    with Server() as server:
        released = threading.Event()
        with Receiver([lambda: 204 if released.wait(WAIT_S) else 500]) as receiver:
            server.start(extra=("--webhook-allow-private", "--webhook-timeout-ms", "60000"))
            token = server.token("operator")
            made = hook(server, token, receiver.url, ["run"])
            queue_and_cancel(server, token)
            wait_until(lambda: receiver.seen, WAIT_S)
            server.kill()
            server.start(extra=PRIVATE)
            good = wait_until(lambda: all_ended(server, token, made, 1), WAIT_S)
            ids = [headers["Daybreak-Delivery"] for _, headers, _ in receiver.seen]
            released.set()
            tap.ok(good and len(ids) == 2 and ids[0] == ids[1], "what a killed server had under way comes again", ids)
        with Receiver([lambda: 204 if released.wait(WAIT_S) else 500]) as receiver:
            released.clear()
            made = hook(server, token, receiver.url, ["run"])
            server.stop()
            server.start(extra=("--webhook-allow-private", "--webhook-timeout-ms", "60000"))
            queue_and_cancel(server, token)
            wait_until(lambda: receiver.seen, WAIT_S)
            status = server.stop()
            tap.ok(status == 0, "a receiver that does not answer does not hold up the end", status)
            server.start(extra=PRIVATE)
            good = wait_until(lambda: all_ended(server, token, made, 1), WAIT_S)
            released.set()
            tap.ok(good and deliveries(server, token, made)[0]["state"] == "delivered", "and is told after the next start",
                   deliveries(server, token, made))


def private(tap):
    """Without the option: refused where it is written, and where a name leads to it."""
    with Server() as server, Receiver() as receiver:
        server.start(extra=PRIVATE)
        token = server.token("operator")
        made = hook(server, token, receiver.url.replace("http:", "https:"), ["run"])
        named = hook(server, token, receiver.url.replace("http://127.0.0.1", "https://localhost"), ["run"])
        plain = hook(server, token, receiver.url, ["run"])
        server.stop()
        server.start()
        queue_and_cancel(server, token)
        for one, name in ((made, "an address"), (named, "what a name leads to")):
            wait_until(lambda: deliveries(server, token, one)[0]["tries"] >= 1 and "error" in deliveries(server, token, one)[0], WAIT_S)
            item = deliveries(server, token, one)[0]
            tap.ok("loopback" in item.get("error", ""), f"{name} is seen when the connection begins", item)
        wait_until(lambda: "error" in deliveries(server, token, plain)[0], WAIT_S)
        tap.ok("error" in deliveries(server, token, plain)[0] and not receiver.seen, "nothing reaches it, http neither", receiver.seen)


def main():
    tap = Tap()
    for part in (delivered, reviewed, ended, failing, restarts, private):
        part(tap)
    tap.done()


if __name__ == "__main__":
    main()
