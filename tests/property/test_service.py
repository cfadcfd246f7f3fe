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

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "support")]
import reference  # noqa: E402
from daybreak import DAYBREAKD, Server, Tap  # noqa: E402

WORLDS = int(os.environ.get("WORLDS") or 4)
STEPS = int(os.environ.get("STEPS") or 60)
SEED = int(os.environ.get("SEED") or 1)
COMPARE_EVERY = 6
BEST = ("entry",)

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

    def __init__(self, rng, task, author, date):
        self.task, self.author, self.date_text = task, author, date
        self.model = rng.choice(("ResNet", "VGG"))
        self.number = rng.randrange(10 ** 12)  # no two have the same bytes
        if TASKS[task]["phase"] == "train":
            self.hours = rng.choice(HOURS)
            self.price = rng.choice(PRICES) if rng.random() < 0.8 else None
            self.before = [str(Decimal(self.hours) / 4)] if rng.random() < 0.5 and Decimal(self.hours) > 0 else []
            self.after = rng.random() < 0.5
        else:
            self.latency = rng.choice(LATENCIES)
            self.price = rng.choice(ITEM_COSTS) if rng.random() < 0.8 else None

    def values(self):
        """What boards order by."""
        if TASKS[self.task]["phase"] == "inference":
            values = {"latency_ns": rounded(Decimal(self.latency) * 10 ** 6)}
            if self.price is not None:
                values["cost_pico"] = picodollars(self.price)
            return values
        values = {"runs": [{"reached": True, "tta_ns": nanoseconds(self.hours)}]}
        if self.price is not None:
            values["cost_pico"] = picodollars(Decimal(self.hours) * Decimal(self.price))
        return values

    def files(self):
        """(NAME.json, NAME.tsv or None) as text; numbers as they are written above."""
        members = {"version": "v1.0", "author": self.author, "authorEmail": "someone@example.org", "framework": "F 1",
                   "model": self.model, "hardware": "1 GPU", "timestamp": self.date_text, "misc": {"number": self.number}}
        raw = {}
        if TASKS[self.task]["phase"] == "inference":
            raw = {"latency": self.latency, "top1Accuracy": "94.5", **({"cost": self.price} if self.price else {})}
        elif self.price is not None:
            raw = {"costPerHour": self.price}
        text = json.dumps(members, ensure_ascii=False)[:-1] + "".join(f', "{k}": {v}' for k, v in raw.items()) + "}"
        if TASKS[self.task]["phase"] == "inference":
            return text, None
        rows = [f"{epoch + 1}\t{hours}\t90" for epoch, hours in enumerate(self.before)]
        rows.append(f"{len(rows) + 1}\t{self.hours}\t94.0")
        if self.after:  # measures.md, TTA: never the last row
            rows.append(f"{len(rows) + 1}\t{Decimal(self.hours) + 1}\t93.9")
        return text, "epoch\thours\ttop1Accuracy\n" + "\n".join(rows) + "\n"


class Entry:
    """One entry of the model."""

    def __init__(self, number, name, content, owner, date):
        self.entry, self.name, self.content, self.owner = number, name, content, owner
        self.task, self.author, self.date = content.task, content.author, date
        self.submission = None
        self.state = "in_review"
        self.standings = []  # [from, to or None]

    def begin(self, day):
        self.state = "accepted"
        self.standings.append([day, None])

    def end(self, day, state):
        if self.state == "accepted":
            self.standings[-1][1] = day
        self.state = state

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
        self.submitters = {name: server.token("submitter", name) for name in ("one", "two")}

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
            for ending, text in zip(("json", "tsv"), content.files()):
                if text is not None:
                    with open(os.path.join(folder, TASKS[task]["folder"], f"{name}.{ending}"), "w", encoding="utf-8") as file:
                        file.write(text)
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
                entry.begin(days)
                self.entries[entry.entry] = entry
        if contents:
            raise Difference(f"not on a board after the import: {list(contents)}")

    def free_name(self, task, taken=()):
        """A name that no entry of the task has, but for those that gave theirs up."""
        taken = set(taken) | {entry.name for entry in self.entries.values()
                              if entry.task == task and entry.state not in ("withdrawn", "rejected")}
        while True:
            name = "".join(self.rng.choice(PIECES) for _ in range(self.rng.randrange(1, 4)))
            if name not in taken and name[0] not in "-~":
                return name

    # Steps.

    def submit(self):
        task = self.rng.choice(list(TASKS))
        owner = self.rng.choice(list(self.submitters))
        content = Content(self.rng, task, self.rng.choice(AUTHORS), datetime.date.today().isoformat())
        body = self.body_of(content, self.free_name(task))
        place = self.place_of(task, content)
        status, verdict, _ = self.call("POST", "/v1/submissions/validate", body)
        self.expect(200, status, verdict, "a dry run")
        if verdict.get("place") != place:
            raise Difference(f"validate says place {verdict.get('place')}, expected {place}")
        status, answer, _ = self.call("POST", "/v1/submissions", body, self.submitters[owner])
        self.expect(201, status, answer, "a good submission")
        self.take(answer, body["name"], content, owner)

    def submit_again(self):
        """The same bytes again, or a name that is taken."""
        known = [entry for entry in self.entries.values() if entry.owner]
        if not known:
            return
        old = self.rng.choice(known)
        held = old.state not in ("withdrawn", "rejected")
        if self.rng.random() < 0.5:
            body = self.body_of(old.content, self.free_name(old.task))
        else:
            content = Content(self.rng, old.task, old.author, old.content.date_text)
            body = self.body_of(content, old.name)
        if held:
            status, answer, _ = self.call("POST", "/v1/submissions", body, self.submitters[old.owner])
            self.expect(409, status, answer, "these bytes, or this name, are there already")

    def body_of(self, content, name):
        text, progress = content.files()
        return {"task": content.task, "name": name, "entry": text, **({"progress": progress} if progress else {})}

    def take(self, answer, name, content, owner):
        entry = Entry(answer["entry"], name, content, owner, self.today)
        entry.submission = answer["submission"]
        self.entries[entry.entry] = entry
        entry.begin(self.today)
        if answer["state"] != entry.state:
            raise Difference(f"submission {entry.submission} is {answer['state']}, expected {entry.state}")

    def place_of(self, task, content):
        """design.md: the place it would take; on the first board of its task."""
        by = reference.BOARDS[TASKS[task]["phase"]][0]
        score = {"score": "median"}
        value = reference.value_of(content.values(), by, score)
        return 1 + sum(1 for entry in self.entries.values() if entry.task == task and entry.state == "accepted"
                       and reference.value_of(entry.row(), by, score) < value)

    # Comparing.

    def compare(self):
        if self.today != (datetime.datetime.now(datetime.timezone.utc).date() - datetime.date(1970, 1, 1)).days:
            return  # midnight: the model's day is over
        dates = sorted({start for entry in self.entries.values() for start, _ in entry.standings})
        days = [None, self.today] + [self.rng.choice(dates) + self.rng.choice((-1, 0)) for _ in range(2)]
        for task, facts in TASKS.items():
            for by in reference.BOARDS[facts["phase"]]:
                if by != "energy":
                    for as_of in days:
                        self.compare_board(task, by, as_of, self.rng.choice(BEST))

    def compare_board(self, task, by, as_of, best):
        query = {"by": by, "limit": 1000}
        if as_of is not None:
            query["as_of"] = (datetime.date(1970, 1, 1) + datetime.timedelta(days=as_of)).isoformat()
        if best != "entry":
            query["best"] = best
        path = f"/v1/leaderboards/{task}?{urllib.parse.urlencode(query)}"
        status, board, _ = self.call("GET", path)
        if status != 200:
            raise Difference(f"{path}: {status} {board}")
        mine = [entry for entry in self.entries.values() if entry.task == task]
        question = {"seed": 0, "task": {"phase": TASKS[task]["phase"], "score": "median"},
                    "rule": {"by": by, "best": best}, "entries": [entry.row() for entry in mine]}
        if as_of is None:
            state = {entry.entry: entry.state for entry in mine}
        else:
            question["rule"]["as_of"] = as_of
            state = {entry.entry: "accepted" for entry in mine if entry.stood(as_of)}
        want = reference.rank(question, state)
        shape = lambda items: [(item["entry"], item["place"], item["tied"]) for item in items]
        if shape(board["items"]) != shape(want["items"]):
            raise Difference(f"{path}\n got {shape(board['items'])}\nwant {shape(want['items'])}")
        for item in board["items"]:
            self.compare_item(path, item, self.entries[item["entry"]], by)
        self.compare_below(path, board, want, state if as_of is None else {})
        self.compared += 1

    def compare_item(self, path, item, entry, by):
        row = entry.row()
        value = reference.value_of(row, by, {"score": "median"})
        shown = {"time": ("tta_s", 9), "cost": ("cost_usd", 12), "latency": ("latency_ms", 6), "inference-cost": ("cost_usd", 12)}[by]
        date = (datetime.date(1970, 1, 1) + datetime.timedelta(days=entry.date)).isoformat()
        if abs(Decimal(repr(item[shown[0]])) * 10 ** shown[1] - value) > Decimal("0.5") + Decimal("1e-9") * value:
            raise Difference(f"{path}: entry {entry.entry} has {shown[0]} {item[shown[0]]}, expected {value}e-{shown[1]}")
        for member, want in (("name", entry.name), ("author", entry.author), ("date", date)):
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


STEPS_OF = (("submit", 5), ("submit_again", 1))


def live(seed):
    """(fault or None, boards compared, steps) of one world."""
    with Server() as server:
        world = World(seed, server)
        try:
            world.import_history(world.rng.randrange(0, 25))
            world.compare()
            names = [name for name, weight in STEPS_OF for _ in range(weight)]
            for step in range(STEPS):
                getattr(world, world.rng.choice(names))()
                if step % COMPARE_EVERY == 0 or step == STEPS - 1:
                    world.compare()
        except Difference as fault:
            return f"SEED={seed} WORLDS=1 STEPS={STEPS}: {fault}\n" + "\n".join(world.log[-60:]), world
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
