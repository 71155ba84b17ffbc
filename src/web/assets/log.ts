import { alarm } from "./alarms.ts";
import { changedAlerts, hooks, morph, pageAddress, wantRefresh } from "./live.ts";
import { utc, zone } from "./times.ts";
import { dayBefore } from "./zones.ts";

type Row = HTMLTableRowElement;

/** Of one page of the log, as the relay gives it unasked. */
const rowsOfPage = 50;
/** A page that stays open for days keeps this many rows. */
const mostRows = 300;

const plainTitle = document.title;
const news = document.getElementById("news");
const rows = () => document.getElementById("rows");
const shownRows = () => rowsIn(document, "tr[data-alert]");
const rowsIn = (root: ParentNode, which: string) => [...root.querySelectorAll<Row>(`#rows > ${which}`)];

/** Came, and wait to be inserted. */
let newRows: Row[] = [];
/** The page that was asked for last is longer than the newest one. */
let isWhole = false;
/** What the last page did not reach has changed meanwhile. */
let isBehind = false;
let paused = false;
let unseen = 0;

// ---- days

/** Days as the zone has them that times are shown in. */
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

const timeFields = [...document.querySelectorAll<HTMLInputElement>(".filters input[type=datetime-local]")];

/** What the field takes: the time in the zone that is shown, without a zone. */
function localText(at: string): string {
  if (zone() === utc) return at.slice(0, 19);
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** In the zone that the reader has chosen. */
export function showLogTimes(): void {
  groupByDays();
  for (const field of timeFields) {
    const label = field.closest("label")?.querySelector("span");
    if (label) label.textContent = label.textContent.replace(/\([^()]*\)/, `(${zone().name})`);
    if (field.dataset.at) field.value = localText(field.dataset.at).replace(/:00$/, "");
  }
}

/** An address without what is empty, and with times that say their zone. */
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

/** The newest page, or as many rows as something needs that has changed below it. */
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

/** All that stand in a row: it may be of two that differ in severity alone. */
function alertsOf({ dataset: { alert = "", also = "" } }: Row): string[] {
  return [alert, ...also.split(" ").filter((id) => id !== "")];
}

function onFresh(fresh: Document, changed: ReadonlySet<string>): void {
  const body = rows();
  const freshRows = rowsIn(fresh, "tr[id]");
  const table = fresh.querySelector("table.alerts");
  if (body) applyRows(body, freshRows, changed, fresh.querySelector("a[rel=next]") !== null);
  else if (freshRows.length > 0 && table) document.querySelector(".empty")?.replaceWith(table);
  groupByDays();
}

/**
 * @param changed ids of the alerts for which the page was asked for again.
 * @param goesOn there are older rows on another page.
 */
function applyRows(body: HTMLElement, freshRows: Row[], changed: ReadonlySet<string>, goesOn: boolean): void {
  const known = new Map(shownRows().map((row) => [row.dataset.alert, row]));
  const knownOf = (row: Row) => alertsOf(row).flatMap((id) => known.get(id) ?? [])[0];
  // Only what stands above all that is known: the filters may let an older alert through by now.
  const firstKnown = freshRows.findIndex(knownOf);
  for (const next of freshRows) {
    const row = knownOf(next);
    if (!row || (row.id === next.id && row.dataset.version === next.dataset.version)) continue;
    removeTwins(next, row);
    row.id = next.id;
    morph(row, next.cloneNode(true) as Row);
  }
  settleOthers(body, freshRows, changed, goesOn);
  if (!body.parentElement?.hasAttribute("data-newest")) return;
  newRows = firstKnown === -1 ? freshRows : freshRows.slice(0, firstKnown);
  alarm(newRows.map((row) => ({ id: row.dataset.alert ?? "", title: titleOf(row)?.textContent ?? "" })));
  // None of the rows known so far is on the newest page any more: only a reload shows it without a gap.
  const isMore = goesOn && newRows.length > 0 && newRows.length === freshRows.length;
  if (newRows.length > 0 && !paused && !isMore) insertRows(body);
  else countNews(newRows.length, isMore);
}

const titleOf = (row: Row) => row.querySelector<HTMLAnchorElement>(".what > a");

/** What `row` is to become was several: it was read and has a key now, which an older one had, or its twin has come. */
function removeTwins(next: Row, row: Row): void {
  const alerts = alertsOf(next);
  for (const other of shownRows()) {
    if (other !== row && (other.id === next.id || alerts.includes(other.dataset.alert ?? ""))) other.remove();
  }
}

/**
 * The rows that the fresh page does not have. Those below its last one it does not reach. Of the others, a filter no longer
 * lets the alert through, and the row says so; or it was drawn before the alert was read, and a newer one of its key has a row.
 */
function settleOthers(body: HTMLElement, freshRows: Row[], changed: ReadonlySet<string>, goesOn: boolean): void {
  const present = new Set(freshRows.flatMap((row) => [row.id, ...alertsOf(row)]));
  const isPresent = (row: Row) => present.has(row.id) || present.has(row.dataset.alert ?? "");
  const all = shownRows();
  const last = goesOn ? all.findLastIndex((row) => present.has(row.dataset.alert ?? "")) : all.length;
  const isFiltered = body.parentElement?.hasAttribute("data-filtered");
  for (const [index, row] of all.entries()) {
    if (isPresent(row)) continue;
    const isUnread = row.hasAttribute("data-unread");
    if (index > last && !isWhole) isBehind ||= isUnread || alertsOf(row).some((id) => changed.has(id));
    else if (isUnread && (index < last || !goesOn)) row.remove();
    else if (index < last && isFiltered && !row.querySelector(".gone")) row.querySelector(".what")?.append(goneMark());
  }
  if (isBehind) wantRefresh();
}

function goneMark(): HTMLElement {
  const mark = document.createElement("span");
  mark.className = "chip off gone";
  mark.textContent = "no longer matches the filters";
  return mark;
}

const topOf = (element: Element | null | undefined) => element?.getBoundingClientRect().top ?? 0;

/** At the top; what is being read, pointed at or focused stays where it is on the screen. */
function insertRows(body: HTMLElement): void {
  const isUsed = body.matches(":hover") || body.contains(document.activeElement);
  const isAbove = topOf(body) < 0;
  const anchor = rowsIn(document, "tr[id]").find((row) => row.getBoundingClientRect().bottom > 0);
  const before = topOf(anchor);
  for (const row of newRows) {
    row.classList.add("fresh");
    // A newer alert of a key that has a row takes its place at the top.
    const older = document.getElementById(row.id);
    if (older !== anchor) older?.remove();
    else older?.removeAttribute("id");
  }
  body.prepend(...newRows);
  groupByDays();
  for (const row of shownRows().slice(mostRows)) row.remove();
  if (anchor && (isUsed || isAbove)) scrollBy({ top: topOf(anchor) - before, behavior: "instant" });
  for (const row of rowsIn(document, "tr[data-alert]:not([id])")) row.remove();
  if (document.hidden || isUsed || isAbove) unseen += newRows.length;
  newRows = [];
  countNews(unseen, false);
}

function countNews(count: number, isMore: boolean): void {
  if (!news) return;
  news.hidden = count === 0 || (newRows.length === 0 && topOf(rows()) >= 0);
  if (count > 0) news.textContent = `${count}${isMore ? "+" : ""} new ${count === 1 ? "alert" : "alerts"}`;
  document.title = count === 0 ? plainTitle : `(${count}${isMore ? "+" : ""}) ${plainTitle}`;
}

/** A page that leaves something out between what it shows and what is new; only a reload shows that. */
const hasGap = () => news?.textContent.includes("+") === true;

function showNews(event: Event): void {
  const body = rows();
  if (!body || hasGap()) return;
  event.preventDefault();
  const first = newRows[0] ?? rowsIn(document, "tr[id]")[0];
  if (newRows.length > 0) insertRows(body);
  unseen = 0;
  countNews(0, false);
  scrollTo({ top: 0 });
  first?.querySelector("a")?.focus({ preventScroll: true });
}

/** What came while nobody looked counts as seen once its rows are in sight. */
function see(): void {
  if (unseen === 0 || document.hidden || topOf(rows()) < 0) return;
  unseen = 0;
  countNews(newRows.length, false);
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
    if (body && !paused && newRows.length > 0 && !hasGap()) insertRows(body);
    show();
  });
}

// ---- bars

type Bar = SVGAElement | undefined | null;
const barOf = (target: EventTarget | null): Bar =>
  target instanceof Element ? target.closest<SVGAElement>(".over-time a[data-from]") : undefined;

/** From one bar to another: the time between them. The arrows go from bar to bar. */
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

/** Does nothing on other pages than the log. */
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
