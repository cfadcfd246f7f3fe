"""tests/support/measures.py: what the analyses say, computed again from their definitions (docs/measures.md), and the
tables of a page as rows. Python 3, standard library; nothing here is taken from the server's code.
"""
import html.parser
import math
import statistics

Z = statistics.NormalDist().inv_cdf(0.975)


def t_cdf(t, df):
    """Student's distribution function for t >= 0: its density by Simpson's rule over 20,000 steps."""
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    steps = 20000
    width = t / steps
    total = sum((1 if i in (0, steps) else 4 if i % 2 else 2) * (1 + (i * width) ** 2 / df) ** (-(df + 1) / 2)
                for i in range(steps + 1))
    return 0.5 + scale * total * width / 3


def t_quantile(df):
    """The 97.5 % point, by bisection."""
    low, high = 0.0, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, df) < 0.975 else (low, middle)
    return high


def wilson(hits, count):
    p = hits / count
    centre = (p + Z * Z / (2 * count)) / (1 + Z * Z / count)
    half = Z / (1 + Z * Z / count) * math.sqrt(p * (1 - p) / count + Z * Z / (4 * count * count))
    return max(0.0, centre - half), min(1.0, centre + half)


def cv(values):
    return statistics.stdev(values) / statistics.mean(values)


def runs_needed(spread):
    """The fewest runs, two or more, whose mean has a 95 % interval of 5 % to either side."""
    count = 2
    while t_quantile(count - 1) * spread / math.sqrt(count) > 0.05:
        count += 1
    return count


def variance_row(trials, scored=None):
    """A row of the variance of an entry. trials: (TTA, epochs) of each run in order, None for one that missed; scored: the
    first so many that reached the target are."""
    reached = [trial for trial in trials if trial is not None]
    chosen = reached[:scored]
    tta = [trial[0] for trial in chosen]
    epochs = [trial[1] for trial in chosen]
    per_epoch = [a / b for a, b in chosen]
    row = {"n": len(trials), "reached": len(reached), "scored": len(chosen), "p": len(reached) / len(trials)}
    row["p_low"], row["p_high"] = wilson(len(reached), len(trials))
    row["mean_s"] = statistics.mean(tta)
    half = t_quantile(len(tta) - 1) * statistics.stdev(tta) / math.sqrt(len(tta))
    row["low_s"], row["high_s"] = row["mean_s"] - half, row["mean_s"] + half
    row["cv"], row["cv_population"] = cv(tta), statistics.pstdev(tta) / statistics.mean(tta)
    row["cv_epochs"], row["cv_per_epoch"] = cv(epochs), cv(per_epoch)
    if row["cv_epochs"] > 0 and row["cv_per_epoch"] > 0:
        row["correlation"] = statistics.covariance(epochs, per_epoch) / statistics.stdev(epochs) / statistics.stdev(per_epoch)
    if row["cv_epochs"] > 0 or row["cv_per_epoch"] > 0:
        row["epoch_share"] = row["cv_epochs"] ** 2 / (row["cv_epochs"] ** 2 + row["cv_per_epoch"] ** 2)
    if row["cv"] < 0.3:  # above, the quantile would be computed hundreds of times
        row["runs_needed"] = runs_needed(row["cv"])
    return row


def near(want, got, relative=1e-8):
    return got is not None and abs(want - got) <= relative * max(abs(want), 1e-12)


class Tables(html.parser.HTMLParser):
    """The tables of a page: tables[id] is a list of rows, each {data-key of the column: cell}; a cell has "text", "sub",
    "href" and "v", its exact value, where it has one."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.keys, self.rows, self.cell, self.in_sub = {}, [], None, None, False
        self.feed(page if isinstance(page, str) else page.decode("utf-8"))

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        if tag == "table":
            self.rows, self.keys = self.tables.setdefault(names.get("id", ""), []), []
        elif self.rows is None:
            return
        elif tag == "th" and "data-key" in names:
            self.keys.append(names["data-key"])
        elif tag == "tr":
            self.rows.append({})
        elif tag == "td":
            self.cell = {"text": "", "sub": ""}
            if "data-v" in names:
                self.cell["v"] = float(names["data-v"])
            if len(self.rows[-1]) < len(self.keys):
                self.rows[-1][self.keys[len(self.rows[-1])]] = self.cell
        elif tag == "a" and self.cell is not None:
            self.cell["href"] = names.get("href", "")
        elif tag == "span" and self.cell is not None:
            self.in_sub = "sub" in names.get("class", "").split()

    def handle_endtag(self, tag):
        if tag == "table" and self.rows is not None:
            self.rows[:] = [row for row in self.rows if row]  # not the head's
            self.rows = None
        elif tag == "td":
            self.cell = None
        elif tag == "span":
            self.in_sub = False

    def handle_data(self, data):
        if self.cell is not None:
            self.cell["sub" if self.in_sub else "text"] += data.strip()


def page_table(server, path, name="items"):
    status, _, page = server.request("GET", path)
    if status != 200:
        raise RuntimeError(f"GET {path}: {status}")
    return Tables(page).tables.get(name, [])
