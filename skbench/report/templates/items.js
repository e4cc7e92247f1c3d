// The items that a model failed, and those on which two models differ. Each item is a list: the
// number of its topic, its name, and the score of each model (null for a missing answer).
const data = JSON.parse(find("scores") ? textOf(find("scores")) : "null");
const MOST_ITEMS = 200; // rows in the document; phones are slow with thousands

// A short form of a score; the CSV has all digits.
const short = (value) => (typeof value === "number" ? String(Number(value.toPrecision(4))) : value);

class ItemListing extends Listing {
  constructor(id) {
    super(find(id), []);
    this.id = id;
    this.most = MOST_ITEMS;
  }

  // Includes items that are not listed, so that the search knows their names.
  knows(word) {
    data.searched ??= data.items.map(([topic, name]) =>
      `${name} ${data.topics[topic] ?? ""}`.toLocaleLowerCase(),
    );
    return data.searched.some((names) => names.includes(word));
  }

  show(title, headings, rows) {
    find(`${this.id}-title`).textContent = title;
    this.headings = headings;
    this.table.tHead.rows[0].replaceChildren(
      ...headings.map(({ text, kind, classes }) => {
        const head = element("th", "", classes);
        head.scope = "col";
        head.dataset.kind = kind;
        head.append(element("button", text));
        head.firstChild.type = "button";
        return head;
      }),
    );
    this.rows = rows.map((values) => ({
      values,
      names: values.slice(0, data.topics.length ? 2 : 1),
    }));
    this.place();
  }

  build(row) {
    const made = element("tr");
    row.values.forEach((value, i) => {
      const cell = element(i ? "td" : "th", short(value), this.headings[i].classes);
      if (!i) cell.scope = "row";
      made.append(cell);
    });
    return made;
  }
}

const listings = data ? ["items-1", "items-2"].map((id) => new ItemListing(id)) : [];
searched.push(...listings);

// The choice: numbers of models and of a topic, or null.
function chosen(id) {
  const value = find(id)?.value ?? "";
  return value === "" ? null : Number(value);
}

// Mean score of the other models; null if none of them answered.
function meanOfOthers(item, ...models) {
  const known = item.slice(2).filter((score, m) => score !== null && !models.includes(m));
  return known.length ? known.reduce((sum, score) => sum + score, 0) / known.length : "";
}

// Rows of a table: names of the item, scores of these models, mean score of the others.
function itemRows(items, ...models) {
  return items.map((item) => [
    item[1],
    ...(data.topics.length ? [data.topics[item[0]]] : []),
    ...models.map((m) => item[m + 2]),
    ...(data.models.length > models.length ? [meanOfOthers(item, ...models)] : []),
  ]);
}

function itemHeadings(...scores) {
  const others = data.models.length > scores.length ? ["others"] : [];
  return [
    { text: "item", kind: "t", classes: "text name" },
    ...(data.topics.length ? [{ text: "topic", kind: "t", classes: "text" }] : []),
    ...scores.map((text, i) => ({ text, kind: "n", classes: i ? "" : "estimate" })),
    ...others.map((text) => ({ text, kind: "n", classes: "" })),
  ];
}

const counted = (n) => `${n.toLocaleString("en")} item${n === 1 ? "" : "s"}`;

function showOne(model, items, where) {
  const name = data.models[model];
  const score = (item) => item[model + 2];
  const answered = items.filter((item) => score(item) !== null);
  const failed = data.binary ? answered.filter((item) => score(item) === 0) : answered;
  // The lowest scores come first, or the failures on which other models did well.
  const key = data.binary ? (item) => -meanOfOthers(item, model) : score;
  failed.sort((a, b) => key(a) - key(b));
  const title = data.binary ? `Failed by ${name}` : `Scores of ${name}, lowest first`;
  listings[0].show(title, itemHeadings("score"), itemRows(failed, model));
  find("items-note").textContent = data.binary
    ? `${name} failed ${failed.length.toLocaleString("en")} of ${counted(answered.length)}${where}.`
    : `${name} answered ${counted(answered.length)}${where}.`;
}

function showTwo(model, other, items, where) {
  const [a, b] = [data.models[model], data.models[other]];
  const difference = (item) => item[model + 2] - item[other + 2];
  const both = items.filter((item) => item[model + 2] !== null && item[other + 2] !== null);
  const better = both.filter((item) => difference(item) > 0);
  const worse = both.filter((item) => difference(item) < 0);
  const bySize = (x, y) => Math.abs(difference(y)) - Math.abs(difference(x));
  const headings = itemHeadings(a, b);
  listings[0].show(`${a} better than ${b}`, headings, itemRows(better.sort(bySize), model, other));
  listings[1].show(`${b} better than ${a}`, headings, itemRows(worse.sort(bySize), model, other));
  const alike = both.length - better.length - worse.length;
  find("items-note").textContent =
    `Of ${counted(both.length)} that both answered${where}, ` +
    `${a} is better on ${better.length.toLocaleString("en")}, ` +
    `${b} on ${worse.length.toLocaleString("en")}, and the scores are equal on ${alike.toLocaleString("en")}.`;
}

function showItems() {
  const [model, other, topic] = ["item-model", "item-other", "item-topic"].map(chosen);
  const items = topic === null ? data.items : data.items.filter((item) => item[0] === topic);
  const page = data.items.length < data.n_items ? " on this page" : "";
  const where = (topic === null ? "" : ` in ${data.topics[topic]}`) + page;
  find("items-2-part").hidden = other === null || other === model;
  listings[1].rows = [];
  if (find("items-2-part").hidden) showOne(model, items, where);
  else showTwo(model, other, items, where);
}

// Lists the items of these names and links to the list.
function chooseItems(link, { model, other, topic }) {
  if (!data) return;
  const places = {
    "item-model": data.models.indexOf(model),
    "item-other": data.models.indexOf(other),
    "item-topic": data.topics.indexOf(topic),
  };
  for (const [id, place] of Object.entries(places)) {
    if (find(id)) find(id).value = place < 0 ? "" : String(place);
  }
  link.hidden = false;
  link.textContent = other
    ? `Items on which ${model} and ${other} differ`
    : `Items of ${model} in ${topic}`;
  showItems();
}

if (data) {
  const choices = {
    "item-model": data.models,
    "item-other": data.models,
    "item-topic": data.topics,
  };
  for (const [id, names] of Object.entries(choices)) {
    names.forEach((name, i) => find(id)?.append(new Option(name, i)));
    find(id)?.addEventListener("input", showItems);
  }
  if (data.items.length < data.n_items) {
    const [here, all] = [data.items.length, data.n_items].map((n) => n.toLocaleString("en"));
    const isRight = (item) => data.binary && item?.slice(2).every((score) => score !== 0);
    const rest = isRight(data.items[data.items.length - 1])
      ? "All models answered the others correctly."
      : "Items that some model did not answer correctly come first.";
    const link = element("a", data.file);
    link.href = `./${encodeURIComponent(data.file)}`;
    find("items-left-out").append(
      `The page shows ${here} of ${all} items, because it is limited to 5 MB. ${rest} All items are in `,
      link,
      ", beside this page.",
    );
    find("items-left-out").hidden = false;
  }
  showItems();
}
