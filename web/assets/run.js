// web/assets/run.js: draws a run's curve from its table, and lets both grow while the run is live.
import { follow, paced, fetchPage, takePart } from "./live.js";
import { charts, colour, grid, legend, ticks } from "./look.js";

const figure = document.getElementById("curve");
const table = document.getElementById("epochs");
const body = table.tBodies[0];
const target = Number(figure.dataset.target);
const percent = figure.dataset.unit === "percent";
const run = document.getElementById("facts").dataset.run;
let chart = null;

function isLive() {
  return document.getElementById("facts").dataset.live === "true";
}

// ---- the curve ----

// Seconds of the longest row decide the unit of the axis.
function timeUnit(longest) {
  if (longest > 2 * 86400) return { name: "days", seconds: 86400 };
  if (longest > 2 * 3600) return { name: "h", seconds: 3600 };
  if (longest > 10 * 60) return { name: "min", seconds: 60 };
  return { name: "s", seconds: 1 };
}

function along({ epoch, seconds }, unitSeconds) {
  if (figure.dataset.x === "epoch") return Number(epoch);
  return figure.dataset.x === "cost" ? Number(seconds) / 3600 * Number(figure.dataset.price) : Number(seconds) / unitSeconds;
}

function readPoints() {
  const rows = [...body.rows];
  const unit = timeUnit(rows.length ? Number(rows[rows.length - 1].dataset.seconds) : 0);
  const points = rows.map((row) => ({
    x: along(row.dataset, unit.seconds),
    y: Number(row.dataset.value),
    crosses: row.classList.contains("crosses"),
  }));
  const titles = { epoch: "Epoch", cost: "Cost, USD", time: `Time from the start of the run, ${unit.name}` };
  return { points, title: titles[figure.dataset.x] };
}

function drawChart() {
  const Chart = charts();
  if (!Chart) return;
  const { points, title } = readPoints();
  const last = points.length ? points[points.length - 1].x : 1;
  const crossing = points.filter((point) => point.crosses);
  const data = {
    datasets: [
      { label: figure.dataset.metric, data: points, borderColor: colour("curve"), backgroundColor: colour("curve"),
        borderWidth: 2, pointRadius: points.length > 200 ? 1 : 3, tension: 0 },
      { label: "target", data: [{ x: 0, y: target }, { x: last, y: target }], borderColor: colour("target"),
        backgroundColor: colour("target"), borderWidth: 1.5, borderDash: [6, 4], pointRadius: 0, pointStyle: "line" },
      { label: "time to accuracy", data: crossing, borderColor: colour("target"), backgroundColor: colour("paper"),
        borderWidth: 2.5, pointRadius: 7, pointHoverRadius: 8, showLine: false },
    ],
  };
  if (chart) {
    chart.data.datasets.forEach((set, i) => Object.assign(set, data.datasets[i]));
    chart.options = options(title);
    chart.update("none");
    return;
  }
  figure.querySelector(".canvas").hidden = false;
  chart = new Chart(figure.querySelector("canvas"), { type: "line", data, options: options(title) });
}

function options(title) {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    parsing: false,
    interaction: { mode: "nearest", axis: "x", intersect: false },
    scales: {
      x: { type: "linear", min: 0, grid: grid(), ticks: ticks(), title: { display: true, text: title, color: colour("soft") } },
      y: { grid: grid(), ticks: ticks(), grace: "5%", title: { display: true, text: figure.dataset.metric + (percent ? ", %" : ""), color: colour("soft") } },
    },
    plugins: { legend: { labels: legend() } },
  };
}

function switchAxis(event) {
  const link = event.target.closest(".tabs.small a");
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  for (const other of link.closest("ul").querySelectorAll("a")) other.removeAttribute("aria-current");
  link.setAttribute("aria-current", "page");
  figure.dataset.x = new URL(link.href).searchParams.get("x") ?? "time";
  history.replaceState(null, "", link.href);
  drawChart();
}

// ---- the live table ----

// Rounds half to even from nine places, as the server does, so that a reload changes no digit.
function fixed(value, places) {
  const unit = 10 ** (9 - places);
  const exact = Math.round(value * 1e9);
  let whole = Math.floor(exact / unit);
  const rest = exact - whole * unit;
  if (rest > unit / 2 || (rest === unit / 2 && whole % 2 === 1)) whole++;
  return (whole / 10 ** places).toFixed(places);
}

function clock(seconds) {
  if (document.getElementById("clock-unit").textContent === "s") return fixed(seconds, 2);
  const whole = Math.round(seconds);
  const two = (number) => String(number).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

function addCell(row, text, className) {
  const cell = row.insertCell();
  cell.textContent = text;
  if (className) cell.className = className;
}

// The columns of web/templates/run.html, all of which a live run has.
function addRow(item) {
  const row = body.insertRow();
  const meets = item.accuracy >= target;
  const crosses = meets && !body.querySelector(".crosses");
  const count = new Intl.NumberFormat("en");
  row.dataset.seq = item.seq;
  row.dataset.epoch = item.epoch;
  row.dataset.seconds = item.tta_s ?? 0;
  row.dataset.value = item.accuracy;
  row.className = crosses ? "new crosses" : "new";
  addCell(row, String(item.epoch), "num");
  addCell(row, clock(item.tta_s ?? 0), "num");
  addCell(row, item.wall_s === undefined ? "" : clock(item.wall_s), "num mid");
  addCell(row, percent ? `${fixed(item.accuracy, 2)}\u00a0%` : fixed(item.accuracy, 4), "num");
  addCell(row, item.total === undefined ? "" : `${count.format(item.correct)} of ${count.format(item.total)}`, "num mid");
  addCell(row, item.loss === undefined ? "" : fixed(item.loss, 4), "num mid");
  addCell(row, crosses ? "reached here" : meets ? "met" : "");
  return crosses;
}

const refreshFacts = paced(async () => {
  const fresh = await fetchPage(location.href);
  const unit = fresh.getElementById("clock-unit");
  const facts = fresh.getElementById("facts");
  if (facts && facts.dataset.attempt !== document.getElementById("facts").dataset.attempt && body.rows.length) {
    location.reload(); // another agent begins afresh: what was drawn belongs to the attempt before
    return;
  }
  takePart(fresh, "#facts");
  takePart(fresh, "#how");
  if (unit && unit.textContent !== document.getElementById("clock-unit").textContent) {
    location.reload(); // the run outgrew its unit of time: once in a run
    return;
  }
  if (!isLive()) stop();
}, 1000);

// Asks for what is missing until nothing is; rows come in order of seq, each once.
const refreshEpochs = paced(async () => {
  for (let more = true; more;) {
    const after = Number(table.dataset.last);
    const answer = await fetch(`/v1/runs/${run}/epochs?after=${after}&limit=1000`);
    if (!answer.ok) throw new Error(String(answer.status));
    const { items, next_after: next } = await answer.json();
    for (const item of items) {
      if (item.seq <= Number(table.dataset.last)) continue;
      addRow(item);
      table.dataset.last = item.seq;
    }
    if (items.length) drawChart();
    more = next !== undefined;
  }
  const rows = body.rows.length;
  document.getElementById("epochs-h").textContent = rows === 1 ? "1 evaluation" : `${rows} evaluations`;
  refreshFacts();
}, 100);

let stop = () => {};

figure.closest("section").addEventListener("click", switchAxis);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawChart);
drawChart();
if (isLive()) {
  stop = follow([`run:${run}`], (kind) => {
    if (kind === "reset") location.reload();
    else refreshEpochs();
  });
}
