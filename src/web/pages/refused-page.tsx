import type { Hono } from "hono";
import { AppError } from "../../core/errors.ts";
import { countRefused, type DoorRefusal, type DoorRefusalView, type SourceView } from "../../core/operations.ts";
import type { RefusedDetail, RefusedSummary } from "../../core/ports/refused.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import { showBody } from "../body-text.ts";
import type { WebEnv } from "../web-env.ts";
import { Form } from "./form-element.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant } from "./instants.tsx";
import { CodeBlock, HeadRow, Layout, Notice } from "./layout.tsx";

const pageSize = 100;

/**
 * `GET /refused`: requests whose sender did not pass the check of their source, newest first; `GET /refused/:id`: one as
 * it came, with the button that relays it anyway.
 */
export function addRefusedPages(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;

  app.get("/refused", async (c) => {
    const source = c.req.query("source") || undefined;
    const list = await operations.listRefused({ limit: pageSize, source, before: c.req.query("before") });
    const sources = operations.sources().filter(({ name }) => source === undefined || name === source);
    const door = source === undefined ? operations.doorRefusals() : [];
    return c.render(<RefusedList frame={frameOf(c, deps)} {...{ list, source, sources, door }} />);
  });

  app.get("/refused/:id", async (c) => {
    const refused = await operations.findRefused(c.req.param("id"));
    return c.render(<RefusedPage frame={frameOf(c, deps)} refused={refused} />);
  });

  app.post("/refused/:id/release", async (c) => {
    const [first, ...others] = (await operations.releaseRefused(c.req.param("id"))).ids;
    if (first === undefined) throw new AppError("not_found", "Nothing was released.");
    return c.redirect(others.length === 0 ? `/alerts/${first}` : "/", 303);
  });
}

interface RefusedListProps {
  frame: Frame;
  list: RefusedSummary[];
  /** Only its own are listed. */
  source?: string;
  /** Those that may have refused something. */
  sources: SourceView[];
  /** What was turned away before it was anybody's. */
  door: DoorRefusalView[];
}

function RefusedList({ frame, list, source, sources, door }: RefusedListProps) {
  const last = list.length === pageSize ? list.at(-1) : undefined;
  const filter = source === undefined ? "" : `source=${encodeURIComponent(source)}&`;
  return (
    <Layout frame={frame} at="/refused">
      <p>
        Requests that failed the check of a source. They were not sent to anybody. Up to 200 per source are kept.
        {source !== undefined && (
          <>
            {" "}
            Only those of <bdi>{source}</bdi>: <a href="/refused">all of them</a>.
          </>
        )}
      </p>
      {list.length === 0 ? (
        <p class="soft">{describeNone(sources)}</p>
      ) : (
        <table class="alerts">
          <HeadRow names={["Received", "Source", "Why", "From", "Size"]} />
          <tbody>
            {list.map((one) => (
              <tr>
                <td class="when">
                  <Instant at={one.receivedAt} now={frame.now} />
                </td>
                <td>{one.source}</td>
                <td class="what">
                  <a href={`/refused/${one.id}`}>{sentence(one.detail)}</a>
                  {one.released !== undefined && <span class="origin">released</span>}
                  {one.unkept > 0 && (
                    <span class="about">{`and ${one.unkept} before it that were counted and not kept`}</span>
                  )}
                </td>
                <td>
                  <bdi>{one.address}</bdi>
                </td>
                <td class="number">{formatBytes(one.bodyBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {sources.map(
        (one) =>
          countRefused(one) > 0 && (
            <p class="soft">
              Since the start <bdi>{one.name}</bdi> has refused {countRefused(one)} and let in {one.accepted}.
            </p>
          ),
      )}
      {last !== undefined && (
        <nav class="pager" aria-label="Pages">
          <a href={`/refused?${filter}before=${last.id}`} rel="next">
            Older
          </a>
        </nav>
      )}
      <AtTheDoor refusals={door} now={frame.now} />
    </Layout>
  );
}

function describeNone(sources: SourceView[]): string {
  if (sources.some(({ checks }) => checks.length > 0)) return "Nothing is kept that was refused.";
  return "None. No source has a check configured (sources.NAME.check).";
}

/** Numbers and rough times alone: whoever knocks with guesses is not worth more, and must not fill a disk. */
function AtTheDoor({ refusals, now }: { refusals: DoorRefusalView[]; now: number }) {
  const seen = refusals.filter(({ total }) => total > 0);
  if (refusals.length === 0) return null;
  return (
    <section aria-labelledby="door-title">
      <h2 id="door-title">Rejected requests (not stored)</h2>
      <p class="soft">
        Counted since the last restart, see <a href="/system">System</a>.
      </p>
      {seen.length === 0 ? (
        <p>None since the start.</p>
      ) : (
        <ul class="turned-away">
          {seen.map(({ reason, total, day, lastAt }) => (
            <li>
              <b>{doorWords[reason].what}</b>: {day.toLocaleString("en-US")} in 24 h, {total.toLocaleString("en-US")}{" "}
              since the start
              {lastAt !== undefined && (
                <>
                  , the last <Instant at={lastAt} now={now} />
                </>
              )}
              . <span class="soft">{doorWords[reason].help}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const doorWords: Record<DoorRefusal, { what: string; help: string }> = {
  unknown_secret: {
    what: "Wrong address (404)",
    help: "A sender has an old secret, or somebody guesses. The right addresses are on the page Account.",
  },
  too_large: { what: "Too large (413)", help: "Raise intake.maxBodyBytes, or have the sender write less." },
  too_many_fields: {
    what: "Too many header fields (431)",
    help: "Have the sender, or the proxy before Tocsin, send 200 fields at most.",
  },
  compressed: { what: "Compressed (415)", help: "Have the sender post the body as it is, without Content-Encoding." },
  turned_away: {
    what: "Not read (503)",
    help: "More than 4,096 connections of networks that sent no alert waited. Whether one brought an alert is not known.",
  },
  not_stored: {
    what: "Not stored (503)",
    help: "The disk was full or slow, too much arrived at once, or Tocsin was being stopped. Senders that retry lose nothing.",
  },
};

function RefusedPage({ frame, refused }: { frame: Frame; refused: RefusedDetail }) {
  const { id, source, receivedAt, detail, reason, address, items, released, headers } = refused;
  const body = showBody(refused.body);
  return (
    <Layout frame={frame} at="/refused" title="Why was this refused?">
      <Notice kind="failed">{sentence(detail)}.</Notice>
      <dl class="facts">
        <dt>Source</dt>
        <dd>
          <a href={`/refused?source=${encodeURIComponent(source)}`}>{source}</a>
        </dd>
        <dt>Received</dt>
        <dd>
          <Instant at={receivedAt} now={frame.now} />
        </dd>
        <dt>From</dt>
        <dd>
          <bdi>{address}</bdi>
        </dd>
        <dt>Reason</dt>
        <dd>
          <code>{reason}</code>
        </dd>
      </dl>
      {released === undefined ? (
        <section aria-labelledby="release-title">
          <h2 id="release-title">Relay it anyway</h2>
          <p>
            Nobody has proven who sent this. If you know that it is right, it is taken now as{" "}
            {items === 1 ? "an alert" : `${items} alerts`} of this source, and goes where the routes say. When its
            sender sends it again under the same key, it is a duplicate; when it has done so and passed, nothing is
            sent.
          </p>
          <Form frame={frame} action={`/refused/${id}/release`}>
            <button type="submit" class="primary">
              I have looked at it: relay it
            </button>
          </Form>
        </section>
      ) : (
        <Notice kind="done">
          Released <Instant at={released.at} now={frame.now} show="relative" />
          {": "}
          {released.alertIds.slice(0, 20).map((alertId, index) => (
            <>
              {index > 0 && ", "}
              <a href={`/alerts/${alertId}`}>{released.alertIds.length === 1 ? "the alert" : `alert ${index + 1}`}</a>
            </>
          ))}
        </Notice>
      )}
      <h2>Body</h2>
      {body.form === "empty" ? (
        <p class="soft">The body was empty.</p>
      ) : (
        <CodeBlock id="body" text={body.text} isBytes={body.form === "bytes"} />
      )}
      {body.isCut && <p class="soft">This is the beginning; GET /api/refused/{id} has all of it.</p>}
      <details>
        <summary>
          {headers.length} {headers.length === 1 ? "header" : "headers"}
        </summary>
        <dl class="facts headers">
          {headers.map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd dir="auto">{value}</dd>
            </>
          ))}
        </dl>
      </details>
    </Layout>
  );
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
