// web/assets/figure.js: draws each chart of a page from the table below it: nothing is drawn that does not stand there.
import { charts, colour, grid, legend, ticks } from "./look.js";

const PALETTE = ["curve", "accent", "good", "bad", "soft"];
const SHAPES = ["circle", "rect", "triangle", "rectRot", "cross", "star"];

// The rows as objects: column key -> {text, value}; a date's value is its day in ms.
function readRows(table) {
  const keys = [...table.tHead.rows[0].cells].map((cell) => cell.dataset.key);
  return [...table.tBodies[0].rows].map((row) => Object.fromEntries([...row.cells].map((cell, i) => {
    const text = (cell.querySelector("bdi") ?? cell).textContent.trim();
    const raw = cell.dataset.v;
    const value = raw !== undefined ? Number(raw) * (text.endsWith("%") ? 100 : 1) : /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : NaN;
    return [keys[i], { text, value, sub: cell.querySelector(".sub")?.textContent ?? "" }];
  })));
}

// 2,000,000,000 is 2 G: an axis has little room.
function shorten(value) {
  const step = [[1e12, " T"], [1e9, " G"], [1e6, " M"]].find(([unit]) => value >= unit);
  return step ? `${value / step[0]}${step[1]}` : value.toLocaleString("en");
}

// A log axis of many decades has the powers of ten alone.
function scaleOf(log, title, dates, values) {
  const wide = Math.max(...values) > 1000 * Math.min(...values.filter((value) => value > 0));
  const scale = { type: log ? "logarithmic" : "linear", grid: grid(), ticks: ticks(), title: { display: Boolean(title), text: title, color: colour("soft") } };
  if (log) scale.ticks.callback = (value) => (wide ? /^10*$/ : /^[125]0*$/).test(String(value).replace(/^0\.0*/, "")) ? shorten(value) : "";
  if (dates) scale.ticks.callback = (value) => new Date(value).toISOString().slice(0, 7);
  return scale;
}

// The roofs' names: a level's before its line begins, a peak's over its end, or below one that is higher.
const roofNames = {
  id: "roofNames",
  afterDatasetsDraw(chart) {
    const { ctx } = chart;
    chart.data.datasets.forEach((set, i) => {
      if (!set.roof) return;
      const { x, y } = chart.getDatasetMeta(i).data.at(set.flat ? -1 : 0);
      const under = chart.data.datasets.some((other) => other.flat && other.data[0].y > set.data[0].y);
      ctx.fillStyle = colour("soft");
      ctx.font = "12px sans-serif";
      ctx.textAlign = "right";
      ctx.fillText(set.label, set.flat ? x : x - 4, y + (!set.flat ? 4 : under ? 14 : -5));
    });
  },
};

// A roofline's roofs over the x of its dots: a level's line rises to the highest peak, a peak's is flat.
function roofLines(id, xs) {
  const rows = readRows(document.getElementById(id));
  const peak = Math.max(...rows.map((row) => row.flops_per_s.value).filter((value) => value > 0));
  const [low, high] = [Math.min(...xs) / 2, Math.max(...xs) * 2];
  return rows.map((row) => {
    const rate = row.bytes_per_s.value;
    if (!(rate > 0)) return { label: row.roof.text, flat: true, data: [low, high].map((x) => ({ x, y: row.flops_per_s.value })) };
    return { label: row.roof.text, data: [low, Math.min(high, Math.max(low, peak / rate)), high].map((x) => ({ x, y: Math.min(x * rate, peak) })) };
  });
}

function draw(Chart, figure) {
  if (!figure.dataset.kind) return null;
  const { table, kind, x, y, series, front, roofs, log, xTitle, yTitle, diagonal } = figure.dataset;
  const rows = readRows(document.getElementById(table)).filter((row) => !Number.isNaN(row[x].value));
  const lanes = rows.length && rows.every((row) => Number.isNaN(row[y].value)) ? [...new Set(rows.map((row) => row[y].text))] : null;
  const drawn = lanes ? rows : rows.filter((row) => !Number.isNaN(row[y].value));
  const canvas = figure.querySelector("canvas");
  if (!canvas || !drawn.length) return null;
  const point = (row) => ({ x: row[x].value, y: lanes ? row[y].text : row[y].value, row });
  const groups = new Map();
  for (const row of drawn) {
    const name = series ? row[series].text : "";
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(point(row));
  }
  const datasets = [...groups].map(([label, data], i) => {
    const tone = colour(PALETTE[i % PALETTE.length]);
    return { label: label || figure.closest("section").querySelector("h2").textContent, data, borderColor: tone, backgroundColor: tone, pointStyle: SHAPES[i % SHAPES.length],
      pointRadius: 4, pointHoverRadius: 6, borderWidth: 2, tension: 0, showLine: kind !== "scatter", stepped: kind === "steps" ? "before" : false };
  });
  const line = (label, data, stepped) => datasets.push({ label, data, borderColor: colour("target"), backgroundColor: colour("target"), borderWidth: 1.5,
    borderDash: [6, 4], pointRadius: 0, pointStyle: "line", showLine: true, stepped });
  if (front) line("front", drawn.filter((row) => row[front].value === 1).map(point), "before");
  if (roofs) for (const { label, data, flat } of roofLines(roofs, drawn.map((row) => row[x].value))) {
    line(label, data, false);
    Object.assign(datasets.at(-1), { roof: true, flat });
  }
  if (diagonal) {
    const all = drawn.flatMap((row) => [row[x].value, row[y].value]);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    line("y = x", [{ x: low, y: low }, { x: high, y: high }], false);
  }
  const dates = drawn.length && /^\d{4}-/.test(drawn[0][x].text);
  const highest = Math.max(...datasets.filter((set) => set.roof).flatMap((set) => set.data.map((at) => at.y)), 0);
  const yScale = lanes ? { type: "category", labels: lanes, offset: true, grid: grid(), ticks: { ...ticks(), callback(value) { const label = this.getLabelForValue(value); return label.length > 24 ? `${label.slice(0, 23)}…` : label; } } }
    : scaleOf(log.includes("y"), yTitle, false, drawn.map((row) => row[y].value));
  if (highest > 0) yScale.suggestedMax = 3 * highest;
  figure.querySelector(".canvas").hidden = false;
  return new Chart(canvas, {
    type: "scatter",
    data: { datasets },
    plugins: [roofNames],
    options: {
      animation: false, responsive: true, maintainAspectRatio: false,
      scales: { x: scaleOf(log.includes("x"), xTitle, dates, drawn.map((row) => row[x].value)), y: yScale },
      plugins: {
        legend: { display: datasets.length > 1, labels: { ...legend(), filter: (item) => !datasets[item.datasetIndex].roof } },
        tooltip: { callbacks: { label: ({ raw }) => raw.row ? Object.values(raw.row).filter((cell) => cell.text && cell.text !== "-").map((cell) => cell.text).slice(0, 6).join(" · ") : "" } },
      },
    },
  });
}

let shown = [];
function drawAll() {
  const Chart = charts();
  shown.forEach((chart) => chart.destroy());
  shown = Chart ? [...document.querySelectorAll("figure[data-table]")].map((figure) => draw(Chart, figure)).filter(Boolean) : [];
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
drawAll();
