#!/usr/bin/env python3
"""tests/e2e/test_loop.py: the whole loop with real programs: register, job, run, stream, finish, board; and what must
hold when the agent or the server goes away in the middle. The workload trains nothing ("synthetic"), so that this is
about everything around a training.
"""
import atexit
import http.server
import json
import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from daybreak import AGENT, Server, Tap, wait_until  # noqa: E402

TASK = "cifar10-train-quick"
WAIT_S = 120


class RealAgent:
    """daybreak-agent run, in a state folder that outlives it."""

    def __init__(self, server, epochs=10, rate=50, extra_env=None):
        self.server = server
        self.state = os.path.join(server.folder, "agent")
        self.log_path = os.path.join(server.folder, "agent.log")
        self.token_file = os.path.join(server.folder, "registration.token")
        self.env = dict(os.environ, DAYBREAK_TEST_WORKLOAD="1", DAYBREAK_STATE=self.state,
                        DAYBREAK_SYNTHETIC_EPOCHS=str(epochs), DAYBREAK_SYNTHETIC_RATE=str(rate), **(extra_env or {}))
        self.process = None
        atexit.register(self.kill)
        with open(self.token_file, "w", encoding="ascii") as out:
            out.write(server.token("agent-registration") + "\n")

    def start(self, *words):
        log = open(self.log_path, "ab")
        self.process = subprocess.Popen([AGENT, "run", "--server", self.server.url, "--token-file", self.token_file, *words],
                                        stdout=log, stderr=log, env=self.env)
        log.close()
        return self

    def log(self):
        with open(self.log_path, "r", encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait(self):
        """The exit status; None when it hangs, which ends it."""
        try:
            return self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def children(self):
        """Processes whose command line is the hidden command of this agent's parent id."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as line:
                    words = line.read().split(b"\0")
            except OSError:
                continue
            if b"child" in words and str(self.process.pid).encode() in words:
                found.append(int(pid))
        return found


def queue(server, seeds=1):
    return server.json("POST", "/v1/jobs", {"task": TASK, "workload": "synthetic", "seeds": seeds},
                       server.token("operator"))


def run_of(server, run):
    return server.json("GET", f"/v1/runs/{run}")


def check_epochs(tap, server, run, count, name):
    items = server.epochs(run)
    numbers = [item["epoch"] for item in items]
    correct = [item["correct"] for item in items]
    tap.ok(numbers == list(range(1, count + 1)) and len(set(correct)) == count, name, f"{numbers} {correct}")


def whole_loop(tap):
    with Server() as server:
        server.start()
        made = queue(server, seeds=2)
        agent = RealAgent(server).start("--cost-per-hour", "0.50", "--instance", "test.large", "--name", "loop")
        good = wait_until(lambda: all(run_of(server, run)["state"] == "reached" for run in made["runs"]), WAIT_S)
        tap.ok(good, "both runs of a job for two seeds end as reached", agent.log())
        for run in made["runs"]:
            check_epochs(tap, server, run, 10, f"run {run} has each epoch once, in order")
        runs = [run_of(server, run) for run in made["runs"]]
        tap.ok(runs[0]["seed"] != runs[1]["seed"], "each run has a seed of its own", runs)
        tap.ok(all(r["tier"] == "witnessed" and r["cost_usd_per_hour"] == "0.50" for r in runs),
               "streamed live: witnessed, at the agent's price", runs)
        board = server.json("GET", f"/v1/leaderboards/{TASK}?by=time")["items"]
        times = sorted(r["tta_s"] for r in runs)
        tap.ok(len(board) == 1 and board[0]["place"] == 1 and board[0]["n"] == 2 and
               times[0] <= board[0]["tta_s"] <= times[1], "the entry is on the board, by the median of its runs", board)
        tap.ok(all(r["tta_epoch"] == 8 for r in runs), "the target counts at its first crossing", runs)
        tap.ok(stat.S_IMODE(os.stat(agent.state).st_mode) == 0o700, "the state folder is private")
        agent.process.send_signal(signal.SIGTERM)
        tap.ok(agent.wait() == 0, "SIGTERM while idle ends the agent at once, with 0", agent.log())
        token = re.search(r"dbk_[a-z-]+_\S+", agent.log())
        tap.ok(token is None, "no token is in the log")
        queue(server)
        tap.ok(agent.start("--once").wait() == 0 and agent.log().count("event=registered") == 1,
               "a second start keeps its identity", agent.log())


def server_goes_away(tap):
    epochs = 100
    with Server() as server:
        server.start()
        run = queue(server)["runs"][0]
        agent = RealAgent(server, epochs=epochs, rate=50).start("--once")
        wait_until(lambda: len(server.epochs(run)) >= 10, WAIT_S)
        server.kill()
        # The training goes on without it: wait for the child's end, seen in the agent's own log.
        wait_until(lambda: agent.log().count("event=eval") >= epochs, WAIT_S)
        server.start()
        tap.ok(agent.wait() == 0, "an agent whose server was killed ends its run after the restart", agent.log()[-3000:])
        check_epochs(tap, server, run, epochs, "each epoch is there once")
        tap.ok(run_of(server, run)["state"] == "reached", "the run ended as reached", run_of(server, run))


def agent_goes_away(tap):
    with Server() as server:
        server.start()
        run = queue(server)["runs"][0]
        agent = RealAgent(server, epochs=500, rate=50).start()
        wait_until(lambda: len(server.epochs(run)) >= 5, WAIT_S)
        children = agent.children()
        tap.ok(len(children) == 1, "the training is a child process of its own", children)
        agent.kill()
        gone = wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children), WAIT_S)
        tap.ok(gone, "the child dies with its parent", children)
        agent.env["DAYBREAK_SYNTHETIC_EPOCHS"] = "10"
        status = agent.start("--once").wait()
        tap.ok(status == 0 and "event=attempt_released" in agent.log(),
               "the next start gives the broken attempt back and trains anew", agent.log()[-3000:])
        check_epochs(tap, server, run, 10, "the run has the epochs of its new attempt alone")
        tap.ok(run_of(server, run)["state"] == "reached", "and ended as reached", run_of(server, run))


class LateServer(http.server.ThreadingHTTPServer):
    """A daybreakd of a few lines that takes events as far as run_start and holds every later body until the attempt has been
    released, then refuses it as the real one would, and answers the release only after that."""

    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), LateServer.Handler)
        self.folder, self.url = folder, f"http://127.0.0.1:{self.server_address[1]}"
        self.acked = 0
        self.started, self.released, self.refused, self.held = (threading.Event() for _ in range(4))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def token(self, _role):
        return "r" * 40

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def is_gone(self):
            """Whether this connection's agent was killed."""
            return bool(select.select([self.connection], [], [], 0)[0]) and not self.connection.recv(1, socket.MSG_PEEK)

        def answer(self, status, body):
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json" if status < 400 else "application/problem+json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_POST(self):
            late, verb = self.server, self.path.rsplit("/", 1)[1]
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if verb == "register":
                self.answer(201, {"agent": 1, "token": "t" * 40, "server": "late"})
            elif verb == "claim" and late.released.is_set():
                self.answer(403, {"code": "forbidden", "status": 403, "title": "no", "detail": "nothing more here"})
            elif verb == "claim":
                self.answer(200, {"job": 1, "attempt": "at_late", "lease_ms": 60000, "heartbeat_ms": 15000, "task": TASK,
                                  "task_version": 1, "workload": "synthetic", "recipe": "x", "run": 1, "resume_seq": late.acked,
                                  "limits": {"event_bytes": 16384, "events_bytes": 1048576}})
            elif verb == "heartbeat":
                self.answer(200, {"lease_ms": 60000, "heartbeat_ms": 15000, "cancel": False})
            elif verb == "events" and not late.started.is_set():
                late.acked = json.loads(body.splitlines()[-1])["seq"]
                if b'"run_start"' in body:
                    late.started.set()
                self.answer(200, {"ack_seq": late.acked, "seed": 7})
            elif verb == "events":
                late.held.set()
                late.released.wait(WAIT_S)
                if self.is_gone():
                    return
                self.answer(409, {"code": "attempt-superseded", "status": 409, "title": "Superseded", "detail": "it is released"})
                late.refused.set()
            else:
                late.released.set()
                late.refused.wait(2)  # an agent that sends no events behind its release gets no refusal
                threading.Event().wait(3)  # long enough for it to be read and heeded
                self.answer(200, {"job": 1, "state": "queued"})


def release_beside_events(tap):
    """Events that are under way when the attempt is given back are refused: true, and no news."""
    with Server() as files:
        late = LateServer(files.folder)
        agent = RealAgent(late, epochs=500, rate=50).start()
        wait_until(late.held.is_set, WAIT_S)
        agent.kill()
        agent.start("--once").wait()
        tap.ok(late.released.is_set() and "event=attempt_released attempt=at_late" in agent.log(),
               "a refusal of events behind a release does not break off the release", agent.log()[-2000:])
        late.shutdown()


def replay_after_both(tap):
    """Training over, server dead, agent killed: the spool alone knows. The next start sends it."""
    epochs = 40
    with Server() as server:
        server.start()
        run = queue(server)["runs"][0]
        agent = RealAgent(server, epochs=epochs, rate=100).start("--once")
        wait_until(lambda: len(server.epochs(run)) >= 3, WAIT_S)
        server.kill()
        wait_until(lambda: agent.log().count("event=eval") >= epochs and not agent.children(), WAIT_S)
        # The last record is written right after the child's end; the log's line of it is the next event.
        spool = None
        for folder, _, files in os.walk(agent.state):
            if "spool" in files:
                spool = os.path.join(folder, "spool")
        ended = wait_until(lambda: b"run_end" in open(spool, "rb").read(), WAIT_S)
        agent.kill()
        server.start()
        status = agent.start("--once").wait()
        tap.ok(ended and status == 0 and "event=spool_replayed" in agent.log(),
               "a spool that holds a whole run is sent by the next start", agent.log()[-3000:])
        check_epochs(tap, server, run, epochs, "each epoch of it is there once")
        tap.ok(run_of(server, run)["state"] == "reached", "the run ended as reached", run_of(server, run))


def child_dies(tap):
    with Server() as server:
        server.start()
        run = queue(server)["runs"][0]
        agent = RealAgent(server, extra_env={"DAYBREAK_SYNTHETIC_DIE": "4"}).start("--once")
        tap.ok(agent.wait() == 0, "an agent outlives its child's crash", agent.log())
        state = run_of(server, run)
        tap.ok(state["state"] == "failed" and "signal 6" in state.get("detail", ""),
               "the run failed, and says how the child ended", state)
        check_epochs(tap, server, run, 3, "what was evaluated before is kept")


def cancelled(tap):
    with Server() as server:
        server.start()
        made = queue(server)
        run = made["runs"][0]
        agent = RealAgent(server, epochs=5000, rate=50).start()
        wait_until(lambda: len(server.epochs(run)) >= 3, WAIT_S)
        agent.process.send_signal(signal.SIGINT)
        tap.ok(agent.wait() == 0 and not agent.children(), "SIGINT ends agent and child", agent.log()[-2000:])
        job = server.json("GET", f"/v1/jobs/{made['jobs'][0]}")
        tap.ok(job["state"] == "queued", "the job is queued again", job)
        agent.env["DAYBREAK_SYNTHETIC_EPOCHS"] = "300"
        agent.start()
        wait_until(lambda: run_of(server, run)["state"] == "running" and server.epochs(run), WAIT_S)
        server.json("POST", f"/v1/jobs/{made['jobs'][0]}/cancel", None, server.token("operator"), expect=(200, 202))
        ended = wait_until(lambda: not agent.children(), WAIT_S)
        tap.ok(ended, "a job cancelled on the server stops the child", agent.log()[-2000:])
        agent.process.send_signal(signal.SIGTERM)
        tap.ok(agent.wait() == 0, "and the agent goes on to its orderly end", agent.log()[-2000:])


def drains(tap):
    with Server() as server:
        server.start()
        runs = queue(server, seeds=2)["runs"]
        agent = RealAgent(server, epochs=60, rate=50).start()
        wait_until(lambda: any(len(server.epochs(run)) >= 3 for run in runs), WAIT_S)
        agent.process.send_signal(signal.SIGTERM)
        status = agent.wait()
        states = sorted(run_of(server, run)["state"] for run in runs)
        tap.ok(status == 0 and states == ["queued", "reached"], "SIGTERM: the job is finished, no other is taken",
               f"{status} {states} {agent.log()[-2000:]}")


def misuse(tap):
    with Server() as server:
        server.start()
        agent = RealAgent(server)
        with open(agent.token_file, "w", encoding="ascii") as out:
            out.write("dbk_agent-registration_0_nothing\n")
        tap.ok(agent.start("--once").wait() == 2, "a wrong registration token is refused, in words", agent.log())
        good = RealAgent(server)
        good.start()
        wait_until(lambda: "event=registered" in good.log(), WAIT_S)
        second = subprocess.run([AGENT, "run", "--server", server.url, "--token-file", good.token_file], env=good.env,
                                capture_output=True, text=True, timeout=WAIT_S, check=False)
        tap.ok(second.returncode == 2 and "another agent uses" in second.stderr, "two agents never share a state folder",
               second.stderr)
        good.process.send_signal(signal.SIGINT)
        good.wait()
        secret = subprocess.run([AGENT, "submit", "--server", "http://name:hidden@127.0.0.1:9", "--token-file", good.token_file, "--task",
                                 TASK, good.token_file], env=good.env, capture_output=True, text=True, timeout=WAIT_S, check=False)
        tap.ok(secret.returncode == 4 and "http://127.0.0.1:9" in secret.stderr and "hidden" not in secret.stderr,
               "a password in the address is in no message", secret.stderr)
        for words in (["run"], ["run", "--server", "ftp://x"], ["run", "--server", server.url, "--device", "abacus"]):
            bad = subprocess.run([AGENT, *words], env=good.env, capture_output=True, text=True, timeout=WAIT_S, check=False)
            tap.ok(bad.returncode == 3 and bad.stderr.strip(), f"wrong usage is 3: {' '.join(words[-2:])}", bad.stderr)


def submits(tap):
    with Server() as server:
        server.start()
        folder = os.path.join(server.folder, "out")
        env = dict(os.environ, DAYBREAK_TEST_WORKLOAD="1")
        train = subprocess.run([AGENT, "train", "synthetic", "--task", TASK, "--seed", "5", "--out", folder, "--author", "A. Tester",
                                "--author-email", "a@example.org", "--cost-per-hour", "0.1"], env=env,
                               capture_output=True, text=True, timeout=WAIT_S, check=False)
        token = os.path.join(server.folder, "submitter.token")
        with open(token, "w", encoding="ascii") as out:
            out.write(server.token("submitter"))
        entry = os.path.join(folder, "synthetic_seed5.json")
        words = [AGENT, "submit", "--server", server.url, "--token-file", token]
        for count in (101, 150):
            many = subprocess.run([*words, "entry.json", *["r.tsv"] * count], capture_output=True, text=True, timeout=60, check=False)
            tap.ok(many.returncode == 3 and many.stderr == f"an entry has at most 100 progress files, here are {count}\n",
                   f"submit with {count} progress files names the limit", many.stderr)
        sent = subprocess.run([*words, entry], capture_output=True, text=True, timeout=WAIT_S, check=False)
        tap.ok(train.returncode == 0 and sent.returncode == 0 and "place=1" in sent.stdout,
               "what train leaves is accepted unchanged", train.stderr + sent.stdout + sent.stderr)
        board = server.json("GET", f"/v1/leaderboards/{TASK}?by=cost")["items"]
        tap.ok(len(board) == 1 and board[0]["author"] == "A. Tester", "and is on the board by cost", board)
        again = subprocess.run([*words, entry], capture_output=True, text=True, timeout=WAIT_S, check=False)
        tap.ok(again.returncode == 2 and "refused" in again.stderr, "sent twice, it is refused", again.stderr)
        with open(entry, encoding="utf-8") as text:
            broken = json.load(text)
        del broken["model"]
        with open(os.path.join(folder, "broken.json"), "w", encoding="utf-8") as out:
            json.dump(broken, out)
        os.link(os.path.join(folder, "synthetic_seed5.tsv"), os.path.join(folder, "broken.tsv"))
        refused = subprocess.run([*words, os.path.join(folder, "broken.json")], capture_output=True, text=True, timeout=WAIT_S,
                                 check=False)
        lines = [line.split("\t") for line in refused.stdout.splitlines()]
        tap.ok(refused.returncode == 2 and any(len(c) == 6 and c[1] == "error" and "model" in c[3] + c[4] for c in lines),
               "a broken entry is refused with file, line, code, field and hint", refused.stdout + refused.stderr)
        submits_runs(tap, server, words, entry)


def submits_runs(tap, server, words, entry):
    """An entry of three runs: each file goes as it is, in its order; a finding names the file that it is about."""
    folder = os.path.dirname(entry)
    with open(entry, encoding="utf-8") as text:
        whole = json.load(text)
    with open(entry.replace(".json", ".tsv"), encoding="utf-8") as text:
        head, *rows = [line.split("\t") for line in text.read().splitlines()]
    hours = head.index("hours")
    whole["misc"]["seeds"] = [5, 6, 7]
    whole["misc"].pop("seed", None)
    three = os.path.join(folder, "three.json")
    with open(three, "w", encoding="utf-8") as out:
        json.dump(whole, out)
    runs = [os.path.join(folder, f"three-{i}.tsv") for i in range(3)]
    for i, path in enumerate(runs):
        with open(path, "w", encoding="utf-8") as out:
            for row in [head] + [[str(float(cell) * (1 + i / 10)) if k == hours else cell for k, cell in enumerate(row)] for row in rows]:
                out.write("\t".join(row) + "\n")
    absent = subprocess.run([*words, three, runs[0], os.path.join(folder, "none.tsv")], capture_output=True, text=True, timeout=WAIT_S, check=False)
    tap.ok(absent.returncode != 0 and "none.tsv" in absent.stderr, "a file that is not there is named, and nothing is sent", absent.stderr)
    with open(os.path.join(folder, "bad.tsv"), "w", encoding="utf-8") as out:
        out.write("\t".join(head) + "\nx\n")
    bad = subprocess.run([*words, three, runs[0], os.path.join(folder, "bad.tsv"), runs[2]], capture_output=True, text=True, timeout=WAIT_S, check=False)
    tap.ok(bad.returncode == 2 and os.path.join(folder, "bad.tsv") + ":2\terror\t" in bad.stdout, "a fault of one run names its file and line",
           bad.stdout + bad.stderr)
    sent = subprocess.run([*words, three, *runs], capture_output=True, text=True, timeout=WAIT_S, check=False)
    rows = server.json("GET", f"/v1/leaderboards/{TASK}?by=cost")["items"]
    entry_of_three = next((row for row in rows if row["name"] == "three"), {})
    shown = server.json("GET", f"/v1/entries/{entry_of_three.get('entry', 0)}") if entry_of_three else {}
    tap.ok(sent.returncode == 0 and shown.get("trials", {}).get("n") == 3, "three runs are sent as one entry", sent.stdout + sent.stderr + json.dumps(shown))


def standard_files(tap):
    """Whatever of 0, 1 and 2 is closed or full: nothing of it lands in our files, and results that are lost are said."""
    with Server() as server:
        env = dict(os.environ, DAYBREAK_TEST_WORKLOAD="1")
        for closed in ((0,), (1,), (2,), (0, 1, 2)):
            out = os.path.join(server.folder, "closed" + "".join(map(str, closed)))
            words = " ".join(f"{fd}>&-" for fd in closed)
            done = subprocess.run(["sh", "-c", f'exec "$@" {words}', "sh", AGENT, "train", "synthetic", "--task", TASK, "--seed", "3",
                                   "--out", out], env=env, capture_output=True, text=True, timeout=WAIT_S, check=False)
            with open(os.path.join(out, "events.ndjson"), encoding="utf-8") as events:
                kinds = [json.loads(line)["kind"] if line.startswith("{") else line for line in events]
            tap.ok(done.returncode == 0 and kinds[-1] == "run_end" and all(kind.isidentifier() for kind in kinds),
                   f"train does not mind that {closed} is closed", f"{done.returncode} {kinds} {done.stderr}")
        with open("/dev/full", "wb") as full:
            for words in (["--help"], ["devices", "--help"], ["--version"]):
                lost = subprocess.run([AGENT, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=WAIT_S, check=False)
                tap.ok(lost.returncode != 0 and "cannot write" in lost.stderr, f"{words[0]} onto a full disk is no success", lost.stderr)
        small = subprocess.run(["sh", "-c", 'ulimit -f 4; exec "$@"', "sh", AGENT, "train", "synthetic", "--task", TASK, "--seed", "3",
                                "--out", os.path.join(server.folder, "small")], env=dict(env, DAYBREAK_SYNTHETIC_EPOCHS="500"),
                               capture_output=True, text=True, timeout=WAIT_S, check=False)
        tap.ok(small.returncode == 4 and "too large" in small.stderr, "a file that may not grow is an error in words",
               f"{small.returncode} {small.stderr[-500:]}")
        for command in ("run", "train", "data", "submit", "bench", "devices"):
            said = subprocess.run([AGENT, command, "--version"], capture_output=True, text=True, timeout=WAIT_S, check=False)
            tap.ok(said.returncode == 0 and re.match(r"daybreak-agent \S+ \(", said.stdout), f"{command} has --version", said.stderr)


def one_run_in_a_folder(tap):
    """Another run's files are not written over; whoever goes on from a checkpoint keeps the events from before."""
    with Server() as server:
        env = dict(os.environ, DAYBREAK_TEST_WORKLOAD="1", DAYBREAK_SYNTHETIC_EPOCHS="4")
        out = os.path.join(server.folder, "out")

        def train(*words, seed=3, **more):
            return subprocess.run([AGENT, "train", "synthetic", "--task", TASK, "--seed", str(seed), *words], env=dict(env, **more),
                                  capture_output=True, text=True, timeout=WAIT_S, check=False)

        def contents():
            found = {}
            for name in sorted(os.listdir(out)):
                with open(os.path.join(out, name), "rb") as file:
                    found[name] = file.read()
            return found

        failed = train("--out", out, DAYBREAK_SYNTHETIC_RATE="0")
        tap.ok(failed.returncode == 2 and os.listdir(out) == [], "a training that never began leaves its folder free", failed.stderr)
        first = train("--out", out)
        before = contents()
        second = train("--out", out)
        tap.ok(first.returncode == 0 and second.returncode == 2 and all(name in second.stderr for name in before) and
               second.stderr.strip().count("\n") == 0, "a second run in one folder is refused, naming what is there", second.stderr)
        tap.ok(contents() == before, "and changes nothing")
        other = train("--out", out, seed=4)
        tap.ok(other.returncode == 2 and "events.ndjson" in other.stderr and contents() == before, "whatever its seed", other.stderr)
        strange = os.path.join(server.folder, "strange.safetensors")
        os.link(os.path.join(out, "checkpoint.safetensors"), strange)
        away = train("--out", out, "--resume", strange, DAYBREAK_SYNTHETIC_EPOCHS="6")
        tap.ok(away.returncode == 2 and contents() == before, "or when it goes on from elsewhere", away.stderr)
        rest = train("--out", out, "--resume", os.path.join(out, "checkpoint.safetensors"), DAYBREAK_SYNTHETIC_EPOCHS="6")
        after = contents()
        events = [json.loads(line) for line in after["events.ndjson"].splitlines()]
        tap.ok(rest.returncode == 0 and after["events.ndjson"].startswith(before["events.ndjson"]) and
               [e["epoch"] for e in events if e["kind"] == "eval"] == [1, 2, 3, 4, 5, 6],
               "going on from its own checkpoint appends to its events", f"{rest.stderr} {events}")


def forgotten_attempt(tap):
    """An attempt that ended on the server while its agent was dead holds up nothing, and its spool is kept."""
    with Server() as server:
        server.start()
        run = queue(server)["runs"][0]
        agent = RealAgent(server, epochs=5000, rate=50).start()
        wait_until(lambda: server.epochs(run), WAIT_S)
        agent.kill()
        spool = next(os.path.join(folder, "spool") for folder, _, files in os.walk(agent.state) if "spool" in files)
        home = os.path.dirname(os.path.dirname(os.path.dirname(spool)))
        with open(os.path.join(home, "identity.json"), encoding="utf-8") as text:
            token = json.load(text)["token"]
        with open(os.path.join(home, "claim"), encoding="ascii") as text:
            claim = text.read()
        attempt = run_of(server, run)["attempt"]
        server.json("POST", f"/v1/agent/attempts/{attempt}/release", {"reason": "error", "detail": "its agent is gone"}, token)
        agent.env["DAYBREAK_SYNTHETIC_EPOCHS"] = "10"
        status = agent.start("--once").wait()
        tap.ok(status == 0 and f"event=claim_ended claim={claim}" in agent.log(), "a used claim is given up for a new one",
               agent.log()[-2000:])
        tap.ok(run_of(server, run)["state"] == "reached", "and the job is done by a new attempt", run_of(server, run))
        check_epochs(tap, server, run, 10, "whose epochs are the run's")
        tap.ok(os.path.exists(spool), "the spool of the ended one is kept")


def main():
    tap = Tap()
    for part in (standard_files, one_run_in_a_folder, whole_loop, server_goes_away, agent_goes_away, release_beside_events, replay_after_both, child_dies, cancelled, drains, forgotten_attempt, misuse, submits):
        part(tap)
    tap.done()


if __name__ == "__main__":
    main()
