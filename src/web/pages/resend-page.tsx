import type { Hono } from "hono";
import { type FailedFilters, failedFilters, toFailedFilter } from "../../contract/alert-query.ts";
import type { ResendPreview } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import type { Panel } from "../../panels/panel.ts";
import { failedPanel, resentPanel } from "../../panels/resend.ts";
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
    const acts = [
      { label: "Destinations", link: "/destinations" },
      { label: "Back to the log", link: addressOf(log.written) },
    ];
    const panel: Panel = [...resentPanel(result), { kind: "acts", acts }];
    const title = result.resent > 0 ? "Resent" : "Nothing was resent";
    return c.render(<PanelPage frame={frame} title={title} panel={panel} />);
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

function askPanel({ written }: LogFilters, preview: ResendPreview, now: number): Panel {
  const ready = preview.destinations.filter(({ health }) => health !== undefined);
  const [first] = ready;
  const to = first && ready.length === 1 ? first.destination : `${ready.length} destinations`;
  const filters = Object.entries(written).map(([name, value]) => `${name} ${value}`);
  const text = filters.length === 0 ? "Everything that failed or expired." : `Filtered by ${filters.join(", ")}.`;
  const acts = [
    {
      label: `Resend ${preview.deliveries} failed to ${to}`,
      post: "/resend",
      fields: { ...written, failedUntil: new Date(preview.failedUntil).toISOString() },
      isMain: true,
    },
    { label: "Cancel", link: addressOf(written) },
  ];
  const isNone = { link: addressOf(written), text: { words: "Back to the log" } };
  return [{ kind: "text", isSoft: true, text }, ...failedPanel(preview, now, { acts, isNone })];
}

/** The address of the question with these filters. */
export function resendAddress(written: LogFilters["written"]): string {
  return addressOf(written).replace(/^\//, "/resend");
}
