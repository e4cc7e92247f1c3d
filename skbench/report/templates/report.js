"use strict";
const find = (id) => document.getElementById(id);
const rowsOf = (id) => [...(find(id)?.tBodies[0].rows ?? [])];
const textOf = (cell) => cell.textContent.trim();

function key(row, column, kind) {
  const cell = row.cells[column];
  const text = cell.dataset.value ?? textOf(cell);
  if (kind === "t") return text.toLocaleLowerCase() || null;
  const number = Number.parseFloat(text);
  return Number.isNaN(number) ? null : number;
}
// What is blank comes last, whichever way.
function order(a, b, way) {
  if (a === null || b === null) return (a === null) - (b === null);
  return (a < b ? -1 : a > b ? 1 : 0) * way;
}
for (const button of document.querySelectorAll(".sortable th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, table = head.closest("table");
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row) => [key(row, head.cellIndex, head.dataset.kind), row]);
    rows.sort(([a], [b]) => order(a, b, descending ? -1 : 1));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  });
}

// All words must occur, in any order.
function matcher(input) {
  const words = (input?.value ?? "").toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return (text) => words.every((word) => text.toLocaleLowerCase().includes(word));
}
function onInput(ids, act) {
  let waiting;
  for (const id of ids) {
    find(id)?.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(act, 80); });
  }
  for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());
}

const heat = find("heat"), groups = rowsOf("groups");
const models = heat ? [...heat.tHead.rows[0].cells].slice(1).map(textOf) : [];
const hiding = document.head.appendChild(document.createElement("style"));
const names = groups.map((row) => (heat ? [textOf(row.cells[0]), textOf(row.cells[1])] : ["", textOf(row.cells[0])]));
onInput(["topic-names", "model-names", "odd"], () => {
  const topic = matcher(find("topic-names")), model = matcher(find("model-names"));
  const odd = find("odd")?.checked ?? false;
  const shownTopics = new Set(), shownModels = new Set();
  let count = 0;
  groups.forEach((row, i) => {
    const [t, m] = names[i];
    row.hidden = !(topic(t) && model(m) && (!odd || "odd" in row.dataset));
    if (!row.hidden) { shownTopics.add(t); shownModels.add(m); count += 1; }
  });
  if (heat) {
    for (const row of rowsOf("heat")) row.hidden = !shownTopics.has(textOf(row.cells[0]));
    hiding.textContent = models.map((name, i) => (shownModels.has(name) ? "" : `#heat tr > :nth-child(${i + 2}){display:none}`)).join("");
  }
  find("count").textContent = `${count} of ${groups.length} groups`;
});

const pairs = rowsOf("pairs");
onInput(["pair-names", "pair-verdict"], () => {
  const match = matcher(find("pair-names")), verdict = find("pair-verdict").value;
  let count = 0;
  for (const row of pairs) {
    row.hidden = !(match(`${textOf(row.cells[0])} ${textOf(row.cells[2])}`) && (!verdict || row.dataset.verdict === verdict));
    count += !row.hidden;
  }
  find("pair-count").textContent = `${count} of ${pairs.length} pairs`;
});

// What a cell stands for is told below its table; the numbers are those of the rows further down.
function telling(table, output, tell) {
  if (!table) return;
  for (const kind of ["pointerover", "click"]) {
    table.addEventListener(kind, (event) => {
      const cell = event.target.closest("tbody td");
      const told = cell && tell(cell);
      if (told) output.textContent = told;
    });
  }
}
const groupAt = new Map(names.map(([t, m], i) => [`${t}\n${m}`, groups[i]]));
telling(heat, find("cell"), (cell) => {
  const topic = textOf(cell.parentElement.cells[0]), model = models[cell.cellIndex - 1];
  const row = groupAt.get(`${topic}\n${model}`);
  if (!row) return "";
  const [n, direct, estimate, low, high] = [...row.cells].slice(2, 7).map(textOf);
  return `${model}, ${topic}: ${estimate} (${low} to ${high}); own mean ${direct} of n = ${n}.`;
});
const pairAt = new Map(pairs.map((row) => [row.dataset.pair, row]));
telling(find("matrix"), find("pair"), (cell) => {
  const a = cell.parentElement.rowIndex - 1, b = cell.cellIndex - 1;
  const row = pairAt.get(`${a}-${b}`) ?? pairAt.get(`${b}-${a}`);
  if (!row) return "";
  const [first, is, second, difference, low, high] = [...row.cells].map(textOf);
  return `${first} is ${is} ${second}: ${difference} (${low} to ${high}).`;
});

// On paper nothing can be opened.
let closed = [];
addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("details:not([open])")]; for (const d of closed) d.open = true; });
addEventListener("afterprint", () => { for (const d of closed) d.open = false; });
