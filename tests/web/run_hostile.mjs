// tests/web/run_hostile.mjs: hostile text in every field that a stranger can fill, then every page, feed, badge, table and
// chart that can be reached, as TAP (web.md, point 8). A second server has plain words in the same fields: whatever page
// of the two has another structure made markup of a text.
// usage: node tests/web/run_hostile.mjs, from the repository's root; DAYBREAKD names the server, CHROMIUM the browser.
import { existsSync } from "node:fs";
import { PROGRAM, finish, ok, openBrowser, openPage, same, skipAll, startServer } from "./support.mjs";
import { fillAll } from "./strangers.mjs";

const SHAPES_MAX = 2; // pages of one kind that are looked at: another order of the same rows says nothing new
const PAGES_MIN = 60;
const ADDRESS = "secret-address";
const ALONE = /^(cifar10-train|cifar10-train-quick|cifar10-inference|imagenet-train|mlperf-v4\.0-gpt3)$/; // tasks that have something
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u202a-\u202e\u2066-\u2069]/;

if (!existsSync(PROGRAM)) skipAll(`${PROGRAM} is missing`);
const browser = await openBrowser();
const servers = [await startServer({ history: false }), await startServer({ history: false })];
const words = [await fillAll(servers[0], false), await fillAll(servers[1], true)];

// Elements in order with depth and the names of their attributes; links, and what they may not be.
function readPage() {
  const structure = [];
  const walk = (element, depth) => {
    structure.push(`${depth} ${element.localName} ${[...element.attributes].map((one) => one.name).sort().join(" ")}`);
    for (const child of element.children) walk(child, depth + 1);
  };
  walk(document.documentElement, 0);
  const links = [...document.querySelectorAll("a[href], link[href]")].map((one) => one.getAttribute("href"));
  const bad = [...document.querySelectorAll("[href], [src], [action], [formaction]")]
    .filter((one) => !["http:", "https:"].includes(new URL(one.href?.baseVal ?? one.href ?? one.src ?? one.action, location.href).protocol)).map((one) => one.outerHTML);
  return { structure, links, bad, source: document.documentElement.outerHTML, text: document.documentElement.innerText ?? document.documentElement.textContent };
}

// "/tasks/cifar10-train?by&page": which kind of page it is. null: not one to be looked at.
function shapeOf(href) {
  const url = new URL(href, "http://x");
  const task = /^\/(?:tasks|rules)\/([^/]+)/.exec(url.pathname)?.[1];
  if (url.origin !== "http://x" || !href.startsWith("/")) return null;
  if (/^\/(theme|assets|login|docs\/.|v1\/openapi|v1\/stream)/.test(url.pathname) || (task && !ALONE.test(task))) return null;
  const path = url.pathname.split("/").map((part, i) => (i === 2 && task ? part : i >= 2 && /^\d+(\.svg)?$/.test(part) ? "N" : decodeURIComponent(part).slice(0, 3)));
  return `${path.join("/")}?${[...url.searchParams.keys()].sort().join("&")}`;
}

// What is no page: the two must be of one kind, and neither may be drawn by a browser as anything of ours.
async function checkData(contexts, pair) {
  const answers = await Promise.all(pair.map((href, i) => contexts[i].request.get(servers[i].address + href, { headers: { Accept: "*/*" } })));
  const [plain, hostile] = await Promise.all(answers.map((answer) => answer.text()));
  const type = answers[1].headers()["content-type"] ?? "";
  ok(answers[0].status() === answers[1].status() && type === answers[0].headers()["content-type"] && answers[1].headers()["x-content-type-options"] === "nosniff",
    `${pair[0]}: the same kind of answer, and no other`, `${answers.map((one) => one.status())} ${type}`);
  if (!/\/files\//.test(pair[0]) && hostile.includes(ADDRESS)) ok(false, `${pair[0]}: no personal address`);
  if (/^text\/csv/.test(type)) checkTable(pair[0], plain, hostile);
  else if (/json/.test(type) && !/\/files\//.test(pair[0])) ok(isJson(hostile), `${pair[0]}: whole JSON`, hostile.slice(0, 200));
  return type;
}

function isJson(text) {
  try {
    return JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

function parseCsv(text) {
  const rows = [[""]];
  let isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    const row = rows.at(-1);
    if (isQuoted && text[i] === '"' && text[i + 1] === '"') row[row.length - 1] += text[++i];
    else if (text[i] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && text[i] === ",") row.push("");
    else if (!isQuoted && text[i] === "\n") rows.push([""]);
    else if (isQuoted || text[i] !== "\r") row[row.length - 1] += text[i];
  }
  return rows.filter((row) => row.length > 1 || row[0] !== "");
}

function checkTable(name, plain, hostile) {
  const [wanted, rows] = [parseCsv(plain), parseCsv(hostile)];
  same(rows.map((row) => row.length), wanted.map((row) => row.length), `${name}: no text makes a cell or a row`);
  const formulas = rows.flat().filter((cell) => /^[=+\-@\t\r]/.test(cell) && !/^-?[\d.]+(e[-+]?\d+)?$/.test(cell));
  same(formulas, [], `${name}: no cell is a formula`);
}

// A page, a feed or a badge, as the browser takes it.
async function checkPage(tabs, pair) {
  const seen = [];
  for (const [i, { page }] of tabs.entries()) {
    const answer = await page.goto(servers[i].address + pair[i], { waitUntil: "load" });
    seen.push({ ...(await page.evaluate(readPage)), status: answer.status() });
  }
  const [plain, hostile] = seen;
  const at = hostile.structure.findIndex((one, i) => one !== plain.structure[i]);
  const isSame = ok(at < 0 && hostile.structure.length === plain.structure.length && plain.status === hostile.status, `${pair[0]}: no extra element or attribute`,
    `${plain.status} ${hostile.status} ${hostile.structure.length} of ${plain.structure.length}; at ${at}: ${hostile.structure.slice(at - 2, at + 3).join(" | ")}; wanted ${plain.structure.slice(at, at + 3).join(" | ")}`);
  same(hostile.bad, [], `${pair[0]}: every address is one of http or https`);
  ok(!HIDDEN.test(hostile.text), `${pair[0]}: nothing that turns the text or rings`, JSON.stringify(hostile.text.match(new RegExp(`.{0,30}${HIDDEN.source}.{0,10}`))));
  ok(!hostile.source.includes(ADDRESS), `${pair[0]}: no personal address`);
  // A refusal is told on the console, too.
  const faults = tabs.flatMap((tab) => tab.faults.splice(0)).filter((fault) => plain.status === 200 || !/status of \d+/.test(fault));
  same(faults, [], `${pair[0]}: no dialog, no foreign request, no error`);
  return isSame ? [plain.links, hostile.links] : [[], []];
}

const STARTS = (word) => ["/", "/queue", "/agents", "/submissions", "/tokens", "/submit", "/compare?runs=1,2,3", "/profile?tasks=cifar10-train,imagenet-train",
  "/search?q=several", `/search?q=nobody${encodeURIComponent(word.short)}`, `/authors/${encodeURIComponent(word.author)}`, `/authors/${encodeURIComponent(word.corrected)}`,
  `/hardware/${encodeURIComponent(word.hardware)}`, `/authors/nobody${encodeURIComponent(word.short)}`, `/${encodeURIComponent(word.short)}`,
  `/tasks/cifar10-train?framework=${encodeURIComponent(word.framework)}&hardware=${encodeURIComponent(word.hardware)}`,
  `/tasks/cifar10-train?by=${encodeURIComponent(word.short)}`, `/submissions/4?file=${encodeURIComponent(word.short)}`,
  "/tasks/cifar10-train/throughput", "/tasks/cifar10-train/scaling", "/tasks/cifar10-train/generalisation", "/tasks/cifar10-train/variance", "/tasks/cifar10-train/tradeoff", "/tasks/cifar10-train/history",
  "/tasks/cifar10-train-quick", "/tasks/cifar10-inference", "/tasks/imagenet-train", "/tasks/mlperf-v4.0-gpt3", "/jobs/1", "/jobs/2", "/jobs/3", "/prices/1",
  "/v1/submissions", "/v1/agents", "/v1/agents/1", "/v1/queue", "/v1/jobs/3", "/v1/prices", "/v1/runs/1", "/v1/entries/1", "/v1/compare?runs=1,2", "/v1/submissions/4/comments",
  "/v1/submissions/4/history", "/v1/leaderboards/cifar10-train?format=csv", "/v1/leaderboards/cifar10-inference?format=csv", "/v1/leaderboards/cifar10-train/tradeoff?format=csv",
  "/v1/leaderboards/cifar10-train/variance?format=csv", "/v1/leaderboards/cifar10-train/throughput?format=csv", "/v1/profile?tasks=cifar10-train&format=csv",
  "/v1/compare?runs=1,2&format=csv", "/feed.atom", "/badge/1.svg"];

// Over all that can be reached, both servers in step.
async function crawl(tabs) {
  const contexts = tabs.map(({ page }) => page.context());
  const queue = STARTS(words[0]).map((href, i) => [href, STARTS(words[1])[i]]);
  const shapes = new Map(queue.map(([href]) => [href, SHAPES_MAX]));
  const counts = { pages: 0, tables: 0, data: 0 };
  while (queue.length) {
    const pair = queue.shift();
    const isData = /^\/v1\//.test(pair[0]);
    const type = isData ? await checkData(contexts, pair) : "";
    if (isData) {
      counts[/csv/.test(type) ? "tables" : "data"]++;
      continue;
    }
    const [plain, hostile] = await checkPage(tabs, pair);
    counts.pages++;
    plain.forEach((href, i) => {
      const shape = shapeOf(href.split("#")[0]);
      if (shape === null || (shapes.get(shape) ?? 0) >= SHAPES_MAX) return;
      shapes.set(shape, (shapes.get(shape) ?? 0) + 1);
      if (!queue.some(([known]) => known === href.split("#")[0])) queue.push([href.split("#")[0], hostile[i].split("#")[0]]);
    });
  }
  return counts;
}

async function signIn(tab, server) {
  await tab.page.goto(`${server.address}/login?back=/`);
  await tab.page.fill("#token", server.tokens.admin);
  await tab.page.click('main button:text-is("Sign in")');
}

// The page /submit shows what it was given: the names of files, the lines at fault, the texts once more.
async function checkForm(scripts) {
  const how = scripts ? "with scripts" : "without scripts";
  const tabs = await Promise.all(servers.map((server) => openPage(browser, server, { path: "/submit", scripts })));
  const seen = [];
  for (const [i, { page }] of tabs.entries()) {
    await page.click("summary:text-is('Paste them instead')");
    await page.fill("#entry-text", `{"${words[i].short.replaceAll('"', '\\"')}": 1,\n "model": "${words[i].short.replaceAll('"', '\\"')}", "model": 2}`);
    await page.fill("#progress-text", `epoch\thours\ttop1Accuracy\n${words[i].author}\t1\t2\n`);
    await page.fill("#name", words[i].short);
    await page.click("#submit button");
    await page.waitForSelector('#findings li[data-part="progress"]');
    seen.push(await page.evaluate(readPage));
  }
  ok(seen[1].text.includes(words[1].short) && JSON.stringify(seen[1].structure) === JSON.stringify(seen[0].structure), `/submit ${how}: hostile files make no extra element`,
    JSON.stringify(seen.map(({ text }) => text)));
  same(tabs.flatMap((tab) => tab.faults), [], `/submit ${how}: no dialog, no foreign request, no error`);
  for (const tab of tabs) await tab.close();
}

try {
  const tabs = await Promise.all(servers.map((server) => openPage(browser, server, { path: "/" })));
  for (const [i, tab] of tabs.entries()) await signIn(tab, servers[i]);
  const counts = await crawl(tabs);
  ok(counts.pages >= PAGES_MIN && counts.tables >= 6 && counts.data >= 20, "the crawl came far", JSON.stringify(counts));
  console.log(`# ${JSON.stringify(counts)}; characters that nobody sees were taken by ${words[1].taken.length} calls`);
  for (const tab of tabs) await tab.close();
  for (const scripts of [true, false]) await checkForm(scripts);
} catch (error) {
  ok(false, "the test itself went on to its end", error.stack);
} finally {
  await browser.close();
  for (const server of servers) ok(await server.stop() === 0, "the server stops cleanly");
  finish();
}
