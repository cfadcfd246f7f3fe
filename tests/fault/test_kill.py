#!/usr/bin/env python3
"""tests/fault/test_kill.py: SIGKILL of daybreakd at seeded random moments and at named points, under an agent that
sends 50 events a second: no acknowledged epoch is lost or doubled, and the run ends well after the restarts.

As controls, a server that answers before COMMIT and one without the (attempt, seq) key must fail the same check.
KILLS=N (20) sets how often; SEED=N (1) the moments.
"""
import os
import random
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from daybreak import AGENT, DAYBREAKD, ROOT, Agent, Server, Tap, wait_until  # noqa: E402

KILLS = int(os.environ.get("KILLS", "20"))
SEED = int(os.environ.get("SEED", "1"))
EVENT_S = 1 / 50
TOTAL = 10000
CONTROLS = os.path.join(os.environ.get("BUILD", os.path.join(ROOT, "build")), "controls")
TASK = "cifar10-train-quick"


class Restarter:
    """Kills the server at the moments of its plan and starts it again; `check` runs after each start."""

    def __init__(self, server, points, rng, check):
        self.server, self.points, self.rng, self.check = server, list(points), rng, check
        self.kills = 0
        self.faults = []
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def start(self):
        self.restart()
        self.thread.start()

    def restart(self):
        """Starts with the next point set. A point may be passed by what the server itself writes at its start."""
        while True:
            try:
                self.server.start(self.next_point())
                return
            except RuntimeError:
                if self.server.process.returncode != -signal.SIGKILL or not self.points:
                    raise
                self.kills += 1
                self.points.pop(0)

    def next_point(self):
        point = self.points[0] if self.points else None
        return None if point == "random" else point

    def work(self):
        try:
            while self.points and not self.done.is_set():
                if self.next_point() is None:
                    self.done.wait(self.rng.uniform(0.0, 0.6))
                    self.server.process.kill()
                elif not wait_until(lambda: not self.server.alive() or self.done.is_set(), 120, 0.002):
                    self.faults.append(f"point {self.points[0]} was never passed")
                    self.server.process.kill()
                if self.done.is_set() and self.server.alive():
                    break
                self.server.process.wait()
                self.server.process.stdout.close()
                self.kills += 1
                self.points.pop(0)
                self.restart()
                try:
                    self.faults += self.check()
                except OSError:
                    if not wait_until(lambda: not self.server.alive(), 5, 0.01):
                        raise  # it lives and does not answer
        except Exception as fault:  # a thread must not die in silence
            self.faults.append(f"restarter: {fault!r}")

    def finish(self):
        self.done.set()
        self.thread.join(120)


def judge(epochs, acknowledged):
    """What is wrong with the stored epochs, given {seq: correct} of what was acknowledged."""
    faults, seen = [], {}
    for item in epochs:
        if item["seq"] in seen:
            faults.append(f"epoch of seq {item['seq']} is there twice")
        seen[item["seq"]] = item["correct"]
    numbers = [item["correct"] for item in epochs]
    faults += [f"evaluation {n} is there {numbers.count(n)} times" for n in sorted(set(numbers)) if numbers.count(n) > 1]
    for seq, correct in acknowledged.items():
        if seen.get(seq) != correct:
            faults.append(f"acknowledged seq {seq} is stored as {seen.get(seq)}")
    return faults


def stream(binary, points, seed, event_count=None):
    """Streams by hand until the plan of kills is through; (faults, kills, epochs sent)."""
    rng = random.Random(seed)
    with Server(binary) as server:
        server.start()
        operator = server.token("operator")
        agent = Agent(server)
        run = server.json("POST", "/v1/jobs", {"task": TASK, "workload": "cifar10", "seeds": 1}, operator)["runs"][0]
        lease = agent.claim()
        server.stop()
        acknowledged = {}
        lock = threading.Lock()

        def check():
            with lock:
                known = dict(acknowledged)
            return judge(server.epochs(run), known)

        restarter = Restarter(server, points, rng, check)
        restarter.start()
        seq, number, seeds = 0, 0, set()
        plan = ["run_start"]
        try:
            while plan or restarter.points and not restarter.faults or (event_count and number < event_count):
                kind = plan.pop() if plan else "eval"
                seq += 1
                if kind == "eval":
                    number += 1
                    line = agent.event_line(seq, "eval", epoch=number / 100, metric="top1Accuracy", correct=number,
                                            total=TOTAL, views=1, loss=1.5, official_ns=number * 10**7,
                                            wall_ns=number * 10**7)
                else:
                    line = agent.event_line(seq, kind)
                begun = time.monotonic()
                while True:
                    try:
                        status, answer = agent.send(lease["attempt"], [line], 20)
                    except OSError:
                        time.sleep(0.01)
                        if time.monotonic() - begun > 90:
                            return [f"no answer to seq {seq} for 90 s"] + restarter.faults, restarter.kills, number
                        continue
                    if status == 503:
                        time.sleep(0.02)
                        continue
                    break
                if status != 200 or answer["ack_seq"] < seq:
                    return [f"seq {seq}: {status} {answer}"] + restarter.faults, restarter.kills, number
                if kind == "run_start":
                    seeds.add(answer["seed"])
                else:
                    with lock:
                        acknowledged[seq] = number
                time.sleep(max(0.0, EVENT_S - (time.monotonic() - begun)))
        finally:
            restarter.finish()
        faults = restarter.faults + (check() if server.alive() else ["the server is down"])
        if not faults:
            seq += 1
            agent.send(lease["attempt"], [agent.event_line(seq, "run_end", result="missed")])
            done = agent.post(lease["attempt"], "finish", {"last_seq": seq, "result": "missed"})
            if done["state"] != "missed":
                faults.append(f"finish answered {done}")
            if len(server.epochs(run)) != number:
                faults.append(f"{number} evaluations were sent, {len(server.epochs(run))} are stored")
        return faults, restarter.kills, number


def real_agent(points, seed):
    """The same with the real agent and its synthetic workload; (faults, kills, epochs)."""
    epochs = 150 + 35 * len(points)
    with Server() as server:
        server.start()
        operator = server.token("operator")
        token_file = os.path.join(server.folder, "agent.token")
        with open(token_file, "w", encoding="ascii") as out:
            out.write(server.token("agent-registration") + "\n")
        made = server.json("POST", "/v1/jobs", {"task": TASK, "workload": "synthetic", "seeds": 1}, operator)
        run = made["runs"][0]
        server.stop()
        seen = {}

        def check():
            now = server.epochs(run)
            faults = judge(now, seen)
            seen.update({item["seq"]: item["correct"] for item in now})
            return faults

        restarter = Restarter(server, points, random.Random(seed), check)
        restarter.start()
        env = dict(os.environ, DAYBREAK_TEST_WORKLOAD="1", DAYBREAK_SYNTHETIC_EPOCHS=str(epochs),
                   DAYBREAK_SYNTHETIC_RATE="50", DAYBREAK_STATE=os.path.join(server.folder, "agent"))
        with open(os.path.join(server.folder, "agent.log"), "wb") as log:
            agent = subprocess.Popen([AGENT, "run", "--server", server.url, "--token-file", token_file, "--once"],
                                     stdout=log, stderr=log, env=env)
        try:
            status = agent.wait(600)
        except subprocess.TimeoutExpired:
            status = "timeout"
        finally:
            agent.kill()
            restarter.finish()
        faults = list(restarter.faults)
        if status != 0:
            with open(os.path.join(server.folder, "agent.log"), "r", encoding="utf-8", errors="replace") as log:
                faults.append(f"the agent ended with {status}\n{log.read()[-1500:]}")
        if not server.alive():
            server.start()
        faults += check()
        state = server.json("GET", f"/v1/runs/{run}")
        if len(seen) != epochs:
            faults.append(f"{len(seen)} epochs are stored, {epochs} were run")
        if state["state"] != "reached":
            faults.append(f"the run ended as {state['state']}")
        return faults, restarter.kills, len(seen)


def plan_of(count, passages_max, rng):
    """Half at random moments, half at named points, in a seeded order. A spooling agent sends many events in
    one body, so it passes the points less often."""
    names = ["before-commit", "after-commit-before-reply", "after-event-insert", "after-reply"]
    points = [f"{names[i // 2 % 4]}:{rng.randint(1, passages_max)}" if i % 2 else "random" for i in range(count)]
    rng.shuffle(points)
    return points


def main():
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(143))  # so that `finally` ends what was started
    tap = Tap()
    rng = random.Random(SEED)
    faults, kills, number = stream(DAYBREAKD,
                                   plan_of(KILLS, 12, rng), SEED)
    tap.ok(not faults and kills == KILLS, f"{kills} kills under {number} events by hand: nothing acknowledged is lost or doubled",
           "\n".join(faults))
    faults, kills, number = real_agent(plan_of(KILLS, 3, rng), SEED + 1)
    tap.ok(not faults and kills >= KILLS // 2, f"{kills} kills under the real agent: its run of {number} epochs ends whole",
           "\n".join(faults + [f"{kills} kills"]))

    reply_first, no_key = os.path.join(CONTROLS, "reply-first"), os.path.join(CONTROLS, "no-event-key")
    if os.access(reply_first, os.X_OK) and os.access(no_key, os.X_OK):
        faults, _, _ = stream(reply_first, [f"before-commit:{n}" for n in (5, 6, 7, 8)], SEED)
        tap.ok(any("acknowledged seq" in f or "event-gap" in f or "expected_seq" in f for f in faults),
               "control: a server that answers before COMMIT is caught", "\n".join(faults) or "nothing was found")
        faults, _, _ = stream(no_key, [f"after-commit-before-reply:{n}" for n in (5, 6, 7, 8)], SEED)
        tap.ok(any("twice" in f or "times" in f for f in faults),
               "control: a server without the event key is caught", "\n".join(faults) or "nothing was found")
    else:
        tap.skip("controls", "not built: make controls")
    tap.done()


if __name__ == "__main__":
    main()
