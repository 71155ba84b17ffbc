import type { Hono } from "hono";
import { cardIdOf } from "../../core/destination-status.ts";
import type { Trouble } from "../../core/operations.ts";
import type { WebEnv } from "../web-env.ts";
import { Form } from "./form-element.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Since } from "./instants.tsx";
import { resendAddress } from "./resend-page.tsx";

/** `GET /strip`: the strip alone, for the script of pages that stay open. */
export function addStrip(app: Hono<WebEnv>, deps: PageDeps): void {
  app.get("/strip", (c) => c.render(<Strip frame={frameOf(c, deps)} />));
}

/** So many lines at most stand open: what is below them must stay in sight of a phone. */
const mostOpen = 3;

/** So many unfold. A server that a hundred destinations share is one fault, and this stands on every page. */
const mostListed = 30;

/**
 * What is wrong now, on every page, worst first, each with the button that helps; nothing when nothing is. A log that
 * stands still looks like a quiet market, and a dead destination like a quiet night.
 */
export async function Strip({ frame }: { frame: Frame }) {
  const troubles = await frame.troubles();
  const open = troubles.slice(0, troubles.length === mostOpen + 1 ? mostOpen + 1 : mostOpen);
  const rest = troubles.slice(open.length);
  return (
    <div data-live="strip">
      {troubles.length > 0 && (
        <section class="strip" aria-label="What is wrong now">
          <Lines troubles={open} frame={frame} />
          {rest.length > 0 && (
            <details>
              <summary>and {rest.length} more</summary>
              <Lines troubles={rest.slice(0, mostListed)} frame={frame} />
              {rest.length > mostListed && (
                <p>
                  and {rest.length - mostListed} more, see <a href="/destinations">Destinations</a> and{" "}
                  <a href="/system">System</a>
                </p>
              )}
            </details>
          )}
        </section>
      )}
    </div>
  );
}

function Lines({ troubles, frame }: { troubles: Trouble[]; frame: Frame }) {
  return (
    <ul>
      {troubles.map((trouble) => (
        <li class={trouble.level}>
          <p>
            <b dir="auto">{trouble.what}</b>
            {trouble.since !== undefined && (
              <>
                {" "}
                <Since at={trouble.since} now={frame.now} />
              </>
            )}
            {trouble.notes.map((note) => ` · ${note}`).join("")}
            {trouble.reason !== undefined && (
              <span class="why" dir="auto">
                {trouble.reason}
              </span>
            )}
          </p>
          <div class="helps">
            <Helps trouble={trouble} frame={frame} />
          </div>
        </li>
      ))}
    </ul>
  );
}

/** What a person can do about it. What sends many at once is asked again on the page that it leads to. */
function Helps({ trouble, frame }: { trouble: Trouble; frame: Frame }) {
  const { kind, name = "", source, failed = 0, expired = 0, canPutBack } = trouble;
  switch (kind) {
    case "store":
    case "reading":
      return <a href="/system">How the relay is</a>;
    case "destination":
      return (
        <>
          <Form frame={frame} action={`/destinations/${encodeURIComponent(name)}/try`}>
            <button type="submit" aria-label={`Try now: ${name}`}>
              Try now
            </button>
          </Form>
          <Test name={name} frame={frame} />
          <ResendAll name={name} failed={failed} />
          <ToCard name={name}>Why</ToCard>
        </>
      );
    case "undelivered":
      return (
        <>
          <Test name={name} frame={frame} />
          <ResendAll name={name} failed={failed} />
          {failed > expired && <ShowThem name={name} state="failed" count={failed - expired} isAll={expired === 0} />}
          {expired > 0 && <ShowThem name={name} state="expired" count={expired} isAll={failed === expired} />}
        </>
      );
    case "paused":
      return (
        <>
          <Form frame={frame} action={`/destinations/${encodeURIComponent(name)}/resume`}>
            <button type="submit" aria-label={`Resume ${name}`}>
              Resume
            </button>
          </Form>
          <ToCard name={name}>Its queue</ToCard>
        </>
      );
    case "unsteady":
      return (
        <>
          <Test name={name} frame={frame} />
          <ToCard name={name}>Why</ToCard>
        </>
      );
    case "resending":
      return <ToCard name={name}>Its queue</ToCard>;
    case "backlog":
      if (name !== "") return <ToCard name={name}>Its queue</ToCard>;
      return <a href="/?state=unrouted">Show them</a>;
    case "watch":
      return (
        <>
          {canPutBack && (
            <Form frame={frame} action="/setup/put-back">
              {source !== undefined && <input type="hidden" name="source" value={source} />}
              <button type="submit">Put back</button>
            </Form>
          )}
          <a href={pageOfWatch(name)}>Why, and what to do</a>
        </>
      );
    case "lane":
    case "relay":
      return <a href="/system#relays-title">The relays</a>;
    case "canary":
      return <a href="/silence#canary-title">Why</a>;
    case "silence":
      return <a href="/silence">What is usual</a>;
    case "spool":
      return <a href="/system">The parts of this relay</a>;
    default:
      return kind satisfies never;
  }
}

/** The log has one filter for what failed and one for what expired. */
function ShowThem(props: { name: string; state: "failed" | "expired"; count: number; isAll: boolean }) {
  const { name, state, count, isAll } = props;
  const words = isAll ? "Show them" : `Show ${count} ${state}`;
  return (
    <a
      href={`/?${new URLSearchParams({ destination: name, state })}`}
      aria-label={`${words}: not delivered to ${name}`}
    >
      {words}
    </a>
  );
}

/** It is what people press after a repair, so it goes at once; where it fails nothing rings. */
function Test({ name, frame }: { name: string; frame: Frame }) {
  return (
    <Form frame={frame} action={`/destinations/${encodeURIComponent(name)}/test`}>
      <button type="submit" aria-label={`Test: send one message to ${name}`}>
        Test
      </button>
    </Form>
  );
}

function ResendAll({ name, failed }: { name: string; failed: number }) {
  if (failed === 0) return null;
  return (
    <a class="button" href={resendAddress({ destination: name })} aria-label={`Resend all …: ${failed} to ${name}`}>
      Resend all …
    </a>
  );
}

function pageOfWatch(name: string): string {
  if (name === "gaps") return "/gaps";
  if (name === "disk") return "/system";
  return name.startsWith("gaps:") ? `/gaps?source=${encodeURIComponent(name.slice(5))}` : "/setup#watches-title";
}

function ToCard({ name, children }: { name: string; children: string }) {
  return (
    <a href={`/destinations#${cardIdOf(name)}`} aria-label={`${children}: ${name}`}>
      {children}
    </a>
  );
}
