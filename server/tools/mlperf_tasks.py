#!/usr/bin/env python3
"""server/tools/mlperf_tasks.py OUT ROUND.json..: makes tasks (common/task.h) of MLPerf's rounds, at build time.

Writes OUT/mlperf-<round>-<benchmark>.json for each benchmark, and prints `FILE=PATH` for embed, one a line.
"""
import json
import os
import sys


def task_of(entry, rules, place):
    targets = " and ".join(entry["targets"])
    than = "at least" if entry["higher_is_better"] else "at most"
    scored = f", of which the first {entry['scored_runs']} that converged are scored" if "scored_runs" in entry else ""
    number = rules["round"]
    return {
        "order": 1000 + 100 * rules["order"] + place,
        "id": f"mlperf-{number}-{entry['id']}",
        "title": f"MLPerf {number} {entry['title']}",
        "version": rules["version"],
        "phase": "train",
        "mlperf_round": number,
        "dataset": entry["dataset"],
        "metric": entry["metric"],
        "metric_title": entry["metric_title"],
        "unit": entry["unit"],
        "metric_max": entry["metric_max"],
        "higher_is_better": entry["higher_is_better"],
        "target": entry["targets"][0],
        "validation_size": 0,
        "columns": [],
        "runs": entry["runs"],
        **({"scored_runs": entry["scored_runs"]} if "scored_runs" in entry else {}),
        "score": "olympic",
        "policy": "open",
        "review": "none",
        "reclaim_after_ms": 600000,
        "description": f"{rules['title']}: train {entry['title']} until its {entry['metric_title']} is {than} {targets}. "
                       f"An entry is {entry['runs']} runs{scored}; its time is their mean without the fastest and the "
                       "slowest, where one that did not converge is the slowest. It is sent as the runs' logs. MLPerf is a "
                       "trademark of MLCommons; what is shown here is computed from published logs and is no MLPerf result.",
        "clock_rule": rules["clock_rule"],
        "allowed": rules["allowed"],
    }


def main(out, *paths):
    os.makedirs(out, exist_ok=True)
    for path in paths:
        with open(path, encoding="utf-8") as file:
            rules = json.load(file)
        for place, entry in enumerate(rules["benchmarks"]):
            task = task_of(entry, rules, place)
            made = os.path.join(out, task["id"] + ".json")
            with open(made, "w", encoding="utf-8") as file:
                json.dump(task, file)
            print(f"{made}={path}/{entry['id']}")


main(*sys.argv[1:])
