// web/assets/live.js: what the page's scripts share: following the server's stream, and taking parts of a page
// from its fresh copy.

const KINDS = ["epoch", "run", "board", "job", "agent", "state", "comment", "revision", "correction", "overdue",
               "reset"];
const RETRY_MS = 3000;

// One stream, open while the tab is visible, resumed after the last change that was seen. tell(kind, data) is
// called for each change, and with "open" whenever the stream begins: what came before may have been missed.
// Returns a function that ends it.
export function follow(topics, tell) {
  let source = null;
  let lastId = "";
  let timer = 0;
  let ended = false;

  function close() {
    clearTimeout(timer);
    if (source) source.close();
    source = null;
  }
  function open() {
    if (source || ended || document.hidden) return;
    const query = new URLSearchParams({ topics: topics.join(",") });
    if (lastId) query.set("last_event_id", lastId);
    source = new EventSource(`/v1/stream?${query}`);
    source.addEventListener("open", () => tell("open", {}));
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        lastId = event.lastEventId || lastId;
        tell(kind, event.data ? JSON.parse(event.data) : {});
      });
    }
    source.addEventListener("error", () => {
      if (source && source.readyState === EventSource.CLOSED) { // refused: the browser will not try again
        close();
        timer = setTimeout(open, RETRY_MS);
      }
    });
  }
  function change() {
    if (document.hidden) close();
    else open();
  }

  document.addEventListener("visibilitychange", change);
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", change);
  open();
  return () => {
    ended = true;
    close();
    document.removeEventListener("visibilitychange", change);
  };
}

// Runs work() soon after ask(), never two at a time, and no more often than every waitMs.
export function paced(work, waitMs) {
  let timer = 0;
  let busy = false;
  let again = false;
  let last = 0;

  async function run() {
    timer = 0;
    busy = true;
    last = Date.now();
    try {
      await work();
    } catch {
      again = true; // the network: as if it had not been tried
    }
    busy = false;
    if (again) {
      again = false;
      ask();
    }
  }
  function ask() {
    if (busy) again = true;
    else if (!timer) timer = setTimeout(run, Math.max(0, last + waitMs - Date.now()));
  }
  return ask;
}

export async function fetchPage(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// Puts the fresh page's part in place of this page's. Nothing moves under a keyboard user: the focus goes to the
// element of the same id, or of the same address.
export function takePart(fresh, selector) {
  const here = document.querySelector(selector);
  const there = fresh.querySelector(selector);
  if (!here || !there) return false;
  const focused = here.contains(document.activeElement) ? document.activeElement : null;
  here.replaceWith(there);
  if (focused) {
    const same = focused.id ? document.getElementById(focused.id)
      : [...there.querySelectorAll("a")].find((link) => link.textContent === focused.textContent);
    if (same) same.focus({ preventScroll: true });
  }
  return true;
}
