// tests/web/many.mjs: 10,000 entries, as a tree that `daybreakd import` takes; for tests of size and for pictures.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "./support.mjs";

export const MANY = 10000;

function writeTree(folder) {
  const place = join(folder, "CIFAR10", "train");
  mkdirSync(place, { recursive: true });
  for (let i = 0; i < MANY; i++) {
    const step = 0.01 + (i * 7919 % MANY) / MANY;
    const entry = { version: "v1.0", author: `Author ${i % 900}`, authorEmail: "a@example.org", framework: `Framework ${i % 40}`, codeURL: "https://example.org/code",
      model: `Net ${i}`, hardware: `${1 + i % 8} V100 of host ${i % 300}`, timestamp: `20${17 + i % 9}-0${1 + i % 9}-1${i % 10}`, misc: {} };
    if (i % 7) entry.costPerHour = 1 + i % 50;
    writeFileSync(join(place, `net_${i}.json`), JSON.stringify(entry));
    writeFileSync(join(place, `net_${i}.tsv`), `epoch\thours\ttop1Accuracy\n${[50, 80, 91, 92, 94.2, 94.5].map((accuracy, k) =>
      `${k + 1}\t${((k + 1) * step).toFixed(7)}\t${accuracy}\n`).join("")}`);
  }
}

export async function startManyServer() {
  const folder = mkdtempSync(join(tmpdir(), "daybreak-many-"));
  writeTree(folder);
  const server = await startServer({ history: folder });
  rmSync(folder, { recursive: true });
  return server;
}
