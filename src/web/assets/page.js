// Everything here is a convenience: without it each page shows the same after a reload.

const refreshEveryMs = 1_000;
const reopenAfterMs = 5_000;
/** A page that nobody sees gives its connection back: browsers have only six of them for one site. */
const closeHiddenAfterMs = 60_000;
const pollDestinationsMs = 15_000;
/** What goes wrong is no event of the log, and most pages follow none. */
const pollHealthMs = 15_000;

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

/** What this browser keeps of a reader's wishes; some keep nothing, and then it holds until the page is left. */
const wishes = new Map();

function wish(name) {
  try {
    return localStorage.getItem(`tocsin.${name}`) ?? wishes.get(name);
  } catch {
    return wishes.get(name);
  }
}

function keepWish(name, text) {
  wishes.set(name, text);
  try {
    if (text === undefined) localStorage.removeItem(`tocsin.${name}`);
    else localStorage.setItem(`tocsin.${name}`, text);
  } catch {
    // As said above.
  }
}

const exactStyle = {
  ...{ day: "numeric", month: "short", year: "numeric" },
  ...{ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short" },
};
const clockStyle = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const dayStyle = { weekday: "short", day: "numeric", month: "short", year: "numeric" };

function formatsOf(timeZone) {
  const format = (style) => new Intl.DateTimeFormat("en-GB", { ...style, timeZone });
  const exact = format(exactStyle);
  const name = exact.formatToParts(Date.now()).find(({ type }) => type === "timeZoneName")?.value;
  return { exact, clock: format(clockStyle), day: format(dayStyle), name };
}

const utc = formatsOf("UTC");
const own = formatsOf(undefined);
const ownIsUtc = own.exact.resolvedOptions().timeZone === "UTC";
/** In which the page shows its times: the reader's own zone, or UTC when that was asked for. */
const zone = () => (wish("zone") === "utc" ? utc : own);

function showTimes(root = document) {
  const now = Date.now();
  const { exact: inZone, clock } = zone();
  const other = zone() === utc ? own : utc;
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = Date.parse(time.dateTime);
    const [relative, exact, hours] = [".relative", ".exact", ".clock"].map((part) => time.querySelector(part));
    const isOver = at <= now && time.hasAttribute("data-coming");
    if (relative) relative.textContent = isOver ? "now" : relativeTime(at, now);
    if (exact) exact.textContent = ` ${inZone.format(at)}`;
    if (hours) hours.textContent = clock.format(at);
    if (time.classList.contains("since")) time.textContent = `since ${sinceText(at, now)}`;
    time.title = `${relativeTime(at, now)}: ${inZone.format(at)}${ownIsUtc ? "" : `, ${other.exact.format(at)}`}`;
  }
}

/** As the server says it: `21:42 CET`, and of another day `20 Nov, 21:42 CET`. */
function sinceText(at, now) {
  const { clock, day, name } = zone();
  const time = `${clock.format(at).slice(0, 5)} ${name}`;
  const date = day.format(at);
  return date === day.format(now) ? time : `${date.replace(/^\w+,? | \d{4}$/g, "")}, ${time}`;
}

/** The relay draws its pictures in this zone from the next page on. */
function keepZone() {
  const name = zone().exact.resolvedOptions().timeZone;
  // biome-ignore lint/suspicious/noDocumentCookie: other browsers than Chromium have no other way.
  document.cookie = `zone=${encodeURIComponent(name)}; path=/; max-age=31536000; samesite=lax`;
}

/** The reader's own zone and UTC, one press apart. */
function offerZones() {
  keepZone();
  const button = document.getElementById("zone");
  if (!button || ownIsUtc) return;
  const show = () => {
    const word = document.createElement("span");
    word.textContent = "Times: ";
    button.replaceChildren(word, zone().name);
    button.title = zone() === utc ? "Show times in your own time zone" : "Show times in UTC";
  };
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    keepWish("zone", zone() === utc ? undefined : "utc");
    show();
    keepZone();
    showTimes();
    document.dispatchEvent(new CustomEvent("tocsin:zone"));
  });
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
const lostMark = document.getElementById("lost");
/** Others learn only from the line of health that the relay is gone, or that the session is over: it must not stand still unsaid. */
const hasStream = version !== undefined;

let stream;
let isStopping = false;
let hiddenTimer;
let refreshTimer;
let refreshing = false;
let refreshWanted = false;
let lastVersion = version;
/** Ids of what has changed since the page was last asked for again. */
const changedAlerts = new Set();
/** Where the page is asked for again; the log may want more rows of it. */
const hooks = { refreshAddress: pageAddress };

/** What the line of health says is not known to be true any more: this stands in its place. */
function showLost(text, link) {
  lostMark.hidden = false;
  if (lostMark.textContent === text) return;
  lostMark.textContent = text;
  if (link) {
    const anchor = document.createElement("a");
    anchor.href = link;
    anchor.textContent = " Log in";
    lostMark.append(anchor);
  }
}

function openStream() {
  stream = new EventSource(`/api/stream?after=${lastVersion}`);
  stream.addEventListener("open", () => {
    isStopping = false;
    lostMark.hidden = true;
    document.body.dataset.stream = "open";
  });
  stream.addEventListener("stopping", () => {
    isStopping = true;
  });
  stream.addEventListener("alert", (event) => {
    lastVersion = event.lastEventId;
    const { id } = JSON.parse(event.data);
    changedAlerts.add(id);
    if (!ownAlert || id === ownAlert) wantRefresh();
  });
  stream.addEventListener("reset", (event) => {
    lastVersion = event.lastEventId;
    wantRefresh();
  });
  stream.addEventListener("error", () => {
    delete document.body.dataset.stream;
    showLost(isStopping ? "Tocsin was stopped, trying again …" : "Connection lost, trying again …");
    // The browser tries again by itself unless it was given an answer that is no stream.
    if (stream?.readyState === EventSource.CLOSED) reopenLater();
  });
}

function showLoggedOut() {
  showLost("Logged out.", `/login?next=${encodeURIComponent(cleanAddress())}`);
}

function closeStream() {
  stream?.close();
  stream = undefined;
}

async function reopenLater() {
  closeStream();
  if (await isLoggedOut()) {
    showLoggedOut();
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
  return document.getElementById("news")?.getAttribute("href") ?? pageAddress().split("?", 1)[0];
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
    const address = hooks.refreshAddress();
    const changed = new Set(changedAlerts);
    changedAlerts.clear();
    const answer = await fetch(address, { redirect: "manual" });
    if (answer.ok) apply(new DOMParser().parseFromString(await answer.text(), "text/html"), changed);
  } catch {
    // The stream shows that the connection is lost, and the next event asks again.
  }
  refreshing = false;
  if (refreshWanted) refreshTimer = setTimeout(refresh, refreshEveryMs);
}

async function refreshHealth() {
  try {
    const answer = await fetch("/strip", { redirect: "manual" });
    if (answer.ok) applyRegions(new DOMParser().parseFromString(await answer.text(), "text/html"));
    if (!hasStream && answer.type === "opaqueredirect") showLoggedOut();
    else if (!hasStream && answer.ok) lostMark.hidden = true;
  } catch {
    if (!hasStream) showLost("Connection lost, trying again …");
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
function apply(fresh, changed) {
  applyRegions(fresh);
  document.dispatchEvent(new CustomEvent("tocsin:fresh", { detail: { fresh, changed } }));
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

/** Replaces a part of the page; what had the focus in it is found again by what it says. */
function keepingFocus(part, replace, next = part) {
  const focused = part.contains(document.activeElement) ? document.activeElement : undefined;
  const index = focused ? [...part.querySelectorAll("a, button, summary")].indexOf(focused) : -1;
  replace();
  if (index >= 0) next.querySelectorAll("a, button, summary")[index]?.focus({ preventScroll: true });
}

/** What the line beside the picture is made of is known once the picture is there. */
function fillMarketLine() {
  const picture = document.querySelector("img.metric");
  if (!picture || document.querySelector('[data-live="market"]')?.childElementCount !== 0) return;
  if (picture.complete) wantRefresh();
  else picture.addEventListener("load", wantRefresh, { once: true });
}

function watchVisibility() {
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiddenTimer);
    const isAwaited = wish("notify") === "on" || wish("sound") === "on";
    if (document.hidden && !isAwaited) hiddenTimer = setTimeout(closeStream, closeHiddenAfterMs);
    else if (!document.hidden && !stream) {
      openStream();
      wantRefresh();
    }
  });
}

offerZones();
showTimes();
setInterval(showTimes, 15_000);
offerCopying();
fillMarketLine();
if (document.querySelector('[data-live="health"]')) setInterval(() => document.hidden || refreshHealth(), pollHealthMs);
if (hasStream) {
  openStream();
  watchVisibility();
  if (document.querySelector('[data-live="destinations"]')) {
    setInterval(() => document.hidden || wantRefresh(), pollDestinationsMs);
  }
}
