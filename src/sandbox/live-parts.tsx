import type { Child, FC } from "hono/jsx";

/** What every page begins with. */
export const Head: FC<{ title: string }> = ({ title }) => (
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>{title}</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/page.css" />
    <script src="/page.js" defer />
  </head>
);

/** The faults that wait, and what forgets them. */
export const PendingFaults: FC<{ names: string[] }> = ({ names }) => (
  <div id="pending" data-live>
    {names.length > 0 && (
      <form method="post" action="/faults/clear">
        <p>Waiting: {names.join("; ")}</p>
        <button type="submit">Forget them</button>
      </form>
    )}
  </div>
);

/** One request as it was answered. */
export interface ShownCall {
  /** Epoch milliseconds. */
  at: number;
  method: string;
  /** HTTP status; 0 for no answer. */
  status: number;
  /** Why it was refused. */
  description?: string;
  /** The fault that hit it. */
  fault?: string;
}

export const CallList: FC<{ calls: readonly ShownCall[] }> = ({ calls }) => (
  <section class="calls" id="calls" data-live aria-label="Latest requests">
    <h2>Latest requests</h2>
    {calls.length === 0 && <p class="quiet">None yet.</p>}
    <ol>
      {calls
        .slice(-12)
        .reverse()
        .map((call) => (
          <li>
            <span
              class={call.status >= 200 && call.status < 300 && call.fault === undefined ? "status good" : "status bad"}
            >
              {call.status === 0 ? "lost" : call.status}
            </span>
            <span>
              {call.method || "?"} {call.fault !== undefined && <em>{call.fault}</em>}
            </span>
            <Clock at={call.at} />
            {call.description !== undefined && <span class="why">{call.description}</span>}
          </li>
        ))}
    </ol>
  </section>
);

export const Clock: FC<{ at: number }> = ({ at }) => {
  const iso = new Date(at).toISOString();
  return (
    <time class="clock" datetime={iso} title={iso}>
      {iso.slice(11, 19)}
    </time>
  );
};

/** Opens for web addresses only; others are shown as words. */
export const WebLink: FC<{ url: string; children?: Child }> = ({ url, children }) =>
  /^https?:\/\//i.test(url) ? (
    <a href={url} rel="noreferrer noopener" target="_blank">
      {children}
    </a>
  ) : (
    <span class="link">{children}</span>
  );
