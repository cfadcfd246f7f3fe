// tests/web/strangers.mjs: fills every field that a stranger can fill, on a server of its own: with plain words, or with
// text that would like to be more than text. The same calls in the same order, so that both servers have the same ids.
import { readFileSync } from "node:fs";
import { Agent, call } from "./support.mjs";

// Breaks out of attributes and elements, and is a formula to a spreadsheet. 61 bytes: the shortest field takes 64.
const SHORT = `=1"><img src=x onerror=alert(1)><script>alert(2)</script>'&lt`;
// Where there is room: out of every element of raw text, of comments and of templates; letters from right to left.
const LONG = `${SHORT}</title></textarea></style></pre><svg onload=alert(3)><a href=javascript:alert(4)>]]>--><!--{{7*7}}\${alert(5)} \u05d0\u05d1\u05d2`;
// Turns the direction of writing, rings, hides: refused in most places, and harmless where it is not.
const HIDDEN = "\u202e\u0007\u2066";

// word(n, bytes): the text of field number n, of at most so many bytes.
function words(isHostile, extra) {
  return (n, bytes = 64) => {
    if (!isHostile) return `Plain ${n}`;
    const text = bytes < 256 ? SHORT : `${LONG}${n}`;
    return extra ? text.slice(0, bytes - 12) + HIDDEN : text;
  };
}

// Does it with the characters that nobody sees; without them where the server refuses these.
async function attempt(fill, what, act) {
  if (fill.isHostile) {
    try {
      const answer = await act(words(true, true));
      fill.taken.push(what);
      return answer;
    } catch (error) {
      if (!/: 4\d\d /.test(error.message)) throw error;
    }
  }
  return act(words(fill.isHostile, false));
}

const send = (fill, path, options, body) => attempt(fill, path, (word) => call(fill.server, path, { ...options, json: body(word) }));

const entryOf = (word, members) => JSON.stringify({
  version: "v1.0", author: word(1, 500), authorEmail: "secret-address@example.org", framework: word(2, 500), codeURL: "https://example.org/?a=%22<b>'&c",
  model: word(3, 500), hardware: word(4, 500), costPerHour: 1.5, timestamp: "2020-01-01",
  misc: { [word(5, 500)]: word(6, 500), nested: { a: [word(7, 500)] }, price: "javascript:alert(6)" }, [word(8)]: word(9, 500), ...members,
});
const PROGRESS = "epoch\thours\ttop1Accuracy\n1\t0.1\t50\n2\t0.2\t95\n";

async function submissions(fill) {
  const token = fill.submitter;
  await send(fill, "/v1/tasks/imagenet-train", { token: fill.server.tokens.admin, method: "PATCH", ifMatch: "/v1/tasks/imagenet-train" },
    (word) => ({ review: "all", reason: word(10, 500) }));
  const one = await send(fill, "/v1/submissions", { token }, (word) => ({ task: "cifar10-train", name: nameOf(word), entry: entryOf(word, {}), progress: PROGRESS }));
  await send(fill, "/v1/submissions", { token }, (word) => ({ task: "cifar10-train", name: "several", entry: entryOf(word, { codeURL: "javascript:alert(7)" }),
    progress: [1, 2, 3].map((i) => ({ name: `${nameOf(word)}-${i}.tsv`, text: PROGRESS.replace("0.2", `0.2${i}`) })) }));
  await send(fill, "/v1/submissions", { token }, (word) => ({ task: "cifar10-inference", name: "inference",
    entry: entryOf(word, { latency: 5, cost: 0.001, top1Accuracy: 95, accuracy: 95 }) }));
  const judged = await send(fill, "/v1/submissions", { token }, (word) => ({ task: "imagenet-train", name: "judged", entry: entryOf(word, {}),
    progress: "epoch\thours\ttop1Accuracy\ttop5Accuracy\n1\t1\t70\t90\n2\t2\t75\t94\n" }));
  await review(fill, judged.submission);
  await send(fill, `/v1/submissions/${one.submission}`, { token: fill.server.tokens.reviewer, method: "PATCH", ifMatch: `/v1/submissions/${one.submission}` }, (word) => ({
    author: word(20, 500), model: word(21, 500), hardware: word(22, 500), framework: word(23, 500), cloud: word(24, 500), device_model: word(25, 500),
    device_kind: "gpu", devices: 8, nodes: 2, reason: word(26, 500) }));
  return { submission: one.submission, entry: one.entry, judged: judged.submission };
}

// A name has no slash; a closing tag needs one.
const nameOf = (word) => word(11).replaceAll("/", "|");

async function review(fill, id) {
  const { reviewer } = fill.server.tokens;
  const comment = await send(fill, `/v1/submissions/${id}/comments`, { token: reviewer }, (word) => ({ text: word(12, 500), file: "judged.tsv", line: 2 }));
  await send(fill, `/v1/submissions/${id}/comments`, { token: fill.submitter }, (word) => ({ text: `${word(13, 500)}\nhttps://example.org/`, thread: comment.comment }));
  await send(fill, `/v1/submissions/${id}/comments`, { token: fill.submitter }, (word) => ({ text: word(14, 500) }));
  await send(fill, `/v1/submissions/${id}/reviews`, { token: reviewer }, (word) => ({ action: "request-changes", reason: word(15, 500) }));
}

function profileOf(word) {
  const rate = { read_bytes_per_s: 2e10, copy_bytes_per_s: 1e10 };
  const group = { kind: word(30), kernel: word(31), label: word(32, 250), phase: "forward", type: "f32", calls: 1, seconds: 0.1, flops: 4000000000, flops_done: 4000000000,
    flops_other: 0, l1_bytes: 40000000, l2_bytes: 40000000, l3_bytes: 20000000, memory_bytes: 20000000, source: "modelled" };
  return { version: 1, measured: "2026-12-03T10:00:00.000Z", workload: "cifar10", recipe: "cifar10-quick", device: word(33), device_model: word(34), isa: word(35),
    precision: word(36), threads: 2, batch: 500, fusion: true,
    ceilings: { rounds: 5, levels: [{ level: "l2", capacity_bytes: 2097152, read_bytes_per_s: 2e11, copy_bytes_per_s: 1e11 }, { level: "memory", ...rate }],
      peaks: [{ type: "f32", flops_per_s: 1e11 }] },
    step: { rounds: 5, seconds: 0.1, plain_s: 0.1, spread: 0.02, examples_per_s: 5000 },
    phases: { data_s: 0, forward_s: 0.1, backward_s: 0, optimiser_s: 0, communication_s: 0, evaluation_s: 1.5 }, groups: [group] };
}

async function agents(fill) {
  const { server } = fill;
  const agent = await attempt(fill, "register", (word) => Agent.register(server, word(16), { device_vendor: word(17), device_model: word(18), cpu_model: word(19),
    cpu_isa: word(37), instance: word(38), region: word(39), tags: [word(40), "second"] }));
  for (const end of ["reached", "failed"]) {
    await call(server, "/v1/jobs", { token: server.tokens.operator, json: { task: "cifar10-train-quick", seeds: 1 } });
    agent.seq = 0;
    await agent.claim();
    await agent.send("run_start", {});
    await attempt(fill, "note", (word) => {
      agent.seq = 1;
      return agent.send("note", { text: word(41, 500) });
    });
    await agent.evaluate(1, 6000, 1.5);
    await agent.evaluate(2, 9000, 2.5);
    if (end === "reached")
      await send(fill, `/v1/agent/attempts/${agent.lease.attempt}/profile`, { token: agent.token }, profileOf);
    await attempt(fill, "finish", (word) => {
      agent.seq = 4;
      return agent.finish(end, { plan: word(42, 500), detail: word(43, 500) });
    });
  }
  await call(server, "/v1/jobs", { token: server.tokens.operator, json: { task: "cifar10-train-quick", seeds: 1 } });
  await agent.claim();
  await send(fill, `/v1/agent/attempts/${agent.lease.attempt}/release`, { token: agent.token }, (word) => ({ reason: "unsupported", detail: word(44, 500) }));
}

async function logs(fill) {
  const form = new FormData();
  const word = words(fill.isHostile, false);
  form.append("task", "mlperf-v4.0-gpt3");
  form.append("submitter", nameOf(word));
  form.append("system", nameOf(word));
  for (const i of [0, 1, 2]) {
    const note = { namespace: "", time_ms: 1709183798092, event_type: "POINT_IN_TIME", key: word(51), value: word(52, 500), metadata: { file: word(53) } };
    form.append("log", new Blob([`:::MLLOG ${JSON.stringify(note)}\n`, readFileSync(`tests/http/files/gpt3_${i}.txt`)]), `result_${i}.txt`);
  }
  const answer = await fetch(`${fill.server.address}/v1/mlperf/logs`, { method: "POST", body: form, headers: { Authorization: `Bearer ${fill.submitter}` } });
  if (answer.status !== 201) throw new Error(`logs: ${answer.status} ${await answer.text()}`);
}

// Returns ids of what was made, the calls that took characters which nobody sees, and some of the words.
export async function fillAll(server, isHostile) {
  const fill = { server, isHostile, taken: [] };
  for (const role of ["reviewer", "submitter"])
    fill[role] = (await send(fill, "/v1/tokens", { token: server.tokens.admin }, (word) => ({ role, name: word(60) }))).token;
  const made = await submissions(fill);
  await agents(fill);
  await logs(fill);
  const word = words(isHostile, false);
  return { ...made, taken: fill.taken, author: word(1, 500), corrected: word(20, 500), hardware: word(22, 500), framework: word(23, 500), agent: word(16), short: word(0) };
}
