#!/usr/bin/python3
"""tests/e2e/test_feed.py: the Atom feeds (RFC 4287) of what was accepted: well-formed, whole, stable ids, 304."""
import json
import os
import sys
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from daybreak import Server, Tap  # noqa: E402

ATOM = "{http://www.w3.org/2005/Atom}"
PROGRESS = "epoch\thours\ttop1Accuracy\n1\t0.5\t94.1\n"
ENTRY = {"version": "v1.0", "author": "Ada <&> \"Co\"", "authorEmail": "ada@example.org", "framework": "PyTorch 2.1", "model": "A & B <i>",
         "codeURL": "https://example.org/code", "hardware": "8 V100", "costPerHour": 2, "timestamp": "2026-11-30", "misc": {}}


def read(server, path, headers=None):
    status, names, body = server.request("GET", path, headers=headers)
    return status, {name.lower(): value for name, value in names.items()}, ET.fromstring(body) if status == 200 else None


def main():
    tap = Tap()
    with Server(history=True) as server:
        server.start()
        status, headers, feed = read(server, "/feed.atom")
        entries = feed.findall(f"{ATOM}entry")
        tap.ok(status == 200 and headers["content-type"].startswith("application/atom+xml") and len(entries) == 50, "the newest fifty", f"{status} {headers}")
        kept = [one.find(f"{ATOM}id").text for one in entries]
        tap.ok(len(set(kept)) == 50 and all(name.startswith("urn:uuid:") for name in kept), "each has an id of its own", kept[:3])
        tap.ok(all(one.find(f"{ATOM}{name}") is not None for one in entries for name in ("title", "updated", "author", "link", "summary")),
               "each has what RFC 4287 asks for")
        tap.ok(read(server, "/feed.atom", {"If-None-Match": headers["etag"]})[0] == 304, "nothing new is 304")
        token = server.token("submitter")
        sent = server.json("POST", "/v1/submissions", {"task": "cifar10-train", "name": "new & <fast>", "entry": json.dumps(ENTRY), "progress": PROGRESS}, token)
        status, _, feed = read(server, "/feed.atom", {"If-None-Match": headers["etag"]})
        first = feed.find(f"{ATOM}entry")
        tap.ok(status == 200 and first.find(f"{ATOM}title").text == "new & <fast>" and first.find(f"{ATOM}author/{ATOM}name").text == ENTRY["author"],
               "what was accepted comes first, its text as it was", ET.tostring(first).decode())
        tap.ok("A & B <i>" in first.find(f"{ATOM}summary").text and first.find(f"{ATOM}link").get("href") == f"/entries/{sent['entry']}",
               "with its figures and its page", ET.tostring(first).decode())
        tap.ok([one.find(f"{ATOM}id").text for one in feed.findall(f"{ATOM}entry")][1:] == kept[:49], "the others keep their ids")
        _, _, own = read(server, "/tasks/cifar10-train/feed.atom")
        tap.ok({one.find(f"{ATOM}category").get("term") for one in own.findall(f"{ATOM}entry")} == {"cifar10-train"}, "a task has a feed of its own")
        tap.ok(server.request("GET", "/tasks/none/feed.atom")[0] == 404 and server.request("GET", "/feed.atom?x=1")[0] == 422, "what is not there is refused")
        tap.ok('type="application/atom+xml"' in server.request("GET", "/")[2].decode(), "pages name the feed")
    tap.done()


main()
