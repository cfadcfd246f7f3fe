// web/assets/board.js: sorts, filters and pages a board in place. The server orders the rows, here as without
// scripts: a click fetches the page that the link names and takes its board; the address follows.
import { follow, paced, fetchPage, takePart } from "./live.js";

const LINKS = "#content a.sort, #content .tabs a, #content .pages a, #filter a";

async function show(address, push) {
  const fresh = await fetchPage(address);
  if (!takePart(fresh, "#content")) {
    location.assign(address); // not a board: let the browser show it
    return;
  }
  document.title = fresh.title;
  if (push) history.pushState(null, "", address);
}

function mark() {
  const row = document.querySelector("tr.marked");
  if (row) {
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "center" });
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest(LINKS);
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  show(link.href, true).catch(() => location.assign(link.href));
});

document.addEventListener("submit", (event) => {
  if (event.target.id !== "filter") return;
  event.preventDefault();
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(event.target)) if (value !== "") query.set(name, value);
  const address = `${event.target.action}?${query}`;
  show(address, true).catch(() => location.assign(address));
});

window.addEventListener("popstate", () => {
  show(location.href, false).catch(() => location.reload());
});

const refresh = paced(() => show(location.href, false), 1000);
let first = true;
follow([`board:${decodeURIComponent(location.pathname.split("/")[2])}`], (kind) => {
  if (kind === "open" && first) first = false;
  else refresh();
});
mark();
