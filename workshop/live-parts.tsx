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

interface FaultFormProps {
  /** What is broken: "Break the next message". */
  title: string;
  /** Whose: the name and the value of the hidden field. */
  of: [name: string, value: string];
  /** Above the choice. */
  label: string;
  /** What each kind does. */
  words: Readonly<Record<string, string>>;
  /** Those that wait. */
  pending: string[];
}

/** Lets a person break what comes next to the stand-in that he looks at. */
export const FaultForm: FC<FaultFormProps> = ({ title, of: [name, value], label, words, pending }) => (
  <section class="faults" aria-label="Break something">
    <h2>{title}</h2>
    <form method="post" action="/faults">
      <input type="hidden" name={name} value={value} />
      <label>
        {label}
        <select name="kind">
          {Object.entries(words).map(([kind, what]) => (
            <option value={kind}>{what}</option>
          ))}
        </select>
      </label>
      <label class="check">
        <input type="checkbox" name="delivered" /> the message arrives all the same
      </label>
      <button type="submit">Break it</button>
    </form>
    <PendingFaults names={pending} />
  </section>
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
