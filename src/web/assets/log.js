// The log page alone, behind page.js, whose functions it uses. Without it the page shows the same after a reload.

const rows = () => document.getElementById("rows");
const news = document.getElementById("news");
const plainTitle = document.title;
let newRows = [];

// ---- days

/** Days as the zone has them that times are shown in. */
function groupByDays() {
  const body = rows();
  if (!body) return;
  for (const row of body.querySelectorAll("tr.day")) row.remove();
  const { day, name } = zone();
  const now = Date.now();
  const words = new Map([
    [day.format(now - 86_400_000), "Yesterday, "],
    [day.format(now), "Today, "],
  ]);
  let above;
  for (const row of [...body.children]) {
    const date = day.format(Date.parse(row.querySelector(".when time")?.dateTime ?? ""));
    if (date !== above) row.before(dayRow(`${words.get(date) ?? ""}${date.replace(",", "")} `, name));
    above = date;
  }
}

function dayRow(words, zoneName) {
  const row = document.createElement("tr");
  row.className = "day";
  const head = document.createElement("th");
  head.colSpan = 5;
  head.scope = "rowgroup";
  const mark = document.createElement("span");
  mark.className = "zone";
  mark.textContent = zoneName;
  head.append(words, mark);
  row.append(head);
  return row;
}

// ---- how dense

function offerDensity() {
  const button = document.getElementById("density");
  if (!button) return;
  const isRoomy = () => wish("rows") === "roomy";
  const show = () => {
    document.documentElement.classList.toggle("roomy", isRoomy());
    button.textContent = isRoomy() ? "Dense rows" : "Roomy rows";
  };
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    keepWish("rows", isRoomy() ? undefined : "roomy");
    show();
  });
}

// ---- the times of the filters

const timeFields = [...document.querySelectorAll(".filters input[type=datetime-local]")];

/** What the field takes: the time in the zone that is shown, without a zone. */
function localText(at) {
  if (zone() === utc) return at.slice(0, 19);
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function showTimeFields() {
  for (const field of timeFields) {
    const label = field.closest("label").querySelector("span");
    label.textContent = label.textContent.replace(/\(.*\)/, `(${zone().name})`);
    if (field.dataset.at) field.value = localText(field.dataset.at).replace(/:00$/, "");
  }
}

/** An address without what is empty, and with times that say their zone. */
function tidyForm() {
  const form = document.querySelector("form.filters");
  for (const field of timeFields) {
    field.addEventListener("change", () => {
      const text = zone() === utc ? `${field.value}Z` : field.value;
      field.dataset.at = field.value === "" ? "" : new Date(text).toISOString();
    });
  }
  form?.addEventListener("formdata", ({ formData }) => {
    for (const field of timeFields) {
      if (field.dataset.at) formData.set(field.name, field.dataset.at);
    }
    for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
  });
}

// ---- what is new

/** @param goesOn there are older rows on another page. */
function applyRows(body, freshRows, goesOn) {
  const known = new Map([...body.querySelectorAll("tr[id]")].map((row) => [row.id, row]));
  for (const next of freshRows) {
    const row = known.get(next.id);
    const isSame = row?.dataset.alert === next.dataset.alert;
    if (row && isSame && row.dataset.version !== next.dataset.version)
      keepingFocus(row, () => row.replaceWith(next), next);
  }
  markGone(body, freshRows);
  if (!body.parentElement.hasAttribute("data-newest")) return;
  // Only what stands above all that is known: the filters may let an older alert through by now.
  const isKnown = (row) => known.get(row.id)?.dataset.alert === row.dataset.alert;
  const firstKnown = freshRows.findIndex(isKnown);
  newRows = firstKnown === -1 ? freshRows : freshRows.slice(0, firstKnown);
  countNews(newRows.length, goesOn && newRows.length === freshRows.length);
}

/** Rows that the filters no longer let through stay where they are, and say so. */
function markGone(body, freshRows) {
  const present = new Set(freshRows.map((row) => row.id));
  const all = [...body.querySelectorAll("tr[id]")];
  // What stands below the last of the fresh ones is on their next page.
  const last = freshRows.length === 0 ? all.length : all.findLastIndex((row) => present.has(row.id));
  for (const row of all.slice(0, Math.max(last, 0))) {
    if (present.has(row.id) || row.querySelector(".gone")) continue;
    const mark = document.createElement("span");
    mark.className = "origin gone";
    mark.textContent = "no longer matches the filters";
    row.querySelector(".what").append(mark);
  }
}

function countNews(count, isMore) {
  news.hidden = count === 0;
  if (count > 0) news.textContent = `${count}${isMore ? "+" : ""} new ${count === 1 ? "alert" : "alerts"}`;
  document.title = count === 0 ? plainTitle : `(${count}${isMore ? "+" : ""}) ${plainTitle}`;
}

function showNews(event) {
  const body = rows();
  // None of the rows known so far is on the newest page any more: only a reload shows it without a gap.
  if (!body || news.textContent.includes("+")) return;
  event.preventDefault();
  for (const row of newRows) row.classList.add("fresh");
  const [first] = newRows;
  // A newer alert of a key that has a row takes its place at the top.
  for (const row of newRows) document.getElementById(row.id)?.remove();
  body.prepend(...newRows);
  newRows = [];
  countNews(0, false);
  groupByDays();
  scrollTo({ top: 0 });
  first?.querySelector("a")?.focus({ preventScroll: true });
}

document.addEventListener("tocsin:fresh", ({ detail: fresh }) => {
  const body = rows();
  const freshRows = [...fresh.querySelectorAll("#rows > tr[id]")];
  if (body) applyRows(body, freshRows, fresh.querySelector("a[rel=next]") !== null);
  else if (freshRows.length > 0) document.querySelector(".empty")?.replaceWith(fresh.querySelector("table.alerts"));
  groupByDays();
});
document.addEventListener("tocsin:zone", () => {
  groupByDays();
  showTimeFields();
});
news?.addEventListener("click", showNews);
groupByDays();
showTimeFields();
tidyForm();
offerDensity();
