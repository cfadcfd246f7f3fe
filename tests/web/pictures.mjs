// tests/web/pictures.mjs: takes the pictures of docs/pages from the historical entries.
// usage: node tests/web/pictures.mjs, from the repository's root, after `make`.
import { mkdirSync } from "node:fs";
import { openBrowser, openPage, startServer } from "./support.mjs";

const FOLDER = "docs/pages";
const PICTURES = [
  ["home", "/", "light", 1280], ["board", "/tasks/cifar10-train", "light", 1280],
  ["run", "/runs/1", "light", 1280], ["board", "/tasks/cifar10-train", "dark", 360],
];

mkdirSync(FOLDER, { recursive: true });
const browser = await openBrowser();
const server = await startServer();
for (const [name, path, scheme, width] of PICTURES) {
  const { page, close } = await openPage(browser, server, { path, scheme, width });
  await page.waitForLoadState("networkidle", { timeout: 2000 }).catch(() => {}); // a stream keeps it busy
  await page.screenshot({ path: `${FOLDER}/${name}-${scheme}-${width}.png` });
  await close();
}
await browser.close();
await server.stop();
