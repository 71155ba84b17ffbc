import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Context, Hono } from "hono";
import { csrf } from "hono/csrf";
import { secureHeaders } from "hono/secure-headers";
import { streamSSE } from "hono/streaming";

/**
 * What the stand-ins for chats, mailboxes and apps have in common: a server on this machine, faults that wait for their turn, and a page
 * that follows what changes.
 */

/** Resolves with the port. */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Ends the connections too. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

/** The host as it stands in an address. */
export function urlHostOf(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Faults that wait for what they fit. */
export interface Queue<T> {
  /** Queues a fault for the next that it fits; it is used `times` times (default once). */
  next(fault: T & { times?: number }): void;
  pending(): T[];
  clear(): void;
}

/** `takeFirst` takes the first fault that fits out of the queue. */
export function createQueue<T extends object>(
  onChange = () => {},
): Queue<T> & { takeFirst(fits: (fault: T) => boolean): T | undefined } {
  const queue: T[] = [];
  return {
    next({ times = 1, ...fault }) {
      for (let used = 0; used < times; used++) queue.push(fault as unknown as T);
      onChange();
    },
    pending: () => queue.map((fault) => ({ ...fault })),
    clear() {
      queue.length = 0;
      onChange();
    },
    takeFirst(fits) {
      const index = queue.findIndex(fits);
      if (index === -1) return undefined;
      const [fault] = queue.splice(index, 1);
      onChange();
      return fault;
    },
  };
}

/** Of a form's box or of JSON. */
export function isTicked(value: unknown): boolean {
  return value === true || value === "true" || value === "on";
}

/** What `POST /faults` was given, and whether by the page's form. */
export async function readGivenFault(c: Context): Promise<{ isForm: boolean; given: unknown }> {
  const isForm = !(c.req.header("content-type") ?? "").startsWith("application/json");
  return { isForm, given: isForm ? await c.req.parseBody() : await c.req.json().catch(() => undefined) };
}

/** Calls the listener on every change; returns what ends it. */
export type OnChange = (listener: () => void) => () => void;

/** Resolves with what `look` finds, now or after a later change; rejects with `complaint()` after `timeoutMs`. */
export function waitFor<T>(
  onChange: OnChange,
  look: () => T | undefined,
  timeoutMs: number,
  complaint: () => string,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      stop();
    };
    const lookAgain = () => {
      const found = look();
      if (found === undefined) return;
      end();
      resolve(found);
    };
    const stop = onChange(lookAgain);
    const timer = setTimeout(() => {
      end();
      reject(new Error(complaint()));
    }, timeoutMs);
    lookAgain();
  });
}

export interface LivePage {
  app: Hono;
  /** Ends the event streams. */
  close(): void;
}

export interface LivePageOptions {
  onChange: OnChange;
  /** Follows the style that all pages share. */
  style: string;
  /**
   * The page's own part of the script. It defines `replaceLive(fresh, answer)`, which is called with the new document
   * and its answer, and may call `replaceMarked(fresh)`, which replaces all that is marked `data-live`.
   */
  script: string;
  /**
   * What the page shows in frames: its paths, and the content policy that they get in place of the page's. Default:
   * none.
   */
  framed?: { path: string; policy: string };
  /** Where pictures may come from besides the page itself, as sources of a content policy. Default: nowhere. */
  images?: string[];
}

/** An app that serves `/page.css`, `/page.js` and `/events`, and lets nothing of another origin in. */
export function createLivePage({ onChange, style, script, framed, images = [] }: LivePageOptions): LivePage {
  const app = new Hono();
  const closing = new AbortController();
  if (framed !== undefined) {
    // First in, last out: its policy replaces the page's.
    app.use(framed.path, async (c, next) => {
      await next();
      c.header("content-security-policy", framed.policy);
    });
  }
  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        scriptSrc: ["'self'"],
        imgSrc: ["'self'", "data:", ...images],
        connectSrc: ["'self'"],
        ...(framed ? { frameSrc: ["'self'"] } : {}),
        formAction: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
      strictTransportSecurity: false,
      // What is in a frame has an origin of its own, which a promise for the whole origin would contradict.
      originAgentCluster: framed === undefined,
      referrerPolicy: "no-referrer",
    }),
  );
  app.use(csrf());

  app.get("/events", (c) =>
    streamSSE(c, async (stream) => {
      let wake = () => {};
      let dirty = true;
      const notice = () => {
        dirty = true;
        wake();
      };
      const stop = onChange(notice);
      stream.onAbort(notice);
      closing.signal.addEventListener("abort", notice, { once: true });
      while (!stream.aborted && !closing.signal.aborted) {
        if (dirty) {
          dirty = false;
          await stream.writeSSE({ event: "change", data: "" });
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
      stop();
      closing.signal.removeEventListener("abort", notice);
    }),
  );
  app.get("/page.css", (c) => c.body(sharedStyle + style, 200, { "content-type": "text/css; charset=utf-8" }));
  app.get("/page.js", (c) => c.body(script + sharedScript, 200, { "content-type": "text/javascript; charset=utf-8" }));
  return { app, close: () => closing.abort() };
}

const sharedStyle = `
:root {
  color-scheme: light dark;
  --back: #e4e9ee; --surface: #ffffff; --raised: #f4f6f8; --line: #d4dae1;
  --ink: #17202a; --soft: #55626f; --accent: #0b66a8; --good: #1d7a3e; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f151b; --surface: #18212a; --raised: #1f2a35; --line: #2f3c49;
    --ink: #e8edf2; --soft: #9fadba; --accent: #6cb8f0; --good: #67c98a; --bad: #ff8a80;
  }
}
* { box-sizing: border-box; }
html, body { height: 100%; }
body { margin: 0; display: flex; flex-direction: column; background: var(--back); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
a { color: var(--accent); }
h1, h2, p, ol, dl, dd { margin: 0; padding: 0; }
h2 { font-size: 14px; margin-bottom: 8px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
.banner { background: var(--raised); border-bottom: 1px solid var(--line);
  color: var(--soft); font-size: 13px; padding: 6px 14px; }
.banner b { color: var(--ink); }
#live-state { float: right; color: var(--good); }
#live-state.lost { color: var(--bad); }
main { flex: 1; min-height: 0; display: grid; }
.quiet { color: var(--soft); font-size: 13px; }
summary { cursor: pointer; }
.faults form { display: grid; gap: 8px; font-size: 13px; }
.faults label { display: grid; gap: 4px; }
select, button { font: inherit; color: inherit; background: var(--raised);
  border: 1px solid var(--line); border-radius: 6px; padding: 6px 8px; min-height: 36px; width: 100%; }
button { cursor: pointer; font-weight: 600; }
button:hover { border-color: var(--accent); }
#pending form { margin-top: 12px; }
`;

/** Asks for the page again when something changed, and puts its live parts in place. */
const sharedScript = `
const state = document.getElementById("live-state");
let loading = false;
let again = false;

function replaceMarked(fresh) {
  for (const element of document.querySelectorAll("[data-live]")) {
    const replacement = fresh.getElementById(element.id);
    if (replacement !== null) element.replaceWith(replacement);
  }
}

async function refresh() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    replaceLive(new DOMParser().parseFromString(await answer.text(), "text/html"), answer);
  } finally {
    loading = false;
    if (again) {
      again = false;
      setTimeout(refresh, 100);
    }
  }
}

const events = new EventSource("/events");
// The first comes at the connection: something may have changed since the page was made.
events.addEventListener("change", () => {
  state.textContent = "Live";
  state.className = "";
  refresh().catch(() => {});
});
events.addEventListener("error", () => {
  state.textContent = "Connection lost, trying again";
  state.className = "lost";
});
`;
