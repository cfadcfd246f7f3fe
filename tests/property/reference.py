"""tests/property/reference.py: who stands at which place, as the documents say and in the dullest way there is.

Written from design.md (Words, Numbers), protocol.md (Resources), measures.md, and the comments of score.h, by
someone who had not read server/rank. Whole numbers and fractions alone decide places; nothing is kept between two
questions, and a place is found by counting those who are better. README.md has the format of sets and answers.
"""
import math
from decimal import Decimal, localcontext
from fractions import Fraction

BOARDS = {"train": ("time", "cost", "energy"), "inference": ("latency", "inference-cost")}
# What an entry that does not stand says for itself.
REASONS = {"in_review": "in review", "superseded": "superseded", "withdrawn": "withdrawn",
           "disqualified": "disqualified", "rejected": "rejected"}
# Who may do what: the state that an event leads to, by the states that it may begin in.
LEAVE = {"withdraw": ("withdrawn", ("in_review", "accepted", "superseded")),
         "disqualify": ("disqualified", ("in_review", "accepted")),
         "reject": ("rejected", ("in_review",)),
         "revert": ("in_review", ("accepted", "rejected", "disqualified"))}


class Invalid(Exception):
    """A story that cannot happen."""


class Story:
    """The states of a set's entries, one event after another."""

    def __init__(self):
        self.state = {}
        self.before = {}  # entry -> the one whose place it takes

    def tell(self, event):
        entry, do = event["entry"], event["do"]
        if do == "submit":
            if entry in self.state:
                raise Invalid(f"{entry} is there already")
            self.state[entry] = "in_review"
        elif do == "accept":
            if self.state.get(entry) != "in_review":
                raise Invalid(f"{entry} waits for nobody")
            if any(self.state[other] == "accepted" and entry in self.line(other) for other in self.before):
                raise Invalid(f"whoever took the place of {entry} stands")
            if "supersedes" in event:
                if entry in self.before or self.state.get(event["supersedes"]) != "accepted":
                    raise Invalid(f"{event['supersedes']} does not stand")
                self.before[entry] = event["supersedes"]
            self.take_place(entry)
            self.state[entry] = "accepted"
        else:
            to_state, from_states = LEAVE[do]
            if self.state.get(entry) not in from_states:
                raise Invalid(f"{entry} cannot {do}")
            stood = self.state[entry] == "accepted"
            self.state[entry] = to_state
            if stood:
                self.bring_back(entry)

    def line(self, entry):
        """Those whose place it takes: the latest first."""
        line = []
        while entry in self.before:
            entry = self.before[entry]
            line.append(entry)
        return line

    def take_place(self, entry):
        for before in self.line(entry):
            if self.state[before] == "superseded":
                raise Invalid(f"another took the place of {before}")
            if self.state[before] == "accepted":
                self.state[before] = "superseded"
                return

    def bring_back(self, entry):
        """protocol.md: "When a best is superseded, withdrawn or reverted, the one before it comes back by itself"."""
        for before in self.line(entry):
            if self.state[before] == "superseded":
                self.state[before] = "accepted"
                return

    def standing(self):
        return {entry for entry, state in self.state.items() if state == "accepted"}


def states(events, last_day=None):
    """entry -> state when the day ended, or now."""
    story = Story()
    for event in events:
        if last_day is None or event["day"] <= last_day:
            story.tell(event)
    return story.state


def score(rule, runs):
    """The time of an entry by its runs, in ns, rounded down (score.h); None: it has none."""
    missed = sum(1 for run in runs if not run["reached"])
    reached = sorted(run["tta_ns"] for run in runs if run["reached"])
    if not runs:
        return None
    if rule == "median":
        ranked = reached + [math.inf] * missed
        low, high = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
        return None if high == math.inf else math.floor(Fraction(low + high, 2))
    if rule == "mean":
        return None if missed else math.floor(Fraction(sum(reached), len(reached)))
    assert rule == "olympic"
    if missed > 1 or len(runs) < 3:
        return None
    kept = reached[1:] if missed else reached[1:-1]
    return math.floor(Fraction(sum(kept), len(kept)))


def shown_run(runs, time):
    """Of the runs that reached the target the one nearest to the score; the faster of two, the earlier of equals."""
    return min((abs(run["tta_ns"] - time), run["tta_ns"], index)
               for index, run in enumerate(runs) if run["reached"])[2]


def value_of(entry, by, task):
    """The integer that the board orders by; None: the entry has none."""
    if by == "time":
        return score(task["score"], entry.get("runs", []))
    if by == "cost" and "cost_reason" in entry:
        return None
    return entry.get({"cost": "cost_pico", "inference-cost": "cost_pico", "energy": "energy_uj",
                      "latency": "latency_ns"}[by])


def key_of(entry, by, task):
    """design.md: value, entry date, NAME. Texts by their bytes."""
    return value_of(entry, by, task), entry["date"], entry["name"].encode()


def times_of(entry):
    return [run["tta_ns"] for run in entry.get("runs", []) if run["reached"]]


def mean_of(times):
    return Fraction(sum(times), len(times))


def deviation_of(times):
    """Sample standard deviation, 40 digits."""
    mean = mean_of(times)
    variance = sum((time - mean) ** 2 for time in times) / (len(times) - 1)
    with localcontext() as context:
        context.prec = 60
        return (Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt()


def decimal_of(fraction):
    with localcontext() as context:
        context.prec = 60
        return Decimal(fraction.numerator) / Decimal(fraction.denominator)


def student_within(t, freedom):
    """Probability that Student's t lies within -t and t: the finite sums for whole degrees of freedom."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    if freedom % 2:
        term, total = cosine, cosine if freedom > 1 else 0.0
        for k in range(3, freedom - 1, 2):
            term *= cosine * cosine * (k - 1) / k
            total += term
        return (angle + sine * total) * 2 / math.pi
    term = total = 1.0
    for k in range(2, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return sine * total


STUDENT_95 = {}


def student_95(freedom):
    if freedom not in STUDENT_95:
        low, high = 0.0, 100.0
        for _ in range(200):
            middle = (low + high) / 2
            if student_within(middle, freedom) < 0.95:
                low = middle
            else:
                high = middle
        STUDENT_95[freedom] = Decimal(low)
    return STUDENT_95[freedom]


def spread_of(entry):
    """CV, sample; None: fewer than two runs, or the mean is 0."""
    times = times_of(entry)
    if len(times) < 2 or sum(times) == 0:
        return None
    return float(deviation_of(times) / decimal_of(mean_of(times)))


def half_interval(times):
    return student_95(len(times) - 1) * deviation_of(times) / Decimal(len(times)).sqrt()


def separable(entry, following):
    """Whether the 95 % intervals of the two means are apart. None: not asked; "close": too near to tell in doubles."""
    times, others = times_of(entry), times_of(following)
    if len(times) < 2 or len(others) < 2:
        return None
    gap = abs(decimal_of(mean_of(times) - mean_of(others)))
    reach = half_interval(times) + half_interval(others)
    largest = max(times + others)
    if gap == reach == 0 and largest < 2 ** 45:  # the sums are exact in doubles
        return False
    if abs(gap - reach) <= Decimal("1e-9") * largest:
        return "close"
    return gap > reach


def rank(question, state=None):
    """The answer to a set: as README.md, but for `not_ranked`, whose `reason` is (kind, text). The states of its
    entries on that day follow from its events, unless they are given."""
    task, rule = question["task"], question["rule"]
    by, as_of = rule["by"], rule.get("as_of")
    if by not in BOARDS[task["phase"]]:
        return {"seed": question["seed"], "refused": True}
    if state is None:
        state = states(question["events"], as_of)
    if as_of is None:
        present = question["entries"]
    else:
        present = [entry for entry in question["entries"] if state.get(entry["entry"]) == "accepted"]
    ranked, missing = [], []
    for entry in present:
        if state[entry["entry"]] != "accepted":
            missing.append((entry, ("given", REASONS.get(state[entry["entry"]], ""))))
        elif value_of(entry, by, task) is None:
            given = by == "cost" and "cost_reason" in entry and "cost_pico" in entry
            missing.append((entry, ("given", entry["cost_reason"]) if given else ("value", "")))
        else:
            ranked.append(entry)
    if rule["best"] == "author":
        everyone, ranked = ranked, []
        for entry in everyone:
            first = min((other for other in everyone if other["author"] == entry["author"]),
                        key=lambda other: key_of(other, by, task))
            if first is entry:
                ranked.append(entry)
            else:
                missing.append((entry, ("best", first["name"])))
    ranked.sort(key=lambda entry: key_of(entry, by, task))
    values = [value_of(entry, by, task) for entry in ranked]
    items = []
    for index, entry in enumerate(ranked):
        value = values[index]
        item = {"entry": entry["entry"], "place": 1 + sum(1 for other in values if other < value),
                "tied": sum(1 for other in values if other == value) > 1, "value": value}
        if task["phase"] == "train":
            time = score(task["score"], entry.get("runs", []))
            if time is not None:
                item["run"] = shown_run(entry["runs"], time)
            item["cv"] = spread_of(entry)
        if by == "time" and index + 1 < len(ranked):
            item["separable"] = separable(entry, ranked[index + 1])
        items.append(item)
    missing.sort(key=lambda pair: pair[0]["name"].encode())
    return {"seed": question["seed"], "items": items,
            "not_ranked": [{"entry": entry["entry"], "name": entry["name"], "reason": reason}
                           for entry, reason in missing]}


def differences(question, answer):
    """What is wrong with an answer: a list of sentences, empty if it is as the reference ranks."""
    want = rank(question)
    if answer.get("seed") != question["seed"]:
        return [f"seed {answer.get('seed')}, expected {question['seed']}"]
    if "refused" in want or "refused" in answer:
        return [] if want.get("refused") == answer.get("refused") else [f"refused: {answer.get('refused')}"]
    faults = []
    got_order = [item["entry"] for item in answer["items"]]
    want_order = [item["entry"] for item in want["items"]]
    if got_order != want_order:
        return [f"the board is {got_order}, expected {want_order}"]
    for item, have in zip(want["items"], answer["items"]):
        for member in ("place", "tied", "value", "run"):
            if item.get(member) != have.get(member):
                faults.append(f"entry {item['entry']}: {member} {have.get(member)}, expected {item.get(member)}")
        faults += spread_faults(question, item, have)
    want_below = sorted((one["name"].encode(), one["entry"]) for one in want["not_ranked"])
    names = {entry["entry"]: entry["name"].encode() for entry in question["entries"]}
    got_below = [(names.get(one["entry"], b""), one["entry"]) for one in answer["not_ranked"]]
    if [name for name, _ in got_below] != [name for name, _ in want_below] or sorted(got_below) != want_below:
        return faults + [f"below the board {[one for _, one in got_below]}, expected {[one for _, one in want_below]}"]
    reasons = {one["entry"]: one["reason"] for one in answer["not_ranked"]}
    for one in want["not_ranked"]:
        (kind, text), have = one["reason"], reasons[one["entry"]]
        good = have == text if kind == "given" else text in have if kind == "best" else have not in ("", *REASONS.values())
        if not good:
            faults.append(f"entry {one['entry']}: reason {have!r}, expected {kind} {text!r}")
    return faults


def spread_faults(question, item, have, relative=1e-9):
    """CV and intervals are doubles there: 9 digits, and 1e-12 where runs differ by less than a double can tell."""
    faults = []
    want_cv, cv = item.get("cv"), have.get("cv")
    entry = next(entry for entry in question["entries"] if entry["entry"] == item["entry"])
    if not (len(times_of(entry)) >= 2 and sum(times_of(entry)) == 0):
        if (want_cv is None) != (cv is None) or (cv is not None and abs(cv - want_cv) > relative * want_cv + 1e-12):
            faults.append(f"entry {item['entry']}: cv {cv}, expected {want_cv}")
    want_apart, apart = item.get("separable"), have.get("separable", have.get("separable_from_next"))
    if (want_apart is None) != (apart is None) or (want_apart not in (None, "close") and apart != want_apart):
        faults.append(f"entry {item['entry']}: separable {apart}, expected {want_apart}")
    return faults
