#!/usr/bin/env python3
"""tests/lint/test_codes.py: docs/codes.md names every code that a client can meet, and none that is gone, as TAP.

Read from the sources: the argument `code` of every function that has one, `.code =`, the codes that a status stands
for, and the rules of MLPerf's judge. The findings of the intake are compared by tests/e2e/test_dawnbench.py.
Run from the repository's root.
"""
import glob
import re
import sys

LITERAL = re.compile(r'"([a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)"')
# Programs print these folders' faults; no client of the API meets them. The intake has its own table.
LEFT_OUT = ("server/tools/", "server/command/", "server/intake/", "server/price/", "common/csv")
# What only programs print, at their start or as they read price catalogs and reference runs, and the lines of a log
# that the rule `lines` counts: no answer has them.
OF_PROGRAMS = {"db_in_use", "bad_rcp", "catalog-differs", "bad_event"}
DEFINED = re.compile(r"^(?:static )?(?:[a-z_]+ )+\*?([a-z_]+)\(([^;{)]*\bconst char \*(?:code|rule)\b[^;{]*?)\)\s*(?:;|\{|__attribute__)",
                     re.M)


def arguments(text, start):
    """The arguments of a call whose parenthesis opens at `start`, cut at the commas of their own level."""
    depth, part, parts = 0, "", []
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|.', text[start:], re.S):
        piece = token.group()
        depth += piece in "([{" and len(piece) == 1
        depth -= piece in ")]}" and len(piece) == 1
        if depth == 0:
            return parts + [part.strip()]
        if piece == "," and depth == 1:
            parts, part = parts + [part.strip()], ""
        elif not (piece == "(" and depth == 1 and not part and not parts):
            part += piece
    return parts


def functions(text):
    """{name: index of its argument `code` or `rule`}."""
    found = {}
    for name, parameters in DEFINED.findall(text):
        for index, parameter in enumerate(parameters.split(",")):
            if re.search(r"\*(code|rule)$", parameter.strip()):
                found[name] = index
    return found


def codes_of(text, known):
    codes = set()
    for name, index in known.items():
        for call in re.finditer(rf"\b{name}\(", text):
            given = arguments(text, call.end() - 1)
            if index < len(given):
                codes |= set(LITERAL.findall(given[index]))
    for value in re.findall(r"(?:\.code|\bcode|\brule) = ([^;{}]*?)(?:;|,\s*\.|\}|,\s*$)", text, re.M):
        codes |= set(LITERAL.findall(value))
    return codes


def main():
    texts = {}
    for path in glob.glob("server/**/*.[ch]", recursive=True) + glob.glob("common/*.[ch]"):
        if not path.startswith(LEFT_OUT):
            with open(path, encoding="utf-8") as file:
                texts[path] = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    shared = {}
    for path, text in texts.items():
        if path.endswith(".h"):
            shared.update(functions(text))
    sent = {}
    for path, text in texts.items():
        for code in codes_of(text, {**shared, **functions(text)}):
            sent.setdefault(code, path)
    with open("server/http/response.c", encoding="utf-8") as file:
        text = file.read()
    for code in re.findall(r'\[ST_\w+\] = "([a-z-]+)"', text) + re.findall(r'\{"([a-z_-]+)", 4\d\d\}', text):
        sent.setdefault(code, "server/http/response.c")
    with open("docs/codes.md", encoding="utf-8") as file:
        intake, _, rest = file.read().partition("\n## ")
    listed = re.findall(r"^\| `([^`]+)` \|", rest, re.M)
    of_intake = set(re.findall(r"^\| `([^`]+)` \|", intake, re.M))
    missing = sorted(f"{code} ({sent[code]})" for code in set(sent) - OF_PROGRAMS - set(listed) - of_intake)
    gone = sorted(set(listed) - set(sent))
    rules = {code for code, path in sent.items() if path == "server/mlperf/judge.c"}
    results = [
        ("the sources are read", [] if len(sent) > 90 and {"token-missing", "clock", "conflict"} <= set(sent) else sorted(sent)),
        ("every code that a client can meet is in docs/codes.md", missing),
        ("docs/codes.md has no code that is gone", gone),
        ("docs/codes.md has every rule of MLPerf's judge", sorted(rules - set(listed))),
        ("docs/codes.md has each code once", sorted({code for code in listed if listed.count(code) > 1})),
    ]
    print(f"1..{len(results)}")
    for number, (name, faults) in enumerate(results, 1):
        print(f"{'not ok' if faults else 'ok'} {number} - {name}" + "".join(f"\n# {fault}" for fault in faults))
    sys.exit(any(faults for _, faults in results))


main()
