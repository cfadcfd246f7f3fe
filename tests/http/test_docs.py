#!/usr/bin/python3
"""tests/http/test_docs.py: the pages of documentation of a running server, as TAP. A crawler goes from /docs over all pages
below /docs and /rules: each link that stays here leads to a page, and to a place that is there; no place is there twice; a
page is 20 kB at most, packed. Every call, parameter and object of schema/openapi.yaml is on the pages of the API, every code
of docs/codes.md has its anchor in /docs/api, which the `type` of a problem names, and each page that shows a measure links
to its formula."""
import gzip
import html.parser
import json
import os
import re
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from daybreak import ROOT, Server, Tap  # noqa: E402
from openapi import Spec  # noqa: E402

HTML_BYTES_MAX = 20000
METHODS = ("get", "post", "put", "patch", "delete")
# Pages that show measures, and where the formula of each stands.
FORMULAS = {
    "/tasks/cifar10-train": "time-to-accuracy", "/tasks/cifar10-train?by=cost": "cost", "/tasks/cifar10-train?by=energy": None,
    "/tasks/cifar10-inference": "latency", "/tasks/cifar10-inference?by=inference-cost": "cost-of-an-item",
    "/tasks/cifar10-train/history": "records", "/tasks/cifar10-train/tradeoff": "cost-against-time",
    "/tasks/cifar10-train/variance": "spread-of-the-runs", "/tasks/cifar10-train/throughput": "throughput-against-time",
    "/tasks/cifar10-train/scaling": "scaling", "/compare?runs=1,2": "comparing-runs", "/runs/1": "time-to-accuracy",
    "/entries/1": None, "/profile": "score-across-tasks", "/docs/paper": "claims-of-the-paper",
}


class Page(html.parser.HTMLParser):
    """The anchors and local links of one page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name == "href" and tag == "a":
                self.links.append(value)


class Site:
    def __init__(self, server):
        self.server, self.pages, self.statuses = server, {}, {}

    def get(self, path):
        """The page, or None where the answer is no page."""
        if path not in self.statuses:
            status, headers, body = self.server.request("GET", path)
            self.statuses[path] = status
            if headers.get("Content-Type", "").startswith("text/html"):
                self.pages[path] = Page(body.decode())
                self.pages[path].text, self.pages[path].packed = body.decode(), len(gzip.compress(body))
        return self.pages.get(path)

    def crawl(self, start):
        """All pages below /docs and /rules that links lead to."""
        waiting, seen = [start], []
        while waiting:
            path = waiting.pop()
            if path in seen or self.get(path) is None:
                continue
            seen.append(path)
            for link in self.pages[path].links:
                target = urllib.parse.urldefrag(urllib.parse.urljoin(path, link)).url
                if re.match(r"/(docs|rules)\b", target):
                    waiting.append(target)
        return seen

    def faults_of(self, path):
        """Links of a page that lead nowhere."""
        faults = []
        for link in self.pages[path].links:
            target, place = urllib.parse.urldefrag(urllib.parse.urljoin(path, link))
            if not target.startswith("/"):
                continue
            page = self.get(target)
            if self.statuses[target] not in (200, 303) or place and (page is None or place not in page.ids):
                faults.append(f"{link}: {self.statuses[target]}")
        return faults


def check_pages(tap, site, paths):
    for path in paths:
        page = site.pages[path]
        ids = [one for one in page.ids if page.ids.count(one) > 1]
        tap.ok(site.statuses[path] == 200 and not site.faults_of(path), f"{path}: each link leads to a place that is there",
               "\n".join(site.faults_of(path)))
        tap.ok(not ids, f"{path}: no place is there twice", ids)
        tap.ok(page.packed <= HTML_BYTES_MAX, f"{path}: HTML within {HTML_BYTES_MAX} bytes, packed", page.packed)
        tap.ok(len(re.findall("<h1>", page.text)) == 1 and "undefined" not in page.text, f"{path}: it has one title")


def codes_of_docs():
    with open(os.path.join(ROOT, "docs/codes.md"), encoding="utf-8") as file:
        return re.findall(r"^\| `([^`]+)` \|", file.read(), re.M)


def check_api(tap, site):
    spec = Spec().document
    calls = {f"{method} {path}": call for path, shared in spec["paths"].items()
             for method, call in shared.items() if method in METHODS}
    index = site.get("/docs/api")
    lost = []
    for name, call in calls.items():
        page = site.get(f"/docs/api/{call['tags'][0]}")
        if page is None or call["operationId"] not in page.ids or \
                f"/docs/api/{call['tags'][0]}#{call['operationId']}" not in index.links:
            lost.append(name)
            continue
        part = page.text.split(f'<h2 id="{call["operationId"]}"')[1].split("<h2 ")[0]
        lost += [f"{name}: {one['name']}" for one in call.get("parameters", []) if "name" in one and
                 f"<code>{one['name']}</code>" not in part]
        lost += [f"{name}: {status}" for status in call["responses"] if f"<code>{status}</code>" not in part]
    tap.ok(len(calls) > 50 and not lost, "every call is there with its parameters and answers", "\n".join(lost))
    pages = [page for path, page in site.pages.items() if path.startswith("/docs/api/")]
    homes = {name: sum(name in page.ids for page in pages) for name in spec["components"]["schemas"]}
    tap.ok(set(homes.values()) == {1}, "every object is there once", {k: n for k, n in homes.items() if n != 1})
    codes = codes_of_docs()
    tap.ok(len(codes) > 150 and set(codes) <= set(index.ids), "every code has its anchor in /docs/api",
           sorted(set(codes) - set(index.ids)))
    tap.ok({f"/docs/codes#{code}" for code in codes} <= set(index.links), "and leads on to how it is mended")


def check_problems(tap, site, server):
    for method, path, body in (("GET", "/v1/tasks/none", None), ("POST", "/v1/tasks", None), ("POST", "/v1/jobs", {}),
                               ("GET", "/v1/submissions?x=1", None), ("GET", "/v1/runs/99999/profile", None)):
        answer = json.loads(server.request(method, path, body)[2])
        kind, _, code = answer["type"].partition("#")
        tap.ok(kind == "/docs/api" and code == answer["code"] and code in site.get(kind).ids,
               f"{method} {path}: the type of the problem is a place of /docs/api", answer)
    text = server.request("GET", "/tasks/none")[2].decode()
    tap.ok('href="/docs/api#not-found"' in text, "a page that refuses links to what its code means")


def check_formulas(tap, site):
    with open(os.path.join(ROOT, "docs/measures.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (`.*?) \|", file.read().split("## Names in the API")[1], re.M)
    told = {name for row in rows for name in re.findall("`([^`]+)`", row)}
    known = {name for schema in Spec().document["components"]["schemas"].values() for name in schema.get("properties", {})}
    tap.ok(len(told) > 40 and told <= known, "the names that the measures explain are members of answers", sorted(told - known))
    for path, anchor in FORMULAS.items():
        page = site.get(path)
        links = [link for link in page.links if link.startswith("/docs/measures")] if page else []
        tap.ok(anchor is None or f"/docs/measures#{anchor}" in links, f"{path}: it links to its formula", links)
        tap.ok(page and not site.faults_of(path), f"{path}: each link leads to a place that is there",
               page and "\n".join(site.faults_of(path)))


def main():
    tap = Tap()
    with Server(history=True) as server:
        server.start()
        site = Site(server)
        paths = site.crawl("/docs")
        names = {f"/docs/{name[:-3]}" for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".md")}
        tasks = {f"/rules/{task['id']}" for task in server.json("GET", "/v1/tasks")["items"]}
        missing = sorted((names | tasks | {"/docs/api", "/docs/paper"}) - set(paths))
        tap.ok(not missing, "from /docs one gets to every page of documentation and of rules", missing)
        check_pages(tap, site, paths)
        check_api(tap, site)
        check_problems(tap, site, server)
        check_formulas(tap, site)
        tap.ok(server.stop() == 0, "the server stops cleanly", server.log_tail())
    tap.done()


main()
