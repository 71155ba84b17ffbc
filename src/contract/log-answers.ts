import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { findAlert } from "../core/find-alert.ts";
import type { AlertLog } from "../core/ports/alert-log.ts";
import { defaultPageSize, describedAt, listAlertPage, readCursor } from "./alert-query.ts";
import type { Answers } from "./api.ts";
import { type ViewContext, viewAlert, viewAlertDetail, viewMute, viewRefused } from "./make-views.ts";
import type { Operations } from "./operations.ts";

/** Routes that need only the log, whether a relay runs or not. */
export const logRoutes = [
  "listAlerts",
  "findAlert",
  "findByIdPart",
  "listRefused",
  "findRefused",
  "checkGaps",
  "listMutes",
  "listDestinations",
] as const;
export type LogRoute = (typeof logRoutes)[number];

export interface LogAnswersDeps extends ViewContext {
  store: Pick<AlertLog, "isPosition" | "listAlertsWithin" | "getAlert" | "findByIdPart">;
  operations: Pick<Operations, "listMutes" | "listRefused" | "findRefused" | "checkGaps" | "destinations">;
  clock: Pick<Clock, "now">;
}

/** More than a person compares. */
const mostNamed = 10;

/** For a relay from its store, for a command from the store of a stopped relay. */
export function createLogAnswers(deps: LogAnswersDeps): Answers<LogRoute> {
  const { store, operations, clock } = deps;
  return {
    async listAlerts({ limit, cursor, ...filters }) {
      const page = { limit, cursor: readCursor(store, cursor) };
      const { alerts, nextCursor = null, searchedTo } = await listAlertPage(store, filters, page);
      return { data: alerts.map((alert) => viewAlert(alert, deps)), meta: { nextCursor, searchedTo } };
    },
    findAlert: async ({ id }) => viewAlertDetail(await findAlert(store, id), deps),
    async findByIdPart({ part }) {
      const { alerts, searchedTo } = await store.findByIdPart(part, mostNamed);
      return { data: alerts.map((alert) => viewAlert(alert, deps)), meta: { searchedTo } };
    },
    listRefused: ({ limit = defaultPageSize, ...query }) => operations.listRefused({ limit, ...query }),
    findRefused: async ({ id }) => viewRefused(await operations.findRefused(id)),
    async checkGaps({ source, ...window }) {
      if ((window.since ?? 0) >= (window.until ?? Number.POSITIVE_INFINITY)) {
        throw new AppError("invalid_request", "since must be before until.", { hint: describedAt });
      }
      return operations.checkGaps(window, source);
    },
    async listMutes({ ended }) {
      const mutes = await operations.listMutes(ended === "true");
      return mutes.map((mute) => viewMute(mute, clock.now()));
    },
    listDestinations: () => operations.destinations(),
  };
}
