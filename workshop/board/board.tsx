import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Hono } from "hono";
import { csrf } from "hono/csrf";
import type { FC } from "hono/jsx";
import { secureHeaders } from "hono/secure-headers";
import { streamSSE } from "hono/streaming";
import { openServer } from "../stand-in.ts";
import { boardScript } from "./script.ts";
import type { BoardSource, Place, ShownCall, ShownMessage } from "./source.ts";
import { boardStyle } from "./style.ts";
import { Clock } from "./views.tsx";

const messagesShown = 100;
const callsShown = 12;

/** Shows all applications as their readers see them. `/?app=slack` shows one, `&place=ID` one of its places. */
export async function openBoard(sources: readonly BoardSource[]) {
  const closing = new AbortController();
  const app = new Hono<{ Variables: { policy?: string } }>();
  app.use(async (c, next) => {
    await next();
    c.header("content-security-policy", c.var.policy ?? pagePolicy);
  });
  // A mail in its frame has its own origin, which conflicts with an agent cluster for the page's origin.
  const headers = { strictTransportSecurity: false, originAgentCluster: false, referrerPolicy: "no-referrer" };
  app.use(secureHeaders(headers), csrf());

  const sourceOf = (name: string | undefined) => sources.find((source) => source.app === name) ?? sources[0];

  app.get("/", (c) => {
    const source = sourceOf(c.req.query("app"));
    if (source === undefined) return c.notFound();
    const places = source.places();
    const place = places.find(({ id }) => id === c.req.query("place")) ?? places[0];
    return c.html(`<!doctype html>${(<BoardPage sources={sources} source={source} place={place} />).toString()}`);
  });
  app.get("/files/:app/:name", (c) => {
    const file = sourceOf(c.req.param("app"))?.file?.(c.req.param("name"));
    if (file === undefined) return c.notFound();
    c.set("policy", file.policy);
    return c.body(typeof file.body === "string" ? file.body : Buffer.from(file.body), 200, {
      "content-type": file.type,
    });
  });
  app.post("/faults", async (c) => {
    const { app, place = "", words, clear } = await c.req.parseBody<Record<string, string>>();
    const faults = sourceOf(app)?.faults;
    if (clear !== undefined) faults?.clear();
    else faults?.next(words ?? "", place);
    return c.redirect(`/?app=${encodeURIComponent(app ?? "")}&place=${encodeURIComponent(place)}`, 303);
  });
  app.get("/events", (c) =>
    streamSSE(c, async (stream) => {
      const tell = () => void stream.writeSSE({ event: "change", data: "" });
      const stops = sources.map(({ onChange }) => onChange(tell));
      tell();
      await new Promise<void>((resolve) => {
        stream.onAbort(resolve);
        closing.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      for (const stop of stops) stop();
    }),
  );
  app.get("/board.css", (c) => c.body(boardStyle, 200, { "content-type": "text/css; charset=utf-8" }));
  const morphing = createRequire(import.meta.url).resolve("idiomorph/dist/idiomorph.min.js");
  const script = `${readFileSync(morphing, "utf8")}\n${boardScript}`;
  app.get("/board.js", (c) => c.body(script, 200, { "content-type": "text/javascript; charset=utf-8" }));

  const { url, close } = await openServer(app.fetch);
  return {
    url,
    async close(): Promise<void> {
      closing.abort();
      await close();
    },
  };
}

/** Slack and ntfy show the relay's pictures by an address of this machine. */
const pagePolicy = [
  "default-src 'none'; img-src 'self' data: http://127.0.0.1:* http://localhost:*; base-uri 'none'",
  "style-src 'self'; script-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const addressOf = (app: string, place: string) => `/?app=${app}&place=${encodeURIComponent(place)}`;

interface Shown {
  sources: readonly BoardSource[];
  source: BoardSource;
  place?: Place;
}

const BoardPage: FC<Shown> = ({ sources, source, place }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>{`${place?.name ?? source.title} · stand-in for ${source.title}`}</title>
      <link rel="icon" href="data:," />
      <link rel="stylesheet" href="/board.css" />
      <script src="/board.js" defer />
    </head>
    <body>
      <header class="banner">
        <b>Stand-ins for {sources.map(({ title }) => title).join(", ")}.</b> Nothing here leaves this machine.{" "}
        <span id="live-state">Live</span>
      </header>
      <main>
        <nav class="places" id="places" data-live aria-label="Places">
          {sources.map(({ app, title, places }) => (
            <>
              <h2>{title}</h2>
              {places().map(({ id, name, count }) => (
                <a href={addressOf(app, id)} aria-current={app === source.app && id === place?.id ? "page" : undefined}>
                  <span class="title">{name}</span>
                  <span class="count">{count}</span>
                </a>
              ))}
            </>
          ))}
        </nav>
        <PlaceView app={source.app} place={place} />
        <aside>
          <CallList calls={source.calls()} />
          <FaultForm source={source} place={place?.id ?? ""} />
        </aside>
      </main>
    </body>
  </html>
);

const PlaceView: FC<{ app: string; place?: Place }> = ({ app, place }) => {
  const messages = place?.newest(messagesShown) ?? [];
  const count = place?.count ?? 0;
  return (
    <section class="place" id="place" data-live aria-label={`Messages in ${place?.name ?? app}`}>
      <header class="place-head">
        <h1>{place?.name ?? "Nothing has arrived yet"}</h1>
        <p>
          {place?.about} · {count} {count === 1 ? "message" : "messages"}
        </p>
      </header>
      <ol class={`messages ${app}`} id="messages" tabindex={0} aria-label="Messages, oldest first">
        {count > messages.length && <li class="mark">{count - messages.length} older messages</li>}
        {count === 0 && <li class="mark">Nothing here yet. Messages appear as they are sent.</li>}
        {messages.map((message) => (
          <MessageView message={message} />
        ))}
      </ol>
    </section>
  );
};

const MessageView: FC<{ message: ShownMessage }> = ({ message: { earlier = [], marks = [], ...message } }) => (
  <li class={message.isPerson ? "message person" : "message"} id={`m${message.id}`}>
    <p class="from">{message.from}</p>
    {message.answered !== undefined && (
      <a class="reply" href={`#m${message.answered.id}`}>
        <b>{message.answered.from}</b>
        <span>{message.answered.text.slice(0, 140)}</span>
      </a>
    )}
    <div class="text">{message.body}</div>
    <p class="meta">
      {marks.map((mark) => (
        <span>{mark}</span>
      ))}
      {earlier.length > 0 && <span class="edited">edited</span>}
      <Clock at={message.at} />
    </p>
    {earlier.length > 0 && (
      <details id={`e${message.id}`}>
        <summary>
          {earlier.length} earlier {earlier.length === 1 ? "version" : "versions"}
        </summary>
        {earlier.map((version) => (
          <div class="text earlier">{version}</div>
        ))}
      </details>
    )}
  </li>
);

const CallList: FC<{ calls: readonly ShownCall[] }> = ({ calls }) => (
  <section class="calls" id="calls" data-live aria-label="Latest requests">
    <h2>Latest requests</h2>
    {calls.length === 0 && <p class="quiet">None yet.</p>}
    <ol>
      {calls
        .slice(-callsShown)
        .toReversed()
        .map(({ at, method, status, description, fault }) => (
          <li>
            <span class={status >= 200 && status < 300 && fault === undefined ? "status good" : "status bad"}>
              {status === 0 ? "lost" : status}
            </span>
            <span>
              {method || "?"} {fault !== undefined && <em>{fault}</em>}
            </span>
            <Clock at={at} />
            {description !== undefined && <span class="why">{description}</span>}
          </li>
        ))}
    </ol>
  </section>
);

const FaultForm: FC<{ source: BoardSource; place: string }> = ({ source: { app, faults }, place }) => (
  <section class="faults" aria-label="Break something">
    <h2>Break what comes next here</h2>
    <form method="post" action="/faults">
      <input type="hidden" name="app" value={app} />
      <input type="hidden" name="place" value={place} />
      <select name="words" aria-label="What happens">
        {faults.words.map((words) => (
          <option>{words}</option>
        ))}
      </select>
      <button type="submit">Break it</button>
      <div id="pending" data-live>
        {faults.pending().length > 0 && (
          <>
            <p>Waiting: {faults.pending().join("; ")}</p>
            <button type="submit" name="clear" value="yes">
              Forget them
            </button>
          </>
        )}
      </div>
    </form>
  </section>
);
