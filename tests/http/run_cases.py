#!/usr/bin/python3
"""tests/http/run_cases.py: runs tests/http/*.case against a real server, one server and database a file. Prints TAP.

A .case file is a list of cases; a case is a list of steps; blank lines and lines that begin with # mean nothing.

    case NAME               begins a case: one test point
    refused                 nothing of what follows may be stored; checked at the end of the case
    > METHOD TARGET         begins a step: a request
    > Name: value           one more header of it
    token ROLE              sends the token of that role (made for the file), or `token =TEXT` as it is
    json {..}               body as application/json; goes on over lines that begin with |
    ndjson {..}             one line of an application/x-ndjson body; repeated: more lines
    body TYPE TEXT          body of any type
    part NAME [FILE] TEXT   a part of a multipart/form-data body; FILE in [..] is its file name; TEXT may be @PATH
    pad COUNT               appends that many blanks to the body
    raw "TEXT"              in place of a request: these bytes (a JSON string, \\r\\n written out) on a bare socket
    stream COUNT            the answer is read until it has COUNT events, then dropped; they are `events`
    hold NAME               sends, and reads no answer before `await NAME`, whose expectations follow there
    < STATUS                the status that is wanted; `< refused`: 4xx, or the connection just ends
    < Name: REGEX           a header that is wanted; `< !Name` one that must not be there
    is PATH VALUE           a member of the answer: items[0].name, errors[*].code (any of them); VALUE is JSON
    like PATH REGEX         as text
    has PATH, lacks PATH    is there, is not there
    text REGEX              somewhere in the body
    save NAME PATH          keeps a member as ${NAME} for what follows; `save NAME @Header` a header
    restart                 in place of a request: the server stops and starts again on its database
    new-token NAME ROLE     makes a token and keeps it as ${NAME}; further words go to `token create`
    command WORDS           runs daybreakd beside the server, on its database
    expire NAME             makes that token expire yesterday, in the database itself; `revoke NAME` by the command

Every JSON answer is held against schema/openapi.yaml, whatever else a case wants. After every case /healthz must answer.
"""
import glob
import json
import os
import re
import socket
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
from daybreak import Server, Tap  # noqa: E402
from openapi import Spec, Wrong  # noqa: E402

ROLES = ("submitter", "reviewer", "operator", "admin", "agent-registration")
TABLES = ("submission", "entry", "run", "epoch", "job", "agent", "attempt", "event", "idempotency")
TIMEOUT_S = 60
BOUNDARY = "----daybreak-case-boundary"


class Ended(Wrong):
    """The connection ended before an answer."""


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.values = None

    @property
    def json(self):
        if self.values is None:
            try:
                self.values = json.loads(self.body)
            except ValueError as fault:
                raise Wrong(f"not JSON: {self.body[:200]!r}") from fault
        return self.values


class Wire:
    """One request on a socket of its own."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        self.data = b""
        self.begun = None

    def begin(self):
        """Waits for the head of a stream: from then on it misses nothing."""
        self.begun = self.head()

    def more(self):
        try:
            piece = self.socket.recv(65536)
        except ConnectionResetError:
            piece = b""
        self.data += piece
        return piece != b""

    def head(self):
        while b"\r\n\r\n" not in self.data:
            if not self.more():
                raise Ended(f"the connection ended without an answer: {self.data[:100]!r}")
        head, self.data = self.data.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            headers[name.strip().lower()] = value.strip()
        return int(lines[0].split(" ")[1]), headers

    def chunk(self):
        while b"\r\n" not in self.data:
            if not self.more():
                return b""
        size, self.data = self.data.split(b"\r\n", 1)
        count = int(size, 16)
        while len(self.data) < count + 2:
            if not self.more():
                raise Wrong("the connection ended within a chunk")
        piece, self.data = self.data[:count], self.data[count + 2:]
        return piece

    def answer(self, method):
        status, headers = self.head()
        if status == 100:
            status, headers = self.head()
        if method == "HEAD" or status in (204, 304):
            return Answer(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while piece := self.chunk():
                body += piece
            return Answer(status, headers, body)
        if "content-length" in headers:
            while len(self.data) < int(headers["content-length"]):
                if not self.more():
                    raise Wrong("the connection ended within the body")
            return Answer(status, headers, self.data[:int(headers["content-length"])])
        while self.more():
            pass
        return Answer(status, headers, self.data)

    def events(self, count):
        status, headers = self.begun or self.head()
        text, events = b"", []
        if headers.get("content-type") != "text/event-stream":
            return Answer(status, headers, self.data)
        while len(events) < count:
            piece = self.chunk()
            if not piece:
                raise Wrong(f"the stream ended after {len(events)} events")
            text += piece
            while b"\n\n" in text:
                block, text = text.split(b"\n\n", 1)
                fields = dict(line.split(": ", 1) for line in block.decode().split("\n") if ": " in line)
                if "data" in fields:
                    events.append({"id": int(fields["id"]), "event": fields["event"],
                                   "data": json.loads(fields["data"])})
        answer = Answer(status, headers, b"")
        answer.values = {"events": events}
        return answer

    def close(self):
        self.socket.close()


class Step:
    def __init__(self, method="", target=""):
        self.method, self.target = method, target
        self.headers, self.parts, self.body, self.ndjson = [], [], None, []
        self.raw = self.hold = self.wanted = self.restart = self.token = self.make = self.end = None
        self.command = None
        self.stream = self.pad = 0
        self.checks = []


def read_cases(path):
    cases, step = [], None
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.strip().partition(" ")
        if word == "case":
            cases.append((rest, [], number))
            step = None
        elif word == "refused":
            cases[-1][1].append("refused")
        elif word == ">" and re.match(r"^[A-Z]+ [/*]", rest):
            step = Step(*rest.split(" ", 1))
            cases[-1][1].append(step)
        elif word in ("raw", "await", "restart", "new-token", "expire", "revoke", "command"):
            step = Step()
            step.raw = rest if word == "raw" else None
            step.wanted = rest if word == "await" else None
            step.restart = word == "restart"
            step.make = rest.split() if word == "new-token" else None
            step.command = rest.split() if word == "command" else None
            step.end = (word, rest) if word in ("expire", "revoke") else None
            cases[-1][1].append(step)
        elif word == ">":
            step.headers.append(rest)
        elif word == "|":
            step.body = (step.body[0], step.body[1] + "\n" + rest)
        elif word == "json":
            step.body = ("application/json", rest)
        elif word == "ndjson":
            step.ndjson.append(rest)
        elif word == "body":
            step.body = tuple(rest.split(" ", 1)) if " " in rest else (rest, "")
        elif word == "part":
            step.parts.append(rest)
        elif word == "pad":
            step.pad = int(rest)
        elif word == "token":
            step.token = rest
        elif word == "stream":
            step.stream = int(rest)
        elif word == "hold":
            step.hold = rest
        elif word in ("<", "is", "like", "has", "lacks", "text", "save"):
            step.checks.append((number, word, rest))
        else:
            raise SystemExit(f"{path}:{number}: what is \"{word}\"?")
    return cases


def find(value, path):
    """Every value under the path; [*] means any element."""
    found = [value]
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+|\*)\]", path):
        step = []
        for one in found:
            if name and isinstance(one, dict) and name in one:
                step.append(one[name])
            elif index == "*" and isinstance(one, list):
                step += one
            elif index and index != "*" and isinstance(one, list) and int(index) < len(one):
                step.append(one[int(index)])
        found = step
    return found


class File:
    """One .case file: its server, its tokens, what it saved."""

    def __init__(self, path, spec):
        self.server, self.spec = Server(), spec
        self.saved, self.held = {}, {}
        self.cases = read_cases(path)
        self.server.start()
        self.tokens = {role: self.server.token(role, f"test {role}") for role in ROLES}

    def fill(self, text):
        return re.sub(r"\$\{([\w-]+)\}", lambda m: str(self.saved[m.group(1)]), text)

    def counts(self):
        with sqlite3.connect(f"file:{self.server.db}?mode=ro", uri=True) as db:
            return {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}

    def run(self, steps):
        before = self.counts()
        for step in steps:
            if step == "refused":
                continue
            if step.restart:
                self.stop()
                self.server.start()
            elif step.make:
                self.saved[step.make[0]] = self.server.command(
                    "token", "create", "--role", step.make[1], "--name", step.make[0], *step.make[2:]).strip()
            elif step.end:
                self.end_token(*step.end)
            elif step.command:
                self.server.command(*step.command)
            else:
                self.run_step(step)
        if self.server.request("GET", "/healthz")[0] != 200:
            raise Wrong("the server no longer serves")
        if "refused" in steps and self.counts() != before:
            raise Wrong(f"something was stored: {before} became {self.counts()}")

    def end_token(self, how, name):
        number = self.saved[name].split("_")[2]
        if how == "revoke":
            self.server.command("token", "revoke", number)
            return
        with sqlite3.connect(self.server.db) as db:
            db.execute("UPDATE token SET created_ms = 1, expires_ms = 1764547200000 WHERE id = ?", (number,))

    def run_step(self, step):
        if step.wanted:
            wire, method, target = self.held.pop(step.wanted)
        else:
            wire, method, target = Wire(self.server.port), step.method, self.fill(step.target)
            try:
                wire.socket.sendall(self.bytes_of(step, target))
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before all of it was sent: the answer is there to be read
        if step.hold:
            if target.startswith("/v1/stream"):
                wire.begin()
            self.held[step.hold] = (wire, method, target)
            return
        try:
            answer = wire.events(step.stream) if step.stream else wire.answer(method)
        except Ended:
            if not any(rest == "refused" for _, _, rest in step.checks):
                raise
            answer = Answer(400, {}, b"")
        finally:
            wire.close()
        if "x-request-id" in answer.headers and not step.stream and answer.body and step.raw is None:
            self.spec.check(method, target, answer)
        for number, word, rest in step.checks:
            try:
                self.check(answer, word, self.fill(rest))
            except Wrong as fault:
                raise Wrong(f"line {number}: {fault}\n{answer.status} {answer.headers}\n{answer.body[:1500]!r}") from fault

    def bytes_of(self, step, target):
        if step.raw is not None:
            return json.loads(self.fill(step.raw)).encode("latin-1")
        headers = [self.fill(header) for header in step.headers]
        body, media = b"", None
        if step.parts:
            body, media = self.multipart(step.parts), f"multipart/form-data; boundary={BOUNDARY}"
        elif step.ndjson:
            body, media = self.fill("\n".join(step.ndjson) + "\n").encode(), "application/x-ndjson"
        elif step.body is not None:
            media, body = step.body[0], self.fill(step.body[1]).encode()
        body += b" " * step.pad
        if not any(h.lower().startswith("host:") for h in headers):
            headers.insert(0, "Host: test")
        if step.token:
            token = self.fill(step.token[1:]) if step.token[0] == "=" else self.tokens[step.token]
            headers.append(f"Authorization: Bearer {token}")
        if media and not any(h.lower().startswith("content-type:") for h in headers):
            headers.append(f"Content-Type: {media}")
        if media or step.method in ("POST", "PUT", "PATCH"):
            headers.append(f"Content-Length: {len(body)}")
        head = f"{step.method} {target} HTTP/1.1\r\n" + "".join(f"{h}\r\n" for h in headers) + "\r\n"
        return head.encode("utf-8") + body

    def multipart(self, parts):
        out = b""
        for part in parts:
            name, file, text = re.match(r"^(\S+)(?: \[([^\]]*)\])? ?(.*)$", part, re.S).groups()
            data = self.fill(text).encode()
            if text.startswith("@"):
                with open(os.path.join(HERE, text[1:]), "rb") as source:
                    data = self.fill(source.read().decode()).encode()
            out += f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"".encode()
            if file is not None:
                out += f"; filename=\"{self.fill(file)}\"\r\nContent-Type: application/octet-stream".encode()
            out += b"\r\n\r\n" + data + b"\r\n"
        return out + f"--{BOUNDARY}--\r\n".encode()

    def check(self, answer, word, rest):
        path, _, value = rest.partition(" ")
        if word == "<" and re.fullmatch(r"\d{3}", rest):
            if answer.status != int(rest):
                raise Wrong(f"status {answer.status}, not {rest}")
        elif word == "<" and rest == "refused":
            if not 400 <= answer.status < 500:
                raise Wrong(f"status {answer.status}, not refused")
        elif word == "<" and rest.startswith("!"):
            if rest[1:].lower() in answer.headers:
                raise Wrong(f"there is a header {rest[1:]}")
        elif word == "<":
            name, _, pattern = rest.partition(": ")
            if not re.search(pattern, answer.headers.get(name.lower(), "(absent)")):
                raise Wrong(f"{name}: {answer.headers.get(name.lower())}, not {pattern}")
        elif word == "text":
            if not re.search(rest, answer.body.decode("utf-8", "replace")):
                raise Wrong(f"no {rest} in the body")
        elif word == "save" and value.startswith("@"):
            self.saved[path] = answer.headers[value[1:].lower()]
        else:
            found = find(answer.json, value if word == "save" else path)
            if word == "lacks":
                if found:
                    raise Wrong(f"{path} is {found}")
            elif not found:
                raise Wrong(f"there is no {path}")
            elif word == "save":
                self.saved[path] = found[0]
            elif word == "is" and json.loads(value) not in found:
                raise Wrong(f"{path} is {json.dumps(found)}, not {value}")
            elif word == "like" and not any(re.search(value, str(one)) for one in found):
                raise Wrong(f"{path} is {found}, not like {value}")

    def stop(self):
        """A sanitizer's report, of a leak for instance, is an end that is not clean."""
        status = self.server.stop()
        if status != 0:
            raise Wrong(f"the server ended with {status}\n{self.server.log_tail()}")

    def close(self):
        for wire, _, _ in self.held.values():
            wire.close()
        self.server.close()


def main():
    tap, spec = Tap(), Spec()
    paths = sys.argv[1:] or sorted(glob.glob(os.path.join(HERE, "*.case")))
    for path in paths:
        name = os.path.basename(path)[:-len(".case")]
        file = File(path, spec)
        try:
            for title, steps, _ in file.cases:
                try:
                    file.run(steps)
                    tap.ok(True, f"{name}: {title}")
                except (Wrong, OSError, KeyError, RuntimeError) as fault:
                    tap.ok(False, f"{name}: {title}", f"{type(fault).__name__}: {fault}\n{file.server.log_tail()[-500:]}")
            try:
                file.stop()
                tap.ok(True, f"{name}: the server stops cleanly")
            except Wrong as fault:
                tap.ok(False, f"{name}: the server stops cleanly", fault)
        finally:
            file.close()
    tap.done()


main()
