// tests/web/run_analysis.mjs: the record's stairs, the Pareto front and the axes of charts against what the test itself
// computes from the API, as TAP (web.md, points 4 and 5).
// usage: node tests/web/run_analysis.mjs, from the repository's root; DAYBREAKD names the server, CHROMIUM the browser.
import { existsSync } from "node:fs";
import { PROGRAM, call, finish, ok, openBrowser, openPage, same, skipAll, startServer, until } from "./support.mjs";

const TRAIN = ["cifar10-train", "imagenet-train", "squad-train"];

if (!existsSync(PROGRAM)) skipAll(`${PROGRAM} is missing`);
const browser = await openBrowser();
const server = await startServer();

// Rows by the keys of the head: number, text, and the id that a cell links to.
function readTables(page) {
  return page.$$eval("figure.chart", (figures) => figures.map((figure) => {
    const table = document.getElementById(figure.dataset.table);
    const keys = [...table.tHead.rows[0].cells].map((cell) => cell.dataset.key);
    return [...table.tBodies[0].rows].map((row) => Object.fromEntries([...row.cells].map((cell, i) => [keys[i],
      { value: Number(cell.dataset.v ?? NaN), text: cell.textContent, id: Number(/\d+$/.exec(cell.querySelector("a")?.getAttribute("href") ?? "")?.[0]) }])));
  }));
}

const readChart = (page, selector) => page.$eval(selector, (canvas) => {
  const chart = window.Chart.getChart(canvas);
  const blank = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  return chart && { x: chart.options.scales.x.title.text, y: chart.options.scales.y.title.text, types: [chart.scales.x.type, chart.scales.y.type],
    sets: chart.data.datasets.map(({ label, data }) => ({ label, points: data.map((point) => [point.x, point.y]) })),
    isInked: canvas.toDataURL() !== blank.toDataURL() };
});

// Whoever nobody beats in one without losing in the other: each against each.
function frontOf(items) {
  return items.filter((one) => !items.some((other) => other.tta_s <= one.tta_s && other.cost_usd <= one.cost_usd &&
    (other.tta_s < one.tta_s || other.cost_usd < one.cost_usd))).map((one) => one.entry).sort((a, b) => a - b);
}

async function paretoFronts() {
  for (const task of TRAIN) {
    const { items } = await call(server, `/v1/leaderboards/${task}?by=cost&limit=1000`);
    const wanted = frontOf(items);
    for (const scripts of [false, true]) {
      const { page, faults, close } = await openPage(browser, server, { path: `/tasks/${task}/tradeoff`, scripts });
      const [rows] = await readTables(page);
      same(rows.map((row) => row.entry.id).sort((a, b) => a - b), items.map((item) => item.entry).sort((a, b) => a - b), `${task}: all with time and cost are there, ${scripts ? "with" : "without"} scripts`);
      const shown = rows.filter((row) => row.front.value === 1).map((row) => row.entry.id).sort((a, b) => a - b);
      same(shown, wanted, `${task}: on the front is who the test finds there, ${scripts ? "with" : "without"} scripts`);
      if (scripts) {
        const chart = await readChart(page, "figure.chart canvas");
        const near = (points) => points.map((point) => point.map((value) => value.toPrecision(6)).join()).sort();
        same(near(chart.sets[0].points), near(items.map((item) => [item.tta_s, item.cost_usd])), `${task}: each is a point of the chart`);
        same(near(chart.sets.find(({ label }) => label === "front").points), near(items.filter((item) => wanted.includes(item.entry)).map((item) => [item.tta_s, item.cost_usd])),
          `${task}: the line joins the front alone`);
        ok(chart.types.join() === "logarithmic,logarithmic" && /s$/.test(chart.x) && /USD$/.test(chart.y) && chart.isInked, `${task}: both axes are logarithmic, with units`, JSON.stringify([chart.types, chart.x, chart.y]));
      }
      same(faults, [], `${task}: trade-off, ${scripts ? "with" : "without"} scripts: no fault`);
      await close();
    }
  }
}

// By date; of one day the best.
function recordsOf(items, value) {
  const ordered = [...items].sort((a, b) => a.date.localeCompare(b.date) || a[value] - b[value]);
  const records = [];
  for (const item of ordered)
    if (!records.length || item[value] < records.at(-1)[value]) records.push(item);
  return records.map((item) => [item.entry, item.date, item[value].toPrecision(6)]);
}

async function stairs() {
  for (const task of TRAIN) {
    const { page, faults, close } = await openPage(browser, server, { path: `/tasks/${task}/history` });
    const tables = await readTables(page);
    for (const [i, [by, value]] of [["time", "tta_s"], ["cost", "cost_usd"]].entries()) {
      const { items } = await call(server, `/v1/leaderboards/${task}?by=${by}&limit=1000`);
      const rows = tables[i].map((row) => [row.entry.id, row.from.text, row.value.value.toPrecision(6)]);
      same(rows, recordsOf(items, value), `${task} by ${by}: the records are those that the test finds`);
      ok(rows.every((row, k) => k === 0 || (row[1] >= rows[k - 1][1] && Number(row[2]) < Number(rows[k - 1][2]))), `${task} by ${by}: the stairs only descend`, JSON.stringify(rows));
    }
    const chart = await readChart(page, "figure.chart canvas");
    ok(chart.types[1] === "logarithmic" && chart.sets[0].points.length >= tables[0].length && chart.isInked, `${task}: the stairs are drawn on a logarithmic axis`, JSON.stringify(chart.types));
    same(faults, [], `${task}: history: no fault`);
    await close();
  }
}

// The axis says what it is, and the address holds it.
async function axisOfRun() {
  const { items: [first] } = await call(server, "/v1/leaderboards/cifar10-train?limit=1");
  const { page, faults, close } = await openPage(browser, server, { path: `/runs/${first.run}` });
  const { items } = await call(server, `/v1/runs/${first.run}/epochs?limit=1000`);
  const time = await readChart(page, "#curve canvas");
  await page.click('.tabs.small a:text-is("by epoch")');
  await until(async () => (await readChart(page, "#curve canvas")).x !== time.x);
  const epoch = await readChart(page, "#curve canvas");
  ok(/^Time.*(s|min|h|days)$/.test(time.x) && /^Epoch/.test(epoch.x) && page.url().endsWith("?x=epoch"), "another x has another title and address", `${time.x} ${epoch.x} ${page.url()}`);
  same(epoch.sets[0].points, items.map((item) => [item.epoch, item.accuracy]), "each evaluation is a point of the curve");
  const tta = await page.$eval("#tta", ({ dataset }) => [Number(dataset.value), Number(dataset.epoch)]);
  const api = await call(server, `/v1/runs/${first.run}`);
  same(tta, [api.tta_s, api.tta_epoch], "the mark equals the API");
  await page.reload();
  ok((await readChart(page, "#curve canvas")).x === epoch.x, "the address opened afresh has the same axis");
  same(faults, [], "axes: no fault");
  await close();
}

// Along the cost: seconds by the price of an hour. A link to another page stays one.
async function costOfRun() {
  const { items: [first] } = await call(server, "/v1/leaderboards/cifar10-train?by=cost&limit=1");
  const { page, faults, close } = await openPage(browser, server, { path: `/runs/${first.run}` });
  const { items } = await call(server, `/v1/runs/${first.run}/epochs?limit=1000`);
  const price = Number((await call(server, `/v1/entries/${first.entry}`)).cost_usd_per_hour);
  await page.click('.tabs.small a:text-is("by cost")');
  await until(async () => (await readChart(page, "#curve canvas")).x === "Cost, USD");
  const { x, sets } = await readChart(page, "#curve canvas");
  ok(x === "Cost, USD" && page.url().endsWith("?x=cost"), "by cost has its title and address", `${x} ${page.url()}`);
  const want = items.map((item) => item.tta_s / 3600 * price);
  ok(sets[0].points.length === want.length && sets[0].points.every(([at], i) => Math.abs(at - want[i]) <= 1e-9 * want[i] + 1e-15),
    "each evaluation stands at what it had cost", JSON.stringify([sets[0].points.slice(-2), want.slice(-2)]));
  await page.click('.tabs.small a:text-is("Variance")');
  ok(new URL(page.url()).pathname === "/tasks/cifar10-train/variance", "the analyses of its task are a click away", page.url());
  same(faults, [], "by cost: no fault");
  await close();
}

// Two boxes of the board, without scripts: their runs side by side.
async function chosenRuns() {
  const { items } = await call(server, "/v1/leaderboards/cifar10-train?limit=3");
  const { page, faults, close } = await openPage(browser, server, { path: "/tasks/cifar10-train", scripts: false });
  for (const item of [items[0], items[2]]) await page.check(`tr[data-entry="${item.entry}"] input[type=checkbox]`);
  await page.click("#compare button");
  ok(page.url().endsWith(`/compare?runs=${items[0].run},${items[2].run}`), "ticked runs are compared at a short address", page.url());
  const rows = await page.$$eval("#items tbody tr", (all) => all.map((row) => row.cells[0].textContent.trim()));
  same(rows, [items[0].run, items[2].run].map(String), "the comparison has these runs");
  same(faults, [], "choosing runs: no fault");
  await close();
}

try {
  await paretoFronts();
  await stairs();
  await axisOfRun();
  await costOfRun();
  await chosenRuns();
} catch (error) {
  ok(false, "the test itself went on to its end", error.stack);
} finally {
  await browser.close();
  ok(await server.stop() === 0, "the server stops cleanly");
  finish();
}
