#!/usr/bin/python3
"""tests/e2e/test_life.py: further than test_review.py: the board at each step of a life as of today, too; a chain of three;
the audit trail compared step by step, and closed to edits in the database itself; what is overdue; files by who reads them."""
import concurrent.futures
import datetime
import json
import os
import re
import sqlite3
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from daybreak import Server, Tap, wait_until  # noqa: E402

TASK = "cifar10-train"
ENTRY = {"version": "v1.0", "author": "Ada Example", "authorEmail": "ada@example.org", "framework": "PyTorch 1.0",
         "codeURL": "https://example.org/code", "model": "ResNet-9", "hardware": "1 V100", "costPerHour": 3.06,
         "timestamp": "2026-11-30", "misc": {"batchSize": 512}}
ROWS = "epoch\thours\ttop1Accuracy\n1\t{first}\t90\n2\t{hit}\t94.5\n"
DAYS_MS = 24 * 3600 * 1000


class Life:
    """The server, two people, and short ways to ask."""

    def __init__(self, tap, server):
        self.tap, self.server = tap, server
        self.owner, self.reviewer = server.token("submitter", "Ada"), server.token("reviewer", "Grace")
        self.other, self.admin = server.token("submitter", "Eve"), server.token("admin", "Root")

    def call(self, method, path, body=None, token=None, headers=None):
        data = None if body is None else json.dumps(body)
        head = {"Content-Type": "application/json", **(headers or {})} if body is not None else headers
        status, answer_headers, data = self.server.request(method, path, data, token, head)
        return status, json.loads(data) if data else None, answer_headers

    def send(self, name, hit, path="/v1/submissions", token=None, **more):
        entry = {**ENTRY, **more.pop("entry", {})}
        body = {"task": TASK, "name": name, "entry": json.dumps(entry), "progress": ROWS.format(first=hit / 2, hit=hit), **more}
        return self.call("POST", path, body, token or self.owner)

    def review(self, submission, action, reason="because", token=None):
        return self.call("POST", f"/v1/submissions/{submission}/reviews", {"action": action, "reason": reason},
                         token or self.reviewer)

    def get(self, submission):
        return self.call("GET", f"/v1/submissions/{submission}")[1]

    def history(self, submission):
        return self.call("GET", f"/v1/submissions/{submission}/history")[1]["items"]

    def board(self, step, *names):
        """Who stands, now and as of the end of today: in that order, and nobody else."""
        today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        for query in ("", f"?as_of={today}"):
            items = self.call("GET", f"/v1/leaderboards/{TASK}{query}")[1]["items"]
            self.tap.ok([item["name"] for item in items] == list(names), f"{step}: the board{query[:6]} has {list(names)}",
                        [item["name"] for item in items])

    def ok(self, good, name, detail=""):
        self.tap.ok(bool(good), name, detail)


def set_task(life, **setting):
    _, _, headers = life.call("GET", f"/v1/tasks/{TASK}")
    status, task, _ = life.call("PATCH", f"/v1/tasks/{TASK}", {**setting, "reason": "a test"}, life.admin,
                                {"If-Match": headers["ETag"]})
    life.ok(status == 200 and all(task[key] == value for key, value in setting.items()), f"the task is set: {setting}", task)


def check_life(life):
    # Faulty: every fault at once; mended in the same form.
    status, problem, _ = life.send("first", 0.02, entry={"costPerHour": "3.06", "framework": ""})
    fields = {item.get("field") for item in problem.get("errors", [])}
    life.ok(status == 422 and {"costPerHour", "framework"} <= fields, "a faulty one is refused with all of its faults", problem)
    life.board("faulty")
    status, first, _ = life.send("first", 0.02)
    life.ok(status == 201 and first["state"] == "in_review" and first["owner"] == "reviewer" and "deadline" in first,
            "mended, it waits for a reviewer, and says by when", first)
    life.board("sent")

    # Commented on, beside a line; answered; sent back.
    one = first["submission"]
    status, comment, _ = life.call("POST", f"/v1/submissions/{one}/comments",
                                   {"text": "Which schedule?", "file": "first.json", "line": 1}, life.reviewer)
    life.ok(status == 201 and comment["line"] == 1 and comment["by"] == "Grace", "a comment stands beside its line", comment)
    status, answer, _ = life.call("POST", f"/v1/submissions/{one}/comments",
                                  {"text": "Cosine, see the revision.", "thread": comment["comment"]}, life.owner)
    life.ok(status == 201 and answer["thread"] == comment["comment"], "its author answers in the thread", answer)
    status, sent_back, _ = life.review(one, "request-changes", "name the schedule")
    life.ok(status == 200 and sent_back["state"] == "changes_requested" and sent_back["owner"] == "submitter" and
            sent_back["reason"] == "name the schedule" and "deadline" in sent_back, "changes are requested", sent_back)
    life.board("changes requested")

    # Revised: the former is kept; accepted once, by one of two.
    status, second, _ = life.send("first", 0.02, f"/v1/submissions/{one}/revisions", entry={"misc": {"schedule": "cosine"}})
    two = second["submission"]
    life.ok(status == 201 and second["revision"] == 2 and second["state"] == "in_review", "a revision is sent", second)
    life.ok(life.get(one)["state"] == "superseded" and
            [row["submission"] for row in life.get(two)["revisions"]] == [one, two], "the former is kept, and linked")
    status, _, data = life.server.request("GET", f"/v1/submissions/{one}/files/first.json", None, life.owner)
    life.ok(status == 200 and json.loads(data)["misc"] == {"batchSize": 512}, "its files are read back as they were sent")
    colleague = life.server.token("reviewer", "Alan")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda token: life.review(two, "accept", "plausible", token), (life.reviewer, colleague)))
    loser = [answer for answer in answers if answer[0] == 409]
    life.ok(sorted(answer[0] for answer in answers) == [200, 409] and loser[0][1]["code"] == "illegal-transition" and
            loser[0][1]["state"] == "accepted", "of two reviewers at once one wins, the other learns the state", answers)
    life.board("accepted", "first")

    # Superseded, by a choice of its own; the successor withdrawn; the old one back.
    status, third, _ = life.send("faster", 0.01, supersedes=second["entry"])
    three = third["submission"]
    life.ok(status == 201 and third["supersedes"] == second["entry"] and third["state"] == "in_review",
            "a successor waits for its own review", third)
    life.board("successor sent", "first")
    life.review(three, "accept", "reproduced")
    life.board("superseded", "faster")
    old = life.get(two)
    life.ok(old["state"] == "superseded" and old["superseded_by"] == third["entry"], "the old one says who stands for it", old)
    status, fourth, _ = life.send("fastest", 0.005, supersedes=third["entry"])
    four = fourth["submission"]
    life.review(four, "accept", "well")
    life.board("a chain of three", "fastest")
    life.review(four, "disqualify", "it trained on the test set")
    life.board("its last disqualified", "faster")
    status, gone, _ = life.call("POST", f"/v1/submissions/{three}/withdraw", {"reason": "the wrong run"}, life.owner)
    life.ok(status == 200 and gone["state"] == "withdrawn" and gone["owner"] == "nobody", "its owner withdraws it", gone)
    life.board("withdrawn, the old one back", "first")

    # Corrected by a reviewer, with what was there before.
    _, _, headers = life.call("GET", f"/v1/submissions/{two}")
    status, _, _ = life.call("PATCH", f"/v1/submissions/{two}", {"name": "renamed", "framework": "PyTorch 1.0.1", "reason":
                             "the version was missing"}, life.reviewer, {"If-Match": headers["ETag"]})
    life.ok(status == 200, "a reviewer corrects it")
    life.board("renamed", "renamed")
    return one, two, three, four


def check_audit(life, one, two, three, four):
    want = {
        one: [("send", "received", "Ada"), ("check", "checked", "the server"), ("admit", "in_review", "the server"),
              ("request-changes", "changes_requested", "Grace"), ("revise", "superseded", "Ada")],
        two: [("send", "received", "Ada"), ("check", "checked", "the server"), ("admit", "in_review", "the server"),
              ("accept", "accepted", None), ("supersede", "superseded", "the server"), ("restore", "accepted", "the server")],
        three: [("send", "received", "Ada"), ("check", "checked", "the server"), ("admit", "in_review", "the server"),
                ("accept", "accepted", "Grace"), ("supersede", "superseded", "the server"), ("restore", "accepted", "the server"),
                ("withdraw", "withdrawn", "Ada")],
        four: [("send", "received", "Ada"), ("check", "checked", "the server"), ("admit", "in_review", "the server"),
               ("accept", "accepted", "Grace"), ("disqualify", "disqualified", "Grace")],
    }
    for submission, steps in want.items():
        items = [item for item in life.history(submission) if item["kind"] == "state"]
        got = [(item["action"], item["to"], item["by"]) for item in items]
        good = len(got) == len(steps) and all(a[:2] == b[:2] and b[2] in (None, a[2]) for a, b in zip(got, steps))
        chained = all(later["from"] == earlier["to"] for earlier, later in zip(items, items[1:]))
        life.ok(good and chained and all(item["reason"] and item["at"] for item in items),
                f"the audit of submission {submission} has every step: who, when, why", got)
    kinds = [item["kind"] for item in life.history(one)]
    life.ok(kinds.count("comment") == 2, "comments are in it", kinds)
    edits = {item["field"]: (item["before"], item["after"]) for item in life.history(two) if item["kind"] == "correction"}
    life.ok(edits == {"name": ("first", "renamed"), "framework": ("PyTorch 1.0", "PyTorch 1.0.1")},
            "corrections are in it with what was there before", edits)
    with sqlite3.connect(life.server.db) as db:
        for statement in ("DELETE FROM submission_event", "UPDATE submission_event SET reason = ''", "DELETE FROM entry_edit",
                          "UPDATE comment SET text = ''"):
            try:
                db.execute(statement)
                life.ok(False, f"the database refuses: {statement}")
            except sqlite3.IntegrityError:
                life.ok(True, f"the database refuses: {statement}")


def check_refusals(life, two):
    _, item, _ = life.send("to-review", 0.03)
    waiting = item["submission"]
    status, problem, _ = life.review(waiting, "accept", "mine", life.owner)
    life.ok(status == 403 and problem["code"] == "scope-missing" and "review" in problem["detail"],
            "without the role: 403, and which scope is missing", problem)
    status, problem, _ = life.call("PATCH", f"/v1/tasks/{TASK}", {"review": "none", "reason": "x"}, life.reviewer, {"If-Match": "*"})
    life.ok(status == 403 and problem["code"] == "scope-missing" and "tasks" in problem["detail"], "so with a task", problem)
    for verb, body in (("withdraw", {"reason": "x"}), ("revisions", {"entry": json.dumps(ENTRY),
                                                                     "progress": ROWS.format(first=0.1, hit=0.2)})):
        status, problem, _ = life.call("POST", f"/v1/submissions/{waiting}/{verb}", body, life.other)
        life.ok(status == 403 and problem["code"] == "not-owner", f"another's: 403 not-owner ({verb})", problem)
    status, problem, _ = life.send("theirs", 0.001, token=life.other, supersedes=life.get(two)["entry"])
    life.ok(status == 403 and problem["code"] == "not-owner", "nobody supersedes another's entry", problem)
    name = f"/v1/submissions/{waiting}/files/to-review.json"
    for token, sees in ((life.owner, True), (life.reviewer, True), (life.other, False), (None, False)):
        _, headers, data = life.server.request("GET", name, None, token)
        life.ok((b"ada@example.org" in data) == sees and ("Daybreak-Redacted" in headers) != sees,
                "files: whole to owner and reviewers, redacted and marked so to others")
    return waiting


def check_deadlines(life, waiting):
    """Time is moved in the database: a state that has stood for long enough is found by the next sweep."""
    _, item, _ = life.send("unanswered", 0.04)
    unanswered = item["submission"]
    life.review(unanswered, "request-changes", "say more")
    with sqlite3.connect(life.server.db, timeout=30) as db:
        db.execute("UPDATE submission SET since_ms = since_ms - ? WHERE id IN (?, ?)", (15 * DAYS_MS, waiting, unanswered))
    wait_until(lambda: "overdue_since" in life.get(waiting) and life.get(unanswered)["state"] == "withdrawn", 30)
    late = life.get(waiting)
    life.ok(late["state"] == "in_review" and "overdue_since" in late, "a review that is overdue says so, and is not lost", late)
    last = life.history(unanswered)[-1]
    life.ok((last["action"], last["by"]) == ("expire", "the server"), "what its submitter did not answer is withdrawn", last)
    listed = [row for row in life.call("GET", "/v1/submissions?state=in_review")[1]["items"] if row["submission"] == waiting]
    life.ok(listed and "overdue_since" in listed[0], "reviewers find it in the list", listed)


def check_rolling(life):
    set_task(life, review="none")
    for number in range(5):
        life.send(f"fast-{number}", 0.001 * (number + 1), entry={"costPerHour": 100})
    set_task(life, review="top5")
    status, slow, _ = life.send("slow", 0.5, entry={"costPerHour": 100})
    boards = {board["by"]: board for board in slow["top5"]["boards"]}
    life.ok(status == 201 and slow["state"] == "not_eligible" and boards["time"]["place"] == 7 and
            abs(boards["time"]["behind"] - (boards["time"]["value"] - boards["time"]["fifth"])) < 1e-6,
            "the rolling rule tells how far it is from the fifth place", slow)
    set_task(life, policy="closed")
    status, problem, _ = life.send("late", 0.0001)
    life.ok(status == 409 and problem["code"] == "task-closed" and "a test" in problem["detail"],
            "a closed task refuses, and says why", problem)
    set_task(life, policy="metadata-only")
    status, late, _ = life.send("late", 0.0001)
    life.ok(status == 201 and late["state"] == "not_eligible", "one for metadata keeps it below the board", late)
    names = [row["name"] for row in life.call("GET", f"/v1/leaderboards/{TASK}")[1]["not_ranked"]]
    life.ok("late" in names and "slow" in names, "both are listed there with the reason", names)


def check_pages(life):
    """The same by forms, without scripts: a reviewer signs in, comments, decides; who may not sees no form."""
    set_task(life, policy="open", review="all")
    _, item, _ = life.send("by-hand", 0.05)
    path = f"/submissions/{item['submission']}"
    form = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}

    def post(place, fields, cookie=""):
        return life.server.request("POST", place, urllib.parse.urlencode(fields), None, {**form, "Cookie": cookie})

    _, _, page = life.server.request("GET", path, None, None, {"Accept": "text/html"})
    life.ok(b'id="decide"' not in page and b'id="comment"' not in page and b"ada@example.org" not in page,
            "who is not signed in sees no form and no address")
    cookies = {}
    for who, token in (("reviewer", life.reviewer), ("owner", life.owner)):
        _, headers, _ = post("/login", {"token": token, "back": path})
        cookies[who] = headers["Set-Cookie"].split(";")[0]
    page = life.server.request("GET", path, None, None, {"Accept": "text/html", "Cookie": cookies["reviewer"]})[2].decode()
    csrf = re.search(r'name="csrf" value="([^"]+)"', page).group(1)
    life.ok('id="decide"' in page and 'id="withdraw"' not in page and "ada@example.org" in page, "a reviewer sees what he may do")
    status, _, _ = post(f"{path}/review", {"action": "accept", "reason": "x"}, cookies["reviewer"])
    life.ok(status == 403 and life.get(item["submission"])["state"] == "in_review", "a form without its field is refused", status)
    status, headers, _ = post(f"{path}/comments", {"csrf": csrf, "text": "Why so fast?\nIt is.", "file": "by-hand.tsv", "line": "2"},
                              cookies["reviewer"])
    life.ok(status == 303 and headers["Location"] == path, "a comment is sent by a form", status)
    status, _, answer = post(f"{path}/comments", {"csrf": csrf, "text": "x", "line": "2"}, cookies["reviewer"])
    life.ok(status == 422 and b"line" in answer, "one in no place is refused as a page", status)
    page = life.server.request("GET", path, None, None, {"Accept": "text/html", "Cookie": cookies["owner"]})[2].decode()
    thread = re.search(r'class="thread" id="comment-(\d+)"', page)
    line = page[page.index('id="f2-L2"'):page.index('id="f2-L3"')]
    life.ok(thread and "Why so fast?" in line and 'id="withdraw"' in page and 'id="decide"' not in page,
            "it stands beside its line; the owner may take the submission back")
    theirs = re.search(r'name="csrf" value="([^"]+)"', page).group(1)
    status, _, _ = post(f"{path}/review", {"csrf": theirs, "action": "accept", "reason": "mine"}, cookies["owner"])
    life.ok(status == 403, "the owner decides nothing", status)
    status, _, _ = post(f"{path}/threads/{thread.group(1)}/resolve", {"csrf": theirs}, cookies["owner"])
    life.ok(status == 303, "but closes the thread", status)
    status, _, _ = post(f"{path}/review", {"csrf": csrf, "action": "accept", "reason": "plausible"}, cookies["reviewer"])
    life.ok(status == 303 and life.get(item["submission"])["state"] == "accepted", "the reviewer accepts by a form", status)
    status, _, answer = post(f"{path}/review", {"csrf": csrf, "action": "accept", "reason": "again"}, cookies["reviewer"])
    life.ok(status == 409 and b"<html" in answer, "twice is refused, as a page", status)


def main():
    tap = Tap()
    with Server() as server:
        server.start()
        life = Life(tap, server)
        set_task(life, review="all")
        lineage = check_life(life)
        check_audit(life, *lineage)
        waiting = check_refusals(life, lineage[1])
        check_deadlines(life, waiting)
        check_rolling(life)
        check_pages(life)
    tap.done()


if __name__ == "__main__":
    main()
