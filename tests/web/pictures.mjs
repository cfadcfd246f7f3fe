// tests/web/pictures.mjs: takes the pictures of docs/pages: the main pages with the history, our own seeds and a run that is
// trained for it, then an empty server and one with 10,000 entries.
// usage: node tests/web/pictures.mjs [FOLDER], from the repository's root, after `make` and `daybreak-agent data fetch cifar10`;
// PICTURES=all: in both themes at both widths.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startManyServer } from "./many.mjs";
import { PROGRAM, call, openBrowser, openPage, startServer } from "./support.mjs";

const FOLDER = process.argv[2] ?? "docs/pages";
const AGENT = join(dirname(PROGRAM), "daybreak-agent");
const RESULTS = "docs/results/cifar10";
const LOGS = "../shared/data/mlperf"; // for the paper's claims, where it is
const SEEDS = [31, 32, 33, 34, 35, 36, 37, 38, 39, 40];
const LOOKS = process.env.PICTURES === "all" ? [["light", 1280], ["dark", 1280], ["light", 360], ["dark", 360]] : [["light", 1280], ["dark", 360]];

const read = (name) => readFileSync(join(RESULTS, name), "utf8");

// An entry of these seeds: the JSON of the first, with what is known of its models on unseen data.
function submit(server, seeds, name) {
  const entry = JSON.parse(read(`cifar10-muon_seed${seeds[0]}.json`));
  const scores = join(RESULTS, "generalisation.json");
  Object.assign(entry, { author: "Daybreak", authorEmail: "daybreak@example.org", costPerHour: 0.10264 });
  for (const member of ["seed", "wall_s", "tta_s"]) delete entry.misc[member]; // of one run
  if (seeds.length > 1 && existsSync(scores)) entry.misc.generalisation = JSON.parse(readFileSync(scores, "utf8"));
  return call(server, "/v1/submissions", { token: server.tokens.submitter, json: {
    task: "cifar10-train", name, entry: JSON.stringify(entry),
    progress: seeds.map((seed) => ({ name: `seed${seed}.tsv`, text: read(`cifar10-muon_seed${seed}.tsv`) })),
  } });
}

// A real training, with its profile.
async function train(server) {
  const { runs } = await call(server, "/v1/jobs", { token: server.tokens.operator, json: { task: "cifar10-train-quick", workload: "cifar10", seeds: 1 } });
  const token = join(server.folder, "registration");
  writeFileSync(token, server.tokens.registration);
  const agent = spawn(AGENT, ["run", "--server", server.address, "--token-file", token, "--name", "workshop", "--once"],
    { stdio: "ignore", env: { ...process.env, DAYBREAK_STATE: join(server.folder, "agent") } });
  const [code] = await once(agent, "exit");
  if (code !== 0) throw new Error(`the agent ended with ${code}`);
  return runs[0];
}

async function take(browser, server, pictures) {
  for (const [name, path, looks = LOOKS] of pictures)
    for (const [scheme, width] of looks) {
      const { page, close } = await openPage(browser, server, { path, scheme, width });
      await page.waitForLoadState("networkidle", { timeout: 2000 }).catch(() => {}); // a stream keeps it busy
      await page.screenshot({ path: `${FOLDER}/${name}-${scheme}-${width}.png` });
      await page.setViewportSize({ width, height: 2200 });
      if (process.env.PICTURES === "all") await page.screenshot({ path: `${FOLDER}/${name}-${scheme}-${width}-long.png` });
      await close();
    }
}

mkdirSync(FOLDER, { recursive: true });
const browser = await openBrowser();
let server = await startServer();
if (existsSync(LOGS)) spawnSync(PROGRAM, ["import-mlperf", LOGS, "--db", join(server.folder, "daybreak.db")]);
const { entry } = await submit(server, SEEDS, "cifar10-muon");
const withdrawn = await submit(server, [31], "seed-31");
await call(server, `/v1/submissions/${withdrawn.submission}/withdraw`, { token: server.tokens.submitter, json: { reason: "It is one of the ten seeds of cifar10-muon." },
  ifMatch: `/v1/submissions/${withdrawn.submission}` });
const run = await train(server);
const own = (await call(server, `/v1/entries/${entry}`)).runs?.[0]?.run ?? run;
await take(browser, server, [
  ["home", "/"], ["board", "/tasks/cifar10-train"], ["cost", "/tasks/cifar10-train?by=cost"], ["history", "/tasks/cifar10-train/history"],
  ["tradeoff", "/tasks/cifar10-train/tradeoff"], ["variance", "/tasks/cifar10-train/variance"], ["generalisation", "/tasks/cifar10-train/generalisation"],
  ["entry", `/entries/${entry}`], ["not-ranked", `/entries/${withdrawn.entry}`], ["run", `/runs/${run}`], ["roofline", `/runs/${run}/roofline`],
  ["compare", `/compare?runs=1,2,${own}`], ["paper", "/docs/paper"], ["submit", "/submit"],
]);
await server.stop();
const small = [["light", 1280]];
server = await startServer({ history: false });
await take(browser, server, [["empty-home", "/", small], ["empty-board", "/tasks/cifar10-train", small]]);
await server.stop();
server = await startManyServer();
await take(browser, server, [["many-home", "/", small], ["many-board", "/tasks/cifar10-train", small]]);
await server.stop();
await browser.close();
