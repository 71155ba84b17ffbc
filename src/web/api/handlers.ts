import { describedAt, toFailedFilter } from "../../contract/alert-query.ts";
import { createLogAnswers } from "../../contract/log-answers.ts";
import { viewAlert, viewMute } from "../../contract/make-views.ts";
import { AppError } from "../../core/errors.ts";
import { findAlert } from "../../core/find-alert.ts";
import type { Sessions } from "../access/session.ts";
import { collectEvidence } from "../evidence.ts";
import { type AnswerExport, breakOffOf } from "../export.ts";
import { previewBeside, readMute, readMuted } from "../read-mute.ts";
import type { WebDeps } from "../web-deps.ts";
import type { EventStreams } from "./event-stream.ts";
import type { Handlers } from "./mount.ts";

export interface HandlerDeps extends WebDeps {
  sessions: Pick<Sessions, "lifetimeMs">;
  streams: EventStreams;
  answerExport: AnswerExport;
}

/** What answers the routes of the API. */
export function createHandlers(deps: HandlerDeps): Handlers {
  const { store, operations, clock } = deps;

  return {
    ...createLogAnswers(deps),
    exportAlerts: ({ format, view, ...filters }, c) =>
      deps.answerExport({ filters, format, newestOfKey: view === "keys", breakOff: breakOffOf(c) }),
    readEvidence: async ({ id }) => collectEvidence(deps, await findAlert(store, id)),
    async routeAgain({ id }) {
      const routed = operations.routeAgain(await findAlert(store, id));
      if (routed !== undefined) return routed;
      throw new AppError("conflict", "No route was asked for this alert.", {
        hint: "It is not routed yet, a repeat of an earlier one, shown by the message of another, or one that Tocsin wrote itself.",
      });
    },
    resend: ({ id, destination }) => operations.resend(id, destination === undefined ? undefined : [destination]),
    release: ({ destination, alerts }) => operations.releaseHeld({ destination, alertIds: alerts }),
    previewResend: (filters) => operations.previewResend(toFailedFilter(filters)),
    resendFailed: (filters) => operations.resendFailed(toFailedFilter(filters)),
    readStatus: () => operations.status(),
    putBack: async ({ source }) => ({ result: await operations.putBackOutputs(source) }),
    listRelays: () => operations.relays(),
    tryDestination: ({ name }) => operations.tryDestination(name),
    async testDestination({ name, severity }) {
      const { isNew, alert } = await operations.testDestination(name, severity);
      return { isNew, alert: viewAlert(alert, deps) };
    },
    pauseDestination: ({ name }) => operations.pauseDestination(name, "api"),
    resumeDestination: ({ name }) => operations.resumeDestination(name),
    readShapes: () => operations.shapes(),
    releaseRefused: ({ id }) => operations.releaseRefused(id),
    lastGaps: async ({ source }) => (await operations.gaps(source)) ?? null,
    async addMute(written) {
      const mute = await operations.addMute(readMute(deps, written, "api"));
      const preview = await previewBeside(deps, mute.matchers);
      return { ...viewMute(mute, clock.now()), preview: preview ?? null };
    },
    previewMute: (written) => operations.previewMute(readMuted(written)),
    async endMute({ id }) {
      await operations.endMute(id);
    },
    async openStream({ after: asked }, c) {
      if (asked !== undefined && !store.isChangeCursor(asked))
        throw new AppError("invalid_request", "after must be a version.", { hint: describedAt });
      const after = c.req.header("last-event-id") ?? asked;
      const identity = c.get("identity");
      const session = identity?.kind === "session" ? identity.session : undefined;
      const body = await deps.streams.open({
        after: after !== undefined && store.isChangeCursor(after) ? after : undefined,
        allowedMs: () => (session === undefined ? Number.POSITIVE_INFINITY : deps.sessions.lifetimeMs(session)),
      });
      return c.body(body, 200, {
        "content-type": "text/event-stream; charset=utf-8",
        // nginx would hold events back until its buffer is full.
        "x-accel-buffering": "no",
      });
    },
  };
}
