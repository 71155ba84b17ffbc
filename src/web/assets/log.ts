import { alarm } from "./alarms.ts";
import { changedAlerts, hooks, morph, pageAddress, wantRefresh } from "./live.ts";
import { utc, zone } from "./times.ts";
import { dayBefore } from "./zones.ts";

type Row = HTMLTableRowElement;

const rowsOfPage = 50;
/** The most rows on a page that is open for days. */
const mostRows = 300;

const plainTitle = document.title;
const news = document.getElementById("news");
const rows = () => document.getElementById("rows");
const shownRows = () => rowsIn(document, "tr[data-alert]");
const rowsIn = (root: ParentNode, which: string) => [...root.querySelectorAll<Row>(`#rows > ${which}`)];

/** The rows of the last fetched page. `goesOn`: older rows are on another page. */
let given: { rows: Row[]; goesOn: boolean } = { rows: [], goesOn: false };
let waiting = 0;
/** Whether the last fetch asked for more rows than one page. */
let isWhole = false;
/** Whether alerts below the last fetched page have changed meanwhile. */
let isBehind = false;
let paused = false;
let unseen = 0;

// ---- days

function groupByDays(): void {
  const body = rows();
  if (!body) return;
  for (const row of body.querySelectorAll("tr.day")) row.remove();
  const { day, name } = zone();
  const now = Date.now();
  const words = new Map([
    [dayBefore(now, day), "Yesterday, "],
    [day.format(now), "Today, "],
  ]);
  let above: string | undefined;
  for (const row of [...body.children]) {
    const date = day.format(Date.parse(row.querySelector<HTMLTimeElement>(".when time")?.dateTime ?? ""));
    if (date !== above) row.before(dayRow(`${words.get(date) ?? ""}${date.replace(",", "")} `, name));
    above = date;
  }
}

function dayRow(words: string, zoneName: string): Row {
  const row = document.createElement("tr");
  row.className = "day";
  row.innerHTML = `<th colspan="5" scope="rowgroup">${words}<span class="zone">${zoneName}</span></th>`;
  return row;
}

// ---- the times of the filters

const timeFields = [...document.querySelectorAll<HTMLInputElement>(".filters input[type=datetime-local]")];

/** The time in the shown zone, without a zone, as the field wants it. */
function localText(at: string): string {
  if (zone() === utc) return at.slice(0, 19);
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function showLogTimes(): void {
  groupByDays();
  for (const field of timeFields) {
    const label = field.closest("label")?.querySelector("span");
    if (label) label.textContent = label.textContent.replace(/\([^()]*\)/, `(${zone().name})`);
    if (field.dataset.at) field.value = localText(field.dataset.at).replace(/:00$/, "");
  }
}

/** Removes empty fields from the form's address, and adds the zone to its times. */
function tidyForm(): void {
  for (const field of timeFields) {
    field.addEventListener("change", () => {
      const text = zone() === utc ? `${field.value}Z` : field.value;
      field.dataset.at = field.value === "" ? "" : new Date(text).toISOString();
    });
  }
  document.querySelector<HTMLFormElement>("form.filters")?.addEventListener("formdata", ({ formData }) => {
    for (const field of timeFields) if (field.dataset.at) formData.set(field.name, field.dataset.at);
    for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
  });
}

// ---- what is new

/** Asks for more rows where an alert below the newest page has changed. */
function refreshAddress(): string {
  const shown = shownRows();
  const isBelow = shown.slice(rowsOfPage).some((row) => alertsOf(row).some((id) => changedAlerts.has(id)));
  isWhole = isBehind || isBelow;
  const count = isBehind ? mostRows : shown.length;
  isBehind = false;
  if (!isWhole) return pageAddress();
  const query = new URLSearchParams(location.search);
  query.set("rows", String(Math.min(count, mostRows) + rowsOfPage));
  return `/?${query}`;
}

function alertsOf({ dataset: { alert = "", also = "" } }: Row): string[] {
  return [alert, ...also.split(" ").filter((id) => id !== "")];
}

function onFresh(fresh: Document, changed: ReadonlySet<string>): void {
  const body = rows();
  const table = fresh.querySelector("table.log");
  given = { rows: rowsIn(fresh, "tr[id]"), goesOn: fresh.querySelector("a[rel=next]") !== null };
  if (body) merge(body, !paused, changed);
  else if (table) {
    document.querySelector(".empty")?.replaceWith(table);
    groupByDays();
  }
}

/** New rows come to the top, fresh rows to their places. Rows below the fetched page stay. @param changed alert ids */
function merge(body: HTMLElement, isToShow: boolean, changed: ReadonlySet<string> = new Set()): void {
  const shown = shownRows();
  const known = new Set(shown.flatMap(alertsOf));
  const isKnown = (row: Row) => alertsOf(row).some((id) => known.has(id));
  const firstKnown = given.rows.findIndex(isKnown);
  const isNewest = body.parentElement?.hasAttribute("data-newest");
  // Only rows above all known rows are new: the filters may meanwhile let an older alert through.
  const above = given.rows.slice(0, !isNewest ? 0 : firstKnown === -1 ? given.rows.length : firstKnown);
  // A more severe twin takes the first place in a known row.
  alarm(
    given.rows.filter(
      (row, index) => isNewest && !known.has(row.dataset.alert ?? "") && (index < above.length || isKnown(row)),
    ),
  );
  // No known row is on the newest page any more. Only a reload shows the log without a gap.
  const isMore = given.goesOn && above.length > 0 && above.length === given.rows.length;
  const inserted = isToShow && !isMore ? above : [];
  const kept = settle(shown, inserted, isKnown, changed);
  if (inserted.length === 0) {
    become(body, kept);
    waiting = above.length;
    if (isNewest) countNews(waiting, isMore);
  } else insert(body, inserted, kept);
}

/**
 * Replaces each shown row by its fresh row. A row without one no longer matches the filters, and says so. It is removed
 * if it was drawn before its alert was read: a newer alert of its key then has a row.
 */
function settle(
  shown: Row[],
  inserted: readonly Row[],
  isKnown: (row: Row) => boolean,
  changed: ReadonlySet<string>,
): Row[] {
  const freshOf = new Map(given.rows.flatMap((next) => [next.id, ...alertsOf(next)].map((name) => [name, next])));
  const nextOf = ({ id, dataset }: Row) => freshOf.get(dataset.alert ?? "") ?? freshOf.get(id);
  const last = given.goesOn ? shown.findLastIndex(({ dataset }) => freshOf.has(dataset.alert ?? "")) : shown.length;
  const isFiltered = rows()?.parentElement?.hasAttribute("data-filtered");
  const placed = new Set(inserted);
  const kept = shown.flatMap((row, index): Row[] => {
    const next = nextOf(row);
    if (next !== undefined) {
      if (placed.has(next)) return [];
      // This row is replaced when the new rows are shown.
      if (!isKnown(next)) return [row];
      placed.add(next);
      // Keeps the focus: the row stays the same element for a reader.
      if (document.getElementById(next.id) === null) row.id = next.id;
      return [next];
    }
    const isUnread = row.hasAttribute("data-unread");
    if (index > last && !isWhole) isBehind ||= isUnread || alertsOf(row).some((id) => changed.has(id));
    else if (isUnread && (index < last || !given.goesOn)) return [];
    else if (index < last && isFiltered && !row.querySelector(".gone")) {
      row.querySelector(".what")?.insertAdjacentHTML("beforeend", goneMark);
    }
    return [row];
  });
  if (isBehind) wantRefresh();
  return kept;
}

const goneMark = '<span class="chip off gone">no longer matches the filters</span>';

function become(body: HTMLElement, next: readonly Row[]): void {
  const made = body.cloneNode() as HTMLElement;
  made.append(...next.slice(0, mostRows).map((row) => row.cloneNode(true)));
  morph(body, made);
  groupByDays();
}

const topOf = (element: Element | null | undefined) => element?.getBoundingClientRect().top ?? 0;

/** The row that is read, pointed at or focused stays where it is on the screen. */
function insert(body: HTMLElement, inserted: readonly Row[], kept: readonly Row[]): void {
  const isUsed = body.matches(":hover") || body.contains(document.activeElement);
  const isAbove = topOf(body) < 0;
  const ids = new Set(inserted.map(({ id }) => id));
  const anchor = shownRows().find((row) => row.getBoundingClientRect().bottom > 0 && !ids.has(row.id));
  const before = topOf(anchor);
  for (const row of inserted) row.classList.add("fresh");
  become(body, [...inserted, ...kept]);
  if (anchor && (isUsed || isAbove)) scrollBy({ top: topOf(anchor) - before, behavior: "instant" });
  if (document.hidden || isUsed || isAbove) unseen += inserted.length;
  waiting = 0;
  countNews(unseen, false);
}

function countNews(count: number, isMore: boolean): void {
  if (!news) return;
  news.hidden = count === 0 || (waiting === 0 && topOf(rows()) >= 0);
  if (count > 0) news.textContent = `${count}${isMore ? "+" : ""} new ${count === 1 ? "alert" : "alerts"}`;
  document.title = count === 0 ? plainTitle : `(${count}${isMore ? "+" : ""}) ${plainTitle}`;
}

/** Rows between the shown and the new ones are missing. Only a reload shows them. */
const hasGap = () => news?.textContent.includes("+") === true;

function showNews(event: Event): void {
  const body = rows();
  if (!body || hasGap()) return;
  event.preventDefault();
  if (waiting > 0) merge(body, true);
  unseen = 0;
  countNews(0, false);
  scrollTo({ top: 0 });
  shownRows()[0]?.querySelector<HTMLElement>(".what > a")?.focus({ preventScroll: true });
}

/** Alerts that came to a hidden page count as seen once their rows are in sight. */
function see(): void {
  if (unseen === 0 || document.hidden || topOf(rows()) < 0) return;
  unseen = 0;
  countNews(waiting, false);
}

function offerPause(): void {
  const button = document.getElementById("pause");
  if (!button || !rows()?.parentElement?.hasAttribute("data-newest")) return;
  const show = () => {
    button.textContent = paused ? "Go on" : "Pause";
    button.setAttribute("aria-pressed", String(paused));
  };
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    paused = !paused;
    const body = rows();
    if (body && !paused && waiting > 0 && !hasGap()) merge(body, true);
    show();
  });
}

// ---- bars

type Bar = SVGAElement | undefined | null;
const barOf = (target: EventTarget | null): Bar =>
  target instanceof Element ? target.closest<SVGAElement>(".over-time a[data-from]") : undefined;

/** Selects the time from one bar to another. The arrow keys go from bar to bar. */
function watchBars(): void {
  let begun: Bar;
  document.addEventListener("pointerdown", ({ target }) => {
    begun = barOf(target);
  });
  document.addEventListener("dragstart", (event) => {
    if (barOf(event.target)) event.preventDefault();
  });
  document.addEventListener("pointerup", ({ target }) => {
    const ended = barOf(target);
    if (!begun || !ended || begun === ended) return;
    const ends = [begun, ended].map(({ dataset }) => ({ from: Number(dataset.from), to: Number(dataset.to) }));
    const address = new URL(ended.getAttribute("href") ?? "", location.href);
    address.searchParams.set("from", new Date(Math.min(...ends.map(({ from }) => from))).toISOString());
    address.searchParams.set("to", new Date(Math.max(...ends.map(({ to }) => to)) - 1).toISOString());
    location.assign(address);
  });
  document.addEventListener("keydown", (event) => {
    const bar = barOf(event.target);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!bar?.parentElement || !step) return;
    const bars = [...bar.parentElement.querySelectorAll<SVGAElement>("a[data-from]")];
    bars[bars.indexOf(bar) + step]?.focus();
    event.preventDefault();
  });
  if (document.querySelector("[data-counting]")) setTimeout(wantRefresh, 1_000);
}

/** Does nothing on pages other than the log. */
export function showLog(): void {
  if (!news) return;
  hooks.refreshAddress = refreshAddress;
  hooks.onFresh = onFresh;
  news.addEventListener("click", showNews);
  addEventListener("scroll", see, { passive: true });
  document.addEventListener("visibilitychange", see);
  showLogTimes();
  tidyForm();
  offerPause();
  watchBars();
}
