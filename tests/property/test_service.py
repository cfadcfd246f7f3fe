#!/usr/bin/env python3
"""tests/property/test_service.py: random lives of submissions through a real server, beside a model, as TAP.

A world is a server with a random history and a random sequence of steps. The model keeps its own account of who
stands, written from the documents, and reference.py ranks it; every few steps all boards of the server must be the
same, as they are now and as they were on other days. WORLDS (4) worlds of STEPS (60) steps each, with the seeds
SEED (1), SEED + 1 and so on. On a difference the steps of that world are printed.
"""
import datetime
import json
import os
import random
import subprocess
import sys
import urllib.parse
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "support")]
import reference  # noqa: E402
import yaml  # noqa: E402
from daybreak import DAYBREAKD, ROOT, Server, Tap  # noqa: E402

WORLDS = int(os.environ.get("WORLDS") or 4)
STEPS = int(os.environ.get("STEPS") or 60)
SEED = int(os.environ.get("SEED") or 1)
COMPARE_EVERY = 6
SCORE = {"score": "median"}

with open(os.path.join(ROOT, "schema/openapi.yaml"), encoding="utf-8") as described:
    CALLS = yaml.safe_load(described)["paths"]
TASKS = {"cifar10-train": {"phase": "train", "folder": "CIFAR10/train"},
         "cifar10-inference": {"phase": "inference", "folder": "CIFAR10/inference"}}
AUTHORS = ("Team A", "Team a", "Équipe", "B, Inc.", "中文")
# Time and money that meet again, to the nanosecond only after rounding half to even, and beside halves of it.
HOURS = ("0.1", "0.10", "0.1000000000001", "0.10000000000125", "0.10000000000375", "0.0999999999999", "2.5", "0.0123456789",
         "11.0000000000025")
PRICES = ("1", "0.9", "0.90", "3.06", "0.000000000001", "24.48", "1e-6", "9.7e1")
LATENCIES = ("1.5", "1.50", "1.5000004", "1.5000005", "1.5000015", "0.683", "20", "1e-3", "1.00000000000001e-3")
ITEM_COSTS = ("2e-7", "2.0e-7", "2.000001e-7", "2.0000005e-7", "2.0000015e-7", "0.0000001", "3e-12", "2.5e-12", "3.5e-12")
PIECES = ("net", "Net", "a", "b", "_", "-", "10", "9", "é", "Z", "~")
# measures.md: "Missing, failed, withdrawn and unreviewed are listed below the board with the reason".
BELOW = ("withdrawn", "in_review", "changes_requested", "not_eligible")
MAY_BE_BELOW = ("rejected", "disqualified", "superseded")


def rounded(number):
    with localcontext() as context:
        context.prec = 100
        return int(number.quantize(Decimal(1), rounding=ROUND_HALF_EVEN))


def nanoseconds(hours):
    return rounded(Decimal(hours) * 3600 * 10 ** 9)


def picodollars(dollars):
    return rounded(Decimal(dollars) * 10 ** 12)


def cost_of(hours, price):
    return round(Fraction(hours) * Fraction(price) * 10 ** 12)  # of a fraction: half to even


def brief(message):
    """What a log needs of a body: no advice, no findings but errors, an entry without what is always the same."""
    if not isinstance(message, dict):
        return message
    told = {key: value for key, value in message.items() if key not in ("files", "since", "next", "instance", "title", "type")}
    for key in ("findings", "errors"):
        if key in told:
            told[key] = [(one.get("field"), one["code"], one["detail"]) for one in told[key] if one["severity"] == "error"]
    if "entry" in told and isinstance(told["entry"], str):
        told["entry"] = told["entry"].split('"hardware"')[0].split('"author": ')[1].split(",")[0] + told["entry"].split("}")[-2]
    return json.dumps(told, ensure_ascii=False)


class Difference(Exception):
    """The server does what the documents do not say."""


class Content:
    """The files of an entry and what follows from them."""

    def __init__(self, rng, task, author, date, several=False):
        self.task, self.author, self.date_text = task, author, date
        self.model = rng.choice(("ResNet", "VGG"))
        self.number = rng.randrange(10 ** 12)  # no two have the same bytes
        self.phase = TASKS[task]["phase"]
        if self.phase == "train":
            count = rng.randrange(2, 6) if several and rng.random() < 0.5 else 1
            missed = rng.choice((0, 0, 0.2)) if count > 1 else 0
            self.hours = [None if rng.random() < missed else rng.choice(HOURS) for _ in range(count)]
            self.price = rng.choice(PRICES) if rng.random() < 0.8 else None
            self.after = rng.random() < 0.5
        else:
            self.latency = rng.choice(LATENCIES)
            self.price = rng.choice(ITEM_COSTS) if rng.random() < 0.8 else None

    def values(self):
        """What boards order by."""
        if self.phase == "inference":
            values = {"latency_ns": rounded(Decimal(self.latency) * 10 ** 6)}
            if self.price is not None:
                values["cost_pico"] = picodollars(self.price)
            return values
        runs = [{"reached": False} if hours is None else {"reached": True, "tta_ns": nanoseconds(hours)} for hours in self.hours]
        time = reference.score("median", runs)
        values = {"runs": runs}
        if self.price is not None and time is not None:
            # measures.md: TTA in hours x price; the exact text of the run that stands for it, if it took just that long.
            shown = reference.shown_run(runs, time)
            exact = runs[shown]["tta_ns"] == time
            values["cost_pico"] = cost_of(self.hours[shown] if exact else Fraction(time, 3600 * 10 ** 9), self.price)
        return values

    def files(self):
        """(NAME.json, the text of each NAME.tsv); numbers as they are written above."""
        members = {"version": "v1.0", "author": self.author, "authorEmail": "someone@example.org", "framework": "F 1",
                   "model": self.model, "hardware": "1 GPU", "timestamp": self.date_text, "misc": {"number": self.number}}
        raw = {"costPerHour": self.price} if self.phase == "train" else \
            {"latency": self.latency, "top1Accuracy": "94.5", "cost": self.price}
        text = json.dumps(members, ensure_ascii=False)[:-1]
        text += "".join(f', "{key}": {value}' for key, value in raw.items() if value is not None) + "}"
        return text, [self.progress(hours) for hours in self.hours] if self.phase == "train" else []

    def progress(self, hours):
        """measures.md, TTA: the first evaluation that meets the target, never the last row nor the best."""
        rows = ["1\t0.01\t90"]
        if hours is None or self.number % 2:
            rows.append("2\t0.0101\t93.99")
        if hours is not None:
            rows.append(f"{len(rows) + 1}\t{hours}\t94.0")
        if self.after and hours is not None:
            rows.append(f"{len(rows) + 1}\t{Decimal(hours) + 1}\t95" if self.number % 3 else f"{len(rows) + 1}\t{hours}\t93.9")
        return "epoch\thours\ttop1Accuracy\n" + "\n".join(rows) + "\n"


# What a reviewer's or an owner's word does, by the state that it meets (schema/migrations/0002_service.sql).
MOVES = {"accept": {"in_review": "accepted", "changes_requested": "accepted"},
         "request-changes": {"in_review": "changes_requested"},
         "reject": {"in_review": "rejected", "changes_requested": "rejected"},
         "disqualify": {"in_review": "disqualified", "accepted": "disqualified"},
         "revert": {"accepted": "in_review", "rejected": "in_review", "disqualified": "in_review", "not_eligible": "in_review"},
         "revise": {"in_review": "superseded", "changes_requested": "superseded", "not_eligible": "superseded"},
         "withdraw": {state: "withdrawn" for state in ("in_review", "changes_requested", "accepted", "superseded", "not_eligible")}}
# design.md, Numbers: an entry has its name while it may come back; protocol.md: content neither withdrawn nor rejected.
GIVEN_UP = ("withdrawn", "rejected")


class Entry:
    """One entry of the model."""

    def __init__(self, number, name, content, owner, date):
        self.entry, self.name, self.content, self.owner = number, name, content, owner
        self.task, self.author, self.date = content.task, content.author, date
        self.submission = None
        self.state = "in_review"
        self.lineage = number  # of whose entries one stands at most
        self.root = number  # first of its revisions
        self.below = None      # whose place it takes while it stands
        self.standings = []    # [from, to or None]

    def stood(self, day):
        return any(start <= day and (end is None or day < end) for start, end in self.standings)

    def row(self):
        return {"entry": self.entry, "name": self.name, "author": self.author, "date": self.date, **self.content.values()}


class World:
    def __init__(self, seed, server):
        self.rng = random.Random(seed)
        self.server = server
        self.log = []
        self.entries = {}  # id -> Entry
        self.compared = 0
        self.today = (datetime.datetime.now(datetime.timezone.utc).date() - datetime.date(1970, 1, 1)).days
        self.review_of = {task: "none" for task in TASKS}
        self.submitters = {name: server.token("submitter", name) for name in ("one", "two")}
        self.reviewer, self.operator = server.token("reviewer"), server.token("operator")

    # What goes over the wire.

    def call(self, method, path, body=None, token=None, headers=None):
        status, answer_headers, data = self.server.request(method, path, body, token, headers)
        answer = json.loads(data) if data else None
        if method != "GET":
            self.log.append(f"{method} {path} {brief(body)} -> {status} {brief(answer)}")
        if status >= 500:
            raise Difference(f"{method} {path}: {status} {answer}")
        return status, answer, answer_headers

    def expect(self, wanted, status, answer, why):
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        if status not in wanted:
            raise Difference(f"{status} {json.dumps(answer)[:500]}, expected {wanted}: {why}")

    # The history.

    def import_history(self, count):
        folder = os.path.join(self.server.folder, "history")
        contents = {}
        for task, facts in TASKS.items():
            os.makedirs(os.path.join(folder, facts["folder"]))
        for _ in range(count):
            task = self.rng.choice(list(TASKS))
            name = self.free_name(task, {name for kind, name in contents if kind == task})
            content = Content(self.rng, task, self.rng.choice(AUTHORS), f"2019-{self.rng.choice((1, 2))}-{self.rng.randrange(1, 5)}")
            contents[task, name] = content
            entry, progress = content.files()
            for ending, text in zip(("json", "tsv"), [entry, *progress]):
                with open(os.path.join(folder, TASKS[task]["folder"], f"{name}.{ending}"), "w", encoding="utf-8") as file:
                    file.write(text)
        if contents:
            done = subprocess.run([DAYBREAKD, "import", folder, "--db", self.server.db], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"import: {done.returncode} {done.stdout} {done.stderr}")
        self.server.start()
        for task in TASKS:
            board = self.server.json("GET", f"/v1/leaderboards/{task}?limit=1000")
            for item in board["items"]:
                year, month, day = map(int, contents[task, item["name"]].date_text.split("-"))
                days = (datetime.date(year, month, day) - datetime.date(1970, 1, 1)).days
                entry = Entry(item["entry"], item["name"], contents.pop((task, item["name"])), None, days)
                entry.state = "accepted"
                entry.standings.append([days, None])
                entry.submission = self.server.json("GET", f"/v1/entries/{entry.entry}")["submission"]
                self.entries[entry.entry] = entry
        if contents:
            raise Difference(f"not on a board after the import: {list(contents)}")

    def free_name(self, task, taken=()):
        """A name that no entry of the task has, but for those that gave theirs up."""
        taken = set(taken) | {entry.name for entry in self.entries.values()
                              if entry.task == task and entry.state not in GIVEN_UP}
        while True:
            name = "".join(self.rng.choice(PIECES) for _ in range(self.rng.randrange(1, 4)))
            if name not in taken and name[0] not in "-~":
                return name

    # What the documents say happens.

    def begin(self, entry):
        """It is accepted: what stands of its lineage gives its place over."""
        for other in self.entries.values():
            if other.lineage == entry.lineage and other.state == "accepted":
                entry.below = other
                self.leave(other, "superseded")
        entry.state = "accepted"
        entry.standings.append([self.today, None])

    def leave(self, entry, state):
        entry.standings[-1][1] = self.today
        entry.state = state

    def move(self, entry, state):
        """To another state; what it stood in place of comes back by itself, and if that is gone, the one before it."""
        if state == "accepted":
            self.begin(entry)
            return
        if entry.state != "accepted":
            entry.state = state
            return
        self.leave(entry, state)
        back = entry.below
        while back is not None and back.state != "superseded":
            back = back.below
        entry.below = None
        if back is not None:
            back.state = "accepted"
            back.standings.append([self.today, None])

    def admitted(self, entry):
        """The states that a good submission may enter by its task's setting. Rolling rule: only what enters the top 5
        of at least one board of its task is reviewed."""
        if self.review_of[entry.task] != "top5":
            return {"none": {"accepted"}, "all": {"in_review"}}[self.review_of[entry.task]]
        states = set()
        for replaced in (None, entry.lineage):  # whether it counts whom it would replace, nobody says
            places = [self.place_of(entry.content, by, replaced) for by in reference.BOARDS[TASKS[entry.task]["phase"]]]
            states.add("in_review" if any(place and place <= 5 for place in places) else "not_eligible")
        return states

    def place_of(self, content, by, without=None):
        """The place that it would take; None: it has no value there."""
        value = reference.value_of(content.values(), by, SCORE)
        if value is None:
            return None
        values = [reference.value_of(entry.row(), by, SCORE) for entry in self.entries.values()
                  if entry.task == content.task and entry.state == "accepted" and entry.lineage != without]
        return 1 + sum(1 for other in values if other is not None and other < value)

    # Steps.

    def submit(self):
        content = Content(self.rng, self.rng.choice(list(TASKS)), self.rng.choice(AUTHORS), self.date_of(self.today), True)
        self.post_submission("/v1/submissions", self.body_of(content, self.free_name(content.task)), content,
                             self.rng.choice(list(self.submitters)), None)

    def supersede(self):
        """A new entry that takes the place of another once it is accepted, under that one's name or its own."""
        old = self.someone(lambda entry: entry.owner and entry.state == "accepted")
        if old:
            content = Content(self.rng, old.task, self.rng.choice(AUTHORS), self.date_of(self.today), True)
            body = self.body_of(content, old.name if self.rng.random() < 0.5 else self.free_name(old.task))
            self.post_submission("/v1/submissions", {**body, "supersedes": old.entry}, content, old.owner, old)

    def post_submission(self, path, body, content, owner, old, revises=False):
        status, answer, _ = self.call("POST", path, body, self.submitters[owner])
        if status == 422 and content.phase == "train" and reference.score("median", content.values()["runs"]) is None:
            return False  # half of its runs missed: it may be refused, or listed below the board
        self.expect(201, status, answer, "a good submission")
        entry = Entry(answer["entry"], body.get("name", old.name if old else None), content, owner, self.today)
        entry.submission = answer["submission"]
        entry.lineage = old.lineage if old else entry.entry
        entry.root = old.root if revises else entry.entry
        wanted = self.admitted(entry)
        self.entries[entry.entry] = entry
        if answer["state"] not in wanted:
            raise Difference(f"submission {entry.submission} is {answer['state']}, expected {wanted}")
        self.move(entry, answer["state"])
        return True

    def dry_run(self):
        content = Content(self.rng, self.rng.choice(list(TASKS)), self.rng.choice(AUTHORS), self.date_of(self.today), True)
        status, verdict, _ = self.call("POST", "/v1/submissions/validate", self.body_of(content, self.free_name(content.task)))
        self.expect(200, status, verdict, "a dry run")
        place = self.place_of(content, reference.BOARDS[TASKS[content.task]["phase"]][0])
        if verdict.get("place") != place:
            raise Difference(f"validate says place {verdict.get('place')}, expected {place}")

    def submit_again(self):
        """The same bytes again, or a name that is taken."""
        held = [entry for entry in self.entries.values() if entry.owner and entry.state not in GIVEN_UP]
        if held:
            old = self.rng.choice(held)
            if self.rng.random() < 0.5:
                body = self.body_of(old.content, self.free_name(old.task))
            else:
                body = self.body_of(Content(self.rng, old.task, old.author, old.content.date_text), old.name)
            status, answer, _ = self.call("POST", "/v1/submissions", body, self.submitters[old.owner])
            self.expect(409, status, answer, "these bytes, or this name, are there already")

    def revise(self):
        old = self.someone(lambda entry: entry.owner)
        if old:
            content = Content(self.rng, old.task, self.rng.choice(AUTHORS), self.date_of(self.today), True)
            body = self.body_of(content, None)
            path = f"/v1/submissions/{old.submission}/revisions"
            newest = max((entry for entry in self.entries.values() if entry.root == old.root), key=lambda entry: entry.submission)
            if newest is not old and newest.state not in ("withdrawn", "rejected", "disqualified"):
                status, answer, _ = self.call("POST", path, body, self.submitters[old.owner])
                self.expect((409, 422), status, answer, "a newer revision is there")  # 422: half of its runs missed
                return
            if old.state == "accepted":  # openapi.yaml: it takes its place when it is accepted itself
                self.post_submission(path, body, content, old.owner, old, True)
                return
            if old.state not in MOVES["revise"]:
                status, answer, _ = self.call("POST", path, body, self.submitters[old.owner])
                self.expect((409, 422), status, answer, f"what is {old.state} takes no revision")
                return
            before, old.state = old.state, "superseded"
            if not self.post_submission(path, body, content, old.owner, old, True):
                old.state = before

    def review(self):
        entry = self.someone()
        if entry:
            action = self.rng.choice(("accept", "accept", "accept", "request-changes", "reject", "disqualify", "revert", "revert"))
            self.act(entry, action, f"/v1/submissions/{entry.submission}/reviews", {"action": action, "reason": "as the rules say"}, self.reviewer)

    def review_waiting(self):
        entry = self.someone(lambda entry: entry.state in ("in_review", "changes_requested"))
        if entry:
            action = self.rng.choice(("accept", "accept", "accept", "request-changes", "reject"))
            self.act(entry, action, f"/v1/submissions/{entry.submission}/reviews", {"action": action, "reason": "as the rules say"}, self.reviewer)

    def review_unasked(self):
        entry = self.someone()
        if entry:
            status, answer, _ = self.call("POST", f"/v1/submissions/{entry.submission}/reviews", {"action": "accept", "reason": "please"},
                                          self.rng.choice(list(self.submitters.values())))
            self.expect(403, status, answer, "a submitter does not review")

    def withdraw(self):
        entry = self.someone(lambda entry: entry.owner)
        if entry:
            who = self.rng.choice(list(self.submitters))
            path = f"/v1/submissions/{entry.submission}/withdraw"
            if who == entry.owner:
                self.act(entry, "withdraw", path, {"reason": "it was wrong"}, self.submitters[who])
            else:
                status, answer, _ = self.call("POST", path, {"reason": "it is not mine"}, self.submitters[who])
                self.expect(403 if entry.state in MOVES["withdraw"] else (403, 409), status, answer, "it is another's")

    def act(self, entry, action, path, body, token):
        to_state = MOVES[action].get(entry.state)
        status, answer, _ = self.call("POST", path, body, token)
        if to_state is not None and self.name_is_taken(entry, to_state):
            self.expect(409, status, answer, "its name was taken meanwhile")
        elif to_state is None:
            self.expect(409, status, answer, f"nobody can {action} what is {entry.state}")
        else:
            self.expect((200, 201), status, answer, f"{action} of what is {entry.state}")
            self.move(entry, to_state)

    def name_is_taken(self, entry, to_state):
        """It gave its name up, and wants it back."""
        return entry.state in GIVEN_UP and to_state not in GIVEN_UP and any(
            other.task == entry.task and other.name == entry.name and other.lineage != entry.lineage and
            other.state not in GIVEN_UP for other in self.entries.values())

    def set_review(self):
        task = self.rng.choice(list(TASKS))
        path = f"/v1/tasks/{task}"
        _, _, headers = self.call("GET", path)
        review = self.rng.choice(("none", "top5", "all"))
        status, answer, _ = self.call("PATCH", path, {"review": review, "reason": "for a change"}, self.operator, {"If-Match": headers["ETag"]})
        self.expect(200, status, answer, "a setting")
        self.review_of[task] = review

    def restart(self):
        """Boards are kept in memory: they must be the same when they are made afresh."""
        self.log.append("restart")
        if self.rng.random() < 0.5:
            self.server.kill()
        elif self.server.stop() != 0:
            raise Difference(f"the server did not stop cleanly: {self.server.log_tail()}")
        self.server.start()

    def someone(self, is_one=lambda entry: True):
        known = [entry for entry in self.entries.values() if entry.submission and is_one(entry)]
        return self.rng.choice(known) if known else None

    def body_of(self, content, name):
        text, progress = content.files()
        body = {"task": content.task, "entry": text}
        if name:
            body["name"] = name
        if progress:
            body["progress"] = progress if len(progress) > 1 else progress[0]
        return body

    @staticmethod
    def date_of(day):
        return (datetime.date(1970, 1, 1) + datetime.timedelta(days=day)).isoformat()

    # Comparing.

    def compare(self):
        if self.today != (datetime.datetime.now(datetime.timezone.utc).date() - datetime.date(1970, 1, 1)).days:
            return  # midnight: the model's day is over
        dates = sorted({start for entry in self.entries.values() for start, _ in entry.standings})
        days = [None, self.today] + [self.rng.choice(dates or [self.today]) + self.rng.choice((-1, 0)) for _ in range(2)]
        for task, facts in TASKS.items():
            for by in reference.BOARDS[facts["phase"]]:
                for as_of in days:
                    self.compare_board(task, by, as_of, self.rng.choice(("entry", "author")))
                self.compare_records(task, by)

    def compare_board(self, task, by, as_of, best):
        query = {"by": by, "limit": 1000}
        if as_of is not None:
            query["as_of"] = self.date_of(as_of)
        if best != "entry":
            query["best"] = best
        dates = sorted({entry.date for entry in self.entries.values()})
        first, last = (sorted((self.rng.choice(dates), self.rng.choice(dates))) if dates and self.rng.random() < 0.3 else (None, None))
        if first is not None:
            query.update({"from": self.date_of(first), "to": self.date_of(last)})
        if self.rng.random() < 0.3:
            query["limit"] = self.rng.randrange(1, 6)
        path = f"/v1/leaderboards/{task}?{urllib.parse.urlencode(query)}"
        board = self.whole_board(path)
        mine = [entry for entry in self.entries.values() if entry.task == task]
        question = {"seed": 0, "task": {"phase": TASKS[task]["phase"], "score": "median"},
                    "rule": {"by": by, "best": best}, "entries": [entry.row() for entry in mine]}
        if as_of is None:
            state = {entry.entry: entry.state for entry in mine}
        else:
            question["rule"]["as_of"] = as_of
            state = {entry.entry: "accepted" for entry in mine if entry.stood(as_of)}
        want = reference.rank(question, state)
        if first is not None:  # filters narrow the rows and keep the places of the whole board
            want["items"] = [item for item in want["items"] if first <= self.entries[item["entry"]].date <= last]
        got_shape, want_shape = ([(item["entry"], item["place"], item["tied"]) for item in items] for items in (board["items"], want["items"]))
        if got_shape != want_shape:
            raise Difference(f"{path}\n got {got_shape}\nwant {want_shape}")
        for item, wanted in zip(board["items"], want["items"]):
            self.compare_item(path, item, self.entries[item["entry"]], by)
            faults = reference.spread_faults(question, wanted, {key: item[key] for key in ("cv", "separable_from_next") if key in item}, 1e-8)
            if faults:
                raise Difference(f"{path}: {faults}")
        if first is None:
            self.compare_below(path, board, want, state if as_of is None else {})
        self.compared += 1

    def compare_records(self, task, by):
        """The first of the board from day to day, by when each entry stood."""
        mine = [entry for entry in self.entries.values() if entry.task == task]
        question = {"seed": 0, "task": {"phase": TASKS[task]["phase"], **SCORE}, "rule": {"by": by, "best": "entry"},
                    "entries": [entry.row() for entry in mine]}
        want = []
        for day in sorted({day for entry in mine for days in entry.standings for day in days if day is not None}):
            question["rule"]["as_of"] = day
            items = reference.rank(question, {entry.entry: "accepted" for entry in mine if entry.stood(day)})["items"]
            first = items[0]["entry"] if items else None
            if first != (want[-1][0] if want else None):
                want.append((first, self.date_of(day)))
        path = f"/v1/leaderboards/{task}/records?by={by}"
        status, answer, _ = self.call("GET", path)
        self.expect(200, status, answer, "the records")
        got = [(record["entry"], record["from"]) for record in answer["records"]]
        if got != [(first, day) for first, day in want if first is not None]:
            raise Difference(f"{path}\n got {got}\nwant {want}")
        ends = [record.get("to") for record in answer["records"]]
        followers = [want[i + 1][1] if i + 1 < len(want) else None for i in range(len(want)) if want[i][0] is not None]
        if ends != followers:
            raise Difference(f"{path}\n they end {ends}\nexpected {followers}")

    def whole_board(self, path):
        """All pages of a board; what is below it comes with the first."""
        board, cursor = None, ""
        while True:
            status, page, _ = self.call("GET", path + cursor)
            if status != 200:
                raise Difference(f"{path}: {status} {page}")
            if board is None:
                board = page
            else:
                board["items"] += page["items"]
            if "next_cursor" not in page:
                return board
            cursor = "&cursor=" + urllib.parse.quote(page["next_cursor"])

    def compare_item(self, path, item, entry, by):
        row = entry.row()
        value = reference.value_of(row, by, SCORE)
        shown = {"time": ("tta_s", 9), "cost": ("cost_usd", 12), "latency": ("latency_ms", 6), "inference-cost": ("cost_usd", 12),
                 "energy": ("energy_j", 6)}[by]
        if abs(Decimal(repr(item[shown[0]])) * 10 ** shown[1] - value) > Decimal("0.5") + Decimal("1e-9") * value:
            raise Difference(f"{path}: entry {entry.entry} has {shown[0]} {item[shown[0]]}, expected {value}e-{shown[1]}")
        for member, want in (("name", entry.name), ("author", entry.author), ("date", self.date_of(entry.date))):
            if item[member] != want:
                raise Difference(f"{path}: entry {entry.entry} has {member} {item[member]!r}, expected {want!r}")

    def compare_below(self, path, board, want, state):
        reasons = {one["entry"]: one["reason"] for one in board["not_ranked"]}
        must = {one["entry"] for one in want["not_ranked"] if state.get(one["entry"], "accepted") not in MAY_BE_BELOW}
        may = must | {one["entry"] for one in want["not_ranked"]}
        if not must <= set(reasons) <= may:
            raise Difference(f"{path}: below it {sorted(reasons)}, expected {sorted(must)}, allowed {sorted(may)}; "
                             f"states {[(number, self.entries[number].state) for number in sorted(set(reasons) ^ must)]}")
        names = [one["name"].encode() for one in board["not_ranked"]]
        if names != sorted(names):
            raise Difference(f"{path}: below it not by name: {names}")
        for one in want["not_ranked"]:
            kind, text = one["reason"]
            if one["entry"] in reasons and (reasons[one["entry"]] == "" or kind == "best" and text not in reasons[one["entry"]]):
                raise Difference(f"{path}: entry {one['entry']} has the reason {reasons[one['entry']]!r}, expected {kind} {text}")


# Step, how often, and the call that it needs: it is taken where openapi.yaml describes that.
REVIEWS, REVISIONS, WITHDRAW = (f"/v1/submissions/{{submission}}/{what}" for what in ("reviews", "revisions", "withdraw"))
STEPS_OF = (("submit", 4, "/v1/submissions"), ("dry_run", 1, "/v1/submissions/validate"), ("submit_again", 1, "/v1/submissions"),
            ("restart", 1, "/healthz"),
            ("supersede", 3, WITHDRAW), ("revise", 2, REVISIONS), ("review_waiting", 4, REVIEWS), ("review", 4, REVIEWS),
            ("review_unasked", 1, REVIEWS), ("withdraw", 2, WITHDRAW), ("set_review", 1, REVIEWS))


def live(seed):
    """(fault or None, boards compared, steps) of one world."""
    with Server() as server:
        world = World(seed, server)
        try:
            world.import_history(world.rng.randrange(0, 25))
            world.compare()
            names = [name for name, weight, path in STEPS_OF if path in CALLS for _ in range(weight)]
            for step in range(STEPS):
                getattr(world, world.rng.choice(names))()
                if step % COMPARE_EVERY == 0 or step == STEPS - 1:
                    world.compare()
        except Difference as fault:
            return f"SEED={seed} WORLDS=1 STEPS={STEPS}: {fault}\n" + "\n".join(line[:600] for line in world.log[-25:]), world
        if server.stop() != 0:
            return f"SEED={seed}: the server did not stop cleanly: {server.log_tail()}", world
        return None, world


def main():
    tap = Tap()
    for seed in range(SEED, SEED + WORLDS):
        fault, world = live(seed)
        tap.ok(fault is None, f"the world of seed {seed}: {world.compared} boards after {len(world.log)} writes are the model's", fault)
    tap.done()


if __name__ == "__main__":
    main()
