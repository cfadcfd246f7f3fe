#!/usr/bin/python3
"""tests/http/test_examples.py: schema/openapi.yaml is whole, and its examples run.

Whole: every $ref leads somewhere, ids are unique, what a call can be refused with is declared (REFUSALS). Examples: every
parameter that is required, every body of a request and every JSON answer of success has one, of its schema. Run: each
request is sent as its example says, with what a server was filled with before (STEPS) in place of the example's ids; the
answer has a declared status of success and its schema. Without a token, with one that may not, for what is not there and
with an unknown parameter the same requests are refused as declared. A new operation needs a step.
"""
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import http.client  # noqa: E402

import jsonschema  # noqa: E402
import yaml  # noqa: E402

from daybreak import ROOT, Server, Tap  # noqa: E402
from openapi import Spec  # noqa: E402

ROLES = ("submitter", "reviewer", "operator", "admin", "agent-registration")
BOUNDARY = "an-example-boundary"

# Which refusals every call of a kind can meet; further ones (409, 426 ..) are declared where they happen.
REFUSALS = {
    "400": lambda call: call.has_body,
    "401": lambda call: call.secured,
    "403": lambda call: call.secured,
    "404": lambda call: "{" in call.path,
    "412": lambda call: call.method == "PATCH",
    "413": lambda call: call.has_body,
    "415": lambda call: call.has_body,
    "422": lambda call: True,
    "428": lambda call: call.method == "PATCH",
    "429": lambda call: call.path.startswith("/v1/"),
    "503": lambda call: call.path.startswith("/v1/") and call.id != "openapi",
}


class Step:
    """One call in order: with whose token, which saved values stand in its path, what of its answer is kept. `body`
    in place of the example, where a server needs another; `again`: not the call's first step, so not counted; `refused`:
    the declared refusal that it gets instead."""

    def __init__(self, call, caller=None, keep=None, body=None, again=False, refused=None, **path):
        self.call, self.caller, self.keep, self.body, self.again, self.path = call, caller, keep or {}, body, again, path
        self.refused = refused


QUICK = {"task": "cifar10-train-quick", "seeds": 1}
# One of the two ways to send it: what was revised cannot be revised again.
REVISION = Spec().document["components"]["requestBodies"]["Revision"]["content"]["application/json"]["example"]
STEPS = (
    Step("healthz"), Step("readyz"), Step("openapi"), Step("listTasks"), Step("getTask"),
    Step("validateSubmission"),
    Step("createSubmission", "submitter", {"submission": "submission", "entry": "entry", "name": "name"}),
    Step("listSubmissions"), Step("getSubmission", submission="submission"),
    Step("getSubmissionFile", submission="submission", name="file"),
    Step("createComment", "reviewer", {"comment": "comment"}, submission="submission"), Step("listComments", submission="submission"),
    Step("resolveThread", "submitter", submission="submission", comment="comment"),
    Step("reopenThread", "reviewer", submission="submission", comment="comment"),
    Step("correctSubmission", "reviewer", submission="submission"), Step("reviewSubmission", "reviewer", submission="submission"),
    Step("createRevision", "submitter", {"revision": "submission"}, body=REVISION, submission="submission"),
    Step("withdrawSubmission", "submitter", submission="revision"), Step("getHistory", submission="submission"),
    Step("setTask", "operator"),
    Step("validateLogs"), Step("createLogs", "submitter"), Step("getProfile"),
    Step("getTradeoff"), Step("getVariance"), Step("getThroughput"), Step("getScaling"), Step("getGeneralisation"), Step("getPaper"),
    Step("getLeaderboard"), Step("getRecords"), Step("getEntry", entry="entry"),
    Step("listPrices"), Step("getPrice"),
    Step("createJobs", "operator", {"job": "jobs.0", "run": "runs.0"}),
    Step("getComparison"),
    Step("getJob", job="job"), Step("getQueue"),
    Step("registerAgent", "agent-registration", {"agent": "agent", "agent-token": "token"}),
    Step("listAgents"), Step("getAgent", agent="agent"),
    Step("claimJob", "agent-token", {"attempt": "attempt"}),
    Step("heartbeat", "agent-token", attempt="attempt"), Step("sendEvents", "agent-token", attempt="attempt"),
    Step("sendProfile", "agent-token", attempt="attempt"), Step("getRun", run="run"), Step("getEpochs", run="run"),
    Step("getRunProfile", run="run"), Step("getRoofline", run="run"),
    Step("finishAttempt", "agent-token", attempt="attempt"),
    Step("createJobs", "operator", {"job": "jobs.0"}, body=QUICK, again=True),
    Step("claimJob", "agent-token", {"attempt": "attempt"}, body={"claim_id": "another", "wait_ms": 0}, again=True),
    Step("releaseAttempt", "agent-token", attempt="attempt"), Step("cancelJob", "operator", job="job"),
    Step("createToken", "admin", {"token": "id"}), Step("listTokens", "admin"), Step("getToken", "admin", token="token"),
    Step("revokeToken", "admin", token="token"),
    # Last, and refused: nothing may happen that would be told to an address outside.
    Step("createWebhook", "submitter", {"webhook": "webhook"}), Step("listWebhooks", "submitter"),
    Step("getWebhook", "submitter", webhook="webhook"), Step("listDeliveries", "submitter", webhook="webhook"),
    Step("redeliver", "submitter", refused=404, webhook="webhook"), Step("deleteWebhook", "submitter", webhook="webhook"),
    Step("stream"),
)


class Call:
    """One operation of openapi.yaml, its references resolved where they are asked for."""

    def __init__(self, spec, method, path, parameters, operation):
        self.spec, self.method, self.path, self.parameters, self.operation = spec, method, path, parameters, operation
        self.id = operation["operationId"]
        self.secured = bool(operation.get("security")) and all(operation["security"])
        self.has_body = "requestBody" in operation
        self.responses = {status: spec.resolve(answer) for status, answer in operation["responses"].items()}

    def bodies(self):
        """(media, example or None, schema) of the request, each example."""
        if self.has_body:
            for media, content in self.spec.resolve(self.operation["requestBody"])["content"].items():
                for example in examples_of(content) or [None]:
                    yield media, example, content["schema"]

    def answers(self):
        """(status, example or None, schema) of each JSON answer of success."""
        for status, answer in self.responses.items():
            if status[0] == "2" and "application/json" in answer.get("content", {}):
                content = answer["content"]["application/json"]
                for example in examples_of(content) or [None]:
                    yield status, example, content["schema"]


def examples_of(node):
    return [node["example"]] if "example" in node else [one["value"] for one in node.get("examples", {}).values()]


def references(node, at="#"):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield at, value
            elif key not in ("example", "examples"):
                yield from references(value, f"{at}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from references(value, f"{at}/{index}")


def leads_somewhere(document, reference):
    found = document
    for part in reference[2:].split("/"):
        if not isinstance(found, dict) or part not in found:
            return False
        found = found[part]
    return reference.startswith("#/")


class Strict(yaml.SafeLoader):
    """Refuses a key that is there twice, of which YAML keeps the last."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = [key for key in keys if keys.count(key) > 1]
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"{twice[0]} is there twice", node.start_mark)
        return super().construct_mapping(node, deep)


def is_whole(tap, spec, calls):
    document = spec.document
    try:
        with open(os.path.join(ROOT, "schema/openapi.yaml"), encoding="utf-8") as file:
            yaml.load(file, Strict)  # noqa: S506: a SafeLoader
        tap.ok(True, "no key is there twice")
    except yaml.YAMLError as fault:
        tap.ok(False, "no key is there twice", fault)
    used = list(references(document))
    tap.ok(document["openapi"].startswith("3.1"), "it is OpenAPI 3.1")
    lost = [f"{at}: {name}" for at, name in used if not leads_somewhere(document, name)]
    tap.ok(not lost, "every $ref leads somewhere", lost)
    kinds = {f"#/components/{kind}/{name}" for kind, parts in document["components"].items() if kind != "securitySchemes" for name in parts}
    idle = kinds - {name for _, name in used} - {"#/components/schemas/Event", "#/components/schemas/StreamEvent",
                                                        "#/components/schemas/Notice"}
    tap.ok(not idle, "every component is used", sorted(idle))
    ids = [call.id for call in calls]
    tap.ok(len(ids) == len(set(ids)), "operationIds are unique", [name for name in ids if ids.count(name) > 1])
    schemes, tags = document["components"]["securitySchemes"], {tag["name"] for tag in document["tags"]}
    wrong = [call.id for call in calls for one in call.operation.get("security", []) for name in one if name not in schemes]
    tap.ok(not wrong, "security is named", wrong)
    wrong = [call.id for call in calls if not set(call.operation.get("tags", ["?"])) <= tags or not call.operation.get("summary")]
    tap.ok(not wrong, "each operation has known tags and a summary", wrong)
    wrong = [f"{call.id}: {call.path}" for call in calls
             if {p["name"] for p in call.parameters if p["in"] == "path"} != {part.split("}")[0] for part in call.path.split("{")[1:]}
             or any(p["in"] == "path" and not p.get("required") for p in call.parameters)]
    tap.ok(not wrong, "what stands in a path is described and required", wrong)
    for name, schema in document["components"]["schemas"].items():
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as fault:
            tap.ok(False, f"{name} is a schema", fault.message)
    wrong = [f"{call.id}: {status}" for call in calls for status, needed in REFUSALS.items() if needed(call) and status not in call.responses]
    tap.ok(not wrong, "what a call can be refused with is declared", "\n".join(wrong))
    wrong = [f"{call.id}: {status}" for call in calls for status, answer in call.responses.items()
             if status[0] in "45" and list(answer.get("content", {})) != ["application/problem+json"]]
    tap.ok(not wrong, "every refusal is a problem+json", wrong)


def has_examples(tap, spec, calls):
    for call in calls:
        faults = [f"{p['in']} {p['name']} has no example" for p in call.parameters
                  if p.get("required") and p["name"] not in ("name",) and "example" not in p and "example" not in spec.resolve(p["schema"])]
        for p in call.parameters:
            if "example" in p:
                faults += [f"{p['name']}: {fault.message}" for fault in spec.validator(p["schema"]).iter_errors(p["example"])]
        for where, example, schema in list(call.bodies()) + list(call.answers()):
            if example is None:
                if spec.resolve(schema) not in ({}, {"type": "object"}):  # a file as it was sent, this document
                    faults.append(f"{where} has no example")
            elif where == "application/x-ndjson":
                faults += [f"{where}: {fault.message}" for line in example.splitlines() for fault in spec.validator(schema).iter_errors(json.loads(line))]
            else:
                faults += [f"{where}: {'/'.join(map(str, fault.path))}: {fault.message[:200]}"
                           for fault in spec.validator(schema).iter_errors(example)]
        tap.ok(not faults, f"{call.id}: its examples are there and fit their schemas", "\n".join(faults))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Runner:
    """Sends examples, in order, to one server."""

    def __init__(self, server, calls):
        self.server, self.calls = server, {call.id: call for call in calls}
        self.tokens = {role: server.token(role, f"an {role}") for role in ROLES}
        self.saved = {}

    def send(self, call, step, media, example):
        target = self.target(call, step)
        headers = dict(self.headers(call))
        if step.caller:
            headers["Authorization"] = "Bearer " + (self.tokens.get(step.caller) or self.saved[step.caller])
        if call.method == "PATCH":
            headers["If-Match"] = self.ask("GET", target, headers, None).headers["etag"]
        body = None
        if media == "multipart/form-data":
            media, body = f"multipart/form-data; boundary={BOUNDARY}", multipart(example)
        elif media is not None:
            body = (example if isinstance(example, str) else json.dumps(example)).encode()
        if media is not None:
            headers["Content-Type"] = media
        return target, self.ask(call.method, target, headers, body)

    def refuse(self, tap, spec, call):
        """The same request from nobody, from somebody who may not, of what is not there, with a parameter too many."""
        bodies = list(call.bodies()) or [(None, None, None)]
        media, example, _ = bodies[-1]
        nobody = "submitter" if call.id == "registerAgent" else "agent-registration"
        step = next(step for step in STEPS if step.call == call.id)
        tries = [("without a token", None, call.path, 401), ("with a token that may not", nobody, call.path, 403)] if call.secured else []
        if call.method == "GET" and any(p["in"] == "path" for p in call.parameters):
            tries.append(("of what is not there", step.caller, call.path.replace("{" + next(p["name"] for p in call.parameters if p["in"] == "path") + "}",
                                                                                   "987654321"), 404))
        tries.append(("with an unknown parameter", step.caller, call.path + "?no_such_parameter=1", 422))
        for what, caller, path, status in tries:
            other = Step(call.id, caller, **step.path)
            target = self.target(call, other, path)
            headers = {"Authorization": f"Bearer {self.tokens.get(caller) or self.saved[caller]}"} if caller else {}
            if call.method == "PATCH":
                headers["If-Match"] = "*"
            if media:
                headers["Content-Type"] = media if media != "multipart/form-data" else f"{media}; boundary={BOUNDARY}"
            body = None if media is None else multipart(example) if media == "multipart/form-data" else \
                (example if isinstance(example, str) else json.dumps(example)).encode()
            answer = self.ask(call.method, target, headers, body)
            good = answer.status == status and answer.headers["content-type"] == "application/problem+json" and str(status) in call.responses
            if good:
                spec.check(call.method, target, answer)
                good = status != 403 or "scope" in answer.body.decode()
            tap.ok(good, f"{call.method} {target} {what}: {status}", f"{answer.status} {answer.body[:300]!r}")

    def ask(self, method, target, headers, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request(method, target, body, headers)
            got = connection.getresponse()
            names = {name.lower(): value for name, value in got.getheaders()}
            whole = not names.get("content-type", "").startswith("text/event-stream")
            return Answer(got.status, names, got.read() if whole else b"")
        finally:
            connection.close()

    def target(self, call, step, path=None):
        target, query = path or call.path, []
        for p in call.parameters:
            value = self.saved.get(step.path.get(p["name"]), p.get("example"))
            if p["in"] == "path":
                target = target.replace("{" + p["name"] + "}", urllib.parse.quote(str(value), safe=""))
            elif p["in"] == "query" and "example" in p:
                query.append((p["name"], value))
        return target + (("&" if "?" in target else "?") + urllib.parse.urlencode(query) if query else "")

    @staticmethod
    def headers(call):
        return [(p["name"], str(p["example"])) for p in call.parameters if p["in"] == "header" and "example" in p]

    def run(self, tap, spec, step):
        call = self.calls[step.call]
        bodies = [(media, example) for media, example, _ in call.bodies()] or [(None, None)]
        if step.body is not None:
            bodies = [("application/json", step.body)]
        for media, example in bodies:
            target, answer = self.send(call, step, media, example)
            fault = None
            good = answer.status == step.refused if step.refused else answer.status // 100 == 2
            if not good or str(answer.status) not in call.responses:
                fault = f"{answer.status} {answer.body[:500]!r}"
            else:
                try:
                    spec.check(call.method, target, answer)
                except Exception as wrong:  # the check's own kind, or a body that is no JSON
                    fault = f"{wrong}"
            tap.ok(fault is None, f"{call.method} {target} as its example{f' ({media})' if media else ''}: {answer.status}", fault)
        for name, path in step.keep.items():
            found = answer.json
            for part in path.split("."):
                found = found[int(part)] if isinstance(found, list) else found[part]
            self.saved[name] = found
        if step.call == "createSubmission":
            self.saved["file"] = f"{self.saved['name']}.json"


def multipart(example):
    out = b""
    for name, value in example.items():
        for number, text in enumerate(value if isinstance(value, list) else [value]):
            file = {"entry": '; filename="example.json"', "progress": '; filename="example.tsv"',
                    "log": f'; filename="result_{number}.txt"'}.get(name, "")
            out += f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n{text}\r\n'.encode()
    return out + f"--{BOUNDARY}--\r\n".encode()


def main():
    tap, spec = Tap(), Spec()
    calls = [Call(spec, *row) for row in spec.operations()]
    is_whole(tap, spec, calls)
    has_examples(tap, spec, calls)
    steps = [step for step in STEPS if step.call in {call.id for call in calls}]
    untried = {call.id for call in calls} - {step.call for step in steps if not step.again}
    tap.ok(not untried and len(steps) == len(STEPS), "every operation has a step, every step an operation",
           sorted(untried | {step.call for step in STEPS} - {step.call for step in steps}))
    with Server() as server:
        for name in ("aws", "gcp"):
            server.command("prices", "import", os.path.join(ROOT, f"tests/fixtures/prices/{name}.csv"), "--valid-from", "2026-05-20")
        server.start()
        runner = Runner(server, calls)
        for step in steps:
            try:
                runner.run(tap, spec, step)
            except (KeyError, IndexError, ValueError, OSError) as fault:
                tap.ok(False, f"{step.call} can be tried", f"{type(fault).__name__}: {fault}")
        for call in calls:
            runner.refuse(tap, spec, call)
        tap.ok(server.stop() == 0, "the server stops cleanly")
    tap.done()


if __name__ == "__main__":
    main()
