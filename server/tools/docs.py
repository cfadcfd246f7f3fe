#!/usr/bin/env python3
"""server/tools/docs.py OUT openapi.json TASK.json..: makes the pages of documentation, at build time: /docs, /docs/NAME of
docs/NAME.md, and those of the API (docs_api.py).

Each is a file of OUT: a line with its title, a line with its description, then HTML that goes into the frame of all pages.
Prints `FILE=PATH` for embed, one a line. Every docs/*.md is one of GROUPS: a new one is listed where readers look for it.
"""
import html
import json
import os
import sys

import docs_api
from docs_text import Fault, Page

GROUPS = (
    ("Take part", ("format", "review", "access")),
    ("Read the numbers", ("measures", "prices", "mlperf")),
    ("Look it up", ("codes", "retention")),
)
PAPER = ("/docs/paper", "The paper, tested",
         "Each claim of the analysis of DAWNBench, held against the entries of this server.")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def draw_contents(contents):
    if len(contents) < 3:
        return ""
    items = "".join(f'<li><a href="#{anchor}">{html.escape(text).replace("/", "/<wbr>")}</a></li>\n' for anchor, text in contents)
    return f'<nav class="toc" aria-label="On this page">\n<ul>\n{items}</ul>\n</nav>\n'


def draw_page(title, body, contents=(), above=("/docs", "Documentation")):
    """The whole of <main>: where one is, the title, what is on the page, its text."""
    goal = f'<p class="goal"><a href="{above[0]}">{html.escape(above[1])}</a></p>\n' if above else ""
    beside = draw_contents(list(contents))
    kind = "doc beside" if beside else "doc"
    return (f'<header class="heading">\n<h1>{html.escape(title)}</h1>\n{goal}</header>\n'
            f'<div class="{kind}">\n{beside}<div class="words">\n{body}</div>\n</div>\n')


def draw_list(rows):
    """Pages as a list: (address, title, what is there)."""
    return "<dl class=\"index\">\n" + "".join(
        f'<div><dt><a href="{address}">{html.escape(title)}</a></dt><dd>{html.escape(words)}</dd></div>\n'
        for address, title, words in rows) + "</dl>\n"


def draw_index(pages, tasks):
    ours = [task for task in tasks if "mlperf_round" not in task]
    rounds = {}
    for task in tasks:
        if "mlperf_round" in task:
            rounds.setdefault(task["mlperf_round"], []).append(task)
    body = ""
    for group, names in GROUPS:
        rows = [(f"/docs/{name}", pages[name].title, pages[name].description) for name in names]
        if "measures" in names:
            rows.insert(1, PAPER)
        if "codes" in names:
            rows.insert(0, ("/docs/api", docs_api.TITLE, docs_api.DESCRIPTION))
        body += f'<h2>{group}</h2>\n{draw_list(rows)}'
    rows = "".join(f'<li><a href="/rules/{task["id"]}">{html.escape(task["title"])}</a></li>\n' for task in ours)
    body += f"<h2>Rules of each task</h2>\n<ul class=\"short\">\n{rows}</ul>\n"
    for name, members in rounds.items():
        rows = "".join(f'<li><a href="/rules/{task["id"]}">{html.escape(task["title"])}</a></li>\n' for task in members)
        body += f"<details><summary>MLPerf {html.escape(name)}</summary>\n<ul class=\"short\">\n{rows}</ul>\n</details>\n"
    return draw_page("Documentation", body, above=None)


def make_all(openapi_path, task_paths):
    """[(path, title, description, html)]"""
    names = {name for _, group in GROUPS for name in group}
    found = {name[:-3] for name in os.listdir("docs") if name.endswith(".md")}
    if names != found:
        raise Fault(f"server/tools/docs.py: GROUPS and docs/ differ by {', '.join(sorted(names ^ found))}")
    names |= {"api", "paper"}
    pages = {name: Page(f"docs/{name}.md", read(f"docs/{name}.md"), names) for name in sorted(found)}
    tasks = sorted((json.loads(read(path)) for path in task_paths), key=lambda task: task["order"])
    made = [("docs.html", "Documentation", "How Daybreak is used, what it measures and by which rules.",
             draw_index(pages, tasks))]
    for name, page in pages.items():
        made.append((f"docs/{name}.html", page.title, page.description, draw_page(page.title, page.html, page.contents)))
    for name, title, description, body, contents in docs_api.make(json.loads(read(openapi_path)), read("docs/codes.md"), names):
        above = ("/docs", "Documentation") if name == "api" else ("/docs/api", docs_api.TITLE)
        made.append((f"docs/{name}.html", title, description, draw_page(title, body, contents, above)))
    return made


def main(out, openapi_path, *task_paths):
    try:
        made = make_all(openapi_path, task_paths)
    except Fault as fault:
        sys.exit(f"docs: {fault}")
    for path, title, description, body in made:
        file = os.path.join(out, path)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(f"{title}\n{description}\n{body}")
        print(f"{file}={path}")


main(*sys.argv[1:])
