"use strict";
const find = (id) => document.getElementById(id);
const textOf = (cell) => cell.textContent;

function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

// A table that can be sorted, searched and saved. Each row keeps its values: numbers with all
// digits, or text. The document contains only the rows that are shown.
class Listing {
  // Rows come from the document, their numbers from `columns` (null for a column of text).
  static read(id, columns = []) {
    const table = find(id);
    if (!table) return null;
    const rows = [...table.tBodies[0].rows].map((row, i) => {
      const values = [...row.cells].map((cell, j) => columns[j]?.[i] ?? textOf(cell));
      const names = [...row.querySelectorAll(".name")].map(textOf);
      return { element: row, values, names };
    });
    return new Listing(table, rows);
  }

  constructor(table, rows) {
    this.table = table;
    this.rows = rows;
    this.words = []; // that names must contain
    this.accepts = () => true; // what else a row must satisfy
    this.most = Infinity; // rows in the document
    table.tHead.addEventListener("click", (event) => {
      const head = event.target.closest("button")?.parentElement;
      if (head) this.sort(head);
    });
    document.querySelector(`.csv[data-of="${table.id}"]`).addEventListener("click", () => {
      save(`${pageName()}.${table.id}.csv`, this.csv());
    });
  }

  get heads() {
    return [...this.table.tHead.rows[0].cells].filter((head) => !("drawn" in head.dataset));
  }

  get shown() {
    const words = this.words.filter((word) => this.knows(word));
    return this.rows.filter((row) => {
      row.searched ??= row.names.join(" ").toLocaleLowerCase();
      return words.every((word) => row.searched.includes(word)) && this.accepts(row);
    });
  }

  // A word that occurs in no name of this table does not filter it.
  knows(word) {
    return this.rows.some((row) => row.names.some((n) => n.toLocaleLowerCase().includes(word)));
  }

  place() {
    const shown = this.shown;
    const placed = shown.slice(0, this.most);
    for (const row of placed) row.element ??= this.build(row);
    this.table.tBodies[0].replaceChildren(...placed.map((row) => row.element));
    let count =
      shown.length < this.rows.length ? `${shown.length} of ${this.rows.length} rows` : "";
    if (placed.length < shown.length) {
      count = `first ${placed.length} of ${shown.length} rows; the CSV has all`;
    }
    find(`${this.table.id}-count`).textContent = count;
  }

  sort(head) {
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of this.heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const key = head.dataset.kind === "t" ? textKey : numberKey;
    const column = head.cellIndex;
    const way = descending ? -1 : 1;
    const keys = new Map(this.rows.map((row) => [row, key(row.values[column])]));
    this.rows.sort((a, b) => order(keys.get(a), keys.get(b), way));
    this.place();
  }

  csv() {
    const heads = this.heads;
    const rows = this.shown.map((row) => row.values.slice(0, heads.length));
    return [heads.map(textOf), ...rows].map((row) => row.map(csvCell).join(",") + "\n").join("");
  }
}

const textKey = (value) => String(value).toLocaleLowerCase() || null;
function numberKey(value) {
  const number = Number.parseFloat(value);
  return Number.isNaN(number) ? null : number;
}

// Missing values come last in both orders.
function order(a, b, way) {
  if (a === null || b === null) return (a === null) - (b === null);
  return (a < b ? -1 : a > b ? 1 : 0) * way;
}

// One line per row, with control characters escaped and formulas of spreadsheets as text.
function csvCell(value) {
  if (typeof value === "number") return String(value);
  let text = String(value ?? "").replace(
    /[\0-\x1f\x7f-\x9f\u2028\u2029]/g,
    (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  if (/^\s*[=+\-@]./.test(text) && Number.isNaN(Number(text))) text = `'${text}`;
  return /[",;|']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function pageName() {
  const file = location.pathname.split("/").pop();
  return decodeURIComponent(file.replace(/\.[^.]*$/, "")) || "report";
}

function save(name, text) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const numbers = JSON.parse(textOf(find("numbers")));
const ranking = Listing.read("ranking", numbers.ranking);
const pairs = Listing.read("pairs", numbers.pairs);
const matrix = Listing.read("matrix");
const groups = Listing.read("groups", numbers.groups);
const heat = Listing.read("heat");
const searched = [ranking, matrix, pairs, groups].filter(Boolean);

// The cells of the heat map and the matrix show rows of the tables below them.
const keyOf = (...names) => names.join("\n");
const groupAt = new Map(groups.rows.map((row) => [keyOf(...row.names), row]));
const pairAt = new Map((pairs?.rows ?? []).map((row) => [keyOf(...row.names), row]));
const heatModels = heat ? heat.heads.slice(1).map(textOf) : [];
if (heat) {
  const estimate = groups.heads.findIndex((head) => textOf(head) === "estimate");
  for (const row of heat.rows) {
    heatModels.forEach((model, i) => {
      row.values[i + 1] = groupAt.get(keyOf(row.names[0], model))?.values[estimate] ?? "";
    });
  }
}
for (const row of matrix?.rows ?? []) {
  row.values = [...row.element.cells].map((cell, i) => (i ? cell.className : textOf(cell)));
}

// The heat map shows the topics and models of the groups in the table.
const hiding = document.head.appendChild(element("style"));
function placeHeat() {
  const shown = groups.shown;
  const topics = new Set(shown.map((row) => row.names[0]));
  const models = new Set(shown.map((row) => row.names[1]));
  heat.accepts = (row) => topics.has(row.names[0]);
  heat.place();
  hiding.textContent = heatModels
    .map((name, i) => (models.has(name) ? "" : `#heat tr > :nth-child(${i + 2}){display:none}`))
    .join("");
}

function search() {
  const words = find("search").value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  for (const listing of searched) {
    listing.words = words;
    listing.place();
  }
  if (heat) placeHeat();
  const unknown = words.filter((word) => !searched.some((listing) => listing.knows(word)));
  const matching = searched.filter((listing) => words.some((word) => listing.knows(word)));
  const count = matching.reduce((sum, listing) => sum + listing.shown.length, 0);
  const found = words.length ? `${count} rows` : "";
  find("found").textContent = unknown.length ? `No name contains ${unknown.join(", ")}.` : found;
}
let waiting;
find("search").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, 80);
});
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => event.preventDefault());
}
find("outlying")?.addEventListener("input", (event) => {
  groups.accepts = (row) => !event.target.checked || "outlying" in row.element.dataset;
  groups.place();
  if (heat) placeHeat();
});
find("pair-verdict")?.addEventListener("input", (event) => {
  const wanted = event.target.value;
  pairs.accepts = (row) => !wanted || row.element.dataset.verdict === wanted;
  pairs.place();
});

// The text of a cell appears below its table; a click lists its items.
function explain(listing, id, about) {
  if (!listing) return;
  const names = listing.heads.slice(1).map(textOf);
  for (const kind of ["pointerover", "click"]) {
    listing.table.addEventListener(kind, (event) => {
      const cell = event.target.closest("tbody td");
      const row = cell && cell.parentElement.cells[0];
      const found = cell && about(textOf(row), names[cell.cellIndex - 1]);
      if (!found) return;
      find(id).textContent = found.sentence;
      if (kind === "click") chooseItems(find(`${id}-items`), found.choice);
    });
  }
}
// The texts in the cells of a row.
const printed = (row) => [...row.element.cells].map(textOf);
explain(heat, "cell", (topic, model) => {
  const row = groupAt.get(keyOf(topic, model));
  if (!row) return null;
  const [n, direct, estimate, low, high] = printed(row).slice(2);
  const sentence = `${estimate} (${low} to ${high}); direct estimate ${direct} from n = ${n}.`;
  return { sentence: `${model}, ${topic}: ${sentence}`, choice: { model, topic } };
});
explain(matrix, "pair", (model, other) => {
  if (model === other) return null;
  const choice = { model, other };
  const row = pairAt.get(keyOf(model, other)) ?? pairAt.get(keyOf(other, model));
  if (!row) return { sentence: `${model} and ${other}`, choice }; // not on the page
  const [first, is, second, difference, low, high] = printed(row);
  return { sentence: `${first} is ${is} ${second}: ${difference} (${low} to ${high}).`, choice };
});

// Paper has no closed sections.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
});
