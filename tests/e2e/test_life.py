#!/usr/bin/python3
"""tests/e2e/test_life.py: the whole life of a submission through HTTP, by two roles: faulty, corrected, reviewed, commented,
changed, accepted, superseded (a chain of three), withdrawn, the old one back; the board at each step, now and as of today; the
audit step by step, closed to edits in the database itself; who may not; what is overdue; the rolling rule; the same by forms."""
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
        self.colleague = server.token("reviewer", "Alan")
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

    def below(self):
        return {item["name"]: item["reason"] for item in self.call("GET", f"/v1/leaderboards/{TASK}?limit=1000")[1]["not_ranked"]}

    def refused(self, method, path, body, token, status, word, headers=None):
        got, problem, _ = self.call(method, path, body, token, headers)
        self.ok(got == status and word in json.dumps(problem), f"{method} {path.split('/', 2)[2]} is {status} and says {word}",
                f"{got} {problem}")

    def race(self, submission, action):
        """Two reviewers decide at once: the two answers."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda token: self.review(submission, action, "decided", token), (self.reviewer, self.colleague)))

    def ok(self, good, name, detail=""):
        self.tap.ok(bool(good), name, detail)


def set_task(life, **setting):
    _, _, headers = life.call("GET", f"/v1/tasks/{TASK}")
    status, task, _ = life.call("PATCH", f"/v1/tasks/{TASK}", {**setting, "reason": "a test"}, life.admin,
                                {"If-Match": headers["ETag"]})
    life.ok(status == 200 and all(task[key] == value for key, value in setting.items()) and task["setting"]["by"] == "Root" and
            task["setting"]["reason"] == "a test", f"the task is set, with who and why: {setting}", task)


def check_life(life):
    # Faulty: every fault at once; mended in the same form.
    status, problem, _ = life.send("first", 0.02, entry={"costPerHour": "3.06", "framework": ""})
    fields = {item.get("field") for item in problem.get("errors", [])}
    life.ok(status == 422 and {"costPerHour", "framework"} <= fields, "a faulty one is refused with all of its faults", problem)
    status, problem, _ = life.send("first", 0.02, progress=ROWS.format(first=0.01, hit=0.02).replace("94.5", "0.945"))
    life.ok(status == 422 and "top1Accuracy" in json.dumps(problem), "so is one whose accuracies are fractions", problem)
    life.board("faulty")
    status, first, _ = life.send("first", 0.02)
    life.ok(status == 201 and first["state"] == "in_review" and first["owner"] == "reviewer" and "deadline" in first,
            "mended, it waits for a reviewer, and says by when", first)
    life.board("sent")
    life.ok("first" in life.below(), "but it is listed below the board with the reason", life.below())

    # Commented on, beside a line; answered; sent back.
    one = first["submission"]
    here = f"/v1/submissions/{one}"
    life.refused("POST", f"{here}/comments", {"text": "?", "file": "first.tsv", "line": 99}, life.reviewer, 422, "line")
    life.refused("POST", f"{here}/reviews", {"action": "accept"}, life.reviewer, 422, "reason")
    status, comment, _ = life.call("POST", f"/v1/submissions/{one}/comments",
                                   {"text": "Which schedule?", "file": "first.json", "line": 1}, life.reviewer)
    life.ok(status == 201 and comment["line"] == 1 and comment["by"] == "Grace", "a comment stands beside its line", comment)
    status, answer, _ = life.call("POST", f"/v1/submissions/{one}/comments",
                                  {"text": "Cosine, see the revision.", "thread": comment["comment"]}, life.owner)
    life.ok(status == 201 and answer["thread"] == comment["comment"], "its author answers in the thread", answer)
    status, sent_back, _ = life.review(one, "request-changes", "name the schedule")
    life.ok(status == 200 and sent_back["state"] == "changes_requested" and sent_back["owner"] == "submitter" and
            sent_back["reason"] == "name the schedule" and "deadline" in sent_back, "changes are requested", sent_back)
    now = life.get(one)
    life.ok(now["state"] == "changes_requested" and now["owner"] == "submitter" and "deadline" in now, "and read back so", now)
    life.board("changes requested")

    # Revised: the former is kept; accepted once, by one of two.
    status, second, _ = life.send("first", 0.02, f"/v1/submissions/{one}/revisions", entry={"misc": {"schedule": "cosine"}})
    two = second["submission"]
    life.ok(status == 201 and second["revision"] == 2 and second["state"] == "in_review", "a revision is sent", second)
    life.ok(life.get(one)["state"] == "superseded" and
            [row["submission"] for row in life.get(two)["revisions"]] == [one, two], "the former is kept, and linked")
    status, _, data = life.server.request("GET", f"/v1/submissions/{one}/files/first.json", None, life.owner)
    life.ok(status == 200 and json.loads(data)["misc"] == {"batchSize": 512}, "its files are read back as they were sent")
    status, _, data = life.server.request("GET", f"{here}/files/first.tsv", None, life.owner)
    life.ok(status == 200 and data.decode() == ROWS.format(first=0.01, hit=0.02), "byte for byte", data)
    status, _, _ = life.call("POST", f"{here}/comments/{comment['comment']}/resolve", None, life.reviewer)
    life.ok(status == 200, "the thread is closed", status)
    answers = life.race(two, "accept")
    loser = [answer for answer in answers if answer[0] == 409]
    life.ok(sorted(answer[0] for answer in answers) == [200, 409] and loser[0][1]["code"] == "illegal-transition" and
            loser[0][1]["state"] == "accepted", "of two reviewers at once one wins, the other learns the state", answers)
    life.board("accepted", "first")

    # Another's is faster.
    _, other, _ = life.send("other", 0.015, token=life.other, entry={"author": "Eve Example"})
    life.review(other["submission"], "accept", "good")
    life.board("another accepted", "other", "first")

    # Superseded, by a choice of its own; the successor withdrawn; the old one back.
    status, third, _ = life.send("faster", 0.01, supersedes=second["entry"])
    three = third["submission"]
    life.ok(status == 201 and third["supersedes"] == second["entry"] and third["state"] == "in_review",
            "a successor waits for its own review", third)
    life.board("successor sent", "other", "first")
    life.review(three, "accept", "reproduced")
    life.board("superseded", "faster", "other")
    old = life.get(two)
    life.ok(old["state"] == "superseded" and old["superseded_by"] == third["entry"], "the old one says who stands for it", old)
    status, fourth, _ = life.send("fastest", 0.005, supersedes=third["entry"])
    four = fourth["submission"]
    life.review(four, "accept", "well")
    life.board("a chain of three", "fastest", "other")
    life.review(four, "disqualify", "it trained on the test set")
    life.board("its last disqualified", "faster", "other")
    status, gone, _ = life.call("POST", f"/v1/submissions/{three}/withdraw", {"reason": "the wrong run"}, life.owner)
    life.ok(status == 200 and gone["state"] == "withdrawn" and gone["owner"] == "nobody", "its owner withdraws it", gone)
    life.board("withdrawn, the old one back", "other", "first")
    life.refused("POST", f"/v1/submissions/{three}/reviews", {"action": "accept", "reason": "again"}, life.reviewer, 409, "withdrawn")
    answers = life.race(other["submission"], "disqualify")
    life.ok(sorted(answer[0] for answer in answers) == [200, 409], "two disqualify another's at once: one does", answers)
    life.board("another's disqualified", "first")
    life.ok(life.below().get("other"), "it is listed with its reason", life.below())

    # Corrected by a reviewer, with what was there before.
    life.refused("PATCH", f"/v1/submissions/{two}", {"hardware": "8 V100", "reason": "as its log says"}, life.reviewer, 428, "If-Match")
    _, _, headers = life.call("GET", f"/v1/submissions/{two}")
    status, _, _ = life.call("PATCH", f"/v1/submissions/{two}", {"name": "renamed", "framework": "PyTorch 1.0.1", "hardware":
                             "8 V100 SXM2", "reason": "the version was missing"}, life.reviewer, {"If-Match": headers["ETag"]})
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
    life.ok(kinds.count("comment") == 2 and "resolved" in kinds, "comments are in it, and that their thread was closed", kinds)
    last = life.history(three)[-1]
    life.ok((last["to"], last["reason"]) == ("withdrawn", "the wrong run"), "the end says why", last)
    edits = {item["field"]: (item["before"], item["after"], item["by"]) for item in life.history(two) if item["kind"] == "correction"}
    life.ok(edits == {"name": ("first", "renamed", "Grace"), "framework": ("PyTorch 1.0", "PyTorch 1.0.1", "Grace"),
                      "hardware": ("1 V100", "8 V100 SXM2", "Grace")}, "corrections are in it with who and what was before", edits)
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
    task, body = f"/v1/tasks/{TASK}", {"review": "none", "reason": "x"}
    for token in (life.reviewer, life.owner):
        status, problem, _ = life.call("PATCH", task, body, token, {"If-Match": "*"})
        life.ok(status == 403 and problem["code"] == "scope-missing" and "tasks" in problem["detail"], "so with a task", problem)
    operator = life.server.token("operator", "Oz")
    life.refused("PATCH", task, body, operator, 428, "If-Match")
    life.refused("PATCH", task, body, operator, 412, "If-Match", {"If-Match": '"x"'})
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
            not slow["top5"]["enters"] and boards["time"]["behind"] > 0 and abs(boards["time"]["behind"] - (boards["time"]["value"] - boards["time"]["fifth"])) < 1e-6,
            "the rolling rule tells how far it is from the fifth place", slow)
    _, dry, _ = life.send("dry", 0.5, "/v1/submissions/validate", entry={"costPerHour": 100})
    life.ok(dry["outcome"]["state"] == "not_eligible" and dry["top5"]["boards"], "the dry run says so, too", dry)
    _, best, _ = life.send("best", 0.0005, entry={"costPerHour": 1000})
    life.ok(best["state"] == "in_review" and best["top5"]["enters"], "what enters the first five is reviewed", best)
    set_task(life, policy="closed")
    status, problem, _ = life.send("late", 0.0001)
    life.ok(status == 409 and problem["code"] == "task-closed" and "a test" in problem["detail"],
            "a closed task refuses, and says why", problem)
    set_task(life, policy="metadata-only")
    status, late, _ = life.send("late", 0.0001)
    life.ok(status == 201 and late["state"] == "not_eligible", "one for metadata keeps it below the board", late)
    ranked = [row["name"] for row in life.call("GET", f"/v1/leaderboards/{TASK}")[1]["items"]]
    below = life.below()
    life.ok(below.get("late") and below.get("slow") and "late" not in ranked, "both are listed there with the reason", below)


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
        tap.ok(server.stop() == 0, "the server stops cleanly", server.log_tail())
    tap.done()


if __name__ == "__main__":
    main()
