#!/usr/bin/env python3
"""tests/e2e/test_rubbish.py: an agent behind a proxy that now and then answers instead of the server, as portals, load
balancers and misrouted gateways do: pages of HTML with any status, redirects, empty and huge bodies, half an answer.
None of them is the word of a daybreakd: the run must end as if they had not been, each epoch stored once.
"""
import atexit
import http.client
import http.server
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from daybreak import AGENT, Server, Tap  # noqa: E402

TASK = "cifar10-train-quick"
EPOCHS = 12
WAIT_S = 180
PAGE = b"<html>sign in</html>"
# status, body, type; no body: the connection ends in the middle of the answer.
RUBBISH = [(200, PAGE, "text/html"), (404, PAGE, "text/html"), (302, b"", "text/html"), (503, PAGE, "text/html"),
           (200, b"[1]", "application/json"), (200, b"", "application/json"), (401, PAGE, "text/html"),
           (200, b"{\"ack_seq\":", "application/json"), (200, b" " * (8 << 20), "application/json"), (409, b"null", "application/json"),
           (200, None, "application/json")]
# The first to every kind of call, the others dealt out: an agent waits longer after each, and so would this test.
SHARES = {kind: RUBBISH[:1] + RUBBISH[1 + i::3] for i, kind in enumerate(("finish", "events", "claim"))}
SHARES["heartbeat"] = RUBBISH


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = 0
    lock = threading.Lock()
    seen = {}  # kind of call -> how often it came

    def log_message(self, *words):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = self.path.rsplit("/", 1)[-1]
        with Proxy.lock:
            count = Proxy.seen[kind] = Proxy.seen.get(kind, 0) + 1
        # The registration is left in peace: a first server that is none is to be said at once.
        if count <= len(SHARES.get(kind, ())):
            return self.answer(*SHARES[kind][count - 1])
        link = http.client.HTTPConnection("127.0.0.1", Proxy.upstream, timeout=60)
        link.request("POST", self.path, body, {k: v for k, v in self.headers.items() if k.lower() not in ("host", "content-length")})
        reply = link.getresponse()
        return self.answer(reply.status, reply.read(), reply.getheader("Content-Type", "text/plain"))

    def answer(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:9/")
        if status != 204:
            self.send_header("Content-Length", "100" if body is None else str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(b"{" if body is None else body)
        except OSError:
            pass
        self.close_connection = self.close_connection or body is None


def agent(server, url, *words):
    token = os.path.join(server.folder, "registration.token")
    with open(token, "w", encoding="ascii") as out:
        out.write(server.token("agent-registration") + "\n")
    env = dict(os.environ, DAYBREAK_TEST_WORKLOAD="1", DAYBREAK_STATE=os.path.join(server.folder, "agent"),
               DAYBREAK_SYNTHETIC_EPOCHS=str(EPOCHS), DAYBREAK_SYNTHETIC_RATE="100", no_proxy="*")
    return subprocess.run([AGENT, "run", "--server", url, "--token-file", token, "--once", *words], env=env,
                          capture_output=True, text=True, timeout=WAIT_S, check=False)


def main():
    tap = Tap()
    with Server() as server:
        server.start()
        Proxy.upstream = server.port
        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        proxy.daemon_threads = True
        proxy.handle_error = lambda *_: None  # an agent that hangs up on us is no fault
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        atexit.register(proxy.shutdown)
        made = server.json("POST", "/v1/jobs", {"task": TASK, "workload": "synthetic", "seeds": 1}, server.token("operator"))
        done = agent(server, f"http://127.0.0.1:{proxy.server_port}")
        run = server.json("GET", f"/v1/runs/{made['runs'][0]}")
        tap.ok(done.returncode == 0 and run["state"] == "reached", "rubbish in between ends no run", f"{run}\n{done.stderr[-3000:]}")
        numbers = [item["epoch"] for item in server.epochs(made["runs"][0])]
        tap.ok(numbers == list(range(1, EPOCHS + 1)), "each epoch is there once", numbers)
        tap.ok(all(Proxy.seen.get(kind, 0) > len(SHARES[kind]) for kind in ("claim", "events", "finish")),
               "and every call had its share of it", Proxy.seen)
    tap.done()


if __name__ == "__main__":
    main()
