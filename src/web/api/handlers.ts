import { defaultPageSize, describedAt, listAlertPage, readCursor, toFailedFilter } from "../../contract/alert-query.ts";
import {
  viewAlert,
  viewAlertDetail,
  viewDestination,
  viewGaps,
  viewMute,
  viewRefused,
  viewRoutedAgain,
} from "../../contract/make-views.ts";
import { AppError } from "../../core/errors.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { parseMatch } from "../../matching/read-match.ts";
import type { Sessions } from "../access/session.ts";
import { collectEvidence } from "../evidence.ts";
import { type AnswerExport, breakOffOf } from "../export.ts";
import { previewBeside, readMute } from "../read-mute.ts";
import type { WebDeps } from "../web-deps.ts";
import type { EventStreams } from "./event-stream.ts";
import type { Handlers } from "./mount.ts";

export interface HandlerDeps extends WebDeps {
  sessions: Pick<Sessions, "lifetimeMs">;
  streams: EventStreams;
  answerExport: AnswerExport;
}

/** More than a person compares. */
const mostNamed = 10;

/** What answers the routes of the API. */
export function createHandlers(deps: HandlerDeps): Handlers {
  const { store, operations, clock } = deps;

  async function requireAlert(id: string): Promise<AlertDetail> {
    const alert = await store.getAlert(id);
    if (alert !== undefined) return alert;
    throw new AppError("not_found", `There is no alert ${id}.`, { hint: "Copy its id from the log." });
  }

  return {
    async listAlerts({ limit, cursor, ...filters }) {
      const page = { limit, cursor: readCursor(store, cursor) };
      const { alerts, nextCursor = null, searchedTo } = await listAlertPage(store, filters, page);
      return { data: alerts.map((alert) => viewAlert(alert, deps)), meta: { nextCursor, searchedTo } };
    },
    exportAlerts: ({ format, view, ...filters }, c) =>
      deps.answerExport({ filters, format, newestOfKey: view === "keys", breakOff: breakOffOf(c) }),
    findAlert: async ({ id }) => viewAlertDetail(await requireAlert(id), deps),
    readEvidence: async ({ id }) => collectEvidence(deps, await requireAlert(id)),
    async routeAgain({ id }) {
      const routed = operations.routeAgain(await requireAlert(id));
      if (routed !== undefined) return viewRoutedAgain(routed);
      throw new AppError("conflict", "No route was asked for this alert.", {
        hint: "It is not routed yet, a repeat of an earlier one, shown by the message of another, or one that Tocsin wrote itself.",
      });
    },
    async findByIdPart({ part }) {
      const { alerts, searchedTo } = await store.findByIdPart(part, mostNamed);
      return { data: alerts.map((alert) => viewAlert(alert, deps)), meta: { searchedTo } };
    },
    resend: ({ id, destination }) => operations.resend(id, destination === undefined ? undefined : [destination]),
    release: ({ destination, alerts }) => operations.releaseHeld({ destination, alertIds: alerts }),
    previewResend: (filters) => operations.previewResend(toFailedFilter(filters)),
    resendFailed: (filters) => operations.resendFailed(toFailedFilter(filters)),
    async readStatus() {
      const status = await operations.status();
      return { ...status, destinations: status.destinations.map(viewDestination) };
    },
    putBack: async ({ source }) => ({ result: await operations.putBackOutputs(source) }),
    listRelays: () => operations.relays(),
    listDestinations: async () => (await operations.destinations()).map(viewDestination),
    tryDestination: ({ name }) => operations.tryDestination(name),
    async testDestination({ name, severity }) {
      const { isNew, alert } = await operations.testDestination(name, severity);
      return { isNew, alert: viewAlert(alert, deps) };
    },
    pauseDestination: async ({ name }) => viewDestination(await operations.pauseDestination(name, "api")),
    resumeDestination: async ({ name }) => viewDestination(await operations.resumeDestination(name)),
    readShapes: () => operations.shapes(),
    listRefused: ({ limit = defaultPageSize, ...query }) => operations.listRefused({ limit, ...query }),
    findRefused: async ({ id }) => viewRefused(await operations.findRefused(id)),
    releaseRefused: ({ id }) => operations.releaseRefused(id),
    async lastGaps({ source }) {
      const report = await operations.gaps(source);
      return report === undefined ? null : viewGaps(report);
    },
    async checkGaps({ source, ...window }) {
      if ((window.since ?? 0) >= (window.until ?? Number.POSITIVE_INFINITY)) {
        throw new AppError("invalid_request", "since must be before until.", { hint: describedAt });
      }
      return viewGaps(await operations.checkGaps(window, source));
    },
    async listMutes({ ended }) {
      const mutes = await operations.listMutes(ended === "true");
      return mutes.map((mute) => viewMute(mute, clock.now()));
    },
    async addMute(written) {
      const mute = await operations.addMute(readMute(deps, written, "api"));
      const preview = await previewBeside(deps, mute.matchers);
      return { ...viewMute(mute, clock.now()), preview: preview ?? null };
    },
    previewMute: ({ match }) => operations.previewMute(parseMatch(match)),
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
