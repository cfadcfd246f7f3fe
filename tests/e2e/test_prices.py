#!/usr/bin/env python3
"""tests/e2e/test_prices.py: catalogs of list prices from the command line to what a run cost: small ones cut from the
real files, and the whole files where ../shared is there.
"""
import csv
import os
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from daybreak import DAYBREAKD, ROOT, Server, Tap  # noqa: E402

WAIT_S = 120
FIXTURES = os.path.join(ROOT, "tests/fixtures/prices")
WHOLE = os.path.join(ROOT, "../shared/data/prices")
FILES = ("aws", "azure", "gcp", "lambda", "aws_cpu_skypilot_v8")
HEADER = "Cloud,InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,Region,Price,SpotPrice\n"


def prices(server, *words):
    return subprocess.run([DAYBREAKD, "prices", *words, "--db", server.db], capture_output=True, text=True, timeout=WAIT_S,
                          check=False)


def take(server, folder, name, *words):
    provider = ("--provider", "aws") if name.startswith("aws_cpu") else ()
    return prices(server, "import", os.path.join(folder, name + ".csv"), "--valid-from", "2026-05-20", *provider, *words)


def listed(server, *words):
    lines = prices(server, "list", *words).stdout.splitlines()
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t"))) for line in lines[1:]]


def stored(server, table):
    connection = sqlite3.connect(f"file:{server.db}?mode=ro", uri=True)
    try:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    finally:
        connection.close()


def write(server, name, text):
    path = os.path.join(server.folder, name)
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.write(text)
    return path


def every_row_arrives(tap, folder, what):
    """Row by row against Python's own CSV reader."""
    with Server() as server:
        for name in FILES:
            got = take(server, folder, name)
            tap.ok(got.returncode == 0, f"{what}: {name} is taken", got.stderr + got.stdout)
        want = {}
        for name in FILES:
            with open(os.path.join(folder, name + ".csv"), encoding="utf-8", newline="") as lines:
                for row in csv.DictReader(lines):
                    key = (row.get("Cloud", "aws"), row["InstanceType"], row["AcceleratorName"],
                           float(row["AcceleratorCount"] or 0), row["Region"], row["AvailabilityZone"])
                    want[key] = tuple(float(row[column] or 0) for column in ("Price", "SpotPrice"))
        number = lambda text: 0.0 if text == "-" else float(text)  # noqa: E731
        text = lambda cell: "" if cell == "-" else cell  # noqa: E731
        rows = listed(server)
        found = {(row["provider"], text(row["instance"]), text(row["accelerator"]), number(row["accelerators"]),
                  row["region"], text(row["zone"])): (number(row["usd_per_hour"]), number(row["spot_usd_per_hour"]))
                 for row in rows}
        tap.ok(found == want and len(rows) == len(want), f"{what}: all {len(want)} rows are there, each with its prices",
               sorted(set(found.items()) ^ set(want.items()))[:5])
        spot = sum(price > 0 and above > price for price, above in want.values())
        zero = sum(price == 0 for price, _ in want.values())
        flags = [row["flag"] for row in rows]
        tap.ok(flags.count("spot-above-on-demand") == spot and flags.count("price-zero") == zero,
               f"{what}: {spot} spot prices above the other and {zero} prices of 0 are flagged",
               f'{flags.count("spot-above-on-demand")} {flags.count("price-zero")}')
        tap.ok(all(row["usd_per_hour"] == "-" for row in rows if row["flag"] == "price-zero"), "0 is unknown")
        before = stored(server, "price")
        again = [take(server, folder, name).returncode for name in FILES]
        tap.ok(again == [0] * len(FILES) and stored(server, "price") == before, f"{what}: the same files again change nothing")
        return spot, zero, len(rows)


def what_is_shown(tap):
    with Server() as server:
        take(server, FIXTURES, "gcp", "--source", "anycloud gcp/vms.csv")
        rows = listed(server, "--accelerator", "NVIDIA L4", "--region", "us-central1")
        tap.ok(len(rows) == 3 and {row["zone"] for row in rows} == {"us-central1-a", "us-central1-b", "us-central1-c"},
               "list finds an accelerator by any of its names", rows)
        shown = dict(line.split("\t") for line in prices(server, "show", rows[0]["id"]).stdout.splitlines())
        tap.ok(shown["source"] == "anycloud gcp/vms.csv" and shown["valid_from"] == "2026-05-20" and shown["usd_per_hour"] == "1.12008"
               and "instance" not in shown, "show tells where a price is from", shown)
        tap.ok(prices(server, "list", "--at", "2026-05-19").stdout.count("\n") == 1, "nothing is valid before its date")
        lines = prices(server, "catalogs").stdout.splitlines()
        tap.ok(len(lines) == 2 and lines[1].split("\t")[1:4] == ["anycloud gcp/vms.csv", "gcp", "2026-05-20"], "catalogs lists the file", lines)
        for words, code in ((("show", "999999"), 2), (("show", "x"), 3), (("list", "--at", "May"), 3), (("import",), 3),
                            (("list", "x"), 3), (("buy",), 3), (("show", "1", "--provider", "aws"), 3), (("--help",), 0)):
            got = prices(server, *words)
            tap.ok(got.returncode == code and (code == 0 or got.stderr.count("\n") == 1), f"prices {' '.join(words)}: {code}",
                   f"{got.returncode} {got.stderr}")


def rubbish(tap):
    good = HEADER + "aws,x,1,1,,,r,3,\n"
    cases = {
        "empty.csv": ("", "empty_file", 0),
        "page.csv": ("<!DOCTYPE html>\n<html></html>\n", "column_missing", 1),
        "half.csv": (good + "aws,y,1,1,,,r", "csv_ragged", 3),
        "word.csv": (good + "aws,y,1,1,,,r,free,\n", "not_a_number", 3),
        "open.csv": (good + 'aws,"y,1,1,,,r,3,\n', "csv_quote", 3),
        "many.csv": (good + "aws,y,1,1,T4,1e308,r,3,\n", "out_of_range", 3),
        "few.csv": (good + "aws,y,1,1,T4,1e-30,r,3,\n", "out_of_range", 3),
        "memory.csv": (good + "aws,y,1,1e308,,,r,3,\n", "out_of_range", 3),
        "long.csv": (good + "aws,y,1,1,,,r,3." + "1" * 5000 + ",\n", "number_too_long", 3),
        "two.csv": (good + "aws,x,1,1,,,r,4,\n", "price_contradicted", 3),
    }
    with Server() as server:
        prices(server, "import", write(server, "good.csv", good.replace("x", "z")))
        for name, (text, code, line) in cases.items():
            path = write(server, name, text)
            got = prices(server, "import", path)
            rows = [row.split("\t") for row in got.stdout.splitlines()]
            tap.ok(got.returncode == 2 and rows and rows[0][0] == f"{path}:{line}" and code in [row[2] for row in rows],
                   f"{name}: refused with {code} at line {line}", got.stdout + got.stderr)
        path = write(server, "tiny.csv", HEADER + "aws,t,1,1,,,r,1e-13,\naws,u,1,1,,,r,0,\n")
        got = subprocess.run([DAYBREAKD, "prices", "import", path, "--db", path + ".db"], capture_output=True, text=True,
                             timeout=WAIT_S, check=False)
        told = [line.split("\t")[3:5] for line in got.stdout.splitlines()]
        tap.ok(told == [["Price", "the price is below 1e-12 USD an hour, the least that is counted"], ["Price", "the price is 0"]],
               "a price below the least that is counted is not called 0", told)
        got = prices(server, "import", os.path.join(server.folder, "absent.csv"))
        tap.ok(got.returncode == 2 and got.stderr.count("\n") == 1, "a file that is not there", f"{got.returncode} {got.stderr}")
        tap.ok(prices(server, "import", server.folder).returncode in (2, 4), "a folder")
        skypilot = take(server, FIXTURES, "lambda").returncode, prices(server, "import", os.path.join(FIXTURES, "aws_cpu_skypilot_v8.csv"))
        tap.ok(skypilot[0] == 0 and skypilot[1].returncode == 2 and "--provider" in skypilot[1].stdout,
               "a file of no provider asks for one", skypilot[1].stdout)
        tap.ok(stored(server, "price") == 1 + 12 and stored(server, "price_catalog") == 2, "nothing of a refused file is kept")
        other = prices(server, "import", os.path.join(FIXTURES, "lambda.csv"), "--valid-from", "2026-06-01")
        tap.ok(other.returncode == 2 and "valid from 2026-05-20" in other.stderr, "the same file cannot be valid twice", other.stderr)


def main():
    tap = Tap()
    every_row_arrives(tap, FIXTURES, "fixtures")
    if os.path.isdir(WHOLE):
        counts = every_row_arrives(tap, WHOLE, "whole files")
        tap.ok(counts == (15, 3, 2570), "15 spot prices are above, as the README says, and 3 hosts say 0", counts)
    else:
        tap.skip("whole files", "../shared/data/prices is not there")
    what_is_shown(tap)
    rubbish(tap)
    tap.done()


if __name__ == "__main__":
    main()
