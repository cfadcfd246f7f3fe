#!/usr/bin/python3
"""tests/e2e/test_format.py: what docs/format.md shows as an example is accepted by the judge, one run or several."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from daybreak import DAYBREAKD, ROOT, Tap  # noqa: E402


def main():
    tap = Tap()
    with open(os.path.join(ROOT, "docs/format.md"), encoding="utf-8") as file:
        blocks = dict(re.findall(r"```(json|tsv)\n(.*?)```", file.read(), re.S))
    tap.ok(set(blocks) == {"json", "tsv"}, "the page has an example of each file")
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("ada.json", "run-1.tsv", "run-2.tsv", "run-3.tsv")]
        for i, path in enumerate(paths):
            text = blocks["json"] if i == 0 else blocks["tsv"].replace("0.0143", f"0.01{43 + i}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([DAYBREAKD, "check", "--task", "cifar10-train", *paths], capture_output=True, text=True, check=False)
        tap.ok(done.returncode == 0 and "error" not in done.stdout, "three runs, as the page says, are good", f"{done.returncode} {done.stdout}{done.stderr}")
        done = subprocess.run([DAYBREAKD, "check", "--task", "cifar10-train", *paths[:3]], capture_output=True, text=True, check=False)
        tap.ok("seeds" in done.stdout, "three seeds for two runs are noticed", done.stdout + done.stderr)
    tap.done()


main()
