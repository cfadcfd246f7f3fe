// tests/web/run_history.mjs: the boards of past days as a browser shows them, against the expected ones, as TAP.
// usage: node tests/web/run_history.mjs, from the repository's root; DAYBREAKD names the server, CHROMIUM the browser.
// What is compared is the text a person reads: it must be the expected value to within half of its last place.
import { existsSync, readFileSync } from "node:fs";
import { PROGRAM, finish, ok, openBrowser, openPage, same, skipAll, startServer } from "./support.mjs";

const FIXTURES = "tests/fixtures/dawnbench";
const DAYS = ["2018-04-20", "2019-12-31"];
const TASKS = { CIFAR10: "cifar10", ImageNet: "imagenet", SQuAD: "squad" };
// The first board of a phase lists all that have a value; who has a value but no cost is named below the second.
const PHASES = { train: { time: "time", cost: "cost" }, inference: { latency: "latency", cost: "inference-cost" } };
const WITHOUT_COST = { train: "no costPerHour was given", inference: "no cost was given" };

if (!existsSync(PROGRAM)) skipAll(`${PROGRAM} is missing`);
if (!DAYS.every((day) => existsSync(`${FIXTURES}/expected_as_of_${day}`))) skipAll(`${FIXTURES} is not there`);
const browser = await openBrowser();
const server = await startServer();

function readExpected(day, folder, phase, label) {
  const text = readFileSync(`${FIXTURES}/expected_as_of_${day}/${folder}_${phase}_${label}.tsv`, "utf8");
  const [heads, ...lines] = text.replace(/\n$/, "").split("\n").map((line) => line.split("\t"));
  return lines.map((cells) => Object.fromEntries(heads.map((head, i) => [head, cells[i]])));
}

const squeeze = (text) => text.replace(/\s+/g, " ").trim();

// The words of the rows and of the list below, as they are seen: what the page's style hides is empty.
async function readPage(page) {
  const shown = await page.evaluate(() => {
    const text = (parent, selector) => parent.querySelector(selector)?.innerText ?? "";
    return {
      rows: [...document.querySelectorAll("#board tbody tr")].map((row) => ({
        rank: text(row, "td.place"), file: row.dataset.name, model: text(row, "td.who a"), author: text(row, "td.who .sub"),
        hardware: text(row, "td.wide > span"), framework: text(row, "td.wide > .sub"), tier: text(row, "td.tiers .tier"),
        numbers: [...row.querySelectorAll("td.num")].map((cell) => text(cell, "data") || cell.innerText),
        date: text(row, "td.date"),
      })),
      missing: [...document.querySelectorAll("#not-ranked li")].map((item) => [text(item, ".name"), text(item, ".reason")]),
    };
  });
  for (const row of shown.rows) {
    for (const key of ["rank", "model", "author", "hardware", "framework", "tier", "date"]) row[key] = squeeze(row[key]);
    row.numbers = row.numbers.map(squeeze);
  }
  return shown;
}

const UNITS = { d: 86400, h: 3600, min: 60, s: 1, ms: 1 };

// "2 h 44 min", "$1,112.64", "94.09 %": the number, and half of the last place that is shown.
function readNumber(text) {
  const parts = [...text.matchAll(/(\$?)([\d,]+(?:\.(\d+))?) ?(ms|min|[dhs])?/g)];
  let value = 0, last = 1;
  for (const [, , digits, places = "", unit = "s"] of parts) {
    last = UNITS[unit] / 10 ** places.length;
    value += Number(digits.replaceAll(",", "")) * UNITS[unit];
  }
  // From an hour on, times are rounded to seconds before they are to minutes or hours.
  return { value: parts.length ? value : NaN, half: last / 2 + (last >= 60 ? 0.5 : 0) };
}

function isShown(text, want, form) {
  if (want === undefined || want === "") return text === "-";
  const { value, half } = readNumber(text);
  return form.test(text) && Math.abs(value - Number(want)) <= half * (1 + 1e-9);
}

// One F1 of the history was given in percent and is shown as it was given.
const FORMS = {
  time: /^(\d+\.\d{2,3} s|\d+ min \d\d(\.\d)? s|\d+ h \d\d min|\d+ d \d\d h)$/, latency: /^[\d,]+(\.\d+)? ms$/,
  cost: /^\$[\d,]+\.\d{2,}$/, epoch: /^\d+(\.\d)?$/, percent: /^\d+\.\d\d %$/, f1: /^\d+\.\d{4}$/,
};

function findFaults(rows, shown, phase, folder) {
  const faults = rows.length === shown.length ? [] : [`${shown.length} rows, expected ${rows.length}`];
  const metric = folder === "SQuAD" ? FORMS.f1 : FORMS.percent;
  rows.slice(0, shown.length).forEach((want, i) => {
    const row = shown[i];
    const tied = rows.filter((one) => one.rank === want.rank).length > 1;
    const told = { ...want, rank: want.rank + (tied ? "=" : ""), model: want.model || want.file, tier: "reported" };
    for (const key of ["rank", "file", "model", "author", "hardware", "framework", "tier", "date"])
      if (row[key] !== squeeze(told[key])) faults.push(`${want.file}: ${key} is "${row[key]}", expected "${told[key]}"`);
    const [value, cost, ...last] = row.numbers;
    // What a million items cost stands on the page, what one costs in the file.
    const price = phase === "inference" && want.cost !== "" ? Number(want.cost) * 1e6 : want.cost;
    const good = phase === "train"
      ? isShown(value, want.seconds, FORMS.time) && isShown(last[0], want.epoch, FORMS.epoch) && metric.test(last[1])
      : isShown(value, want.ms, FORMS.latency) && isShown(last[0], want.accuracy, metric);
    if (!good || !isShown(cost, price, FORMS.cost)) faults.push(`${want.file}: ${row.numbers.join(", ")}, expected ${JSON.stringify(want)}`);
  });
  return faults;
}

try {
  const { page, faults, close } = await openPage(browser, server, { scripts: false });
  for (const day of DAYS) {
    for (const [folder, id] of Object.entries(TASKS)) {
      for (const [phase, kinds] of Object.entries(PHASES)) {
        let valued = null;
        for (const [label, by] of Object.entries(kinds)) {
          const rows = readExpected(day, folder, phase, label);
          await page.goto(`${server.address}/tasks/${id}-${phase}?by=${by}&as_of=${day}`);
          const shown = await readPage(page);
          const name = `${id}-${phase} by ${by} as of ${day}`;
          same(findFaults(rows, shown.rows, phase, folder), [], `${name}: the rows read as expected`);
          const ranked = new Set(rows.map((row) => row.file));
          const missing = (valued ?? []).filter((file) => !ranked.has(file)).sort().map((file) => [file, WITHOUT_COST[phase]]);
          same(shown.missing, missing, `${name}: below stand those without a value, and no others`);
          valued ??= [...ranked];
        }
      }
    }
  }
  same(faults, [], "boards of past days, without scripts: no fault");
  // The comparison itself: one that finds nothing in a wrong row would pass everything.
  const rows = readExpected(DAYS[0], "CIFAR10", "train", "time");
  await page.goto(`${server.address}/tasks/cifar10-train?as_of=${DAYS[0]}`);
  const { rows: shown } = await readPage(page);
  const wrong = { rank: "99", author: "someone", date: "2018-04-21", seconds: "174.1", cost: "1.19", epoch: "36" };
  for (const [key, value] of Object.entries(wrong))
    ok(findFaults([{ ...rows[0], [key]: value }, ...rows.slice(1)], shown, "train", "CIFAR10").length === 1, `another ${key} would be found`);
  await close();
} catch (error) {
  ok(false, "the test itself went on to its end", error.stack);
} finally {
  await browser.close();
  ok(await server.stop() === 0, "the server stops cleanly");
  finish();
}
