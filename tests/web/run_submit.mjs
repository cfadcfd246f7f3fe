// tests/web/run_submit.mjs: the page /submit as a person uses it, with scripts and without, as TAP (web.md, point 7).
// usage: node tests/web/run_submit.mjs, from the repository's root; DAYBREAKD names the server, CHROMIUM the browser.
import { existsSync } from "node:fs";
import { PROGRAM, call, finish, ok, openBrowser, openPage, same, skipAll, startServer, until } from "./support.mjs";

if (!existsSync(PROGRAM)) skipAll(`${PROGRAM} is missing`);
const browser = await openBrowser();
const server = await startServer();

const FIELDS = {
  version: "v1.0", author: "Ada Example", authorEmail: "ada@example.org", framework: "Example 1.0", codeURL: "https://example.org/code",
  model: "ResNet 9", hardware: "1 V100", costPerHour: 3.6, timestamp: "2026-11-30",
  commitHash: "0123456789abcdef0123456789abcdef01234567", misc: {},
};
const entryOf = (changes = {}) => JSON.stringify({ ...FIELDS, ...changes }, null, 1);
const ENTRY = entryOf();
const PROGRESS = "epoch\thours\ttop1Accuracy\n1\t0.01\t60.5\n2\t0.02\t94.25\n3\t0.03\t93.5\n";
const MARK = "\ufeff";

// What is wrong, and where and how the page has to say so. line "": of the whole file.
const FAULTY = [
  { name: "comma decimals", progress: PROGRESS.replace("0.02", "0,02"), part: "progress", line: "3", field: "hours", mend: /write 0\.02: .* decimal point, not a comma/ },
  { name: "time going back", progress: PROGRESS.replace("0.03", "0.015"), part: "progress", line: "4", field: "hours", mend: /hours from the start/ },
  { name: "accuracy above 100", progress: PROGRESS.replace("93.5", "193.5"), part: "progress", line: "4", field: "top1Accuracy", mend: /in the unit/ },
  { name: "seconds in place of hours", progress: PROGRESS.replace(/0\.0(\d)/g, "3$1"), part: "progress", line: "", field: "hours", mend: /line 4 has hour 0\.00\d+ if these are seconds/, warns: true },
  { name: "a column of seconds", progress: PROGRESS.replace("hours", "seconds"), part: "progress", line: "1", field: "", mend: /columns are.*epoch, hours, top1Accuracy/ },
  { name: "a missing field", entry: entryOf({ hardware: undefined }), part: "entry", line: "", field: "hardware", mend: /add the field/ },
  { name: "a missing column", progress: "epoch\thours\n1\t0.01\n", part: "progress", line: "1", field: "", mend: /columns are/ },
  { name: "a progress file that is too large", progress: PROGRESS + "4\t0.04\t95\n".repeat(7000), part: "", line: "", field: "progress", mend: /one line for each evaluation/ },
  { name: "an entry that is too large", entry: entryOf({ misc: { log: "x".repeat(70000) } }), part: "", line: "", field: "entry", mend: /leave out of misc/ },
  { name: "an empty progress file", progress: "", part: "progress", line: "", field: "", mend: /send the whole file/ },
  { name: "an empty entry", entry: "", part: "entry", line: "", field: "", mend: /send the whole file/ },
  { name: "a member twice", entry: ENTRY.replace('"model"', '"author": "Eve",\n "model"'), part: "entry", line: "7", field: "/author", mend: /keep one/ },
  { name: "an epoch twice", progress: PROGRESS.replace("3\t0.03", "2\t0.03"), part: "progress", line: "4", field: "epoch", mend: /label each row/, warns: true },
  { name: "an entry that is not UTF-8", entry: Buffer.from(ENTRY.replace("ResNet", "R\u00e9sNet"), "latin1"), part: "entry", line: "7", field: "", mend: /save the file as UTF-8/ },
  { name: "a progress file that is not UTF-8", progress: Buffer.from(PROGRESS + "4\t0.04\t9\u00e9\n", "latin1"), part: "progress", line: "5", field: "", mend: /save the file as UTF-8/ },
  { name: "a target that is not reached", progress: PROGRESS.replace("94.25", "93.9"), part: "progress", line: "3", field: "top1Accuracy", mend: /until the target is reached/ },
];
const TAKEN = [
  { name: "a good pair" },
  { name: "byte order marks", entry: MARK + ENTRY, progress: MARK + PROGRESS },
  { name: "CRLF line ends", entry: ENTRY.replaceAll("\n", "\r\n"), progress: PROGRESS.replaceAll("\n", "\r\n") },
  { name: "another order of columns", entry: JSON.stringify(Object.fromEntries(Object.entries(FIELDS).reverse()), null, 1),
    progress: "top1Accuracy\thours\tepoch\n60.5\t0.01\t1\n94.25\t0.02\t2\n93.5\t0.03\t3\n" },
];

const file = (name, content) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(content) });

// With scripts, choosing is all: the answer comes by itself.
async function choose(page, scripts, { entry = ENTRY, progress = PROGRESS, stem = "ada" }) {
  if (scripts) {
    await page.evaluate(() => document.getElementById("answer-h").setAttribute("data-old", ""));
    await page.setInputFiles("#entry", file(`${stem}.json`, entry));
    await page.setInputFiles("#progress", file(`${stem}.tsv`, progress));
    await until(() => page.$("#answer:not([aria-busy]) #answer-h:not([data-old])"));
    return settled(page);
  }
  await page.setInputFiles("#entry", file(`${stem}.json`, entry));
  await page.setInputFiles("#progress", file(`${stem}.tsv`, progress));
  await page.click("#submit button");
}

// The first file alone may have been answered before the second was chosen.
function settled(page) {
  return until(async () => !(await page.$("#answer[aria-busy]")) && !/is missing/.test(await page.textContent("#answer-h")));
}

async function readFound(page) {
  return page.$$eval("#faults li, #findings li", (items) => items.map((item) => ({
    part: item.dataset.part ?? "", line: item.dataset.line ?? "", field: item.dataset.field,
    severity: item.querySelector(".severity").textContent, mend: item.querySelector(".mend")?.textContent ?? "",
    source: item.querySelector(".source")?.textContent ?? "",
  })));
}

async function faultyFiles(scripts) {
  const how = scripts ? "with scripts" : "without scripts";
  const { page, faults, close } = await openPage(browser, server, { path: "/submit", scripts });
  for (const row of FAULTY) {
    await page.goto(`${server.address}/submit`);
    await choose(page, scripts, row);
    const found = await readFound(page);
    const severity = row.warns ? "warning" : "error";
    const it = found.find((one) => one.severity === severity && one.part === row.part && one.line === row.line && one.field === row.field);
    ok(it && row.mend.test(it.mend), `${row.name}, ${how}: part, line, field and mend are told`, JSON.stringify(found));
    const heading = await page.textContent("#answer-h");
    ok(row.warns ? /^Good/.test(heading) : /to mend|Not checked/.test(heading), `${row.name}, ${how}: the heading says which`, heading);
    ok((await page.$("#places")) !== null === Boolean(row.warns) && !(await page.$("#send")), `${row.name}, ${how}: ${row.warns ? "a warned pair has" : "a faulty one has no"} preview`);
    if (row.line !== "" && row.part === "progress" && typeof row.progress === "string")
      ok(it?.source === row.progress.split("\n")[Number(row.line) - 1], `${row.name}, ${how}: the line itself stands there`, it?.source);
  }
  same(faults, [], `faulty files ${how}: no fault of the page`);
  await close();
}

async function goodFiles(scripts) {
  const how = scripts ? "with scripts" : "without scripts";
  const { page, faults, close } = await openPage(browser, server, { path: "/submit", scripts });
  for (const row of TAKEN) {
    await page.goto(`${server.address}/submit`);
    await choose(page, scripts, row);
    const asked = await call(server, "/v1/submissions/validate", { json: { task: "cifar10-train", name: "ada", entry: ENTRY, progress: PROGRESS } });
    const found = await readFound(page);
    same(found.filter((one) => one.severity !== "advice"), [], `${row.name}, ${how}: taken silently`);
    const places = await page.$$eval("#places li", (items) => items.map(({ dataset }) => [dataset.by, Number(dataset.place)]));
    same(places, asked.places.map(({ by, place }) => [by, place]), `${row.name}, ${how}: the places are the API's`);
    const figures = await page.textContent("#figures");
    ok(/72\.00 s/.test(figures) && /\$0\.0720/.test(figures) && asked.tta_s === 72 && Math.abs(asked.cost_usd - 0.072) < 1e-12,
      `${row.name}, ${how}: time and cost are shown`, figures);
    ok(await page.textContent("#outcome") !== "" && /sign in/.test(await page.textContent("#how")) && !(await page.$("#send")),
      `${row.name}, ${how}: what becomes of it, and that one has to sign in`);
    ok(!(await page.content()).includes("ada@example.org"), `${row.name}, ${how}: no address is shown`);
  }
  same(faults, [], `good files ${how}: no fault of the page`);
  await close();
}

async function signIn(page) {
  await page.goto(`${server.address}/login?back=/submit`);
  await page.fill("#token", server.tokens.submitter);
  await page.click('main button:text-is("Sign in")');
}

const is409 = (fault) => /409|422/.test(fault);

// From the files to the page of the submission, every byte kept; the same files once more are refused with a link.
async function submits(scripts) {
  const how = scripts ? "with scripts" : "without scripts";
  const stem = scripts ? "with-scripts" : "plain";
  const entry = MARK + entryOf({ model: stem }).replaceAll("\n", "\r\n");
  const progress = `${PROGRESS}4\t0.04\t9${scripts ? 1 : 2}\n`;
  const { page, faults, close } = await openPage(browser, server, { path: "/submit", scripts });
  await choose(page, scripts, { entry, progress, stem });
  await page.click("#how a");
  await page.fill("#token", server.tokens.submitter);
  await page.click('main button:text-is("Sign in")');
  ok(page.url() === `${server.address}/submit?task=cifar10-train`, `signing in leads back to /submit, ${how}`, page.url());
  await choose(page, scripts, { entry, progress, stem });
  ok(await page.inputValue("#sent-name") === stem, `the name is the file's, ${how}`);
  await page.click("#send button");
  const [, id] = /\/submissions\/(\d+)$/.exec(page.url()) ?? [];
  if (!ok(id !== undefined, `submitting leads to the submission, ${how}`, `${page.url()} ${await page.textContent("main")}`)) return close();
  ok(/accepted/i.test(await page.textContent("#state")), `its state stands there, ${how}`);
  const headers = { Authorization: `Bearer ${server.tokens.submitter}` };
  const kept = await Promise.all([`${stem}.json`, `${stem}.tsv`].map(async (name) =>
    Buffer.from(await (await fetch(`${server.address}/v1/submissions/${id}/files/${name}`, { headers })).arrayBuffer()).toString("latin1")));
  same(kept, [entry, progress].map((text) => Buffer.from(text).toString("latin1")), `the files are kept byte for byte, ${how}`);
  await page.goto(`${server.address}/submit`);
  await choose(page, scripts, { entry, progress, stem });
  await page.click("#send button");
  ok(/Nothing was stored/.test(await page.textContent("#answer-h")) && await page.getAttribute('#answer a[href^="/submissions/"]', "href") === `/submissions/${id}`,
    `the same files once more are refused, with a link to the first, ${how}`, await page.textContent("#answer"));
  same(faults.filter((fault) => !is409(fault)), [], `submitting ${how}: no fault of the page`);
  await close();
}

// Several runs, pasted texts, files that are dropped, and what is too large to be sent at all.
async function otherWays() {
  const { page, faults, close } = await openPage(browser, server, { path: "/submit" });
  const sample = await Promise.all(["#sample-entry", "#sample-progress"].map((id) => page.textContent(id)));
  await page.click("summary:text-is('Paste them instead')");
  await page.fill("#entry-text", sample[0]);
  await page.fill("#progress-text", sample[1]);
  ok(await until(() => page.$("#places")), "the page's own samples pass, pasted", await page.textContent("#answer"));
  await page.fill("#progress-text", sample[1].replace("0.0024", "0,0024"));
  ok(await until(() => page.$('#findings li[data-line="3"][data-field="hours"]')), "a pasted text is checked while it is typed");
  await page.setInputFiles("#progress", file("a.tsv", PROGRESS));
  ok(await until(() => page.$('#faults li[data-field="progress"]')), "a file beside a text is a fault, and none is dropped silently");
  await page.goto(`${server.address}/submit`);
  const transfer = await page.evaluateHandle(([entry, progress]) => {
    const data = new DataTransfer();
    data.items.add(new File([progress], "two-1.tsv"));
    data.items.add(new File([entry], "two.json"));
    data.items.add(new File([progress.replace("0.02", "0.021")], "two-2.tsv"));
    return data;
  }, [ENTRY, PROGRESS]);
  await page.dispatchEvent("main", "dragover", { dataTransfer: transfer });
  await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
  ok(await until(async () => /Runs\s*2/.test(await page.textContent("#answer"))), "files that are dropped find their fields: two runs", await page.textContent("#answer"));
  await page.setInputFiles("#progress", [file("two-1.tsv", PROGRESS), file("two-2.tsv", PROGRESS.replace("0.02", "0,02"))]);
  ok(await until(() => page.$('#findings li:has-text("two-2.tsv, line 3")')), "of several runs the file at fault is named", await page.textContent("#answer"));
  await page.setInputFiles("#progress", file("huge.tsv", "x".repeat(2 << 20)));
  ok(await until(() => page.$('#faults li:has-text("64 KiB")')), "what is too large to be sent is said before it is sent", await page.textContent("#answer"));
  same(faults, [], "other ways: no fault of the page");
  await close();
}

// Without scripts the page comes back with what was pasted, to be mended in place.
async function pastedWithoutScripts() {
  const { page, faults, close } = await openPage(browser, server, { path: "/submit", scripts: false });
  const texts = [`\n${ENTRY}`, PROGRESS.replace("0.02", "0,02")];
  await page.click("summary:text-is('Paste them instead')");
  await page.fill("#entry-text", texts[0]);
  await page.fill("#progress-text", texts[1]);
  await page.click("#submit button");
  same(await Promise.all(["#entry-text", "#progress-text"].map((id) => page.inputValue(id))), texts, "pasted texts come back as they were, without scripts");
  ok(await page.$('#findings li[data-line="3"][data-field="hours"]') !== null && await page.isVisible("#entry-text"), "with the fault that they have");
  same(faults, [], "pasted without scripts: no fault of the page");
  await close();
}

// A form of another session, or none of ours, stores nothing.
async function forgedForms() {
  const { page, close } = await openPage(browser, server, { path: "/submit", scripts: false });
  const count = async () => (await call(server, "/v1/submissions?limit=1000")).items.length;
  const before = await count();
  const parts = { do: "send", task: "cifar10-train", entry: file("forged.json", entryOf({ model: "forged" })), progress: file("forged.tsv", PROGRESS) };
  const post = (more = {}, headers = {}) => page.context().request.post(`${server.address}/submit`, { multipart: { ...parts, ...more }, headers });
  ok((await post()).status() === 401, "nobody is not allowed to submit");
  await signIn(page);
  const csrf = await page.getAttribute('#submit input[name="csrf"]', "value");
  ok((await post()).status() === 403, "a form without the session's field is refused");
  ok((await post({ csrf: csrf.replace(/.$/, csrf.endsWith("A") ? "B" : "A") })).status() === 403, "and so is another session's");
  ok((await post({ csrf }, { Origin: "https://evil.example" })).status() === 403, "and one of another site");
  ok(await count() === before, "and nothing was stored");
  const sent = await post({ csrf });
  ok(sent.status() === 200 && /\/submissions\/\d+$/.test(sent.url()) && await count() === before + 1, "the session's own is taken", `${sent.status()} ${sent.url()}`);
  await close();
}

try {
  for (const scripts of [false, true]) {
    await faultyFiles(scripts);
    await goodFiles(scripts);
  }
  await submits(false);
  await submits(true);
  await otherWays();
  await pastedWithoutScripts();
  await forgedForms();
} catch (error) {
  ok(false, "the test itself went on to its end", error.stack);
} finally {
  await browser.close();
  ok(await server.stop() === 0, "the server stops cleanly");
  finish();
}
