#!/usr/bin/env python3
"""tests/property/test_ranking.py: random sets of entries, ranked by server/rank and by reference.py, as TAP.

SETS (3,000) sets with the seeds SEED (1), SEED + 1 and so on, shared out over the cores. A set that is ranked
otherwise is made smaller and printed. README.md has the format.
"""
import collections
import json
import multiprocessing
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "support")]
import reference  # noqa: E402
import sets  # noqa: E402
from daybreak import ROOT, Tap  # noqa: E402

RANK = os.path.join(os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build"))), "tests/property/rank_stdin")
SETS = int(os.environ.get("SETS") or 3000)
SEED = int(os.environ.get("SEED") or 1)
CHUNK = 500
SHOWN = 3  # sets that are made smaller and printed
# What the sets must have among them, for fewer than a hundredth of them would leave something untested.
WANTED = ("ties", "names decide", "superseded", "back again", "one of an author", "as of a day", "gone since", "apart", "not apart")


def line_of(question):
    return json.dumps(question, ensure_ascii=False, separators=(",", ":"))


def real(questions):
    """The answers of the real code; a string where it gave none."""
    text = "".join(line_of(question) + "\n" for question in questions)
    run = subprocess.run([RANK], input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    lines = run.stdout.decode("utf-8", "replace").splitlines()
    answers = [json.loads(line) for line in lines[:len(questions)]]
    if run.returncode != 0 or len(lines) != len(questions):
        answers += [f"status {run.returncode}, {len(lines)} answers: {run.stderr.decode('utf-8', 'replace')[-500:]}"]
    return answers + ["no answer"] * (len(questions) - len(answers))


def faults_of(question, answer):
    return [answer] if isinstance(answer, str) else reference.differences(question, answer)


def features(question):
    """Which of WANTED, and others that are counted, a set has."""
    answer = reference.rank(question)
    if "refused" in answer:
        return ["refused"]
    by_id = {entry["entry"]: entry for entry in question["entries"]}
    items = [by_id[item["entry"]] for item in answer["items"]]
    keys = [(item["value"], by_id[item["entry"]]["date"]) for item in answer["items"]]
    tests = {"empty": not items, "ties": any(item["tied"] for item in answer["items"]),
             "names decide": len(set(keys)) < len(keys),
             "superseded": any("supersedes" in event for event in question["events"]),
             "back again": any(len(entry["standings"]) > 1 for entry in items),
             "one of an author": any(one["reason"][0] == "best" for one in answer["not_ranked"]),
             "as of a day": "as_of" in question["rule"] and items, "gone since": any("reason" in entry for entry in items),
             "apart": any(item.get("separable") is True for item in answer["items"]),
             "not apart": any(item.get("separable") is False for item in answer["items"])}
    return [name for name, has in tests.items() if has]


def try_chunk(first):
    """(failing seeds with their faults, counts of features) of the sets from a seed on."""
    questions = [sets.make(seed) for seed in range(first, min(first + CHUNK, SEED + SETS))]
    failed, counts = [], collections.Counter()
    for question, answer in zip(questions, real(questions)):
        counts.update(features(question))
        faults = faults_of(question, answer)
        if faults:
            failed.append((question["seed"], faults))
    return failed, counts


def report(seed):
    """The smallest set that still fails, as text."""
    small = sets.shrink(sets.make(seed), lambda question: bool(faults_of(question, real([question])[0])))
    answer = real([small])[0]
    want = reference.rank(small)
    return "\n".join([f"SEED={seed} SETS=1; made smaller:", line_of(small), *faults_of(small, answer),
                      "got  " + (answer if isinstance(answer, str) else line_of(answer)), "want " + line_of(want)])


# The reference and the comparison themselves.

def run_times(*times):
    return [{"reached": False} if time is None else {"reached": True, "tta_ns": time} for time in times]


def answer_of(question):
    """What the real code would print if it agreed."""
    answer = reference.rank(question)
    for item in answer.get("items", []):
        for member in [member for member, value in item.items() if value is None]:
            del item[member]
        if item.get("separable") == "close":
            item["separable"] = False
    for one in answer.get("not_ranked", []):
        kind, text = one["reason"]
        one["reason"] = {"given": text, "best": f"{text} is ranked", "value": "no value"}[kind]
        del one["name"]
    return answer


SCORES = [("median", (5,), 5), ("median", (9, 1, 5), 5), ("median", (1, 4), 2), ("median", (), None),
          ("median", (1, None, 2), 2), ("median", (1, None), None), ("median", (None, 7, None), None),
          ("median", (1, 2, 3, None), 2), ("median", (1, 2, None, None), None),
          ("mean", (1, 2), 1), ("mean", (1, 2, 4), 2), ("mean", (1, None), None), ("mean", (2 ** 63 - 1,) * 3, 2 ** 63 - 1),
          ("olympic", (1, 2), None), ("olympic", (3, 1, 9), 3), ("olympic", (3, None, 1), 3),
          ("olympic", (3, None, 1, None), None), ("olympic", (1, 2, 5, 100), 3)]


def check_reference(tap):
    faults = [f"{rule} of {times} is {reference.score(rule, run_times(*times))}, worked out {want}"
              for rule, times, want in SCORES if reference.score(rule, run_times(*times)) != want]
    tap.ok(not faults, "the reference scores runs as they were worked out by hand", "\n".join(faults))
    table = {1: 12.7062, 2: 4.3027, 4: 2.7764, 9: 2.2622, 30: 2.0423}
    tap.ok(all(abs(float(reference.student_95(n)) - t) < 5e-5 for n, t in table.items()), "and knows the table of Student's t")
    days = {1: {"a"}, 2: {"b"}, 3: {"c"}, 4: {"c"}, 5: {"a"}}  # b came for a, c for b; b went while c stood, then c
    events = [{"day": 0, "do": "submit", "entry": entry} for entry in "abc"]
    events += [{"day": 1, "do": "accept", "entry": "a"}, {"day": 2, "do": "accept", "entry": "b", "supersedes": "a"},
               {"day": 3, "do": "accept", "entry": "c", "supersedes": "b"}, {"day": 4, "do": "withdraw", "entry": "b"},
               {"day": 5, "do": "revert", "entry": "c"}]
    stood = {day: {entry for entry, state in reference.states(events, day).items() if state == "accepted"} for day in days}
    tap.ok(stood == days, "and brings back the one before", stood)
    tap.ok(all(sets.make(seed) == sets.make(seed) for seed in range(20)), "a seed always makes the same set")


def wrong_answers(answer):
    """Answers with one mistake each."""
    def changed(change):
        other = json.loads(json.dumps(answer))
        change(other)
        return other

    items = answer["items"]
    if len(items) > 1:
        yield changed(lambda a: a["items"].reverse())
    if items:
        yield changed(lambda a: a["items"][-1].update(place=a["items"][-1]["place"] + 1))
        yield changed(lambda a: a["items"][0].update(tied=not a["items"][0]["tied"]))
        yield changed(lambda a: a["items"][0].update(value=a["items"][0]["value"] + 1))
        yield changed(lambda a: a["items"].pop())
        yield changed(lambda a: a["not_ranked"].append(a["items"].pop()))
    if "run" in (items[0] if items else ()):
        yield changed(lambda a: a["items"][0].update(run=a["items"][0]["run"] + 1))
    if "cv" in (items[0] if items else ()):
        yield changed(lambda a: a["items"][0].update(cv=a["items"][0]["cv"] * 1.001 + 1e-9))
    if answer["not_ranked"]:
        yield changed(lambda a: a["not_ranked"].pop())
        yield changed(lambda a: a["not_ranked"][0].update(reason=""))


def check_comparison(tap):
    missed, good = [], []
    for seed in range(SEED, SEED + 200):
        question = sets.make(seed)
        answer = answer_of(question)
        good += [f"seed {seed}: {fault}" for fault in reference.differences(question, answer)]
        if "refused" not in answer:
            missed += [f"seed {seed}: {line_of(wrong)}" for wrong in wrong_answers(answer)
                       if not reference.differences(question, wrong)]
    tap.ok(not good, "the comparison takes an answer that is right", "\n".join(good))
    tap.ok(not missed, "and notices one mistake", "\n".join(missed))


def main():
    tap = Tap()
    check_reference(tap)
    check_comparison(tap)
    failed, counts = [], collections.Counter()
    with multiprocessing.Pool() as pool:
        for some, more in pool.imap(try_chunk, range(SEED, SEED + SETS, CHUNK)):
            failed += some
            counts.update(more)
    tap.ok(not failed, f"{SETS} random sets from seed {SEED} on are ranked as by the reference",
           f"{len(failed)} are not, seeds {[seed for seed, _ in failed[:20]]}")
    for seed, _ in failed[:SHOWN]:
        print("\n".join("# " + line for line in report(seed).splitlines()), flush=True)
    print("# sets with: " + ", ".join(f"{name} {count}" for name, count in counts.most_common()))
    if SETS >= 1000:
        rare = [f"{name}: {counts[name]}" for name in WANTED if counts[name] < SETS / 100]
        tap.ok(not rare, "the sets have what there is to test", "\n".join(rare))
    tap.done()


if __name__ == "__main__":
    main()
