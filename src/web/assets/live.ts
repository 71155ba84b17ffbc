import { Idiomorph } from "idiomorph";
import { showTimes } from "./times.ts";
import { wish } from "./wishes.ts";

const refreshEveryMs = 1_000;
const reopenAfterMs = 5_000;
/** A hidden page closes its connection: browsers have only six for one site. */
const closeHiddenAfterMs = 60_000;
const pollDestinationsMs = 15_000;
/** The stream has no events for troubles, and most pages have no stream. */
const pollHealthMs = 15_000;

const { version, alert: ownAlert } = document.body.dataset;
const lostMark = document.getElementById("lost");
/** Pages without the stream learn only from the line of health that the relay is gone, or the session over. */
const hasStream = version !== undefined;

let stream: EventSource | undefined;
let isStopping = false;
let hiddenTimer: number | undefined;
let refreshTimer: number | undefined;
let refreshing = false;
let refreshWanted = false;
let lastVersion = version;
/** Ids of alerts that have changed since the page was last fetched. */
export const changedAlerts = new Set<string>();

/** The log page replaces these functions. */
export const hooks = {
  /** The address from which the page is fetched again. The log sometimes asks for more rows. */
  refreshAddress: pageAddress,
  /** Called with a fresh copy of the page. `_changed`: the alerts for which it was fetched. */
  onFresh: (_fresh: Document, _changed: ReadonlySet<string>): void => {},
};

/** Hides the line of health, which may be old. */
function showLost(text: string, link?: string): void {
  if (!lostMark) return;
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

function hideLost(): void {
  if (lostMark) lostMark.hidden = true;
}

const isLost = "Connection lost, trying again …";

function openStream(): void {
  const opened = new EventSource(`/api/stream?after=${lastVersion}`);
  stream = opened;
  opened.addEventListener("open", () => {
    isStopping = false;
    hideLost();
    document.body.dataset.stream = "open";
  });
  opened.addEventListener("stopping", () => {
    isStopping = true;
  });
  opened.addEventListener("alert", (event) => {
    lastVersion = event.lastEventId;
    const { id } = JSON.parse(event.data) as { id: string };
    changedAlerts.add(id);
    if (!ownAlert || id === ownAlert) wantRefresh();
  });
  opened.addEventListener("reset", (event) => {
    lastVersion = (event as MessageEvent).lastEventId;
    wantRefresh();
  });
  opened.addEventListener("error", () => {
    delete document.body.dataset.stream;
    showLost(isStopping ? "Tocsin was stopped, trying again …" : isLost);
    // The browser reconnects by itself unless the answer was no stream.
    if (stream?.readyState === EventSource.CLOSED) reopenLater();
  });
}

function closeStream(): void {
  stream?.close();
  stream = undefined;
}

async function reopenLater(): Promise<void> {
  closeStream();
  if (await refreshHealth()) return;
  setTimeout(() => {
    if (!stream && !document.hidden) openStream();
  }, reopenAfterMs);
}

/** After a refused form the browser shows the form's address, which cannot be fetched. */
export function pageAddress(): string {
  return ownAlert ? `/alerts/${ownAlert}` : `${location.pathname}${location.search}`;
}

/** Leaves out unknown parameters: one may be a token that somebody put into the address. */
function cleanAddress(): string {
  return document.getElementById("news")?.getAttribute("href") ?? pageAddress().replace(/\?.*/, "");
}

/** Any number of events cause at most one request a second. */
export function wantRefresh(): void {
  refreshWanted = true;
  if (refreshing || refreshTimer !== undefined) return;
  refreshTimer = window.setTimeout(refresh, refreshEveryMs / 4);
}

async function refresh(): Promise<void> {
  refreshTimer = undefined;
  refreshWanted = false;
  refreshing = true;
  const address = hooks.refreshAddress();
  const changed = new Set(changedAlerts);
  changedAlerts.clear();
  // Without a fresh copy the stream shows that the connection is lost, and the next event fetches again.
  const { fresh } = await load(address);
  if (fresh) {
    hooks.onFresh(fresh, changed);
    showTimes();
  }
  refreshing = false;
  if (refreshWanted) refreshTimer = window.setTimeout(refresh, refreshEveryMs);
}

/** Fetches a fresh copy of a page and updates its live parts. */
async function load(address: string): Promise<{ fresh?: Document; isLoggedOut?: boolean; isGone?: boolean }> {
  try {
    const answer = await fetch(address, { redirect: "manual" });
    if (!answer.ok) return { isLoggedOut: answer.type === "opaqueredirect" };
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const region of document.querySelectorAll<HTMLElement>("[data-live]")) {
      const next = fresh.querySelector(`[data-live="${region.dataset.live}"]`);
      if (next) morph(region, next);
    }
    showTimes();
    return { fresh };
  } catch {
    return { isGone: true };
  }
}

/** Resolves to whether the session is over. */
async function refreshHealth(): Promise<boolean> {
  const { fresh, isLoggedOut = false, isGone } = await load("/strip");
  if (isLoggedOut) showLost("Logged out.", `/login?next=${encodeURIComponent(cleanAddress())}`);
  else if (!hasStream && fresh) hideLost();
  else if (!hasStream && isGone) showLost(isLost);
  return isLoggedOut;
}

/** Changes a part of the page into its fresh copy. Focused, opened or pointed-at elements stay. */
export function morph(part: Element, next: Element): void {
  Idiomorph.morph(part, next, {
    morphStyle: "outerHTML",
    callbacks: {
      // Keeps parts that the reader has opened or ticked.
      beforeAttributeUpdated: (name: string) => name !== "open" && name !== "checked",
      // Skips a row whose version is unchanged.
      beforeNodeMorphed: (old: Node, fresh: Node) =>
        versionOf(old) === undefined || versionOf(old) !== versionOf(fresh),
    },
  });
}

const versionOf = (node: Node) => (node instanceof HTMLTableRowElement ? node.dataset.version : undefined);

function watchVisibility(): void {
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiddenTimer);
    const isAwaited = wish("notify") === "on" || wish("sound") === "on";
    if (document.hidden && !isAwaited) hiddenTimer = window.setTimeout(closeStream, closeHiddenAfterMs);
    else if (!document.hidden && !stream) {
      openStream();
      wantRefresh();
    }
  });
}

export function followLive(): void {
  if (document.querySelector('[data-live="health"]')) {
    setInterval(() => document.hidden || refreshHealth(), pollHealthMs);
    addEventListener("offline", () => showLost(isLost));
    addEventListener("online", refreshHealth);
  }
  if (!hasStream) return;
  openStream();
  watchVisibility();
  if (document.querySelector('[data-live="destinations"]')) {
    setInterval(() => document.hidden || wantRefresh(), pollDestinationsMs);
  }
}
