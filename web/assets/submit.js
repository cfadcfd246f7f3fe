// web/assets/submit.js: checks files as soon as they are chosen, dropped or pasted: the server's page answers as it does
// without scripts, and its answer is put into this page.
import { paced, takePart } from "./live.js";

const form = document.getElementById("submit");
const said = document.getElementById("said");
let wanted = false; // somebody pressed the button, and looks for the answer

function isEmpty(data) {
  return ["entry", "progress", "entry_text", "progress_text"].every((name) =>
    data.getAll(name).every((value) => (value instanceof File ? value.name === "" : value.trim() === "")));
}

function bytesOf(data) {
  return [...data.values()].reduce((sum, value) => sum + (value.size ?? new Blob([value]).size) + 200, 0);
}

// What the server could not say: it never saw the files.
function refuse(field, detail) {
  const answer = document.getElementById("answer");
  const list = document.createElement("ul");
  const item = document.createElement("li");
  const heading = document.createElement("h2");
  list.className = "found";
  list.id = "faults";
  item.dataset.field = field;
  item.textContent = detail;
  heading.id = "answer-h";
  heading.textContent = "Not checked";
  list.append(item);
  answer.replaceChildren(heading, list);
}

async function ask(data) {
  if (bytesOf(data) > Number(form.dataset.bytesMax)) {
    refuse("progress", "These files are far too large: an entry and a progress file may have 64 KiB each. One line for each evaluation is enough.");
    return;
  }
  try {
    const reply = await fetch("/submit", { method: "POST", body: data, headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    fresh.getElementById("answer")?.removeAttribute("autofocus"); // it is for who had to load the page
    if (!takePart(fresh, "#answer")) refuse("", fresh.querySelector(".problem .lead")?.textContent ?? `The server answered ${reply.status}.`);
  } catch {
    refuse("", "The files could not be read, or the server not be reached. Choose them again.");
  }
}

const check = paced(async () => {
  const data = new FormData(form);
  data.set("do", "check");
  if (isEmpty(data) && !wanted) return;
  document.getElementById("answer").setAttribute("aria-busy", "true");
  await ask(data);
  const answer = document.getElementById("answer");
  answer.removeAttribute("aria-busy");
  said.textContent = document.getElementById("answer-h").textContent;
  if (wanted) answer.focus();
  wanted = false;
}, 300);

// The files by what they are called: NAME.json is the entry, all NAME.tsv are runs.
function take(files) {
  const kinds = { entry: /\.json$/i, progress: /\.tsv$/i };
  for (const [name, ending] of Object.entries(kinds)) {
    const chosen = [...files].filter((file) => ending.test(file.name));
    const list = new DataTransfer();
    for (const file of name === "entry" ? chosen.slice(0, 1) : chosen) list.items.add(file);
    if (chosen.length) form.elements[name].files = list.files;
  }
  if ([...files].some((file) => Object.values(kinds).some((ending) => ending.test(file.name)))) check();
  else refuse("", "Neither a .json nor a .tsv was dropped.");
}

form.addEventListener("change", check);
form.addEventListener("input", check);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  wanted = true;
  check();
});
document.addEventListener("dragover", (event) => {
  if (![...event.dataTransfer.types].includes("Files")) return;
  event.preventDefault();
  document.getElementById("drop").classList.add("over");
});
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.getElementById("drop").classList.remove("over");
});
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  document.getElementById("drop").classList.remove("over");
  take(event.dataTransfer.files);
});
document.getElementById("drop-hint").hidden = false;
if (!isEmpty(new FormData(form))) check(); // the browser kept them over a reload
