// tests/web/support.mjs: what the browser tests stand on: TAP, a real server on a database of its own, an agent
// in JavaScript that speaks the real protocol, and the browser.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

export const PROGRAM = resolve(process.env.DAYBREAKD ?? "build/daybreakd");
export const BROWSER = process.env.CHROMIUM ?? "/usr/bin/chromium";
const BROWSER_FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const START_MS = 20000;

// ---- TAP ----

let count = 0;
let failed = 0;

export function ok(good, name, note) {
  count++;
  if (!good) failed++;
  console.log(`${good ? "" : "not "}ok ${count} - ${name}`);
  if (!good && note !== undefined) console.log(`# ${String(note).replaceAll("\n", "\n# ")}`);
  return good;
}
export function same(got, want, name) {
  return ok(isDeepStrictEqual(got, want), name, `got  ${JSON.stringify(got)}\nwant ${JSON.stringify(want)}`);
}
export function finish() {
  console.log(`1..${count}`);
  process.exitCode = failed ? 1 : 0;
}
export function skipAll(reason) {
  console.log(`1..0 # SKIP ${reason}`);
  process.exit(0);
}

// Waits for what comes by itself, and says false when it does not: no fixed sleeps.
export async function until(check, timeoutMs = 15000) {
  const end = Date.now() + timeoutMs;
  while (Date.now() < end) {
    if (await check()) return true;
    await new Promise((wake) => setTimeout(wake, 50));
  }
  return false;
}

// ---- the server ----

function run(args) {
  const done = spawnSync(PROGRAM, args, { encoding: "utf8" });
  if (done.error || done.status > 1) throw new Error(`${args.join(" ")}: ${done.error ?? done.stderr}`);
  return done.stdout.trim();
}

// history: folder of a DAWNBench tree, or false: an empty database. args: further ones of `daybreakd serve`.
export async function startServer({ history = "schema/history", args = [] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "daybreak-web-"));
  const db = join(folder, "daybreak.db");
  if (history) run(["import", "--db", db, history]);
  else run(["migrate", "--db", db]);
  const token = (role) => run(["token", "create", "--db", db, "--role", role, "--name", `web test ${role}`]);
  const tokens = { registration: token("agent-registration") };
  for (const role of ["operator", "submitter", "reviewer", "admin"]) tokens[role] = token(role);
  const server = { folder, tokens, args, log: "" };
  await serve(server, db, "127.0.0.1:0");
  server.stop = async () => {
    const code = await end(server);
    rmSync(folder, { recursive: true, force: true });
    return code;
  };
  server.restart = async () => {
    await end(server);
    await serve(server, db, new URL(server.address).host);
  };
  return server;
}

function serve(server, db, listen) {
  const child = spawn(PROGRAM, ["serve", "--db", db, "--listen", listen, ...server.args], { stdio: ["ignore", "pipe", "pipe"] });
  server.child = child;
  return new Promise((found, lost) => {
    const timer = setTimeout(() => lost(new Error(`the server did not start:\n${server.log}`)), START_MS);
    let said = "";
    const read = (bytes) => {
      said += bytes;
      server.log += bytes;
      const match = /listening on (http:\S+)/.exec(said);
      if (match) {
        clearTimeout(timer);
        server.address = match[1];
        found();
      }
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("exit", (code) => lost(new Error(`the server ended with ${code}:\n${server.log}`)));
  });
}

function end(server) {
  return new Promise((ended) => {
    server.child.once("exit", (code) => ended(code));
    server.child.kill("SIGTERM");
  });
}

// ifMatch: address of what is to be changed as it stands.
export async function call(server, path, { token, json, body, type, method, ifMatch } = {}) {
  const headers = {};
  if (ifMatch) headers["If-Match"] = (await fetch(server.address + ifMatch)).headers.get("etag");
  if (token) headers.Authorization = `Bearer ${token}`;
  if (json !== undefined) headers["Content-Type"] = "application/json";
  if (type) headers["Content-Type"] = type;
  const payload = json !== undefined ? JSON.stringify(json) : body;
  const answer = await fetch(server.address + path, {
    method: method ?? (payload === undefined ? "GET" : "POST"), headers, body: payload,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return text === "" ? {} : JSON.parse(text);
}

// ---- an agent ----

export class Agent {
  // capabilities: further ones, or others.
  static async register(server, name, capabilities = {}) {
    const answer = await call(server, "/v1/agent/register", {
      token: server.tokens.registration,
      json: {
        name, public_key: randomBytes(32).toString("hex"), protocol: 1, build: "web-test",
        capabilities: {
          device_kind: "cpu", device_model: "Test CPU", device_count: 1, cpu_model: "Test CPU", cpu_cores: 2,
          cpu_isa: "avx2", memory_bytes: 1e9, cost_usd_per_hour: "3.60", ...capabilities,
        },
      },
    });
    return new Agent(server, answer.token);
  }

  constructor(server, token) {
    this.server = server;
    this.token = token;
    this.seq = 0;
    this.start = process.hrtime.bigint();
  }

  async claim() {
    this.lease = await call(this.server, "/v1/agent/claim", {
      token: this.token, json: { claim_id: randomBytes(8).toString("hex"), wait_ms: 5000 },
    });
    return this.lease;
  }

  // Sends one event; returns the server's answer.
  send(kind, members) {
    const event = {
      seq: ++this.seq, kind, mono_ns: Number(process.hrtime.bigint() - this.start), real_ms: Date.now(), ...members,
    };
    return call(this.server, `/v1/agent/attempts/${this.lease.attempt}/events`, {
      token: this.token, type: "application/x-ndjson", body: `${JSON.stringify(event)}\n`,
    });
  }

  evaluate(epoch, correct, officialS) {
    return this.send("eval", {
      epoch, metric: "top1Accuracy", correct, total: 10000, loss: 2 / epoch, views: 1,
      official_ns: Math.round(officialS * 1e9), wall_ns: Math.round(officialS * 1.1e9),
    });
  }

  async finish(result, members = { plan: "test" }) {
    await this.send("run_end", { result });
    return call(this.server, `/v1/agent/attempts/${this.lease.attempt}/finish`, {
      token: this.token, json: { last_seq: this.seq, result, ...members },
    });
  }
}

// ---- the browser ----

export async function openBrowser() {
  if (!existsSync(BROWSER)) skipAll(`${BROWSER} is missing`);
  let chromium;
  try {
    ({ chromium } = await import("playwright-core"));
  } catch {
    skipAll("playwright-core is missing: npm ci in tests/web");
  }
  return chromium.launch({ executablePath: BROWSER, headless: true, args: BROWSER_FLAGS });
}

// A page that keeps what a person would never see: errors, dialogs, requests to elsewhere.
export async function openPage(browser, server, { path = "/", width = 1280, scheme = "light", scripts = true } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 800 }, colorScheme: scheme, javaScriptEnabled: scripts,
  });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => {
    if (message.location().url.endsWith("/favicon.ico")) return; // asked for beside a feed or a picture, which name no icon
    if (message.type() === "error" || message.type() === "warning") faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(server.address)) faults.push(`foreign request: ${request.url()}`);
  });
  const answer = await page.goto(server.address + path);
  return { page, faults, status: answer.status(), close: () => context.close() };
}

// The page that is open: nothing serious to axe, nothing that scrolls sideways, light and dark, wide and narrow.
export async function looksWell(page, path) {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 360]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 800 });
      // The theme changes colours alone: each width gets all rules once, the other theme the one on contrast.
      const rules = (scheme === "light") === (width === 1280) ? null : ["color-contrast"];
      const { violations } = await page.evaluate((only) => window.axe.run(
        only ? { resultTypes: ["violations"], runOnly: only } : { resultTypes: ["violations"] }), rules);
      const serious = violations.filter((one) => one.impact === "serious" || one.impact === "critical")
        .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" ")}`);
      same(serious, [], `axe: nothing serious at ${path}, ${scheme}, ${width}`);
      // A chart takes its new width once it has been told of it: on a busy machine, later than axe has ended.
      await page.waitForFunction(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth, null, { timeout: 5000 }).catch(() => {});
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      ok(over <= 0, `no sideways scrolling at ${path}, ${scheme}, ${width}`, `${over} px too wide`);
    }
  }
}
