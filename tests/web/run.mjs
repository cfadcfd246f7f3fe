// tests/web/run.mjs: what a real browser shows of a real server, as TAP (web.md).
// usage: node tests/web/run.mjs, from the repository's root; DAYBREAKD names the server, CHROMIUM the browser.
import { existsSync } from "node:fs";
import {
  Agent, PROGRAM, call, finish, ok, openBrowser, openPage, same, skipAll, startServer, until,
} from "./support.mjs";

const VALUE_OF = { time: "tta_s", cost: "cost_usd", latency: "latency_ms", "inference-cost": "cost_usd" };
const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(2)</script>'&amp;`;
const EPOCHS = 12;
const CROSSING = 9; // the first of them at or above 70 %
const RESTART = 6; // the server is stopped and started again before this one

if (!existsSync(PROGRAM)) skipAll(`${PROGRAM} is missing`);
const browser = await openBrowser();
const server = await startServer();
const { items: tasks } = await call(server, "/v1/tasks");

function readRows(page) {
  return page.$$eval("table#board tbody tr", (rows) => rows.map((row) => {
    const { entry, name, place, value, epoch } = row.dataset;
    const kept = { entry: Number(entry), name, place: Number(place), value: Number(value) };
    return epoch === undefined ? kept : { ...kept, epoch: Number(epoch) };
  }));
}

function wantRows(board) {
  return board.items.map((item) => {
    const kept = { entry: item.entry, name: item.name, place: item.place, value: item[VALUE_OF[board.by]] };
    return item.epoch === undefined ? kept : { ...kept, epoch: item.epoch };
  });
}

function eachBoard() {
  return tasks.flatMap((task) => task.boards.map((by) => ({ task: task.id, by })));
}

async function boardsWithoutScripts() {
  const { page, faults, close } = await openPage(browser, server, { scripts: false });
  for (const { task, by } of eachBoard()) {
    const board = await call(server, `/v1/leaderboards/${task}?by=${by}&limit=1000`);
    await page.goto(`${server.address}/tasks/${task}?by=${by}`);
    same(await readRows(page), wantRows(board), `${task} by ${by}: rows equal the API, without scripts`);
    const forms = await page.$$eval("#content td", (cells) => [...new Set(cells.map((cell) => getComputedStyle(cell).display))]);
    ok(forms.every((form) => form === "table-cell" || form === "none"), `${task} by ${by}: cells are laid out as cells`, forms.join());
    const ties = await page.$$eval("#board td.place", (cells) => cells.map((cell) => cell.textContent));
    same(ties, board.items.map((item) => `${item.place}${item.tied ? "=" : ""}`), `${task} by ${by}: ties are shown as ties`);
    const missing = await page.$$eval("#not-ranked li", (items) => items.length);
    ok(missing === board.not_ranked.length, `${task} by ${by}: who is not ranked stands below`, `${missing} of ${board.not_ranked.length}`);
    const { records } = await call(server, `/v1/leaderboards/${task}/records?by=${by}`);
    const held = await page.$$eval("#records tbody tr", (rows) => rows.map(({ dataset, cells }) => [
      Number(dataset.record), dataset.from, dataset.to, Number(dataset.value), parseFloat(cells[3].textContent.replaceAll(",", ""))]));
    // The page has values as they were sent, the records in the API as ranked; factors are rounded to three digits.
    const near = (shown, factor) => factor === undefined ? Number.isNaN(shown) : Math.abs(shown - factor) <= Math.max(0.005, factor * 0.005) + 1e-9;
    ok(held.length === records.length && [...records].reverse().every((one, i) =>
      held[i][0] === one.entry && held[i][1] === one.from && held[i][2] === (one.to ?? "") &&
      Math.abs(held[i][3] / one[VALUE_OF[by]] - 1) < 1e-5 && near(held[i][4], one.improvement)),
      `${task} by ${by}: the record's holders equal the API, the latest first`, JSON.stringify([held, records]));
  }
  same(faults, [], "boards without scripts: no fault");
  await close();
}

async function energyTab() {
  const { page, faults, close } = await openPage(browser, server, { path: "/tasks/cifar10-train?by=cost", scripts: false });
  await page.click('.tabs a:text-is("Energy")');
  ok(page.url().endsWith("/tasks/cifar10-train?by=energy") && /No entry gives its energy/.test(await page.textContent("#board-empty")),
    "the energy tab says that no entry gives energy", page.url());
  same(faults, [], "energy tab: no fault");
  await close();
}

async function homeWithoutScripts() {
  const { page, faults, close } = await openPage(browser, server, { scripts: false });
  for (const task of tasks) {
    const wanted = [];
    for (const by of task.boards) {
      const { items } = await call(server, `/v1/leaderboards/${task.id}?by=${by}&limit=1`);
      if (items.length) wanted.push(items[0][VALUE_OF[by]]);
    }
    const shown = await page.$$eval(`[id="task-${task.id}"] data.figure`, (all) => all.map((one) => Number(one.value)));
    same(shown, wanted, `home: the records of ${task.id} equal the API`);
  }
  const text = await page.textContent("main");
  ok(!/\b(NaN|null|undefined)\b/.test(text), "home: nothing unset is shown");
  const stairs = await page.$$eval("svg.stairs", (all) => all.map((one) =>
    [...one.querySelectorAll("circle")].map((point) => [Number(point.getAttribute("cx")), Number(point.getAttribute("cy"))])));
  ok(stairs.length >= 6 && stairs.every((points) => points.length >= 2 && points.every((point, i) =>
    i === 0 || (point[0] >= points[i - 1][0] && point[1] >= points[i - 1][1]))), "home: each record's stairs only descend", JSON.stringify(stairs));
  same(faults, [], "home without scripts: no fault");
  await close();
}

// Sorted by a key that the test takes from the API itself; missing last, equal keys as on the board.
function sortedIds(items, key, descending) {
  const keyed = items.map((item, i) => ({ entry: item.entry, key: key(item), i }));
  return keyed.sort((a, b) => {
    if ((a.key === undefined) !== (b.key === undefined)) return a.key === undefined ? 1 : -1;
    if (a.key === b.key) return a.i - b.i;
    return (a.key < b.key ? -1 : 1) * (descending ? -1 : 1);
  }).map((item) => item.entry);
}

const SORTS = {
  "#": (item) => item.place, Model: (item) => item.model?.toLowerCase(), author: (item) => item.author?.toLowerCase(),
  Hardware: (item) => item.hardware?.toLowerCase(), framework: (item) => item.framework?.toLowerCase(),
  Time: (item) => item.tta_s, Cost: (item) => item.cost_usd, Epoch: (item) => item.epoch,
  Accuracy: (item) => item.accuracy, Tier: (item) => item.tier, Date: (item) => item.date,
};

async function sorting() {
  const path = "/tasks/cifar10-train";
  const { page, faults, close } = await openPage(browser, server, { path });
  const { items } = await call(server, "/v1/leaderboards/cifar10-train?by=time&limit=1000");
  const ids = async () => (await readRows(page)).map((row) => row.entry);
  await page.evaluate(() => { window.untouched = true; });
  for (const [label, key] of Object.entries(SORTS)) {
    for (let click = 0; click < 2; click++) {
      const before = page.url();
      await page.click(`#board a.sort:text-is("${label}")`);
      await until(() => page.url() !== before);
      const head = page.locator("#board th", { has: page.locator(`a.sort.up, a.sort.down`) });
      const direction = await head.getAttribute("aria-sort");
      const href = page.url();
      const descending = direction === "descending";
      ok((descending || direction === "ascending") && (await page.$$("#board th[aria-sort=ascending], #board th[aria-sort=descending]")).length === 1,
        `sort by ${label}, click ${click + 1}: one column says so`, `${direction} at ${href}`);
      same(await ids(), label === "#" && descending ? items.map((item) => item.entry).reverse() : sortedIds(items, key, descending),
        `sort by ${label}, ${direction}: the order is right`);
    }
  }
  ok(await page.evaluate(() => window.untouched === true), "sorting happens in place");
  await page.click('#board a.sort:text-is("Cost")');
  await until(() => page.url().includes("sort=cost"));
  const rows = await readRows(page);
  const afresh = await openPage(browser, server, { path: page.url().slice(server.address.length), scripts: false });
  same(await readRows(afresh.page), rows, "the address opened afresh shows the same rows");
  await afresh.close();
  await page.goBack();
  await until(async () => !(await page.$("#board a.sort.up:text-is(\"Cost\")")));
  ok(!page.url().includes("sort=cost&dir=asc"), "back undoes a sort", page.url());
  same(faults, [], "sorting: no fault");
  await close();
}

async function filters() {
  const { page, faults, close } = await openPage(browser, server, { path: "/tasks/cifar10-train" });
  await page.click(".filters summary");
  await page.fill("#filter input[name=hardware]", "v100");
  await page.fill("#filter input[name=to]", "2019-06-30");
  await page.click("#filter button");
  await until(() => page.url().includes("hardware=v100"));
  const board = await call(server, `/v1/leaderboards/cifar10-train?by=time&hardware=v100&to=2019-06-30&limit=1000`);
  ok(board.items.length > 0, "the filter leaves rows");
  same(await readRows(page), wantRows(board), "filtered rows equal the API's, with the places of the whole board");
  const csv = await page.getAttribute('.data-links a:text-is("CSV")', "href");
  const answer = await fetch(server.address + csv);
  const lines = (await answer.text()).trim().split(/\r?\n/);
  ok(answer.headers.get("content-type")?.startsWith("text/csv") && lines.length === board.items.length + 1,
    "the CSV link has the same rows", `${lines.length} lines`);
  const marked = board.items[board.items.length - 1].entry;
  await page.goto(`${server.address}/tasks/cifar10-train?hl=${marked}`);
  ok(await until(() => page.evaluate((id) => document.activeElement?.dataset.entry === id, String(marked))),
    "?hl= marks and focuses its row");
  same(faults, [], "filtering: no fault");
  await close();
}

async function liveRun() {
  const agent = await Agent.register(server, "browser test");
  const created = await call(server, "/v1/jobs", { token: server.tokens.operator, json: { task: "cifar10-train-quick", seeds: 1 } });
  const run = created.runs[0];
  const { page, faults, close } = await openPage(browser, server, { path: `/runs/${run}` });
  const home = await openPage(browser, server);
  ok(await page.$("#facts[data-live=true]") !== null && await page.$("#tta") === null, "a queued run is live and has no mark");
  await agent.claim();
  await agent.send("run_start", {});
  ok(await until(async () => /running/.test(await page.textContent("#facts"))), "the page says when the run starts");
  ok(await until(async () => await home.page.$(`#live li[data-run="${run}"]`) !== null), "home shows it under Live now");
  for (let epoch = 1; epoch <= EPOCHS; epoch++) {
    if (epoch === RESTART) await server.restart();
    await agent.evaluate(epoch, 3000 + epoch * 450, epoch * 1.25);
    if (!await until(async () => (await page.$$("#epochs tbody tr")).length === epoch)) break;
  }
  const epochs = await call(server, `/v1/runs/${run}/epochs`);
  ok(await until(async () => (await page.$$("#epochs tbody tr")).length === EPOCHS), "a restart of the server loses no epoch");
  const rows = await page.$$eval("#epochs tbody tr", (all) => all.map((row) => ({
    seq: Number(row.dataset.seq), epoch: Number(row.dataset.epoch), accuracy: Number(row.dataset.value), tta_s: Number(row.dataset.seconds),
  })));
  same(rows, epochs.items.map(({ seq, epoch, accuracy, tta_s }) => ({ seq, epoch, accuracy, tta_s })),
    `each of ${EPOCHS} epochs becomes visible, in order, as in the API`);
  ok(await until(async () => await page.$("#tta") !== null), "the mark appears while the run goes on");
  await agent.finish("reached");
  ok(await until(async () => await page.$("#facts[data-state=reached]") !== null), "the page says when the run has ended");
  const api = await call(server, `/v1/runs/${run}`);
  const mark = await page.$eval("#tta", (one) => ({ tta_s: Number(one.dataset.value), tta_epoch: Number(one.dataset.epoch) }));
  same(mark, { tta_s: api.tta_s, tta_epoch: api.tta_epoch }, "#tta equals the API");
  ok(mark.tta_epoch === CROSSING, "#tta is the first evaluation at the target", JSON.stringify(mark));
  const drawn = await page.$eval("#curve canvas", (canvas) => {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    return !canvas.parentElement.hidden && pixels.some((value) => value !== 0);
  });
  ok(drawn, "the curve is drawn");
  await page.click('.tabs.small a:text-is("by epoch")');
  ok(page.url().endsWith("?x=epoch") && await page.$eval("#curve", (figure) => figure.dataset.x === "epoch"), "switching x changes the address");
  const live = await page.$$eval("#epochs tbody tr td", (cells) => cells.map((cell) => cell.textContent));
  await page.reload();
  same(await page.$$eval("#epochs tbody tr td", (cells) => cells.map((cell) => cell.textContent)), live,
    "what grew live reads as the server writes it");
  const board = await call(server, "/v1/leaderboards/cifar10-train-quick?by=time");
  ok(board.items.some((item) => item.entry === created.entry && item.tier === "witnessed"), "the run is ranked, witnessed");
  const others = [...faults, ...home.faults].filter((fault) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY_RESPONSE/.test(fault));
  same(others, [], "live run: no fault but the restart's own");
  await home.close();
  await close();
}

async function hostileText() {
  const entry = JSON.stringify({
    version: "v1.0", author: HOSTILE, authorEmail: "secret-address@example.org", framework: HOSTILE, codeURL: "https://example.org/?a=<b>&c='d'",
    model: HOSTILE, hardware: HOSTILE, costPerHour: 1.5, timestamp: "2020-01-01", misc: { [HOSTILE]: HOSTILE, nested: { a: [HOSTILE] } },
  });
  const progress = "epoch\thours\ttop1Accuracy\n1\t0.1\t50\n2\t0.2\t95\n";
  const sent = await call(server, "/v1/submissions", { token: server.tokens.submitter, json: { task: "cifar10-train", name: "hostile", entry, progress } });
  const { runs } = await call(server, `/v1/entries/${sent.entry}`);
  const paths = ["/", `/tasks/cifar10-train?framework=${encodeURIComponent(HOSTILE)}`, `/tasks/cifar10-train?hl=${sent.entry}`,
    `/entries/${sent.entry}`, `/runs/${runs[0].run}`, `/authors/${encodeURIComponent(HOSTILE)}`, `/hardware/${encodeURIComponent(HOSTILE)}`,
    `/search?q=${encodeURIComponent(HOSTILE)}`, `/${encodeURIComponent(HOSTILE)}`];
  for (const path of paths) {
    const { page, faults, close } = await openPage(browser, server, { path });
    await page.waitForLoadState("load");
    const made = await page.evaluate(() => [document.images.length, [...document.scripts].filter((one) => !one.src).length,
      document.querySelectorAll("[onerror], [onclick], [onload]").length]);
    const kept = faults.filter((fault) => !(path.startsWith("/%22") && /404/.test(fault)));
    same([made, kept], [[0, 0, 0], []], `hostile text makes nothing: ${path.slice(0, 40)}`);
    ok(!(await page.content()).includes("secret-address"), `no personal address: ${path.slice(0, 40)}`);
    if (path.startsWith("/entries") || path.includes("hl="))
      ok((await page.textContent("main")).includes(HOSTILE), `hostile text is shown as it is: ${path.slice(0, 40)}`);
    await close();
  }
}

// An entry of three runs links all that was sent, each byte for byte.
async function filesOfRuns() {
  const entry = JSON.stringify({ version: "v1.0", author: "A. Example", authorEmail: "a@example.org", framework: "Example 1.0",
    model: "Net", hardware: "1 CPU", timestamp: "2020-01-02" });
  const runs = [1, 2, 3].map((run) => `epoch\thours\ttop1Accuracy\r\n1\t0.${run}\t50\r\n2\t0.${run + 4}\t95\r\n`);
  const form = new FormData();
  form.append("task", "cifar10-train");
  form.append("entry", new Blob([entry]), "three runs.json");
  runs.forEach((bytes, i) => form.append("progress", new Blob([bytes]), `three runs-${i + 1}.tsv`));
  const answer = await fetch(`${server.address}/v1/submissions`, {
    method: "POST", body: form, headers: { Authorization: `Bearer ${server.tokens.submitter}` } });
  const sent = await answer.json();
  if (!ok(answer.status === 201, "an entry of three runs is taken", JSON.stringify(sent))) return;
  const { page, faults, close } = await openPage(browser, server, { path: `/entries/${sent.entry}`, scripts: false, width: 360 });
  const links = await page.$$eval('.data-links a[href*="/files/"]', (all) => all.map((one) => one.href));
  const bytes = await Promise.all(links.map(async (link) => (await fetch(link, { headers: { Authorization: `Bearer ${server.tokens.submitter}` } })).text()));
  same(bytes, [entry, ...runs], "an entry links the files of all its runs, byte for byte");
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  ok(over <= 0, "their links fit a narrow page", `${over} px too wide`);
  same(faults, [], "an entry of three runs: no fault");
  await close();
}

// An author's page has exactly the entries that the boards say are his, with their places; a board's link leads there.
async function namedPages() {
  const { page, faults, close } = await openPage(browser, server, { path: "/tasks/cifar10-train", scripts: false });
  const wanted = [];
  const author = (await call(server, "/v1/leaderboards/cifar10-train?by=time&limit=1")).items[0].author;
  for (const task of tasks) {
    const { items } = await call(server, `/v1/leaderboards/${task.id}?by=${task.boards[0]}&limit=1000`);
    wanted.push(...items.filter((item) => item.author === author).map((item) => [item.entry, task.id, `${item.place}${item.tied ? "=" : ""}`]));
  }
  await page.click("#board tbody tr:first-child a[href^='/authors/']");
  ok((await page.textContent("h1")) === author, "a board's author is a link to his page", page.url());
  const rows = await page.$$eval("#entries tbody tr", (all) => all.map(({ dataset }) => [Number(dataset.entry), dataset.task, dataset.place]));
  const order = (a, b) => a[0] - b[0];
  same(rows.filter((row) => row[2] !== "").sort(order), wanted.sort(order), "it has exactly his entries of all tasks, with their places");
  await page.fill("header .find input", "dawn resnet v100");
  await page.press("header .find input", "Enter");
  ok(page.url() === `${server.address}/search?q=dawn+resnet+v100`, "the head's field searches", page.url());
  await page.goto(`${server.address}/search?q=${encodeURIComponent(author)}`);
  const found = await page.$$eval("#entries tbody tr", (all) => all.map(({ dataset }) => Number(dataset.entry)));
  ok(rows.every((row) => found.includes(row[0])), "a search for his name finds them all", found.join());
  same(faults, [], "authors and search without scripts: no fault");
  await close();
}

// Signing in, a token for somebody, signing out: by forms alone.
async function signingIn() {
  const { page, faults, close } = await openPage(browser, server, { path: "/tasks/cifar10-train?by=cost", scripts: false });
  await page.click('header a:text-is("Sign in")');
  await page.fill("#token", "dbk_operator_1_wrong");
  await page.click('main button:text-is("Sign in")');
  ok(/not a token/.test(await page.textContent("#fault")), "a wrong token is told on the page", page.url());
  faults.length = 0; // the browser's console says 401 as well
  await page.fill("#token", server.tokens.operator);
  await page.click('main button:text-is("Sign in")');
  ok(page.url() === `${server.address}/tasks/cifar10-train?by=cost`, "signing in leads back to where one was", page.url());
  ok((await page.textContent(".who .user")) === "web test operator", "the page says who is signed in");
  await page.click('nav a:text-is("Tokens")');
  await page.fill("#name", HOSTILE);
  await page.selectOption("#role", "submitter");
  await page.check('input[name="scope-submit"]');
  await page.fill("#ttl", "1");
  await page.click('#issue button:text-is("Issue")');
  const token = await page.textContent("#made");
  ok(/^dbk_submitter_\d+_/.test(token), "the token that was issued is shown", token);
  ok((await page.textContent("#made-h")) === `Issued to ${HOSTILE}`, "and whom it is for, as text");
  await page.click('nav a:text-is("Tokens")');
  ok(!(await page.content()).includes(token), "it is not shown again");
  const id = token.split("_")[2];
  await page.click(`tr[data-token="${id}"] button`);
  ok(/revoked/.test(await page.textContent(`tr[data-token="${id}"]`)), "a token is revoked by its button");
  await page.click('header button:text-is("Sign out")');
  ok(page.url() === `${server.address}/` && await page.isVisible('header a:text-is("Sign in")'), "signing out leads home");
  await page.goto(`${server.address}/tokens`);
  ok(page.url() === `${server.address}/login?back=%2Ftokens`, "and ends what one may", page.url());
  same(faults, [], "signing in without scripts: no fault");
  await close();
}

async function themeAndErrors() {
  const { page, close, status } = await openPage(browser, server, { path: "/nothing/here?x=1", scheme: "light" });
  ok(status === 404 && /404/.test(await page.textContent("main")), "an unknown address is a styled 404");
  await page.goto(`${server.address}/tasks/cifar10-train?by=cost`);
  await page.click('.themes button:text-is("Dark")');
  ok(page.url() === `${server.address}/tasks/cifar10-train?by=cost` && await page.getAttribute("html", "data-theme") === "dark",
    "the dark theme is kept in a cookie and leads back", page.url());
  await page.goto(`${server.address}/theme?to=light&back=//example.org/`);
  ok(page.url() === `${server.address}/`, "the way back stays on this server", page.url());
  await page.goto(`${server.address}/tasks/cifar10-train?by=speed`);
  ok(/speed/.test(await page.textContent("main")), "a wrong parameter is named on the page");
  await close();
}

try {
  await homeWithoutScripts();
  await boardsWithoutScripts();
  await energyTab();
  await sorting();
  await filters();
  await liveRun();
  await hostileText();
  await filesOfRuns();
  await themeAndErrors();
  await namedPages();
  await signingIn();
} catch (error) {
  ok(false, "the test itself went on to its end", error.stack);
} finally {
  await browser.close();
  ok(await server.stop() === 0, "the server stops cleanly under its last pages");
  finish();
}
