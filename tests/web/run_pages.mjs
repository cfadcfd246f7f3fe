// tests/web/run_pages.mjs: every page of web.md's map, with the history and with long and hostile text in all fields, as
// TAP: axe and narrow screens (point 9), sizes, and the same sizes with 10,000 runs (point 10).
// usage: node tests/web/run_pages.mjs, from the repository's root; DAYBREAKD names the server, CHROMIUM the browser.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { PROGRAM, call, finish, looksWell, ok, openBrowser, openPage, same, skipAll, startServer } from "./support.mjs";
import { MANY, startManyServer } from "./many.mjs";
import { fillAll } from "./strangers.mjs";

const BUDGET = { html: 20000, css: 8000, js: 15000 }; // bytes, packed

if (!existsSync(PROGRAM)) skipAll(`${PROGRAM} is missing`);
const browser = await openBrowser();

// The map, of ids that are there.
function mapOf({ run, live, entry, submission, job, author, hardware, task = "cifar10-train" }) {
  return ["/", `/tasks/${task}`, `/tasks/${task}?by=cost`, `/tasks/${task}?by=energy`, "/tasks/imagenet-inference?by=inference-cost&tier=reported",
    ...["history", "tradeoff", "variance", "throughput", "scaling", "generalisation"].map((part) => `/tasks/${task}/${part}`),
    `/entries/${entry}`, `/runs/${run}`, `/runs/${live}?x=epoch`, `/compare?runs=${run},${live}&x=epoch`, "/compare", `/compare?runs=${run}`,
    "/submit", "/submissions", `/submissions/${submission}`, "/login", "/tokens", `/authors/${encodeURIComponent(author)}`, "/authors/nobody",
    `/hardware/${encodeURIComponent(hardware)}`, "/search?q=v100", "/search?q=none-has-this", "/agents", "/queue", `/jobs/${job}`, "/docs/paper",
    "/profile", `/profile?tasks=${task}`, `/rules/${task}`, "/nothing"];
}

async function signIn(page, server) {
  await page.goto(`${server.address}/login?back=/`);
  await page.fill("#token", server.tokens.admin);
  await page.click('main button:text-is("Sign in")');
}

async function looks(server, paths) {
  const { page, faults, close } = await openPage(browser, server, { path: "/" });
  await signIn(page, server);
  for (const path of paths) {
    await page.goto(server.address + path);
    await looksWell(page, path);
  }
  // An answer on /submit is a page of its own kind.
  await page.goto(`${server.address}/submit`);
  await page.setInputFiles("#entry", "tests/http/files/train.json");
  await page.setInputFiles("#progress", "tests/http/files/train.tsv");
  await page.waitForSelector("#send");
  await looksWell(page, "/submit with its answer");
  same(faults.filter((fault) => !/status of (404|429)/.test(fault)), [], "all pages: no fault");
  await close();
}

// Every address that a page takes from its own server, each once.
async function fetchAssets(server, html, sizes) {
  for (const [, address] of html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)) {
    const name = address.split("/").pop();
    if (sizes[name]) continue;
    const text = await (await fetch(server.address + address)).text();
    sizes[name] = gzipSync(text).length;
    const folder = address.slice(0, address.lastIndexOf("/"));
    const imports = [...text.matchAll(/^import .* from "\.\/([^"]+)"/gm)].map(([, one]) => `src="${folder}/${one}"`);
    await fetchAssets(server, imports.join(" "), sizes);
  }
}

async function budgets(server, paths, what) {
  const sizes = {};
  for (const path of paths) {
    const html = await (await fetch(server.address + path)).text();
    ok(gzipSync(html).length <= BUDGET.html, `${path}${what}: HTML within ${BUDGET.html} bytes, packed`, gzipSync(html).length);
    ok(/chart\.js/.test(html) === /<canvas/.test(html), `${path}${what}: Chart.js where there is a chart, and only there`);
    await fetchAssets(server, html, sizes);
  }
  const own = Object.entries(sizes).filter(([name]) => name.endsWith(".js") && name !== "chart.js");
  const scripts = own.reduce((sum, [, bytes]) => sum + bytes, 0);
  ok(sizes["daybreak.css"] <= BUDGET.css, `CSS${what} within ${BUDGET.css} bytes, packed`, sizes["daybreak.css"]);
  ok(own.length >= 5 && scripts <= BUDGET.js, `all own scripts${what} within ${BUDGET.js} bytes, packed`, JSON.stringify(sizes));
}

// Runs of all speeds, each seventh without a price, as a tree that `daybreakd import` takes.
async function manyRuns() {
  const server = await startManyServer();
  ok((await (await fetch(server.address)).text()).includes(`${MANY.toLocaleString("en")} entries`), `${MANY} runs are ranked`);
  const ids = { run: 500, live: 9000, entry: 500, submission: 500, job: 1, author: "Author 1", hardware: "1 V100 of host 0" };
  await budgets(server, [...mapOf(ids).filter((path) => !/^\/(jobs|tokens)/.test(path)), "/tasks/cifar10-train?page=50", "/tasks/cifar10-train?by=cost&page=80", "/search?q=net", "/feed.atom"],
    ` with ${MANY} runs`);
  await laterPage(server);
  ok(await server.stop() === 0, "the server stops cleanly");
}

// web.md, point 3: an entry that is marked is found on its page, however far behind.
async function laterPage(server) {
  const { page, faults, close } = await openPage(browser, server, { path: "/tasks/cifar10-train?by=cost&page=37" });
  const rows = (one) => one.$$eval("#board tbody tr", (all) => all.map(({ dataset }) => Number(dataset.entry)));
  const wanted = (await rows(page)).at(-3);
  await page.goto(`${server.address}/tasks/cifar10-train?by=cost&hl=${wanted}`);
  const found = await page.$eval("tr.marked", (row) => ({ entry: Number(row.dataset.entry), isFocused: document.activeElement === row,
    isSeen: row.getBoundingClientRect().top >= 0 && row.getBoundingClientRect().bottom <= innerHeight }));
  same(found, { entry: wanted, isFocused: true, isSeen: true }, "?by=cost&hl=: the row on a later page is marked, focused and seen");
  const shown = await rows(page);
  const listed = [];
  for (let next = await page.getAttribute('.data-links a:text-is("CSV")', "href"); next && !listed.includes(shown.at(-1));) {
    const answer = await fetch(server.address + next);
    const [heads, ...lines] = (await answer.text()).trim().split(/\r?\n/).map((line) => line.split(","));
    listed.push(...lines.map((cells) => Number(cells[heads.indexOf("entry")])));
    next = /<([^>]+)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
  }
  ok(shown.length > 0 && listed.join().includes(shown.join()), "the CSV, followed by its links, has the same rows in the same order", `${listed.length} ${shown.slice(0, 5)}`);
  same(faults, [], "a later page: no fault");
  await close();
}

try {
  const server = await startServer();
  const made = await fillAll(server, true);
  const { items: [quick] } = await call(server, "/v1/leaderboards/cifar10-train-quick");
  const live = (await call(server, `/v1/entries/${quick.entry}`)).runs[0].run;
  const { runs } = await call(server, `/v1/entries/${made.entry}`);
  const paths = mapOf({ run: runs[0].run, live, entry: made.entry, submission: made.judged, job: 1, author: made.corrected, hardware: made.hardware });
  await budgets(server, paths, "");
  await looks(server, paths);
  ok(await server.stop() === 0, "the server stops cleanly");
  await manyRuns();
} catch (error) {
  ok(false, "the test itself went on to its end", error.stack);
} finally {
  await browser.close();
  finish();
}
