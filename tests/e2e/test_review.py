#!/usr/bin/python3
"""tests/e2e/test_review.py: the whole life of a submission through HTTP, by two roles: faulty, corrected, reviewed,
commented, changed, accepted, superseded, withdrawn, the old one back; what the boards say at each step, and the audit."""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from daybreak import Server, Tap  # noqa: E402

TASK = "cifar10-train"


def files(name, hours, **members):
    entry = {"version": "v1.0", "author": "Ada Example", "authorEmail": "ada@example.org", "framework": "PyTorch 2.1",
             "codeURL": "https://example.org/code/commit/0123456789abcdef0123456789abcdef01234567", "model": "ResNet 9",
             "hardware": "8 V100", "costPerHour": 24.48, "timestamp": "2026-11-30", "misc": {"batch_size": 512}, **members}
    rows = [(1, hours / 2, 90.5), (2, hours, 94.1)]
    return {"task": TASK, "name": name, "entry": json.dumps(entry, indent=1),
            "progress": "epoch\thours\ttop1Accuracy\n" + "".join(f"{e}\t{h:.6f}\t{a}\n" for e, h, a in rows)}


class Life:
    def __init__(self, tap, server):
        self.tap, self.server = tap, server
        self.tokens = {name: server.token(role, name) for name, role in
                       (("ada", "submitter"), ("bob", "submitter"), ("rita", "reviewer"), ("rob", "reviewer"), ("oz", "operator"))}

    def call(self, who, method, path, body=None, expect=(200, 201), headers=None):
        return self.server.json(method, path, body, self.tokens.get(who), expect=expect, headers=headers)

    def refused(self, who, method, path, body, status, word, headers=None):
        got, _, answer = self.server.request(method, path, json.dumps(body).encode() if body is not None else None, self.tokens.get(who),
                                             {"Content-Type": "application/json", **(headers or {})})
        self.tap.ok(got == status and word in answer.decode(), f"{who}: {method} {path.split('/', 2)[2]} is {status} and says {word}",
                    f"{got} {answer.decode()[:600]}")

    def board(self, query=""):
        answer = self.server.json("GET", f"/v1/leaderboards/{TASK}?limit=1000{query}")
        return [item["name"] for item in answer["items"]], {item["name"]: item["reason"] for item in answer["not_ranked"]}

    def ranked(self, wanted, what):
        names, below = self.board()
        self.tap.ok(names == wanted, what, f"{names} below {below}")
        return below

    def state(self, submission):
        return self.server.json("GET", f"/v1/submissions/{submission}")

    def etag(self, path):
        return {name.lower(): value for name, value in self.server.request("GET", path)[1].items()}["etag"]

    def whole(self):
        tap, call = self.tap, self.call
        self.refused("ada", "PATCH", f"/v1/tasks/{TASK}", {"review": "all", "reason": "why not"}, 403, "tasks", {"If-Match": "*"})
        self.refused("oz", "PATCH", f"/v1/tasks/{TASK}", {"review": "all", "reason": "readers ask for it"}, 428, "If-Match")
        self.refused("oz", "PATCH", f"/v1/tasks/{TASK}", {"review": "all", "reason": "readers ask for it"}, 412, "If-Match", {"If-Match": '"x"'})
        task = call("oz", "PATCH", f"/v1/tasks/{TASK}", {"review": "all", "reason": "readers ask for it"}, headers={"If-Match": self.etag(f"/v1/tasks/{TASK}")})
        tap.ok(task["review"] == "all" and task["setting"]["by"] == "oz", "a task's review is a setting, with who and why", task)

        faulty = files("ada-1", 0.5)
        faulty["progress"] = faulty["progress"].replace("94.1", "0.941").replace("90.5", "0.905")
        self.refused("ada", "POST", "/v1/submissions", faulty, 422, "top1Accuracy")
        self.ranked([], "what was refused is nowhere")
        first = call("ada", "POST", "/v1/submissions", files("ada-1", 0.5))
        tap.ok(first["state"] == "in_review" and first["owner"] == "reviewer" and first["deadline"], "corrected, it waits for a reviewer until a day", first)
        below = self.ranked([], "and is not ranked")
        tap.ok("ada-1" in below, "but listed below the board with the reason", below)

        one = f"/v1/submissions/{first['submission']}"
        self.refused("ada", "POST", f"{one}/reviews", {"action": "accept", "reason": "please"}, 403, "review")
        self.refused("bob", "POST", f"{one}/withdraw", {"reason": "not mine"}, 403, "own")
        self.refused("rita", "POST", f"{one}/reviews", {"action": "accept"}, 422, "reason")
        self.refused("rita", "POST", f"{one}/comments", {"text": "?", "file": "ada-1.tsv", "line": 99}, 422, "line")
        thread = call("rita", "POST", f"{one}/comments", {"text": "Why is the first epoch so fast?", "file": "ada-1.tsv", "line": 2})
        call("ada", "POST", f"{one}/comments", {"text": "A smaller net; see misc.", "thread": thread["comment"]})
        call("rita", "POST", f"{one}/reviews", {"action": "request-changes", "reason": "name the smaller net in misc"})
        now = self.state(first["submission"])
        tap.ok(now["state"] == "changes_requested" and now["owner"] == "submitter" and "deadline" in now, "changes are asked for, by a day", now)

        second = call("ada", "POST", f"{one}/revisions", files("ada-1", 0.5, misc={"batch_size": 512, "net": "small"}))
        two = f"/v1/submissions/{second['submission']}"
        tap.ok(second["revision"] == 2 and self.state(first["submission"])["state"] == "superseded", "a revision takes its place", second)
        status, _, bytes_then = self.server.request("GET", f"{one}/files/ada-1.tsv", None, self.tokens["ada"])
        tap.ok(status == 200 and bytes_then.decode() == files("ada-1", 0.5)["progress"], "the former is kept, byte for byte")
        call("rita", "POST", f"{one}/comments/{thread['comment']}/resolve")
        call("rita", "POST", f"{two}/reviews", {"action": "accept", "reason": "the log is whole"})
        self.ranked(["ada-1"], "accepted, it is ranked")

        other = call("bob", "POST", "/v1/submissions", files("bob-1", 0.4, author="Bob Example"))
        call("rita", "POST", f"/v1/submissions/{other['submission']}/reviews", {"action": "accept", "reason": "good"})
        self.ranked(["bob-1", "ada-1"], "another is faster")
        self.refused("bob", "POST", "/v1/submissions", {**files("bob-2", 0.3), "supersedes": second["entry"]}, 403, "own")
        third = call("ada", "POST", "/v1/submissions", {**files("ada-2", 0.3), "supersedes": second["entry"]})
        self.ranked(["bob-1", "ada-1"], "what is to supersede waits for review, too")
        call("rita", "POST", f"/v1/submissions/{third['submission']}/reviews", {"action": "accept", "reason": "faster, and whole"})
        below = self.ranked(["ada-2", "bob-1"], "accepted, it stands in the other's place")
        tap.ok(self.state(second["submission"])["state"] == "superseded", "and the other is superseded", below)

        three = f"/v1/submissions/{third['submission']}"
        self.refused("rita", "PATCH", three, {"hardware": "8 V100 SXM2", "reason": "as its log says"}, 428, "If-Match")
        call("rita", "PATCH", three, {"hardware": "8 V100 SXM2", "name": "ada-two", "reason": "as its log says"}, headers={"If-Match": self.etag(three)})
        self.ranked(["ada-two", "bob-1"], "a correction renames it")
        results, start = [], threading.Barrier(2)

        def decide(who, action):
            start.wait()
            results.append(self.server.request("POST", f"/v1/submissions/{other['submission']}/reviews",
                                               json.dumps({"action": action, "reason": "decided"}).encode(), self.tokens[who],
                                               {"Content-Type": "application/json"})[0])

        both = [threading.Thread(target=decide, args=one) for one in (("rita", "disqualify"), ("rob", "disqualify"))]
        for thread_ in both:
            thread_.start()
        for thread_ in both:
            thread_.join()
        tap.ok(sorted(results) == [200, 409], "of two reviewers at once one decides", results)

        call("ada", "POST", f"{three}/withdraw", {"reason": "the clock was wrong"})
        below = self.ranked(["ada-1"], "withdrawn, and the old one is back by itself")
        tap.ok(below.get("bob-1"), "what was disqualified is listed with its reason", below)
        self.refused("rita", "POST", f"{three}/reviews", {"action": "accept", "reason": "again"}, 409, "withdrawn")
        self.audit(first, second, third)

    def audit(self, first, second, third):
        tap = self.tap
        trail = self.server.json("GET", f"/v1/submissions/{first['submission']}/history")["items"]
        moves = [(one["by"], one["action"], one["to"]) for one in trail if one["kind"] == "state" and one.get("action")]
        tap.ok([one for one in moves if one[0] != "the server"][-2:] == [("rita", "request-changes", "changes_requested"), ("ada", "revise", "superseded")],
               "who asked for changes and who revised", moves)
        tap.ok([one["kind"] for one in trail].count("comment") == 2 and any(one["kind"] == "resolved" for one in trail), "comments are in the audit", trail)
        tap.ok(all(one.get("reason") for one in trail if one["kind"] == "state"), "every change has a reason", trail)
        trail = self.server.json("GET", f"/v1/submissions/{second['submission']}/history")["items"]
        tap.ok([one["to"] for one in trail if one["kind"] == "state"][-3:] == ["accepted", "superseded", "accepted"], "accepted, superseded, back", trail)
        trail = self.server.json("GET", f"/v1/submissions/{third['submission']}/history")["items"]
        edits = {one["field"]: (one["before"], one["after"], one["by"]) for one in trail if one["kind"] == "correction"}
        tap.ok(edits == {"hardware": ("8 V100", "8 V100 SXM2", "rita"), "name": ("ada-2", "ada-two", "rita")}, "corrections say what was there before", edits)
        tap.ok(trail[-1]["to"] == "withdrawn" and trail[-1]["reason"] == "the clock was wrong", "and the end says why", trail)


def policies(tap):
    with Server() as server:
        server.start()
        life = Life(tap, server)
        path = f"/v1/tasks/{TASK}"
        for i in range(6):
            life.call("ada", "POST", "/v1/submissions", files(f"fast-{i}", 0.1 + i / 100, costPerHour=1))
        life.call("oz", "PATCH", path, {"review": "top5", "reason": "the rolling rule"}, headers={"If-Match": life.etag(path)})
        slow = life.call("ada", "POST", "/v1/submissions", files("slow", 5, costPerHour=24))
        time = next(one for one in slow["top5"]["boards"] if one["by"] == "time")
        tap.ok(slow["state"] == "not_eligible" and not slow["top5"]["enters"] and time["place"] == 7 and time["behind"] > 0,
               "the rolling rule tells how far it is from the fifth place", slow)
        fast = life.call("ada", "POST", "/v1/submissions", files("fastest", 0.01, costPerHour=24))
        tap.ok(fast["state"] == "in_review" and fast["top5"]["enters"], "what enters the first five is reviewed", fast)
        dry = server.json("POST", "/v1/submissions/validate", files("dry", 5, costPerHour=24))
        tap.ok(dry["outcome"]["state"] == "not_eligible" and dry["top5"]["boards"], "the dry run says so, too", dry)
        life.call("oz", "PATCH", path, {"policy": "closed", "reason": "the season is over"}, headers={"If-Match": life.etag(path)})
        life.refused("ada", "POST", "/v1/submissions", files("late", 0.2), 409, "closed")
        life.call("oz", "PATCH", path, {"policy": "metadata-only", "reason": "corrections only"}, headers={"If-Match": life.etag(path)})
        late = life.call("ada", "POST", "/v1/submissions", files("late", 0.2))
        names, below = life.board()
        tap.ok(late["state"] == "not_eligible" and "late" not in names and "late" in below, "metadata-only keeps it below the board", f"{late} {below}")


def main():
    tap = Tap()
    with Server() as server:
        server.start()
        Life(tap, server).whole()
        tap.ok(server.stop() == 0, "the server stops cleanly", server.log_tail())
    policies(tap)
    tap.done()


main()
