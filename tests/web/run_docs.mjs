// tests/web/run_docs.mjs: the pages of documentation and of rules in a real browser, as TAP (web.md, points 9 and 10).
// usage: node tests/web/run_docs.mjs, from the repository's root; DAYBREAKD names the server, CHROMIUM the browser.
import { existsSync } from "node:fs";
import { PROGRAM, finish, looksWell, ok, openBrowser, openPage, same, skipAll, startServer } from "./support.mjs";

const PATHS = [
  "/docs", "/docs/measures", "/docs/format", "/docs/codes", "/docs/access", "/docs/prices", "/docs/review", "/docs/retention",
  "/docs/mlperf", "/docs/api", "/docs/api/boards", "/docs/api/submissions", "/docs/api/schemas", "/rules/cifar10-train",
  "/rules/imagenet-inference", "/rules/mlperf-v0.5-ncf",
];

if (!existsSync(PROGRAM)) skipAll(`${PROGRAM} is missing`);
const browser = await openBrowser();
const server = await startServer();

async function checkPage(path) {
  const { page, faults, status, close } = await openPage(browser, server, { path });
  ok(status === 200, `${path} is there`, status);
  await looksWell(page, path);
  same(faults, [], `${path}: no fault`);
  await close();
}

// From the head to a measure, from a board to its formula, from a problem to its code: by links alone, without scripts.
async function ways() {
  const { page, faults, close } = await openPage(browser, server, { path: "/tasks/cifar10-train?by=cost", scripts: false });
  await page.click('main a:text-is("How it is computed")');
  ok(page.url() === `${server.address}/docs/measures#cost`, "a board leads to its formula", page.url());
  const seen = await page.evaluate(() => document.getElementById("cost").getBoundingClientRect().top);
  ok(seen >= 0 && seen < 800, "which is what one sees then", seen);
  await page.click('nav a:text-is("Docs")');
  ok(page.url() === `${server.address}/docs`, "the head leads to the documentation", page.url());
  await page.click('main a:text-is("CIFAR-10 training")');
  ok(page.url() === `${server.address}/rules/cifar10-train`, "which leads to the rules of a task", page.url());
  const facts = await page.textContent("#rules");
  ok(/94\.0\s%/.test(facts) && /10,000 items/.test(facts), "they name target and validation set", facts);
  faults.length = 0;
  await page.goto(`${server.address}/tasks/none`);
  await page.click('main a:has-text("not-found")');
  const target = await page.evaluate(() => document.querySelector(":target")?.textContent ?? "");
  ok(page.url() === `${server.address}/docs/api#not-found` && /nothing is at this address/.test(target),
    "a refusal leads to what its code means", target);
  await close();
}

try {
  for (const path of PATHS) await checkPage(path);
  await ways();
} catch (error) {
  ok(false, "the test itself went on to its end", error.stack);
} finally {
  await browser.close();
  ok(await server.stop() === 0, "the server stops cleanly");
  finish();
}
