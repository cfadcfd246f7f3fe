// web/assets/home.js: keeps the live runs and the records of the home page fresh.
import { follow, paced, fetchPage, takePart } from "./live.js";

const TOPICS_MAX = 16;
let stop = null;
let followed = "";

const refresh = paced(async () => {
  const fresh = await fetchPage(location.href);
  takePart(fresh, "#live");
  takePart(fresh, "#tasks");
  start();
}, 2000);

function start() {
  const tasks = [...document.querySelectorAll(".card[id]")].map((card) => `board:${card.id.slice(5)}`);
  const runs = [...document.querySelectorAll("#live [data-run]")].map((item) => `run:${item.dataset.run}`);
  const topics = ["queue", ...tasks, ...runs].slice(0, TOPICS_MAX);
  if (topics.join() === followed) return;
  followed = topics.join();
  if (stop) stop();
  let first = stop === null; // this page is fresh: the stream's beginning says nothing new
  stop = follow(topics, (kind) => {
    if (kind === "open" && first) first = false;
    else refresh();
  });
}

start();
