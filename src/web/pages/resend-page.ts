import type { Hono } from "hono";
import { z } from "zod";
import { failedFilters, toFailedFilter } from "../../contract/alert-query.ts";
import type { DestinationView, ResendPreview } from "../../contract/operations.ts";
import { standingOf, toneOf, wordOf } from "../../contract/words.ts";
import { AppError } from "../../core/errors.ts";
import type { AlertDetail, DeliverySummary } from "../../core/ports/alert-log.ts";
import { sentence } from "../../ground/text/plain-text.ts";
import type { Cell, Panel } from "../../panels/panel.ts";
import { failedPanel, resentPanel } from "../../panels/resend.ts";
import { actsOf, aside, groupOf, paragraph, say } from "../../panels/sections.ts";
import { readField, readForm } from "../form.ts";
import { frameOf, type PageDeps, type WebEnv } from "../web-env.ts";
import { titleOf } from "./alert-text.tsx";
import { addressOf, type LogFilters, readLogFilters } from "./log-filters.tsx";
import { answerPanel } from "./panel-page.tsx";

/** `GET /resend` asks, with the filters of the log or a mute. `POST /resend` resends the counted alerts. */
export function addResendPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;

  app.get("/resend", async (c) => {
    const frame = frameOf(c, deps);
    const asked = readAsked((name) => c.req.query(name));
    const preview = await operations.previewResend(toFailedFilter(asked.failed));
    const mute = (await operations.listMutes(true)).find(({ id }) => id === asked.failed.mute);
    const title = asked.isRelease ? "Release what was muted?" : "Resend what failed?";
    return answerPanel(c, { frame, title, panel: askPanel(asked, preview, frame.now, mute) });
  });

  app.post("/resend", async (c) => {
    const frame = frameOf(c, deps);
    const form = await readForm(c);
    const { failed, isRelease, back } = readAsked((name) => readField(form, name));
    const failedUntil = failedFilters.shape.failedUntil.safeParse(readField(form, "failedUntil"));
    if (!failedUntil.success || failedUntil.data === undefined) {
      throw new AppError("invalid_request", "The form does not say what was counted.", {
        hint: "Open the page again and send it from there.",
      });
    }
    const result = await operations.resendFailed({ ...toFailedFilter(failed), failedUntil: failedUntil.data });
    const acts = [{ label: "Destinations", link: "/destinations" }, back];
    const panel: Panel = [...resentPanel(result, isRelease), actsOf(...acts)];
    const sent = isRelease ? "released" : "resent";
    const title = result.resent > 0 ? sentence(sent) : `Nothing was ${sent}`;
    return answerPanel(c, { frame, title, panel });
  });
}

/** @throws AppError `invalid_request` for an unreadable filter. Without the filter far more alerts would be resent. */
function readAsked(parameter: (name: string) => string | undefined) {
  const log = readLogFilters(parameter);
  const { state, mute, over } = failedFilters.shape;
  const [readState, id, withOver] = [log.read.state, parameter("mute"), parameter("over")].map(
    (one) => one || undefined,
  );
  const read = z.object({ state, mute, over }).safeParse({ state: readState, mute: id, over: withOver });
  const problems = [...log.problems, ...(read.success ? [] : ["only failed, expired and muted can be resent"])];
  if (!read.success || problems.length > 0) {
    throw new AppError("invalid_request", `Nothing can be resent by these filters: ${problems.join("; ")}.`, {
      hint: "Go back to the log and filter again.",
    });
  }
  const isRelease = id !== undefined;
  const back = isRelease
    ? { label: "Back to the mutes", link: "/mutes" }
    : { label: "Back to the log", link: addressOf(log.written) };
  const written: Record<string, string> = {
    ...log.written,
    ...(id && { mute: id }),
    ...(withOver && { over: withOver }),
  };
  return { written, failed: { ...log.read, state: undefined, ...read.data }, isRelease, back };
}

function askPanel(
  { written, isRelease, back }: ReturnType<typeof readAsked>,
  preview: ResendPreview,
  now: number,
  mute?: { reason: string },
): Panel {
  const ready = preview.destinations.filter(({ health }) => health !== undefined);
  const [first] = ready;
  const to = first && ready.length === 1 ? first.destination : `${ready.length} destinations`;
  const said = Object.entries(written).filter(([name]) => mute === undefined || name !== "mute");
  const filters = said.length > 0 && `Filtered by ${said.map(([name, value]) => `${name} ${value}`).join(", ")}.`;
  const text = [mute && `What was held back for: ${mute.reason}`, filters].filter(Boolean).join(" · ");
  const acts = [
    {
      label: isRelease ? `Release ${preview.deliveries} to ${to}` : `Resend ${preview.deliveries} failed to ${to}`,
      post: "/resend",
      fields: { ...written, failedUntil: new Date(preview.failedUntil).toISOString() },
      isMain: true,
    },
    { label: "Cancel", link: back.link },
  ];
  const isNone = { link: back.link, text: { words: back.label } };
  const overLink = `/resend?${new URLSearchParams({ ...written, over: "true" })}`;
  const hasOver = (preview.over ?? 0) > 0;
  return [
    { kind: "text", isSoft: true, text: text || "Everything that failed or expired." },
    ...failedPanel(preview, now, { acts, isNone }),
    hasOver && actsOf({ label: "Also what is over", link: overLink, isButton: true }),
  ];
}

export function resendAddress(written: LogFilters["written"]): string {
  return addressOf(written).replace(/^\//, "/resend");
}

/** `GET /alerts/:id/resend` asks for the destinations. Those without the alert are ticked. */
export function alertResendPanel(alert: AlertDetail, destinations: readonly DestinationView[]): Panel {
  const standing = standingOf(alert);
  const proposed = proposeDestinations(standing);
  const choices = destinations.map(({ name, channel, recipients }) => {
    const states = new Set(standing.flatMap(({ destination, state }) => (destination === name ? [state] : [])));
    const chips = [...states].map((state): Cell => [{ chip: wordOf(state), tone: toneOf(state) }, { words: " " }]);
    return {
      value: name,
      text: say`${{ bold: name }} ${chips}${channel} to ${recipients.join(", ")}`,
      isChosen: proposed.has(name),
    };
  });
  const address = `/alerts/${alert.id}`;
  return [
    { kind: "text", text: { link: address, text: titleOf(alert) } },
    choices.length === 0
      ? paragraph`No destination is configured.`
      : groupOf({ title: "Destinations", id: "destinations-title" }, [
          aside`Each gets a message of its own at once, marked as resent, also in quiet hours. What is on its way still arrives besides.`,
          actsOf({
            label: "Resend to those ticked",
            post: `${address}/resend`,
            inputs: [{ name: "destination", label: "Resend to", choices }],
            isMain: true,
          }),
          actsOf({ label: "Cancel", link: address }),
        ]),
  ];
}

/** The destinations that miss the alert, else those that have it. Not where it is under way or held on purpose. */
function proposeDestinations(standing: DeliverySummary[]): Set<string> {
  const missing = standing.filter(
    ({ state, dueAt }) => state === "failed" || state === "expired" || (state === "held" && dueAt === undefined),
  );
  const arrived = standing.filter(({ state }) => state === "sent" || state === "digested");
  return new Set((missing.length > 0 ? missing : arrived).map(({ destination }) => destination));
}
