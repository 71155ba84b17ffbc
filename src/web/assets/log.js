// The log page alone, behind page.js, whose functions it uses. Without it the page shows the same after a reload.

const rows = () => document.getElementById("rows");
/** Of one page of the log, as the relay gives it unasked. */
const rowsOfPage = 50;
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
    [dayBefore(now, day), "Yesterday, "],
    [day.format(now), "Today, "],
  ]);
  let above;
  for (const row of [...body.children]) {
    const date = day.format(Date.parse(row.querySelector(".when time")?.dateTime ?? ""));
    if (date !== above) row.before(dayRow(`${words.get(date) ?? ""}${date.replace(",", "")} `, name));
    above = date;
  }
}

/** Not 24 hours ago: where clocks are set, a day has 23 or 25. */
function dayBefore(now, day) {
  let at = now;
  while (day.format(at) === day.format(now)) at -= 1_800_000;
  return day.format(at);
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

/** The newest page, or as many rows as something needs that has changed below it. */
hooks.refreshAddress = () => {
  const shown = shownRows();
  const isBelow = shown.slice(rowsOfPage).some((row) => alertsOf(row).some((id) => changedAlerts.has(id)));
  isWhole = isBehind || isBelow;
  const count = isBehind ? mostRows : shown.length;
  isBehind = false;
  if (!isWhole) return pageAddress();
  const query = new URLSearchParams(location.search);
  query.set("rows", String(Math.min(count, mostRows) + rowsOfPage));
  return `/?${query}`;
};

const shownRows = () => [...(rows()?.querySelectorAll("tr[data-alert]") ?? [])];
/** The page that was asked for last is longer than the newest one. */
let isWhole = false;
/** What the last page did not reach has changed meanwhile. */
let isBehind = false;

/** A page that stays open for days keeps this many rows. */
const mostRows = 300;
let paused = false;
let unseen = 0;

/**
 * @param changed ids of the alerts for which the page was asked for again.
 * @param goesOn there are older rows on another page.
 */
function applyRows(body, freshRows, changed, goesOn) {
  const known = new Map(shownRows().map((row) => [row.dataset.alert, row]));
  const knownOf = (row) =>
    alertsOf(row)
      .map((id) => known.get(id))
      .find(Boolean);
  for (const next of freshRows) {
    const row = knownOf(next);
    if (!row || (row.id === next.id && row.dataset.version === next.dataset.version)) continue;
    // It was read and has a key now, and an older one of that key has no row any more.
    if (row.id !== next.id) document.getElementById(next.id)?.remove();
    keepingFocus(row, () => row.replaceWith(next), next);
    removeTwins(next);
  }
  settleOthers(body, freshRows, changed, goesOn);
  if (!body.parentElement.hasAttribute("data-newest")) return;
  // Only what stands above all that is known: the filters may let an older alert through by now.
  const firstKnown = freshRows.findIndex((row) => knownOf(row) !== undefined);
  newRows = firstKnown === -1 ? freshRows : freshRows.slice(0, firstKnown);
  alarm(newRows);
  // None of the rows known so far is on the newest page any more: only a reload shows it without a gap.
  const isMore = goesOn && newRows.length > 0 && newRows.length === freshRows.length;
  if (newRows.length > 0 && !paused && !isMore) insertRows(body);
  else countNews(newRows.length, isMore);
}

/**
 * The rows that the fresh page does not have. Those below its last one it does not reach. Of the others, a filter no longer
 * lets the alert through, and the row says so; or it was drawn before the alert was read, and a newer one of its key has a row.
 */
function settleOthers(body, freshRows, changed, goesOn) {
  const present = new Set(freshRows.flatMap((row) => [row.id, ...alertsOf(row)]));
  const all = shownRows();
  const last = goesOn ? all.findLastIndex((row) => present.has(row.dataset.alert)) : all.length;
  const isFiltered = body.parentElement.hasAttribute("data-filtered");
  for (const [index, row] of all.entries()) {
    if (present.has(row.id) || present.has(row.dataset.alert)) continue;
    const isUnread = row.hasAttribute("data-unread");
    if (index > last && !isWhole) isBehind ||= isUnread || alertsOf(row).some((id) => changed.has(id));
    else if (isUnread && (index < last || !goesOn)) row.remove();
    else if (index < last && isFiltered && !row.querySelector(".gone")) row.querySelector(".what").append(goneMark());
  }
  if (isBehind) wantRefresh();
}

/** All that stand in it: a row may be of two that differ in severity alone. */
const alertsOf = ({ dataset: { alert, also = "" } }) => [alert, ...also.split(" ").filter(Boolean)];

/** What was a row before its twin came. */
function removeTwins(row) {
  const alerts = alertsOf(row);
  for (const other of shownRows()) if (other !== row && alerts.includes(other.dataset.alert)) other.remove();
}

function goneMark() {
  const mark = document.createElement("span");
  mark.className = "origin gone";
  mark.textContent = "no longer matches the filters";
  return mark;
}

/** At the top; what is being read, pointed at or focused stays where it is on the screen. */
function insertRows(body) {
  const isUsed = body.matches(":hover") || body.contains(document.activeElement);
  const isAbove = body.getBoundingClientRect().top < 0;
  const anchor = [...body.querySelectorAll("tr[id]")].find((row) => row.getBoundingClientRect().bottom > 0);
  const before = anchor?.getBoundingClientRect().top;
  for (const row of newRows) {
    row.classList.add("fresh");
    // A newer alert of a key that has a row takes its place at the top.
    const older = document.getElementById(row.id);
    if (older !== anchor) older?.remove();
    else older.removeAttribute("id");
  }
  body.prepend(...newRows);
  groupByDays();
  for (const row of [...body.querySelectorAll("tr[data-alert]")].slice(mostRows)) row.remove();
  if (anchor && (isUsed || isAbove))
    scrollBy({ top: anchor.getBoundingClientRect().top - before, behavior: "instant" });
  for (const row of body.querySelectorAll("tr[data-alert]:not([id])")) row.remove();
  if (document.hidden || isUsed || isAbove) unseen += newRows.length;
  newRows = [];
  countNews(unseen, false);
}

function countNews(count, isMore) {
  const isInSight = count > 0 && newRows.length === 0 && (rows()?.getBoundingClientRect().top ?? 0) >= 0;
  news.hidden = count === 0 || isInSight;
  if (count > 0) news.textContent = `${count}${isMore ? "+" : ""} new ${count === 1 ? "alert" : "alerts"}`;
  document.title = count === 0 ? plainTitle : `(${count}${isMore ? "+" : ""}) ${plainTitle}`;
}

function showNews(event) {
  const body = rows();
  if (!body || news.textContent.includes("+")) return;
  event.preventDefault();
  const first = newRows[0] ?? body.querySelector("tr[id]");
  if (newRows.length > 0) insertRows(body);
  unseen = 0;
  countNews(0, false);
  scrollTo({ top: 0 });
  first?.querySelector("a")?.focus({ preventScroll: true });
}

/** What came while nobody looked counts as seen once its rows are in sight. */
function see() {
  if (unseen === 0 || document.hidden || (rows()?.getBoundingClientRect().top ?? 0) < 0) return;
  unseen = 0;
  countNews(newRows.length, false);
}

function offerPause() {
  const button = document.getElementById("pause");
  if (!button || !rows()?.parentElement.hasAttribute("data-newest")) return;
  const show = () => {
    button.textContent = paused ? "Go on" : "Pause";
    button.setAttribute("aria-pressed", String(paused));
  };
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    paused = !paused;
    if (!paused && newRows.length > 0 && !news.textContent.includes("+")) insertRows(rows());
    show();
  });
}

// ---- being told

/** Of which alerts it was told, so that each is once. */
const told = new Set();

function alarm(fresh) {
  const untold = fresh.filter((row) => !told.has(row.dataset.alert));
  for (const row of untold) told.add(row.dataset.alert);
  if (untold.length === 0) return;
  if (wish("sound") === "on") beep();
  if (wish("notify") !== "on" || !document.hidden || !("Notification" in window)) return;
  const title = untold[0].querySelector(".what > a").textContent;
  const text = untold.length === 1 ? title : `${title}, and ${untold.length - 1} more`;
  const notification = new Notification(untold.length === 1 ? "New alert" : `${untold.length} new alerts`, {
    body: text,
    tag: "tocsin",
  });
  notification.addEventListener("click", () => {
    focus();
    notification.close();
  });
}

let audio;

/** Two short tones. */
function beep() {
  audio ??= new AudioContext();
  for (const [index, pitch] of [880, 660].entries()) {
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    const at = audio.currentTime + index * 0.18;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.12, at);
    volume.gain.exponentialRampToValueAtTime(0.001, at + 0.16);
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + 0.17);
  }
}

function offerAlarms() {
  const menu = document.getElementById("alarms");
  if (!menu) return;
  menu.hidden = false;
  const note = document.createElement("p");
  note.className = "soft";
  note.textContent = "Of what this view shows, while the page is open.";
  menu.querySelector("div").append(
    checkbox("Notification of the browser", "notify", async () => {
      if (!("Notification" in window)) return "This browser has none here.";
      const answer = await Notification.requestPermission();
      return answer === "granted" ? undefined : "The browser does not allow it for this site.";
    }),
    checkbox("Sound", "sound", () => beep()),
    note,
  );
}

/** @param begin what is done when it is switched on; says why it cannot be. */
function checkbox(words, name, begin) {
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = wish(name) === "on";
  const text = document.createElement("span");
  text.textContent = words;
  box.addEventListener("change", async () => {
    const problem = box.checked ? await begin() : undefined;
    if (problem) box.checked = false;
    text.textContent = problem ?? words;
    keepWish(name, box.checked ? "on" : undefined);
  });
  label.append(box, text);
  return label;
}

// ---- bars

/** From one bar to another: the time between them. The arrows go from bar to bar. */
function watchBars() {
  const barOf = (target) => target.closest?.(".over-time a[data-from]");
  let begun;
  document.addEventListener("pointerdown", ({ target }) => {
    begun = barOf(target);
  });
  document.addEventListener("dragstart", (event) => {
    if (barOf(event.target)) event.preventDefault();
  });
  document.addEventListener("pointerup", ({ target }) => {
    const ended = barOf(target);
    if (!begun || !ended || begun === ended) return;
    const ends = [begun, ended].map(({ dataset }) => [Number(dataset.from), Number(dataset.to)]);
    const address = new URL(ended.getAttribute("href"), location.href);
    address.searchParams.set("from", new Date(Math.min(...ends.map(([from]) => from))).toISOString());
    address.searchParams.set("to", new Date(Math.max(...ends.map(([, to]) => to)) - 1).toISOString());
    location.assign(address);
  });
  document.addEventListener("keydown", (event) => {
    const bar = barOf(event.target);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!bar || !step) return;
    const bars = [...bar.parentElement.querySelectorAll("a[data-from]")];
    bars[bars.indexOf(bar) + step]?.focus();
    event.preventDefault();
  });
  if (document.querySelector("[data-counting]")) setTimeout(wantRefresh, 1_000);
}

document.addEventListener("tocsin:fresh", ({ detail: { fresh, changed } }) => {
  const body = rows();
  const freshRows = [...fresh.querySelectorAll("#rows > tr[id]")];
  if (body) applyRows(body, freshRows, changed, fresh.querySelector("a[rel=next]") !== null);
  else if (freshRows.length > 0) document.querySelector(".empty")?.replaceWith(fresh.querySelector("table.alerts"));
  groupByDays();
});
document.addEventListener("tocsin:zone", () => {
  groupByDays();
  showTimeFields();
});
news?.addEventListener("click", showNews);
addEventListener("scroll", see, { passive: true });
document.addEventListener("visibilitychange", see);
groupByDays();
showTimeFields();
tidyForm();
offerPause();
offerAlarms();
watchBars();
