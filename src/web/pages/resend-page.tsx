import type { Hono } from "hono";
import { type FailedFilters, failedFilters, toFailedFilter } from "../../contract/alert-query.ts";
import type { FailedAtDestination, ResendPreview, ResendResult } from "../../contract/operations.ts";
import { aside, type Cell, noteDone, noteFailed, type Panel, paragraph, say } from "../../contract/panels/panel.ts";
import { AppError } from "../../core/errors.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { relativeTime } from "../../ground/time/ages.ts";
import { readField, readForm } from "../form.ts";
import type { WebEnv } from "../web-env.ts";
import { frameOf, type PageDeps } from "./frame.ts";
import { addressOf, type LogFilters, readLogFilters } from "./log-filters.tsx";
import { PanelPage } from "./panel-page.tsx";

/** `GET /resend` asks, with the filters of the log in its address; `POST /resend` resends what was counted. */
export function addResendPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;

  app.get("/resend", async (c) => {
    const frame = frameOf(c, deps);
    const filters = readFilters((name) => c.req.query(name));
    const preview = await operations.previewResend(toFailedFilter(filters.failed));
    const panel = askPanel(filters.log, preview, frame.now);
    return c.render(<PanelPage frame={frame} title="Resend what failed?" panel={panel} />);
  });

  app.post("/resend", async (c) => {
    const frame = frameOf(c, deps);
    const form = await readForm(c);
    const { log, failed } = readFilters((name) => readField(form, name));
    const failedUntil = failedFilters.shape.failedUntil.safeParse(readField(form, "failedUntil"));
    if (!failedUntil.success || failedUntil.data === undefined) {
      throw new AppError("invalid_request", "The form does not say what was counted.", {
        hint: "Open the page again and send it from there.",
      });
    }
    const result = await operations.resendFailed({ ...toFailedFilter(failed), failedUntil: failedUntil.data });
    const title = result.resent > 0 ? "Resent" : "Nothing was resent";
    return c.render(<PanelPage frame={frame} title={title} panel={donePanel(log, result)} />);
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

function askPanel(
  { written }: LogFilters,
  { deliveries, destinations, failedUntil }: ResendPreview,
  now: number,
): Panel {
  const ready = destinations.filter(({ health }) => health !== undefined);
  const gone = destinations.filter(({ health }) => health === undefined);
  const [first] = ready;
  const to = first && ready.length === 1 ? first.destination : `${ready.length} destinations`;
  const filters = Object.entries(written).map(([name, value]) => `${name} ${value}`);
  const lineOf = (count: FailedAtDestination) => describeFailed(count, now);
  return [
    {
      kind: "text",
      isSoft: true,
      text: filters.length === 0 ? "Everything that failed or expired." : `Filtered by ${filters.join(", ")}.`,
    },
    ...(ready.length === 0
      ? ([
          {
            kind: "empty",
            empty: "Nothing failed that was not resent",
            text: { link: addressOf(written), text: { words: "Back to the log" } },
          },
        ] as const)
      : ([
          { kind: "list", items: ready.map(lineOf) },
          aside`They are sent marked "Resent": one message in four while new alerts come. Failures after this moment are not included.`,
          {
            kind: "acts",
            acts: [
              {
                label: `Resend ${deliveries} failed to ${to}`,
                post: "/resend",
                fields: { ...written, failedUntil: new Date(failedUntil).toISOString() },
                isMain: true,
              },
              { label: "Cancel", link: addressOf(written) },
            ],
          },
        ] as const)),
    gone.length > 0 && { kind: "list", title: "Not among them", items: gone.map(lineOf) },
  ];
}

function describeFailed(count: FailedAtDestination, now: number): Cell {
  const { destination, deliveries, alerts, oldestAt, newestAt, health, asDigests } = count;
  const several = deliveries !== alerts && say` (${deliveries} deliveries)`;
  const from = relativeTime(oldestAt, now) !== relativeTime(newestAt, now) && say`${{ age: oldestAt }} to `;
  const how = asDigests ? ", as digests." : alerts > 1 ? ", one message each." : ".";
  return [
    say`${{ bold: destination }}: ${{ words: countOf(alerts, "alert") }}${several}, received ${from}${{ age: newestAt }}${{ words: how }}`,
    health === undefined &&
      say` It is no longer configured. Under a new name: open an alert, and resend it to the new destination.`,
    (health === "dead" || health === "paused") &&
      say` It is ${{ words: health }}: it is tried first, and if it still refuses, nothing is resent to it.`,
    health === "down" && say` It is down: they wait until it answers.`,
  ];
}

function donePanel({ written }: LogFilters, { resent, left }: ResendResult): Panel {
  return [
    resent > 0 &&
      noteDone`${resent} ${{ words: resent === 1 ? "is" : "are" }} on the way again, marked "Resent": one message in four while new alerts come. The top of each page says how many have arrived, until all have.`,
    ...left.map(
      ({ destination, deliveries, why }) =>
        noteFailed`${{ bold: say`${deliveries} to ${destination} stay failed:` }} ${why}.`,
    ),
    resent === 0 && left.length === 0 && paragraph`Nothing is left that failed: perhaps somebody else has resent it.`,
    {
      kind: "acts",
      acts: [
        { label: "Destinations", link: "/destinations" },
        { label: "Back to the log", link: addressOf(written) },
      ],
    },
  ];
}

/** The address of the question with these filters. */
export function resendAddress(written: LogFilters["written"]): string {
  return addressOf(written).replace(/^\//, "/resend");
}
