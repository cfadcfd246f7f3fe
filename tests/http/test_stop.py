#!/usr/bin/python3
"""tests/http/test_stop.py: how connections end: SIGTERM with polls and streams open, slow clients, a socket file."""
import os
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
from daybreak import DAYBREAKD, Agent, Server, Tap  # noqa: E402

ENDS_S = 60  # bounds a hang; nothing here takes half a minute


def send(port, text):
    sock = socket.create_connection(("127.0.0.1", port), timeout=ENDS_S)
    sock.sendall(text.encode())
    return sock


def read_to_end(sock):
    data = b""
    try:
        while piece := sock.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    sock.close()
    return data


def stops_with_polls_and_streams_open(tap):
    with Server() as server:
        server.start()
        agent = Agent(server)
        body = '{"claim_id": "c", "wait_ms": 25000}'
        poll = send(server.port, f"POST /v1/agent/claim HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {agent.token}\r\n"
                    f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}")
        stream = send(server.port, "GET /v1/stream?topics=queue HTTP/1.1\r\nHost: a\r\n\r\n")
        head = stream.recv(65536)
        tap.ok(b"text/event-stream" in head, "a stream begins at once", head)
        poll.settimeout(1)
        try:
            early = poll.recv(1)
        except TimeoutError:
            early = None
        poll.settimeout(ENDS_S)
        tap.ok(early is None, "a poll without work waits", early)
        server.process.send_signal(signal.SIGTERM)
        answer = read_to_end(poll)
        tap.ok(answer.startswith(b"HTTP/1.1 204"), "stopping answers parked polls with 204", answer[:200])
        rest = read_to_end(stream)
        tap.ok((head + rest).endswith(b"0\r\n\r\n"), "stopping ends streams whole", (head + rest)[-200:])
        tap.ok(server.process.wait(ENDS_S) == 0, "the server then ends with 0", server.log_tail())


def drops_slow_clients(tap):
    with Server() as server:
        server.start()
        begin = time.monotonic()
        header = send(server.port, "GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        body = send(server.port, "POST /v1/submissions/validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    "Content-Length: 100\r\n\r\n{")
        read_to_end(header)
        header_s = time.monotonic() - begin
        read_to_end(body)
        body_s = time.monotonic() - begin
        tap.ok(header_s < ENDS_S, "a header that never ends is cut off", header_s)
        tap.ok(header_s < body_s < ENDS_S, "a body that never ends is cut off, later", body_s)
        tap.ok(server.request("GET", "/healthz")[0] == 200, "the server still serves")


def serves_on_a_socket_file(tap):
    with Server() as server:
        path = os.path.join(server.folder, "s")
        for turn in ("at first", "over a file left behind"):
            process = subprocess.Popen([DAYBREAKD, "serve", "--listen", f"unix:{path}", "--db", server.db],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            line = process.stdout.readline().decode()
            tap.ok(line == f"listening on unix:{path}\n", f"a socket file is listened on, {turn}", line)
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(ENDS_S)
                sock.connect(path)
                sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                tap.ok(sock.recv(65536).startswith(b"HTTP/1.1 200"), f"and answers, {turn}")
            process.send_signal(signal.SIGKILL if turn == "at first" else signal.SIGTERM)
            process.wait(ENDS_S)
            process.stdout.close()
        tap.ok(not os.path.exists(path), "a clean end removes the socket file")


def refuses_wrong_usage(tap):
    with Server() as server, socket.create_server(("127.0.0.1", 0)) as taken:
        for words, want in ((["--listen", "nowhere"], 3), (["--listen", "127.0.0.1:99999"], 3), (["--workers", "0"], 3),
                            (["--nonsense"], 3), (["extra"], 3), (["--listen", f"127.0.0.1:{taken.getsockname()[1]}"], 4),
                            (["--db", "/proc/nothing/x.db"], 4)):
            db = [] if "--db" in words else ["--db", server.db]
            run = subprocess.run([DAYBREAKD, "serve", *words, *db], capture_output=True, text=True, check=False,
                                 timeout=ENDS_S)
            lines = [line for line in run.stderr.splitlines() if line.startswith("daybreakd serve: ")]
            good = run.returncode == want and len(lines) == 1 and not run.stdout
            tap.ok(good, f"serve {' '.join(words)} ends with {want} and one sentence", f"{run.returncode} {run.stderr}")
        run = subprocess.run([DAYBREAKD, "serve", "--help"], capture_output=True, text=True, check=False, timeout=ENDS_S)
        tap.ok(run.returncode == 0 and "--listen" in run.stdout and not run.stderr, "serve --help", run.stderr)
        run = subprocess.run([DAYBREAKD, "dance"], capture_output=True, text=True, check=False, timeout=ENDS_S)
        tap.ok(run.returncode == 3 and "dance" in run.stderr, "a command that is none", run.stderr)
        run = subprocess.run([DAYBREAKD, "--version"], capture_output=True, text=True, check=False, timeout=ENDS_S)
        tap.ok(run.returncode == 0 and run.stdout.startswith("daybreakd 0."), "--version names the build", run.stdout)


def takes_no_writes_when_read_only(tap):
    with Server() as server:
        token = server.token("operator")
        server.start(extra=("--read-only",))
        status, _, body = server.request("POST", "/v1/jobs", {"task": "cifar10-train-quick"}, token)
        tap.ok(status == 503 and b"read-only" in body, "a read-only server refuses writes", body)
        tap.ok(server.request("GET", "/v1/leaderboards/cifar10-train")[0] == 200, "and still shows boards")


def main():
    tap = Tap()
    stops_with_polls_and_streams_open(tap)
    serves_on_a_socket_file(tap)
    refuses_wrong_usage(tap)
    takes_no_writes_when_read_only(tap)
    drops_slow_clients(tap)
    tap.done()


main()
