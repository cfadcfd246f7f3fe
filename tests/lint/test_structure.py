#!/usr/bin/env python3
"""tests/lint/test_structure.py: the rules of structure that a compiler does not know, as TAP.

The tree is the architecture: which folder may include which, no cycles between headers, each third-party header
behind one module, SQL in the store alone, no printf into HTML or SQL, formatting as .clang-format says.
Run from the repository's root.
"""
import os
import re
import subprocess
import sys

# Which folders a folder may include, besides itself and common/. Deeper names win.
ALLOWED = {
    "common": [],
    "server/tools": [],
    "server/rank": [],
    "server/price": [],
    "server/intake": ["server/rank", "server/price"],
    "server/store": ["server/rank", "server/intake", "server/price"],
    "server/mlperf": ["server/rank"],
    "server/queue": ["server/store"],
    "server/http": ["server/store"],
    "server/hook": ["server/store"],
    "server/api": ["server"],
    "server/page": ["server"],
    "server/command": ["server"],
    "server": ["server"],
    "agent/kernels": [],
    "agent/backend": ["agent/kernels"],
    "agent/graph": ["agent/backend", "agent/kernels"],
    "agent/data": [],
    "agent/comm": [],
    "agent/workload": ["agent/graph", "agent/backend", "agent/kernels", "agent/data"],
    "agent/profile": ["agent/workload", "agent/data", "agent/graph", "agent/backend", "agent/kernels"],
    "agent/train": ["agent/profile", "agent/workload", "agent/data"],
    "agent/run": ["agent/train", "agent/workload", "agent/data"],
    "agent": ["agent"],
}
# Headers that any file below agent/ or server/ may include although they lie above it.
SHARED_HEADERS = {"agent/command.h", "server/command/command.h", "server/app.h", "server/embedded.h"}
# Third-party header -> the only place (file prefix) that may include it.
THIRD_PARTY = {
    "microhttpd.h": "server/http/",
    "sqlite3.h": "server/store/",
    "jansson.h": "common/json.h",
    "openssl/": "common/crypto",
    "curl/": ("agent/run/client", "server/hook/"),
    "png.h": "agent/data/png",
    "zlib.h": ("agent/run/spool", "server/mlperf/gunzip"),
}
SYSTEM_INTRINSICS = re.compile(r"_(avx2|avx512|avx512_bf16|amx)\.[ch]$")

failures = 0
tests = 0


def report(name, faults):
    global failures, tests
    tests += 1
    print(("not ok" if faults else "ok") + f" {tests} - {name}")
    for fault in faults[:40]:
        print(f"# {fault}")
    failures += bool(faults)


def sources():
    for top in ("common", "server", "agent"):
        for folder, _, names in os.walk(top):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".cu")):
                    yield os.path.join(folder, name)


def rule_of(path):
    best = ""
    for prefix in ALLOWED:
        if path.startswith(prefix + "/") and len(prefix) > len(best):
            best = prefix
    return best


files = {path: open(path, encoding="utf-8").read() for path in sources()}
includes = {path: re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M) for path, text in files.items()}
system = {path: re.findall(r"^\s*#\s*include\s+<([^>]+)>", text, re.M) for path, text in files.items()}

faults = []
for path, names in includes.items():
    rule = rule_of(path)
    for name in names:
        top = name.split("/")[0]
        if "/" not in name:  # made by the build
            if name not in ("queries.h", "templates.h"):
                faults.append(f"{path}: include of {name} is not a path from the root")
        elif top == "common" or name.startswith(rule + "/") or name in SHARED_HEADERS and \
                path.split("/")[0] == top:
            continue
        elif not any(name.startswith(other + "/") for other in ALLOWED[rule]):
            faults.append(f"{path}: {rule} must not include {name}")
report("folders include only what the architecture allows", faults)

report("neither program includes the other",
       [f"{p}: {n}" for p, ns in includes.items() for n in ns
        if {p.split("/")[0], n.split("/")[0]} == {"agent", "server"}])

state = {}
cycles = []


def visit(path, trail):
    state[path] = 1
    for name in includes.get(path, []):
        if name not in files:
            continue
        if state.get(name) == 1:
            cycles.append(" -> ".join(trail + [path, name]))
        elif name not in state:
            visit(name, trail + [path])
    state[path] = 2


for path in files:
    if path.endswith(".h") and path not in state:
        visit(path, [])
report("headers include each other without a cycle", cycles)

faults = []
for path, names in system.items():
    for name in names:
        for header, owner in THIRD_PARTY.items():
            if name == header or header.endswith("/") and name.startswith(header):
                if not path.startswith(owner):
                    faults.append(f"{path}: <{name}> belongs to {owner}")
report("each third-party header is included by one module", faults)

report("intrinsics stand only in files that are named after their instruction set",
       [f"{p}: <{n}>" for p, ns in system.items() for n in ns
        if n in ("immintrin.h", "x86intrin.h") and not SYSTEM_INTRINSICS.search(p)
        and os.path.basename(p) not in ("isa.c", "cpu.c", "simd_internal.h")])

report("SQL stands in schema/ and server/store/ alone",
       [f"{p}:{t[:m.start()].count(chr(10)) + 1}" for p, t in files.items()
        if not p.startswith(("server/store/", "server/tools/"))
        for m in re.finditer(r'"\s*(SELECT\s.*\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+TABLE)\b',
                             t)])
report("no value is printed into SQL",
       [f"{p}:{t[:m.start()].count(chr(10)) + 1}" for p, t in files.items() if p.startswith("server/store/")
        for m in re.finditer(r'"(SELECT|INSERT|UPDATE|DELETE)[^"]*%[sdlu]', t)])
report("markup is made by templates and render functions alone",
       [f"{p}:{t[:m.start()].count(chr(10)) + 1}" for p, t in files.items()
        if p.startswith("server/") and not p.startswith("server/tools/")
        for m in re.finditer(r'"[^"\n]*<[a-z]+[^"\n]*%s', t)])

faults = []
for path, text in files.items():
    if path.endswith((".c", ".h")) and not text.startswith("/*"):
        faults.append(f"{path}: does not open with a comment that says what it is")
    for m in re.finditer(r"\b(TODO|FIXME|XXX)\b", text):
        faults.append(f"{path}:{text[:m.start()].count(chr(10)) + 1}: {m.group(1)}")
report("every file opens with its purpose and leaves nothing for later", faults)

listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=False).stdout.split(b"\0")
tracked = [p.decode() for p in listed if p] or list(files)
faults = []
for path in tracked:
    if not os.path.isfile(path) or path.startswith(("schema/history/", "tests/fixtures/", "tests/fuzz/corpus/")):
        continue
    data = open(path, "rb").read()
    if path.endswith(("package-lock.json", ".json", ".yaml", ".md", "Makefile", ".sh", ".py")) and \
            re.search(rb"https?://(registry\.|deb\.debian|[a-z0-9.-]*npmjs)", data):
        faults.append(f"{path}: names a package registry's host")
    if path.endswith((".c", ".h", ".py", ".mjs", ".js", ".css", ".html", ".sh", ".sql", ".yaml", ".md")):
        if b"\r" in data or data and not data.endswith(b"\n") or re.search(rb"[ \t]+$", data, re.M):
            faults.append(f"{path}: CR, blanks at a line's end, or no line feed at the end")
report("text files are tidy and name no registry", faults)

formatted = [p for p in tracked if p.endswith((".c", ".h")) and os.path.isfile(p)]
try:
    version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True, check=True).stdout
    if "version 14." not in version:
        raise FileNotFoundError(version.strip())
    run = subprocess.run(["clang-format", "--dry-run", "-Werror", *formatted], capture_output=True, text=True,
                         check=False)
    report("clang-format changes nothing", sorted(set(re.findall(r"^(\S+?):\d+", run.stderr, re.M))))
except (FileNotFoundError, subprocess.CalledProcessError) as fault:
    tests += 1
    print(f"ok {tests} - clang-format changes nothing # SKIP needs clang-format 14: {fault}")

print(f"1..{tests}")
sys.exit(1 if failures else 0)
