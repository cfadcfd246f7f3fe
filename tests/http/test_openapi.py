#!/usr/bin/python3
"""tests/http/test_openapi.py: random requests made from schema/openapi.yaml, valid and broken, against a real server.

Of every answer: no 5xx; what openapi.yaml describes, and of the schema it names; every 4xx is problem+json with a request
id; 400 and 422 name what is at fault. Nearly every operation must do well at least once, or its 2xx were never looked at: the
generator keeps its own tokens, and starts with jobs, an agent and prices. REQUESTS (2500) and SEED (a number; printed) may be given; the campaign is
REQUESTS=100000. A request that failed is printed whole, so that it can be made a .case.
"""
import copy
import json
import os
import random
import re
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import http.client  # noqa: E402

from daybreak import ROOT, Agent, Server, Tap, free_port  # noqa: E402
from openapi import RUBBISH, Maker, Spec, Wrong  # noqa: E402

REQUESTS = int(os.environ.get("REQUESTS", "2500"))
SEED = int(os.environ.get("SEED", "20261201"))
ROLES = ("submitter", "reviewer", "operator", "admin", "agent-registration")
FAULTS_MAX = 10
FLOOR = 0.93 if REQUESTS < 30000 else 1.0  # of the operations, that must do well at least once; of 53 some 52 do
TRAINING = "cifar10-train"  # what the files are of
SPARES = 5  # tokens that may be revoked
SLOW = {"wait_ms": [0, 0, 1]}  # long polls are test_loop.py's


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """One connection that is kept, and opened afresh when the server closed it."""

    def __init__(self, port):
        self.port, self.connection = port, None

    def send(self, method, target, headers, body):
        for attempt in (0, 1):
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                self.connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
                for name, value in headers.items():
                    self.connection.putheader(name, value.encode("utf-8"))
                self.connection.endheaders(body if body is not None else None)
                got = self.connection.getresponse()
                names = {name.lower(): value for name, value in got.getheaders()}
                if names.get("content-type", "").startswith("text/event-stream"):
                    self.close()
                    return Answer(got.status, names, b"")
                return Answer(got.status, names, got.read())
            except (http.client.HTTPException, ConnectionError):
                self.close()
                if attempt:
                    raise
        return None

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class Generator:
    def __init__(self, server, spec, rng):
        self.server, self.spec, self.random = server, spec, rng
        self.tokens = {role: server.token(role, f"random {role}") for role in ROLES}
        self.spares = [server.token("submitter", "spare").split("_")[2] for _ in range(SPARES)]
        self.tokens["agent"] = Agent(server).token
        for _ in range(2):
            server.json("POST", "/v1/jobs", {"task": "cifar10-train-quick", "seeds": 8}, self.tokens["operator"])
        self.operations = list(spec.operations())
        self.pools = {"task": [task["id"] for task in json.loads(server.request("GET", "/v1/tasks")[2])["items"]], **SLOW,
                      "url": [f"http://127.0.0.1:{free_port()}/"], "policy": ["open", "open", "open", "metadata-only", "closed"],
                      "last_seq": [0, 3]}
        self.pools["task"] += [TRAINING] * len(self.pools["task"])
        self.maker = Maker(spec, rng, self.pools, only=SLOW)
        self.entry, self.progress = self.example_files()
        self.count = 0
        self.places = {}  # path of openapi.yaml: what it stands for that is there, and whose it is
        self.may = {}  # operationId: roles that were not refused

    @staticmethod
    def example_files():
        folder = os.path.join(ROOT, "schema/history/CIFAR10/train")
        with open(os.path.join(folder, "basenet.json"), "rb") as entry, open(os.path.join(folder, "basenet.tsv"), "rb") as progress:
            return entry.read(), progress.read()

    def request(self):
        """(method, target, headers, body), and whether it was made to be valid."""
        rng = self.random
        method, path, parameters, operation = rng.choice(self.operations)
        broken = rng.random() < 0.5
        headers = self.caller(operation)
        target, query = path, []
        for parameter in parameters:
            place, name = parameter["in"], parameter["name"]
            if not parameter.get("required") and rng.random() < 0.6:
                continue
            value = self.text(parameter["example"] if "example" in parameter and not self.pools.get(name) and rng.random() < 0.3
                              else self.maker.valid(parameter["schema"], name))
            if name == "If-Match" and rng.random() < 0.4:
                value = "*"
            if broken and rng.random() < 0.3:
                value = rng.choice(RUBBISH)
            if place == "path":
                target = target.replace("{" + name + "}", urllib.parse.quote(value, safe="") or "x")
            elif place == "query":
                query.append((name, value))
            elif place == "header" and all(" " <= c for c in value):
                headers[name] = value
        if broken and rng.random() < 0.1:
            query.append((rng.choice(("unknown", "limit", "by")), rng.choice(RUBBISH)))
        if self.places.get(path) and rng.random() < 0.6:
            target, caller = rng.choice(self.places[path])
            if caller and rng.random() < 0.9:
                headers["Authorization"] = caller
        if query:
            target += "?" + urllib.parse.urlencode(query, errors="surrogatepass")
        body = None
        if "requestBody" in operation:
            media, body = self.body(self.spec.resolve(operation["requestBody"]), broken)
            headers["Content-Type"] = media if not broken or rng.random() < 0.95 else rng.choice(("text/plain", "x", "application/json; charset=latin1"))
        if body is not None or method in ("POST", "PUT", "PATCH"):
            headers["Content-Length"] = str(len(body or b""))
        if method == "GET" and rng.random() < 0.05:
            method = "HEAD"
        elif broken and rng.random() < 0.02:
            method = rng.choice(("DELETE", "PUT", "PATCH", "OPTIONS", "POST", "TRACE"))
        return method, self.spare(method, target), headers, body

    def spare(self, method, target):
        """Never a token that is needed: without its tokens the generator learns nothing but 401."""
        found = re.match(r"/v1/tokens/([1-9][0-9]*)(?=$|\?)", target)
        own = {token.split("_")[2] for token in self.tokens.values()}
        if method == "DELETE" and found and found.group(1) in own:
            return f"/v1/tokens/{self.random.choice(self.spares)}" + target[found.end():]
        return target

    def operation_of(self, method, target):
        for pattern, _, item in self.spec.paths:
            if pattern.match(target.split("?")[0]) and method.lower() in item:
                return item[method.lower()]["operationId"]
        return None

    def learn_role(self, operation, headers, status):
        role = next((role for role, token in self.tokens.items() if headers.get("Authorization") == "Bearer " + token), None)
        if operation and role and status not in (401, 403, 429):
            self.may.setdefault(operation, set()).add(role)

    def caller(self, operation):
        rng = self.random
        headers = {"Host": "test"}
        if operation.get("security") or rng.random() < 0.2:
            kind, may = rng.random(), self.may.get(operation["operationId"])
            if kind < 0.85:
                role = rng.choice(sorted(may)) if may and rng.random() < 0.8 else rng.choice(list(self.tokens))
                headers["Authorization"] = "Bearer " + self.tokens[role]
            elif kind < 0.95:
                headers["Authorization"] = rng.choice(("Bearer", "Bearer x", "Basic YTpi", "Bearer dbk_admin_1_" + "0" * 64, "Bearer dbk_"))
        if rng.random() < 0.1:
            headers["Accept"] = rng.choice(("*/*", "text/csv", "text/html", "application/json", "x", "text/tab-separated-values;q=0.5"))
        if rng.random() < 0.05:
            headers["If-None-Match"] = rng.choice(('"x"', "*", 'W/"x"', "x"))
        return headers

    def text(self, value):
        return value if isinstance(value, str) else json.dumps(value)

    def body(self, described, broken):
        rng = self.random
        media = rng.choice(list(described["content"]))
        schema = described["content"][media]["schema"]
        if media == "multipart/form-data":
            return self.multipart(self.spec.resolve(schema), self.example(described["content"][media]), broken)
        value = self.example(described["content"][media])
        if isinstance(value, str):  # lines
            return media, self.spoil(value.encode()) if broken else value.encode()
        value = self.maker.valid(schema) if value is None else value
        self.fill_files(value)
        if media == "application/x-ndjson":
            lines = [self.maker.broken(value) if broken and rng.random() < 0.5 else value for _ in range(rng.randint(1, 3))]
            return media, b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        if broken and rng.random() < 0.7:
            value = self.maker.broken(value)
        data = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        if broken and rng.random() < 0.2:
            data = self.spoil(data)
        return media, data

    def example(self, content):
        """One of the document's own in a third of all cases, else None."""
        examples = [one["value"] for one in content.get("examples", {}).values()] + [content[key] for key in ("example",) if key in content]
        return copy.deepcopy(self.random.choice(examples)) if examples and self.random.random() < 0.35 else None

    def fill_files(self, value):
        """Real files in place of words, or nothing would ever be stored."""
        if isinstance(value, dict):
            if "url" in value:
                value["url"] = self.pools["url"][0]  # nobody's
            if "entry" in value and "progress" in value and self.random.random() < 0.5:
                self.count += 1
                value.update({"name": f"random{self.count}", "task": TRAINING} if "task" in value else {})
            for name, data in (("entry", self.new_entry()), ("progress", self.progress)):
                if isinstance(value.get(name), str) and self.random.random() < 0.8:
                    value[name] = data.decode()

    def new_entry(self):
        self.count += 1
        made = json.loads(self.entry)
        made["misc"] = {"number": self.count}
        return json.dumps(made).encode()

    def multipart(self, schema, example, broken):
        rng = self.random
        self.count += 1
        made = example or {name: self.maker.valid(part, name) for name, part in schema.get("properties", {}).items()
                           if name in schema.get("required", ()) or rng.random() < 0.8}
        made.update({name: value for name, value in (("entry", self.new_entry().decode()), ("progress", self.progress.decode()),
                                                     ("name", f"random{self.count}")) if name in made})
        if "entry" in made and rng.random() < 0.5:
            made["task"] = TRAINING
            made.pop("supersedes", None)
        parts = [(name, self.text(one).encode("utf-8", "surrogatepass")) for name, value in made.items()
                 for one in (value if isinstance(value, list) else [value])]
        if broken and parts:
            at, how = rng.randrange(len(parts)), rng.randrange(3)
            if how == 0:
                del parts[at]
            elif how == 1:
                parts.append(("unknown", b"x"))
            else:
                parts[at] = (parts[at][0], self.spoil(parts[at][1]))
        boundary = "----random"
        out = b""
        for number, (name, data) in enumerate(parts):
            file = f"result_{number}.txt" if name == "log" else f"r{self.count}.json"
            out += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\n\r\n'.encode() + data + b"\r\n"
        out += f"--{boundary}--\r\n".encode()
        if broken and rng.random() < 0.2:
            out = self.spoil(out)
        return f"multipart/form-data; boundary={boundary}", out

    def spoil(self, data):
        rng = self.random
        at = rng.randrange(len(data) + 1)
        return rng.choice((data[:at], data + b"x", b"\xef\xbb\xbf" + data, data[:at] + b"\xff\xfe" + data[at:], data[:at] + b"\0" + data[at:],
                           data[:at] + bytes([rng.randrange(256)]) + data[at + 1:], data * 2, b"[" * 100 + data, b"", data + b" " * 70000))

    def learn(self, method, path, caller, answer):
        """Ids of what there is, so that later requests meet it."""
        if answer.status not in (200, 201) or "json" not in answer.headers.get("content-type", "") or method == "HEAD":
            return
        value = answer.json
        rows = value.get("items", []) if isinstance(value, dict) and isinstance(value.get("items"), list) else []
        for row in [value] + rows[:20]:
            if not isinstance(row, dict):
                continue
            if str(row.get("token", "")).startswith("dbk_"):  # as another who asks; ten of them
                self.count += 1
                self.tokens[f"made {self.count % 10}"] = row["token"]
            for name in ("submission", "entry", "run", "job", "agent", "attempt", "comment", "webhook", "delivery", "price"):
                if isinstance(row.get(name), (int, str)):
                    self.keep(name, row[name])
            self.learn_places(row, path.split("?")[0], caller if answer.status == 201 or "attempt" in row else None)
        for name in ("next_cursor", "etag"):
            if isinstance(value, dict) and isinstance(value.get(name), str):
                self.keep("cursor" if name == "next_cursor" else name, value[name])
        if "etag" in answer.headers:
            self.keep("If-Match", answer.headers["etag"])

    def learn_places(self, row, path, caller):
        """Ids that belong together, and to whom: chance would hardly ever put them side by side."""
        submission = f"/v1/submissions/{row.get('submission')}"
        for file in row["files"] if isinstance(row.get("files"), list) and "submission" in row else ():
            self.keep("/v1/submissions/{submission}/files/{name}", (f"{submission}/files/{urllib.parse.quote(file['name'], safe='')}", None), self.places)
        if caller and row.get("task") == TRAINING and "submission" in row:
            self.keep("/v1/submissions/{submission}/revisions", (f"{submission}/revisions", caller), self.places)
        if caller and "comment" in row and row.get("thread") == row["comment"]:
            for verb in ("resolve", "reopen"):
                self.keep(f"/v1/submissions/{{submission}}/comments/{{comment}}/{verb}", (f"{path}/{row['comment']}/{verb}", caller), self.places)
        if caller and "webhook" in row:
            for rest in ("", "/deliveries"):
                self.keep("/v1/webhooks/{webhook}" + rest, (f"/v1/webhooks/{row['webhook']}{rest}", caller), self.places)
        for verb in ("heartbeat", "events", "finish", "release") if path == "/v1/agent/claim" and "attempt" in row else ():
            place = f"/v1/agent/attempts/{{attempt}}/{verb}"
            self.places[place] = self.places.get(place, [])[-1:] + [(f"/v1/agent/attempts/{row['attempt']}/{verb}", caller)]
        if "delivery" in row and path.endswith("/deliveries"):
            self.keep("/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver", (f"{path}/{row['delivery']}/redeliver", self.owner(path)), self.places)

    def owner(self, path):
        return next((caller for target, caller in self.places.get("/v1/webhooks/{webhook}/deliveries", ()) if target == path), None)

    def keep(self, name, value, pools=None):
        pool = (self.pools if pools is None else pools).setdefault(name, [])
        if value not in pool:
            pool.append(value)
            if len(pool) > 50:
                pool.pop(self.random.randrange(len(pool)))


def judge(spec, method, target, headers, answer):
    if answer.status >= 500:
        raise Wrong(f"status {answer.status}")
    if "x-request-id" not in answer.headers:
        if 400 <= answer.status < 500 and "problem+json" not in answer.headers.get("content-type", ""):
            return  # the library's own refusal of a bad request line
        raise Wrong("no X-Request-Id")
    if method == "HEAD" or not answer.body:
        return
    if answer.status >= 400:
        if headers.get("Accept") == "text/html" and answer.headers.get("content-type", "").startswith("text/html"):
            return  # a page for people
        if answer.headers.get("content-type", "").split(";")[0] != "application/problem+json":
            raise Wrong(f"{answer.status} is {answer.headers.get('content-type')}, not problem+json")
        problem = answer.json
        if answer.status in (400, 422) and not any(set(item) & {"field", "pointer", "line", "file"} for item in problem.get("errors", [])):
            raise Wrong(f"{answer.status} names nothing at fault")
    spec.check(method, target, answer)


def main():
    tap, spec = Tap(), Spec()
    server = Server(history=True)
    server.command("prices", "import", os.path.join(ROOT, "tests/fixtures/prices/lambda.csv"))
    server.start(extra=("--webhook-allow-private",))
    generator = Generator(server, spec, random.Random(SEED))
    client, statuses, faults, met = Client(server.port), {}, [], set()
    try:
        for number in range(REQUESTS):
            method, target, headers, body = generator.request()
            try:
                answer = client.send(method, target, headers, body)
                statuses[answer.status] = statuses.get(answer.status, 0) + 1
                judge(spec, method, target, headers, answer)
                generator.learn(method, target, headers.get("Authorization"), answer)
                operation = generator.operation_of(method, target)
                generator.learn_role(operation, headers, answer.status)
                if operation and answer.status < 300:
                    met.add(operation)
            except (Wrong, ValueError, KeyError, StopIteration, OSError, http.client.HTTPException) as fault:
                sent = {name: value for name, value in headers.items() if name != "Authorization"}
                faults.append(f"request {number}: {type(fault).__name__}: {fault}\n{method} {target}\n{sent}\n{(body or b'')[:600]!r}")
                if len(faults) >= FAULTS_MAX or not server.alive():
                    break
        print(f"# seed {SEED}, {sum(statuses.values())} answers: {dict(sorted(statuses.items()))}; {len(met)} of {len(generator.operations)} calls did well at least once")
        never = sorted({operation["operationId"] for *_, operation in generator.operations} - met)
        print(f"# never did well: {' '.join(never) or 'none'}")
        if REQUESTS >= 2500:  # with fewer, chance decides
            tap.ok(len(met) >= FLOOR * len(generator.operations), f"{FLOOR:.0%} of the calls did well at least once", never)
        tap.ok(not faults, f"{REQUESTS} random requests get what openapi.yaml describes", "\n".join(faults) + "\n" + server.log_tail())
        tap.ok(server.alive() and server.stop() == 0, "the server is well and stops cleanly", server.log_tail())
    finally:
        client.close()
        server.close()
    tap.done()


main()
