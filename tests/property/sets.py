"""tests/property/sets.py: random sets of entries for reference.py, and how one that fails is made smaller.

A set follows from its seed alone. Values come from small pools, so that most sets have ties, and from the edges of
what an integer of 64 bits and a double can tell apart.
"""
import copy
import random

from reference import BOARDS, REASONS, Invalid, Story, score

INT64_MAX = 2 ** 63 - 1
# Pieces that sort otherwise by bytes, by letters, by code points and by units of UTF-16.
PIECES = ("a", "b", "B", "_", "-", " ", "0", "9", "10", "ab", "é", "e\u0301", "ß", "ｚ", "\ufffd", "\U0001f600", "\u4e2d", "~")
AUTHORS = ("A", "a", "A ", "Ä", "A\u0308", "Team, Inc.", "中文")
EVENTS = ("submit",) + ("accept",) * 8 + ("supersede",) * 3 + ("withdraw", "disqualify", "revert", "reject") + ("accept-again",) * 2


def value_pool(rng):
    """Few values, so that they meet again."""
    kind = rng.randrange(6)
    if kind == 0:
        return [rng.randrange(0, 4) for _ in range(3)]
    if kind == 1:
        return [INT64_MAX - rng.randrange(0, 4) for _ in range(4)]
    if kind == 2:  # a double tells no two of them apart
        return [2 ** rng.choice((53, 60, 62)) + rng.randrange(0, 4) for _ in range(4)]
    if kind == 3:  # what trainings take
        return [rng.randrange(10 ** 9, 10 ** 14) for _ in range(rng.randrange(1, 12))]
    if kind == 4:
        base = rng.randrange(1, 10 ** 12)
        return [base + step for step in range(rng.randrange(1, 5))]
    return [rng.randrange(0, 2 ** rng.randrange(1, 64)) for _ in range(8)]


def runs_of(rng, pool, shape):
    count = {"one": 1, "few": rng.randrange(0, 6), "many": rng.randrange(0, 13), "most": rng.choice((99, 100))}[shape]
    if rng.random() < 0.4:  # near each other, so that intervals can be apart
        base = rng.choice(pool)
        pool = [min(INT64_MAX, base + rng.randrange(0, max(2, base // 10 ** 5))) for _ in range(4)]
    missed = rng.choice((0, 0, 0, 0, 0.1, 0.3, 1)) if shape != "one" else 0.1
    return [{"reached": False} if rng.random() < missed else {"reached": True, "tta_ns": rng.choice(pool)}
            for _ in range(count)]


def name_of(rng, taken):
    while True:
        name = "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 4))).strip() or "x"
        if rng.random() < 0.02:
            name = (name * 128)[:128]
        while len(name.encode()) > 128:
            name = name[:-1]
        if name not in taken:
            return name


def story_of(rng, count, days):
    """(events, names): `count` entries that come, go and return."""
    story, events, names, taken = Story(), [], {}, set()

    def tell(do, entry, **more):
        event = {"day": day, "do": do, "entry": entry, **more}
        was = dict(story.state), dict(story.before)
        try:
            story.tell(event)
            if len({names[one] for one in story.standing()}) < len(story.standing()):
                raise Invalid("two of one name stand")
        except Invalid:
            story.state, story.before = was
            raise
        events.append(event)

    def free_name():
        gone = [names[entry] for entry, state in story.state.items() if state == "withdrawn"]
        gone = [name for name in gone if all(story.state[e] == "withdrawn" for e in names if names[e] == name)]
        return rng.choice(gone) if gone and rng.random() < 0.2 else name_of(rng, taken)

    restless = rng.random() < 0.6
    day = days[0]
    left = count + rng.randrange(0, count + 4) if restless else 0
    while len(story.state) < count or left > 0:
        left -= 1
        day = rng.choice([d for d in days if d >= day][:2]) if rng.random() < 0.5 else day
        do = rng.choice(EVENTS) if left > 0 else "accept"
        known = list(story.state)
        try:
            if do in ("submit", "accept", "supersede"):
                if len(known) >= count:
                    continue
                entry = len(known) + 1
                standing = sorted(story.standing())
                before = rng.choice(standing) if do == "supersede" and standing else None
                names[entry] = names[before] if before and rng.random() < 0.5 else free_name()
                taken.add(names[entry])
                tell("submit", entry)
                if do == "accept":
                    tell("accept", entry)
                elif before:
                    tell("accept", entry, supersedes=before)
            elif known:
                tell("accept" if do == "accept-again" else do, rng.choice(known))
        except Invalid:
            pass
    return events, names


def tell_again(question):
    """Derives `standings` and `reason` of every entry from the events. Invalid: it cannot have happened so."""
    story = Story()
    for entry in question["entries"]:
        entry["standings"] = []
        entry.pop("reason", None)
    by_id = {entry["entry"]: entry for entry in question["entries"]}
    before = set()
    for event in question["events"]:
        story.tell(event)
        for entry in before - story.standing():
            by_id[entry]["standings"][-1]["to"] = event["day"]
        for entry in story.standing() - before:
            by_id[entry]["standings"].append({"from": event["day"]})
        before = story.standing()
        if len({by_id[entry]["name"] for entry in before}) != len(before):
            raise Invalid("two of one name stand")
    for entry in question["entries"]:
        if entry["entry"] not in story.state:
            raise Invalid("an entry that never came")
        if story.state[entry["entry"]] != "accepted":
            entry["reason"] = REASONS[story.state[entry["entry"]]]
    return question


def count_of(rng):
    return rng.choice((0, 1, 2, 3)) if rng.random() < 0.2 else rng.randrange(13, 31) if rng.random() < 0.1 else rng.randrange(2, 13)


def make(seed):
    rng = random.Random(seed)
    phase = rng.choice(("train", "train", "train", "inference"))
    task = {"phase": phase, "score": rng.choice(("median", "median", "mean", "olympic"))}
    first = rng.choice((0, 17000, 20000))
    days = sorted(first + rng.randrange(0, 40) for _ in range(rng.randrange(1, 8)))
    events, names = story_of(rng, count_of(rng), days)
    authors = rng.sample(AUTHORS, rng.randrange(1, len(AUTHORS)))
    pools = {member: value_pool(rng) for member in ("tta_ns", "cost_pico", "energy_uj", "latency_ns")}
    shape = rng.choice(("one", "one", "few", "few", "few", "many", "many")) if rng.random() > 0.01 else "most"
    entries = []
    for number, name in names.items():
        came = [event["day"] for event in events if event["entry"] == number]
        accepted = [event["day"] for event in events if event["entry"] == number and event["do"] == "accept"]
        entry = {"entry": number, "name": name, "author": rng.choice(authors),
                 "date": rng.choice(days) if rng.random() < 0.2 else (accepted or came)[0]}
        members = ["cost_pico", "latency_ns"]
        if phase == "train":
            entry["runs"] = runs_of(rng, pools["tta_ns"], shape)
            members = ["cost_pico", "energy_uj"] if score(task["score"], entry["runs"]) is not None else []
        for member in members:
            if rng.random() < 0.85:
                entry[member] = rng.choice(pools[member])
        if phase == "train" and rng.random() < 0.1:
            entry["cost_reason"] = "a spot price does not count"
        entries.append(entry)
    numbers = rng.sample(range(1, 1000), len(entries))  # ids say nothing about who came first
    renamed = {entry["entry"]: number for entry, number in zip(entries, numbers)}
    for entry in entries:
        entry["entry"] = renamed[entry["entry"]]
    for event in events:
        event["entry"] = renamed[event["entry"]]
        if "supersedes" in event:
            event["supersedes"] = renamed[event["supersedes"]]
    rng.shuffle(entries)
    boards = BOARDS[phase] if rng.random() > 0.02 else BOARDS["train"] + BOARDS["inference"]
    rule = {"by": rng.choice(boards), "best": rng.choice(("entry", "author"))}
    if rng.random() < 0.5:
        rule["as_of"] = max(0, max(rng.choice(days), rng.choice(days)) + rng.choice((-1, 0, 0, 1)))
    return tell_again({"seed": seed, "today": days[-1], "task": task, "rule": rule, "entries": entries, "events": events})


# Making a set smaller.

def simpler(question):
    """Sets that are simpler in one respect, the boldest first. Not all of them are possible."""
    for size in (8, 4, 2, 1):
        for start in range(0, len(question["entries"]), size):
            gone = {entry["entry"] for entry in question["entries"][start:start + size]}
            small = copy.deepcopy(question)
            small["entries"] = [entry for entry in small["entries"] if entry["entry"] not in gone]
            small["events"] = [event for event in small["events"] if event["entry"] not in gone]
            for event in small["events"]:
                if event.get("supersedes") in gone:
                    del event["supersedes"]
            yield small
    for index in reversed(range(len(question["events"]))):
        small = copy.deepcopy(question)
        del small["events"][index]
        yield small
        if "supersedes" in question["events"][index]:
            small = copy.deepcopy(question)
            del small["events"][index]["supersedes"]
            yield small
    for member, plain in (("as_of", None), ("best", "entry"), ("by", BOARDS[question["task"]["phase"]][0])):
        if question["rule"].get(member) != plain:
            small = copy.deepcopy(question)
            small["rule"].pop(member)
            if plain:
                small["rule"][member] = plain
            yield small
    if question["task"]["score"] != "median":
        small = copy.deepcopy(question)
        small["task"]["score"] = "median"
        yield small
    for index, entry in enumerate(question["entries"]):
        yield from simpler_entries(question, index, entry)


def simpler_entries(question, index, entry):
    def changed(**members):
        small = copy.deepcopy(question)
        small["entries"][index].update(members)
        return small

    for member in ("cost_reason", "cost_pico", "energy_uj", "latency_ns"):
        if member in entry:
            small = copy.deepcopy(question)
            del small["entries"][index][member]
            yield small
    runs = entry.get("runs", [])
    for size in (8, 1):
        for start in range(0, len(runs), size) if len(runs) > size else ():
            yield changed(runs=runs[:start] + runs[start + size:])
    for member in ("cost_pico", "energy_uj", "latency_ns"):
        for value in {0, 1, entry.get(member, 0) // 2}:
            if value < entry.get(member, 0):
                yield changed(**{member: value})
    for place, run in enumerate(runs):
        for value in (1, run.get("tta_ns", 0) // 2, run.get("tta_ns", 0) - 1):
            if 0 < value < run.get("tta_ns", 0):
                yield changed(runs=runs[:place] + [{"reached": True, "tta_ns": value}] + runs[place + 1:])
    for member, plain in (("author", "A"), ("name", f"n{entry['entry']}"), ("date", 0)):
        if entry[member] != plain:
            yield changed(**{member: plain})


def shrink(question, fails, tries=4000):
    """The smallest set found for which fails(set) still holds."""
    found = True
    while found and tries > 0:
        found = False
        for small in simpler(question):
            tries -= 1
            try:
                tell_again(small)
            except Invalid:
                continue
            if fails(small):
                question, found = small, True
                break
            if tries <= 0:
                break
    return question
