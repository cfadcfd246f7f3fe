// tests/web/run_problems.mjs: what a browser shows where there is nothing to show: every page over an empty database,
// and every kind of refusal as a page of ours, as TAP (web.md, point 11).
// usage: node tests/web/run_problems.mjs, from the repository's root; DAYBREAKD names the server, CHROMIUM the browser.
import { existsSync } from "node:fs";
import { PROGRAM, call, finish, ok, openBrowser, openPage, same, skipAll, startServer } from "./support.mjs";

if (!existsSync(PROGRAM)) skipAll(`${PROGRAM} is missing`);
const browser = await openBrowser();
const UNSET = /\b(NaN|null|undefined|Infinity)\b/;
const CONSOLE_SAYS = /the server responded with a status of \d+/; // of the page itself, which is the case

async function emptyDatabase() {
  const server = await startServer({ history: false });
  const { items } = await call(server, "/v1/tasks");
  const tasks = items.filter(({ id }, i) => !id.startsWith("mlperf") || i === items.length - 1); // those are all of one kind
  const boards = tasks.flatMap(({ id, phase, boards: all }) => [...all, ...(phase === "train" ? ["energy"] : [])].map((by) => `/tasks/${id}?by=${by}`));
  const ofTasks = tasks.flatMap(({ id, phase }) => [`/rules/${id}`, `/tasks/${id}/history`,
    ...(phase === "train" ? ["tradeoff", "variance", "throughput", "scaling", "generalisation"].map((part) => `/tasks/${id}/${part}`) : [])]);
  const paths = ["/", "/compare", "/docs", "/docs/api", "/docs/paper", "/docs/format", "/docs/measures", "/queue", "/agents", "/submissions", "/submit", "/profile",
    `/profile?tasks=${tasks[0].id}`, "/search", "/search?q=net", "/login", "/feed.atom", `/tasks/${tasks[0].id}/feed.atom`, ...boards, ...ofTasks];
  const { page, faults, close } = await openPage(browser, server, { path: "/" });
  for (const path of paths) {
    const isFeed = path.endsWith(".atom");
    const answer = isFeed ? await page.context().request.get(server.address + path) : await page.goto(server.address + path);
    const text = isFeed ? await answer.text() : await page.evaluate(() => [document.title, document.querySelector("main").innerText].join("\n"));
    // The measures' own page may speak of them.
    const unset = path.startsWith("/docs") ? null : text.match(UNSET);
    ok(answer.status() === 200 && unset === null, `empty database: ${path} is whole`, `${answer.status()} ${unset} ${text.slice(0, 300)}`);
  }
  await page.goto(`${server.address}/login`);
  await page.fill("#token", server.tokens.operator);
  await page.click('main button:text-is("Sign in")');
  await page.goto(`${server.address}/tokens`);
  ok(!UNSET.test(await page.innerText("main")), "empty database: /tokens is whole");
  same(faults, [], "empty database: no fault");
  await close();
  ok(await server.stop() === 0, "the server stops cleanly");
}

// A page with our frame and style that says the number, what is wrong, and leads on.
async function isStyled(page, status, words) {
  await page.waitForLoadState("load");
  const seen = await page.evaluate(() => {
    const mark = document.querySelector(".problem .status");
    return mark && { number: mark.textContent, size: parseFloat(getComputedStyle(mark).fontSize), lead: document.querySelector(".problem .lead")?.textContent,
      brand: document.querySelector("header .brand") !== null, way: document.querySelector('.problem a[href="/"]') !== null };
  });
  return ok(seen && seen.number === String(status) && seen.size > 40 && words.test(seen.lead) && seen.brand && seen.way,
    `${status} is a page of ours, with its style and a way on`, `${page.url()} ${JSON.stringify(seen)}`);
}

async function refusals() {
  const server = await startServer({ history: false });
  const { page, faults, close } = await openPage(browser, server, { path: "/nothing/here", scripts: false });
  await isStyled(page, 404, /nothing at this address/);
  await page.goto(`${server.address}/tasks/cifar10-train?by=speed`);
  await isStyled(page, 422, /no board by/);
  await page.goto(`${server.address}/submit`);
  await page.route("**/submit", (route) => route.continue({ postData: "hello" })); // a form that broke on its way
  await page.click("#submit button");
  await isStyled(page, 400, /multipart/);
  await page.unroute("**/submit");
  for (const bytes of [(1 << 20) + 1, 6 << 20]) {
    await page.goto(`${server.address}/submit`);
    await page.setInputFiles("#progress", { name: "huge.tsv", mimeType: "text/plain", buffer: Buffer.alloc(bytes, "x") });
    await page.click("#submit button");
    await isStyled(page, 413, /1048576 bytes at most/);
  }
  same(faults.filter((fault) => !CONSOLE_SAYS.test(fault)), [], "refusals: no other fault");
  await close();
  const others = await fetch(`${server.address}/nothing`, { headers: { Accept: "application/json, text/html" } });
  ok(others.status === 404 && others.headers.get("content-type") === "application/problem+json", "who does not ask for a page first gets the problem as JSON");
  await server.stop();
}

// Who asks too often, and who writes where nothing is written.
async function limits() {
  const limited = await startServer({ history: false, args: ["--rate-loopback", "--rate-address", "2"] });
  const { page, faults, close } = await openPage(browser, limited, { path: "/login", scripts: false });
  let answer = null;
  for (let i = 0; i < 100 && answer?.status() !== 429; i++) answer = await page.goto(`${limited.address}/login`); // its style is kept already
  await isStyled(page, 429, /too many requests/);
  ok(Number(answer.headers()["retry-after"]) >= 1, "it says when to ask again", JSON.stringify(answer.headers()));
  same(faults.filter((fault) => !CONSOLE_SAYS.test(fault)), [], "429: no other fault");
  await close();
  await limited.stop();
  const closed = await startServer({ history: false, args: ["--read-only"] });
  const reader = await openPage(browser, closed, { path: "/login", scripts: false });
  await reader.page.fill("#token", closed.tokens.operator);
  await reader.page.click('main button:text-is("Sign in")');
  await isStyled(reader.page, 503, /takes no writes/);
  same(reader.faults.filter((fault) => !CONSOLE_SAYS.test(fault)), [], "503: no other fault");
  await reader.close();
  await closed.stop();
}

try {
  await emptyDatabase();
  await refusals();
  await limits();
} catch (error) {
  ok(false, "the test itself went on to its end", error.stack);
} finally {
  await browser.close();
  finish();
}
