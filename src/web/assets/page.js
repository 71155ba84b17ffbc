// Everything here is a convenience: without it each page shows the same after a reload.

const refreshEveryMs = 1_000;
const reopenAfterMs = 5_000;
/** A page that nobody sees gives its connection back: browsers have only six of them for one site. */
const closeHiddenAfterMs = 60_000;
const pollDestinationsMs = 15_000;
/** What goes wrong is no event of the log, and most pages follow none. */
const pollStripMs = 15_000;

// ---- times

function lengthOf(ms) {
  const seconds = ms / 1000;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

function relativeTime(at, now) {
  const distance = Math.abs(now - at);
  if (distance < 5_000) return "just now";
  return at <= now ? `${lengthOf(distance)} ago` : `in ${lengthOf(distance)}`;
}

const ownClock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

function showTimes(root = document) {
  const now = Date.now();
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = Date.parse(time.dateTime);
    const relative = time.querySelector(".relative");
    const isOver = at <= now && time.hasAttribute("data-coming");
    if (relative) relative.textContent = isOver ? "now" : relativeTime(at, now);
    time.title = `${ownClock.format(at)}, your clock`;
  }
}

// ---- copying

function offerCopying(root = document) {
  for (const button of root.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      button.textContent = (await copy(source)) ? "Copied" : "Selected: press Ctrl+C";
    });
  }
}

/** The clipboard is open to https pages only; elsewhere the text is selected for the reader to copy. */
async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return false;
  }
}

// ---- live

const { version, alert: ownAlert } = document.body.dataset;
const liveMark = document.getElementById("live");
const news = document.getElementById("news");
const plainTitle = document.title;

let stream;
let isStopping = false;
let hiddenTimer;
let refreshTimer;
let refreshing = false;
let refreshWanted = false;
let lastVersion = version;
let newRows = [];

function showLive(text, isLost, link) {
  liveMark.hidden = false;
  liveMark.classList.toggle("lost", isLost);
  if (liveMark.textContent === text) return;
  liveMark.textContent = text;
  if (link) {
    const anchor = document.createElement("a");
    anchor.href = link;
    anchor.textContent = " Log in";
    liveMark.append(anchor);
  }
}

function openStream() {
  stream = new EventSource(`/api/stream?after=${lastVersion}`);
  stream.addEventListener("open", () => {
    isStopping = false;
    showLive("Live", false);
  });
  stream.addEventListener("stopping", () => {
    isStopping = true;
  });
  stream.addEventListener("alert", (event) => {
    lastVersion = event.lastEventId;
    if (!ownAlert || JSON.parse(event.data).id === ownAlert) wantRefresh();
  });
  stream.addEventListener("reset", (event) => {
    lastVersion = event.lastEventId;
    wantRefresh();
  });
  stream.addEventListener("error", () => {
    showLive(isStopping ? "Tocsin was stopped, trying again …" : "Connection lost, trying again …", true);
    // The browser tries again by itself unless it was given an answer that is no stream.
    if (stream?.readyState === EventSource.CLOSED) reopenLater();
  });
}

function closeStream() {
  stream?.close();
  stream = undefined;
}

async function reopenLater() {
  closeStream();
  if (await isLoggedOut()) {
    showLive("Logged out.", true, `/login?next=${encodeURIComponent(cleanAddress())}`);
    return;
  }
  setTimeout(() => {
    if (!stream && !document.hidden) openStream();
  }, reopenAfterMs);
}

async function isLoggedOut() {
  try {
    const answer = await fetch(pageAddress(), { method: "HEAD", redirect: "manual" });
    return answer.type === "opaqueredirect";
  } catch {
    return false;
  }
}

/** After a refused form the address is the form's, which cannot be fetched. */
function pageAddress() {
  return ownAlert ? `/alerts/${ownAlert}` : `${location.pathname}${location.search}`;
}

/** Without what nobody has asked for, e.g. a token that somebody put into the address. */
function cleanAddress() {
  return news?.getAttribute("href") ?? pageAddress().split("?", 1)[0];
}

/** Any number of events cost one request a second. */
function wantRefresh() {
  refreshWanted = true;
  if (refreshing || refreshTimer !== undefined) return;
  refreshTimer = setTimeout(refresh, refreshEveryMs / 4);
}

async function refresh() {
  refreshTimer = undefined;
  refreshWanted = false;
  refreshing = true;
  try {
    const answer = await fetch(pageAddress(), { redirect: "manual" });
    if (answer.ok) apply(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The stream shows that the connection is lost, and the next event asks again.
  }
  refreshing = false;
  if (refreshWanted) refreshTimer = setTimeout(refresh, refreshEveryMs);
}

async function refreshStrip() {
  try {
    const answer = await fetch("/strip", { redirect: "manual" });
    if (answer.ok) applyRegions(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The next look shows it.
  }
}

function applyRegions(fresh) {
  for (const region of document.querySelectorAll("[data-live]")) {
    const next = fresh.querySelector(`[data-live="${region.dataset.live}"]`);
    if (next) keepOpen(region, next);
    if (next && plainHtml(next) !== plainHtml(region))
      keepingFocus(region, () => region.replaceChildren(...next.childNodes));
  }
}

/** Takes over from a fresh copy of this page what has changed, and moves nothing that is being read. */
function apply(fresh) {
  applyRegions(fresh);
  const rows = document.getElementById("rows");
  const freshRows = [...fresh.querySelectorAll("#rows > tr")];
  if (rows) applyRows(rows, freshRows);
  else if (freshRows.length > 0) document.querySelector(".empty")?.replaceWith(fresh.querySelector("table.alerts"));
  showTimes();
}

/** What the reader has opened stays open under his finger; it is found again by what its line says. */
function keepOpen(region, next) {
  const opened = [...region.querySelectorAll("details[open] > summary")].map(({ textContent }) => textContent);
  for (const summary of next.querySelectorAll("details > summary")) {
    if (opened.includes(summary.textContent)) summary.parentElement.open = true;
  }
}

/** Without what the script itself changes. */
function plainHtml(region) {
  const copy = region.cloneNode(true);
  for (const time of copy.querySelectorAll("time")) time.replaceWith(time.dateTime);
  return copy.innerHTML;
}

function applyRows(rows, freshRows) {
  const known = new Map([...rows.children].map((row) => [row.id, row]));
  for (const next of freshRows) {
    const row = known.get(next.id);
    if (row && row.dataset.version !== next.dataset.version) keepingFocus(row, () => row.replaceWith(next), next);
  }
  markGone(rows, freshRows);
  if (!rows.parentElement.hasAttribute("data-newest")) return;
  // Only what stands above all that is known: the filters may let an older alert through by now.
  const firstKnown = freshRows.findIndex((row) => known.has(row.id));
  newRows = firstKnown === -1 ? freshRows : freshRows.slice(0, firstKnown);
  countNews(newRows.length, newRows.length === freshRows.length);
}

/** Rows that the filters no longer let through stay where they are, and say so. */
function markGone(rows, freshRows) {
  const present = new Set(freshRows.map((row) => row.id));
  const all = [...rows.children];
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
  const rows = document.getElementById("rows");
  // None of the rows known so far is on the newest page any more: only a reload shows it without a gap.
  if (!rows || news.textContent.includes("+")) return;
  event.preventDefault();
  for (const row of newRows) row.classList.add("fresh");
  const [first] = newRows;
  rows.prepend(...newRows);
  newRows = [];
  countNews(0, false);
  scrollTo({ top: 0 });
  first?.querySelector("a")?.focus({ preventScroll: true });
}

/** Replaces a part of the page; what had the focus in it is found again by what it says. */
function keepingFocus(part, replace, next = part) {
  const focused = part.contains(document.activeElement) ? document.activeElement : undefined;
  const index = focused ? [...part.querySelectorAll("a, button, summary")].indexOf(focused) : -1;
  replace();
  if (index >= 0) next.querySelectorAll("a, button, summary")[index]?.focus({ preventScroll: true });
}

function watchVisibility() {
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiddenTimer);
    if (document.hidden) hiddenTimer = setTimeout(closeStream, closeHiddenAfterMs);
    else if (!stream) {
      openStream();
      wantRefresh();
    }
  });
}

showTimes();
setInterval(showTimes, 15_000);
offerCopying();
if (document.querySelector('[data-live="strip"]')) setInterval(() => document.hidden || refreshStrip(), pollStripMs);
if (version !== undefined) {
  openStream();
  watchVisibility();
  news?.addEventListener("click", showNews);
  if (document.querySelector('[data-live="destinations"]')) {
    setInterval(() => document.hidden || wantRefresh(), pollDestinationsMs);
  }
}
