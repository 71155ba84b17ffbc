import type { Context, Hono } from "hono";
import { type FailedFilters, failedFilters, toFailedFilter } from "../../contract/alert-query.ts";
import type { FailedAtDestination, ResendPreview, ResendResult } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import { relativeTime } from "../../ground/time/ages.ts";
import { readField, readForm } from "../form.ts";
import type { WebEnv } from "../web-env.ts";
import { Form } from "./form-element.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant } from "./instants.tsx";
import { Layout, Notice } from "./layout.tsx";
import { addressOf, type LogFilters, readLogFilters } from "./log-filters.tsx";

/** `GET /resend` asks, with the filters of the log in its address; `POST /resend` resends what was counted. */
export function addResendPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;

  app.get("/resend", async (c) => {
    const filters = readFilters((name) => c.req.query(name));
    const preview = await operations.previewResend(toFailedFilter(filters.failed));
    return c.render(<AskPage frame={frameOf(c, deps)} filters={filters} preview={preview} />);
  });

  app.post("/resend", async (c: Context<WebEnv>) => {
    const form = await readForm(c);
    const filters = readFilters((name) => readField(form, name));
    const failedUntil = failedFilters.shape.failedUntil.safeParse(readField(form, "failedUntil"));
    if (!failedUntil.success || failedUntil.data === undefined) {
      throw new AppError("invalid_request", "The form does not say what was counted.", {
        hint: "Open the page again and send it from there.",
      });
    }
    const filter = { ...toFailedFilter(filters.failed), failedUntil: failedUntil.data };
    const result = await operations.resendFailed(filter);
    return c.render(<DonePage frame={frameOf(c, deps)} filters={filters} result={result} />);
  });
}

interface ResendFilters {
  log: LogFilters;
  failed: FailedFilters;
}

/** @throws AppError `invalid_request` for a filter that cannot be read: without it far more would be resent. */
function readFilters(parameter: (name: string) => string | undefined): ResendFilters {
  const log = readLogFilters(parameter);
  const state = failedFilters.shape.state.safeParse(log.read.state);
  const problems = [...log.problems, ...(state.success ? [] : ["only failed and expired can be resent"])];
  if (problems.length > 0) {
    throw new AppError("invalid_request", `Nothing can be resent by these filters: ${problems.join("; ")}.`, {
      hint: "Go back to the log and filter again.",
    });
  }
  return { log, failed: { ...log.read, state: state.data } };
}

function AskPage({ frame, filters, preview }: { frame: Frame; filters: ResendFilters; preview: ResendPreview }) {
  const ready = preview.destinations.filter(({ health }) => health !== undefined);
  const gone = preview.destinations.filter(({ health }) => health === undefined);
  return (
    <Layout frame={frame} title="Resend what failed">
      <h1>Resend what failed?</h1>
      <p class="count">{describeFilters(filters.log)}</p>
      {ready.length === 0 ? (
        <div class="empty">
          <h2>Nothing failed that was not resent</h2>
          <p>
            <a href={backOf(filters)}>Back to the log</a>
          </p>
        </div>
      ) : (
        <section aria-label="What is resent">
          <ul class="resends">
            {ready.map((count) => (
              <FailedLine count={count} now={frame.now} />
            ))}
          </ul>
          <p class="soft">
            They are sent marked "Resent": one message in four while new alerts come. Failures after this moment are not
            included.
          </p>
          <Form frame={frame} action="/resend" class="answers-row">
            {Object.entries(filters.log.written).map(([name, value]) => (
              <input type="hidden" name={name} value={value} />
            ))}
            <input type="hidden" name="failedUntil" value={new Date(preview.failedUntil).toISOString()} />
            <button type="submit" class="primary">
              Resend {preview.deliveries} failed to {namesOf(ready)}
            </button>
            <a href={backOf(filters)}>Cancel</a>
          </Form>
        </section>
      )}
      {gone.length > 0 && (
        <section aria-label="What cannot be resent">
          <h2>Not among them</h2>
          <ul class="resends">
            {gone.map((count) => (
              <FailedLine count={count} now={frame.now} />
            ))}
          </ul>
        </section>
      )}
    </Layout>
  );
}

function FailedLine({ count, now }: { count: FailedAtDestination; now: number }) {
  const { destination, deliveries, alerts, oldestAt, newestAt, health, asDigests } = count;
  return (
    <li>
      <b>
        <bdi>{destination}</bdi>
      </b>
      : {alerts} {alerts === 1 ? "alert" : "alerts"}
      {deliveries !== alerts && ` (${deliveries} deliveries)`}, received{" "}
      {relativeTime(oldestAt, now) !== relativeTime(newestAt, now) && (
        <>
          <Instant at={oldestAt} now={now} show="relative" />
          {" to "}
        </>
      )}
      <Instant at={newestAt} now={now} show="relative" />
      {asDigests ? ", as digests." : alerts > 1 ? ", one message each." : "."}
      {health === undefined && (
        <span class="soft">
          {" "}
          It is no longer configured. Under a new name: open an alert, and resend it to the new destination.
        </span>
      )}
      {(health === "dead" || health === "paused") && (
        <span class="soft"> It is {health}: it is tried first, and if it still refuses, nothing is resent to it.</span>
      )}
      {health === "down" && <span class="soft"> It is down: they wait until it answers.</span>}
    </li>
  );
}

function DonePage({ frame, filters, result }: { frame: Frame; filters: ResendFilters; result: ResendResult }) {
  const { resent, left } = result;
  return (
    <Layout frame={frame} title="Resent">
      <h1>{resent > 0 ? "Resent" : "Nothing was resent"}</h1>
      {resent > 0 && (
        <Notice kind="done">
          {resent} {resent === 1 ? "is" : "are"} on the way again, marked "Resent": one message in four while new alerts
          come. The top of each page says how many have arrived, until all have.
        </Notice>
      )}
      {left.map(({ destination, deliveries, why }) => (
        <Notice kind="failed">
          <b>
            {deliveries} to <bdi>{destination}</bdi> stay failed:
          </b>{" "}
          <span dir="auto">{why}.</span>
        </Notice>
      ))}
      {resent === 0 && left.length === 0 && <p>Nothing is left that failed: perhaps somebody else has resent it.</p>}
      <p class="answers-row">
        <a href="/destinations">Destinations</a>
        <a href={backOf(filters)}>Back to the log</a>
      </p>
    </Layout>
  );
}

function describeFilters({ written }: LogFilters): string {
  const words = Object.entries(written).map(([name, value]) => `${name} ${value}`);
  return words.length === 0 ? "Everything that failed or expired." : `Filtered by ${words.join(", ")}.`;
}

function namesOf(counts: FailedAtDestination[]): string {
  const [first] = counts;
  return counts.length === 1 && first ? first.destination : `${counts.length} destinations`;
}

function backOf({ log }: ResendFilters): string {
  return addressOf(log.written);
}

/** The address of the question with these filters. */
export function resendAddress(written: LogFilters["written"]): string {
  const query = new URLSearchParams(written).toString();
  return query === "" ? "/resend" : `/resend?${query}`;
}
