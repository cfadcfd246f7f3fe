#!/usr/bin/python3
"""tests/http/test_framing.py: where a request ends: a body is never read as the next request, whatever was refused, and
the guard takes ordinary requests however the network cuts them."""
import os
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
from daybreak import Server, Tap  # noqa: E402

ENDS_S = 60  # bounds a hang; nothing here takes half a minute
HIDDEN = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"  # as a request of its own: 404
LAST = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
JSON = "Content-Type: application/json\r\n"


def statuses(port, pieces):
    """The status of every answer on one connection, until the server ends it."""
    data = b""
    with socket.create_connection(("127.0.0.1", port), timeout=ENDS_S) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in pieces:
                sock.sendall(piece.encode("latin-1"))
            while more := sock.recv(65536):
                data += more
        except (BrokenPipeError, ConnectionResetError):
            pass
    answers = []
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        answers.append(int(lines[0].split(" ")[1]))
        length = [line.split(":")[1] for line in lines if line.lower().startswith("content-length:")]
        data = data[int(length[0]) if length and answers[-1] != 100 else 0:]
    return answers


def post(target, headers, body):
    return f"POST {target} HTTP/1.1\r\nHost: a\r\n{headers}\r\n{body}"


def sized(body):
    return f"Content-Length: {len(body)}\r\n"


def hides_no_request_in_a_body(tap, port):
    chunked = f"{len(HIDDEN):x}\r\n{HIDDEN}\r\n0\r\n\r\n"
    padded = HIDDEN + "x" * (2 << 20)
    rows = (("without a token", post("/v1/submissions", JSON + sized(HIDDEN), HIDDEN), [401, 200]),
            ("without a token, chunked", post("/v1/submissions", JSON + "Transfer-Encoding: chunked\r\n", chunked), [401, 200]),
            ("to no address", post("/nowhere", sized(HIDDEN), HIDDEN), [404, 200]),
            ("of a wrong kind", post("/v1/submissions/validate", "Content-Type: text/plain\r\n" + sized(HIDDEN), HIDDEN), [415, 200]),
            ("with a wrong method", post("/healthz", sized(HIDDEN), HIDDEN), [405, 200]),
            ("that is not JSON", post("/v1/submissions/validate", JSON + sized(HIDDEN), HIDDEN), [400, 200]),
            ("where none belongs", "GET /healthz HTTP/1.1\r\nHost: a\r\n" + sized(HIDDEN) + "\r\n" + HIDDEN, [413, 200]),
            ("with a folded length", post("/v1/submissions/validate", JSON + f"Content-Length:\r\n {len(HIDDEN)}\r\n", HIDDEN), [400]),
            ("with a folded encoding", post("/v1/submissions/validate", JSON + "Transfer-Encoding:\r\n\tchunked\r\n", chunked), [400]),
            ("with a folded blank length", post("/nowhere", "X: y\r\n " + sized(HIDDEN), HIDDEN), [400]),
            ("with two lengths", post("/nowhere", sized("") + sized(HIDDEN), HIDDEN), [400]),
            ("with a length and chunks", post("/nowhere", sized("") + "Transfer-Encoding: chunked\r\n", chunked), [400]),
            ("behind a NUL", post("/nowhere", "X: y\0\r\n" + sized(HIDDEN), HIDDEN), [400]),
            ("behind a NUL at a line's begin", post("/nowhere", "\0X: y\r\n" + sized(HIDDEN), HIDDEN), [400]),
            ("behind a NUL at the end", post("/nowhere", sized(HIDDEN)[:-2] + "\0\r\n", HIDDEN), [400]))
    for name, request, wanted in rows:
        got = statuses(port, [request + LAST])
        tap.ok(got == wanted, f"a body {name} is no request", f"{got}, not {wanted}")
    got = statuses(port, [post("/nowhere", sized(padded), padded), LAST])
    tap.ok(got in ([404], []), "a body too large to be read away ends the connection", got)  # the reset may eat the answer


def takes_requests_in_pieces(tap, port):
    plain = "GET /v1/tasks?a=%41 HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-Blank: \t b \r\n\r\n"
    long = "GET /healthz HTTP/1.1\r\nHost: a\r\n" + "".join(f"X-{i}: {'y' * 330}\r\n" for i in range(60)) + "\r\n"
    old = "GET /healthz HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n"
    head = "HEAD /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    healthz = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    rows = (("in one piece", [plain + LAST], [422, 200]), ("byte by byte", list(plain + LAST), [422, 200]),
            ("20 kB of header", [long + LAST], [200, 200]),
            ("20 kB of header in pieces", [(long + LAST)[i:i + 997] for i in range(0, len(long + LAST), 997)], [200, 200]),
            ("forty at once", [healthz * 40 + LAST], [200] * 41), ("20 kB behind others", [healthz * 3 + long + LAST], [200] * 5),
            ("of HTTP/1.0", [old + LAST], [200, 200]), ("after empty lines", ["\r\n\r\n" + LAST], [200]))
    for name, pieces, wanted in rows:
        got = statuses(port, pieces)
        tap.ok(got == wanted, f"requests are taken: {name}", f"{got}, not {wanted}")
    with socket.create_connection(("127.0.0.1", port), timeout=ENDS_S) as sock:
        sock.sendall(head.encode())
        tap.ok(sock.recv(65536).startswith(b"HTTP/1.1 404"), "HEAD is taken")


def main():
    tap = Tap()
    with Server() as server:
        server.start()
        hides_no_request_in_a_body(tap, server.port)
        takes_requests_in_pieces(tap, server.port)
        tap.ok(server.request("GET", "/healthz")[0] == 200, "the server still serves")
        tap.ok(server.stop() == 0, "the server stops cleanly", server.log_tail())
    tap.done()


main()
