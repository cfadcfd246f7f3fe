"""tests/support/daybreak.py: a real daybreakd of a test's own, and a small HTTP client. Python 3, standard library.

Every server listens on a loopback port of its own and keeps its data in a temporary folder that goes with it.
TAP comes from class Tap. Programs: DAYBREAKD and DAYBREAK_AGENT, else build/.
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DAYBREAKD = os.path.abspath(os.environ.get("DAYBREAKD", os.path.join(ROOT, "build/daybreakd")))
AGENT = os.path.abspath(os.environ.get("DAYBREAK_AGENT", os.path.join(ROOT, "build/daybreak-agent")))
READY_S = 60  # generous: sanitized builds on a loaded machine


class Tap:
    """Counts and prints test points; call done() last."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, good, name, detail=""):
        self.count += 1
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}", flush=True)
        if not good:
            self.failed += 1
            for line in str(detail).splitlines()[:30]:
                print(f"# {line}", file=sys.stderr, flush=True)  # where prove shows it
        return good

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}", flush=True)

    def done(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """One database, and the daybreakd that serves it, which may be killed and started again."""

    def __init__(self, binary=DAYBREAKD, history=False):
        self.binary = binary
        self.folder = tempfile.mkdtemp(prefix="daybreak-test-")
        self.db = os.path.join(self.folder, "daybreak.db")
        self.port = free_port()
        self.process = None
        self.starts = 0
        if history:
            self.command("import", os.path.join(ROOT, "schema/history"))

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def command(self, *words, check=True):
        run = subprocess.run([self.binary, words[0], *words[1:], "--db", self.db], capture_output=True, text=True,
                             check=False, timeout=120)
        if check and run.returncode != 0:
            raise RuntimeError(f"daybreakd {' '.join(words)}: {run.returncode} {run.stderr}")
        return run.stdout

    def token(self, role, name="test"):
        return self.command("token", "create", "--role", role, "--name", name).strip()

    def start(self, kill_point=None, extra=()):
        env = dict(os.environ, DAYBREAK_TEST_WORKLOAD="1")
        env.pop("DAYBREAK_KILL_POINT", None)
        if kill_point:
            env["DAYBREAK_KILL_POINT"] = kill_point
        log = open(os.path.join(self.folder, "server.log"), "ab")
        self.process = subprocess.Popen([self.binary, "serve", "--listen", f"127.0.0.1:{self.port}", "--db", self.db, *extra],
                                        stdout=subprocess.PIPE, stderr=log, env=env)
        log.close()
        self.starts += 1
        line = self.process.stdout.readline()
        if b"listening on" not in line:
            self.process.wait()
            raise RuntimeError(f"server did not start: {line!r}\n{self.log_tail()}")
        return self

    def log_tail(self):
        with open(os.path.join(self.folder, "server.log"), "rb") as log:
            return log.read()[-2000:].decode("utf-8", "replace")

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def stop(self):
        """SIGTERM and a clean end; the exit status."""
        status = None
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            try:
                status = self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.process = None
        return status

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def request(self, method, path, body=None, token=None, headers=None, timeout=60):
        """(status, headers, bytes); a dict or list body is sent as JSON. OSError when nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        send = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            send.setdefault("Content-Type", "application/json")
        if token:
            send["Authorization"] = f"Bearer {token}"
        try:
            connection.request(method, path, body, send)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        except http.client.HTTPException as fault:
            raise ConnectionError(str(fault)) from fault
        finally:
            connection.close()

    def json(self, method, path, body=None, token=None, expect=(200, 201), headers=None, timeout=60):
        status, _, data = self.request(method, path, body, token, headers, timeout)
        if expect and status not in expect:
            raise RuntimeError(f"{method} {path}: {status} {data[:600]!r}")
        return json.loads(data) if data else None

    def epochs(self, run):
        """All evaluations of a run, through every page."""
        items, after = [], 0
        while True:
            page = self.json("GET", f"/v1/runs/{run}/epochs?after={after}")
            items += page["items"]
            if "next_after" not in page:
                return items
            after = page["next_after"]


class Agent:
    """A client that speaks the agent's protocol by hand, so that a test sees each acknowledgement."""

    def __init__(self, server, name="by-hand"):
        self.server = server
        answer = server.json("POST", "/v1/agent/register", {
            "name": name, "public_key": os.urandom(32).hex(), "protocol": 1, "build": "test",
            "capabilities": {"device_kind": "cpu", "device_model": "test device", "device_count": 1,
                             "cpu_model": "test cpu", "cpu_cores": 2, "cpu_isa": "none", "memory_bytes": 1 << 30}},
            server.token("agent-registration"))
        self.id, self.token = answer["agent"], answer["token"]

    def claim(self, claim_id="c1", wait_ms=1000):
        status, _, data = self.server.request("POST", "/v1/agent/claim", {"claim_id": claim_id, "wait_ms": wait_ms},
                                              self.token)
        if status == 204:
            return None
        if status != 200:
            raise RuntimeError(f"claim: {status} {data!r}")
        return json.loads(data)

    def event_line(self, seq, kind, **members):
        return json.dumps({"seq": seq, "kind": kind, "mono_ns": time.monotonic_ns(),
                           "real_ms": int(time.time() * 1000), **members}).encode()

    def send(self, attempt, lines, timeout=60):
        """(status, answer) of the event lines in one body."""
        status, _, data = self.server.request("POST", f"/v1/agent/attempts/{attempt}/events", b"\n".join(lines) + b"\n",
                                              self.token, {"Content-Type": "application/x-ndjson"}, timeout)
        return status, json.loads(data)

    def post(self, attempt, verb, body):
        return self.server.json("POST", f"/v1/agent/attempts/{attempt}/{verb}", body, self.token)


def wait_until(test, seconds, step=0.05):
    """True as soon as test() is; False after that many seconds. The seconds bound a hang; they are no assertion."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if test():
            return True
        time.sleep(step)
    return bool(test())


def key_values(line):
    """The pairs of one log line."""
    return {k: v.strip('"') for k, v in re.findall(r'(\w+)=("[^"]*"|\S+)', line)}
