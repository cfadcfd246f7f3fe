// tests/web/run_live.mjs: a live run as it is watched: 30 epochs at 5 a second, a restart of the server, 8 tabs, as TAP
// (web.md, point 6).
// usage: node tests/web/run_live.mjs, from the repository's root; DAYBREAKD names the server, CHROMIUM the browser.
import { existsSync } from "node:fs";
import { Agent, PROGRAM, call, finish, ok, openBrowser, openPage, same, skipAll, startServer, until } from "./support.mjs";

const EPOCHS = 30;
const PERIOD_MS = 200;
const RESTART = 18; // the server is stopped and started again before this one is sent
const CROSSING = 20; // the first of them at or above 70 %
const TABS = 8; // two more than a browser has connections to one server
const LOAD_MS = 10000;
// What a restart itself makes a browser say; nothing else is let through.
const RESTARTED = /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE|ERR_EMPTY_RESPONSE/;

if (!existsSync(PROGRAM)) skipAll(`${PROGRAM} is missing`);
const browser = await openBrowser();
const server = await startServer({ history: false });

// Tells each row of the table of epochs as it comes to be seen, over reloads, too.
async function watchRows(page) {
  const seen = [];
  await page.exposeFunction("noteRow", (seq, isShown) => seen.push({ seq, isShown }));
  await page.addInitScript(() => {
    const known = new Set();
    const look = () => {
      for (const row of document.querySelectorAll("#epochs tbody tr")) {
        const seq = Number(row.dataset.seq);
        if (known.has(seq)) continue;
        known.add(seq);
        window.noteRow(seq, row.getClientRects().length > 0);
      }
    };
    new MutationObserver(look).observe(document, { childList: true, subtree: true });
  });
  return seen;
}

// As an agent does: what could not be delivered is sent again.
async function deliver(send) {
  for (let i = 0; ; i++) {
    try {
      return await send();
    } catch (error) {
      if (i === 50 || error.message.startsWith("/v1/")) throw error; // the server said no
      await new Promise((wake) => setTimeout(wake, 100));
    }
  }
}

// Returns how many rows were seen before the last was sent.
async function train(agent, seen) {
  const begin = Date.now();
  let count = 0;
  for (let epoch = 1; epoch <= EPOCHS; epoch++) {
    const due = begin + epoch * PERIOD_MS;
    if (epoch === RESTART) await server.restart();
    if (due > Date.now()) await new Promise((wake) => setTimeout(wake, due - Date.now()));
    count = seen.length;
    const { seq } = agent;
    await deliver(() => {
      agent.seq = seq; // the same event, however often it is sent
      return agent.evaluate(epoch, 3000 + epoch * 200, epoch * 1.25);
    });
  }
  return count;
}

async function liveRun() {
  const agent = await Agent.register(server, "live test");
  const created = await call(server, "/v1/jobs", { token: server.tokens.operator, json: { task: "cifar10-train-quick", seeds: 1 } });
  const run = created.runs[0];
  const { page, faults, close } = await openPage(browser, server, { path: "/queue" });
  const seen = await watchRows(page);
  await page.goto(`${server.address}/runs/${run}`);
  await agent.claim();
  await agent.send("run_start", {});
  const early = await train(agent, seen);
  ok(await until(async () => (await page.$$("#epochs tbody tr")).length === EPOCHS), `all ${EPOCHS} epochs are there, the restart lost none`,
    `${(await page.$$("#epochs tbody tr")).length} rows`);
  const api = (await call(server, `/v1/runs/${run}/epochs?limit=1000`)).items;
  const rows = await page.$$eval("#epochs tbody tr", (all) => all.map(({ dataset }) => [Number(dataset.seq), Number(dataset.epoch)]));
  same(rows, api.map(({ seq, epoch }) => [seq, epoch]), "in the order of the API, each once");
  const order = seen.map(({ seq }) => seq).filter((seq, i, all) => all.indexOf(seq) === i);
  same(order, api.map(({ seq }) => seq), "each became visible in order");
  ok(seen.every(({ isShown }) => isShown), "as a row that is seen");
  ok(early >= EPOCHS / 2, "and most of them before the last was sent", `${early} of ${EPOCHS}`);
  ok(await until(async () => await page.getAttribute("#tta", "data-epoch") === String(CROSSING)), "the mark stands where the target was reached");
  same(faults.filter((fault) => !RESTARTED.test(fault)), [], "live run: no fault but the restart's own");
  await close();
  return { agent, run };
}

// A headless browser calls every tab visible. So the tabs say themselves which is in front, as a browser does.
function lieAboutTabs() {
  window.isBehind = false;
  Object.defineProperty(Document.prototype, "hidden", { get: () => window.isBehind });
  Object.defineProperty(Document.prototype, "visibilityState", { get: () => (window.isBehind ? "hidden" : "visible") });
  window.streams = 0;
  window.EventSource = class extends EventSource {
    constructor(address) {
      super(address);
      window.streams++;
    }
    close() {
      if (this.readyState !== EventSource.CLOSED) window.streams--;
      super.close();
    }
  };
}

async function put(page, isBehind) {
  await page.evaluate((behind) => {
    window.isBehind = behind;
    document.dispatchEvent(new Event("visibilitychange"));
  }, isBehind);
}

async function manyTabs({ agent, run }) {
  const paths = [`/runs/${run}`, "/", "/queue", "/agents", "/tasks/cifar10-train-quick", "/jobs/1", `/runs/${run}?x=epoch`, "/tasks/cifar10-train"];
  const context = await browser.newContext();
  const tabs = [];
  await context.addInitScript(lieAboutTabs);
  for (const path of paths.slice(0, TABS)) {
    if (tabs.length) await put(tabs.at(-1), true);
    const page = await context.newPage();
    tabs.push(page);
    const answer = await page.goto(server.address + path, { timeout: LOAD_MS }).catch(() => null);
    ok(answer?.status() === 200 && await page.$("main h1") !== null, `tab ${tabs.length} loads beside the others: ${path}`);
  }
  const streams = await Promise.all(tabs.map((page) => page.evaluate(() => window.streams)));
  same(streams, tabs.map((page) => Number(page === tabs.at(-1))), "the tab in front follows one stream, those behind none");
  await agent.evaluate(EPOCHS + 1, 9100, 50);
  await put(tabs.at(-1), true);
  await put(tabs[0], false);
  ok(await until(() => tabs[0].$(`#epochs tr[data-epoch="${EPOCHS + 1}"]`)), "in front again, it has what it missed");
  await agent.evaluate(EPOCHS + 2, 9100, 51);
  ok(await until(() => tabs[0].$(`#epochs tr[data-epoch="${EPOCHS + 2}"]`)), "and goes on with the run");
  await agent.finish("reached");
  ok(await until(() => tabs[0].$("#facts[data-state=reached]")), "to its end");
  await context.close();
}

try {
  const live = await liveRun();
  await manyTabs(live);
} catch (error) {
  ok(false, "the test itself went on to its end", error.stack);
} finally {
  await browser.close();
  ok(await server.stop() === 0, "the server stops cleanly");
  finish();
}
