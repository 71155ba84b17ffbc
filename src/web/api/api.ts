import { OpenAPIHono, type z } from "@hono/zod-openapi";
import { AppError } from "../../core/errors.ts";
import { parseMatch } from "../../matching/read-match.ts";
import type { Sessions } from "../access/session.ts";
import { defaultPageSize, describedAt, listAlertPage, readCursor, toFailedFilter } from "../alert-query.ts";
import { collectEvidence } from "../evidence.ts";
import { type AnswerExport, breakOffOf } from "../export.ts";
import { previewBeside, readMute } from "../read-mute.ts";
import type { WebDeps } from "../web-deps.ts";
import type { WebEnv } from "../web-env.ts";
import type { EventStreams } from "./event-stream.ts";
import {
  addMuteRoute,
  checkGapsRoute,
  endMuteRoute,
  evidenceRoute,
  exportRoute,
  findIdsRoute,
  gapsRoute,
  getAlertRoute,
  getRefusedRoute,
  listAlertsRoute,
  listDestinationsRoute,
  listMutesRoute,
  listRefusedRoute,
  listRelaysRoute,
  pauseDestinationRoute,
  previewMuteRoute,
  previewResendRoute,
  putBackRoute,
  releaseRefusedRoute,
  releaseRoute,
  resendFailedRoute,
  resendRoute,
  resumeDestinationRoute,
  routedAgainRoute,
  shapesRoute,
  statusRoute,
  streamRoute,
  testDestinationRoute,
  tryDestinationRoute,
} from "./routes.ts";
import {
  alertDetailToWire,
  alertToWire,
  deliveryToWire,
  destinationToWire,
  gapsToWire,
  mutePreviewToWire,
  muteToWire,
  previewToWire,
  refusedDetailToWire,
  refusedToWire,
  relayToWire,
  routedAgainToWire,
  shapesToWire,
  statusToWire,
  toIso,
  tryResultToWire,
} from "./to-wire.ts";

export interface ApiDeps extends WebDeps {
  sessions: Pick<Sessions, "lifetimeMs">;
  streams: EventStreams;
  answerExport: AnswerExport;
}

/** More than a person compares. */
const mostNamed = 10;

/** The routes under `/api`. Who may use them is decided before, from the route table. */
export function createApi(deps: ApiDeps): OpenAPIHono<WebEnv> {
  const { store, operations, clock } = deps;
  const api = new OpenAPIHono<WebEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.error);
    },
  });
  api.use("/api/*", async (c, next) => {
    if (c.req.method === "POST") requireJson(c.req.header("content-type"), (await c.req.text()) !== "");
    await next();
  });

  api.openAPIRegistry.registerComponent("securitySchemes", "adminToken", { type: "http", scheme: "bearer" });

  api.openapi(listAlertsRoute, async (c) => {
    const { limit, cursor, ...filters } = c.req.valid("query");
    const page = { limit, cursor: readCursor(store, cursor) };
    const { alerts, nextCursor, searchedTo } = await listAlertPage(store, filters, page);
    return c.json(
      {
        data: alerts.map((alert) => alertToWire(alert, deps)),
        meta: { nextCursor: nextCursor ?? null, ...(searchedTo !== undefined && { searchedTo: toIso(searchedTo) }) },
      },
      200,
    );
  });

  api.openapi(exportRoute, (c) => {
    const { format, view, ...filters } = c.req.valid("query");
    return deps.answerExport({ filters, format, newestOfKey: view === "keys", breakOff: breakOffOf(c) });
  });

  api.openapi(getAlertRoute, async (c) => {
    const { id } = c.req.valid("param");
    const alert = await store.getAlert(id);
    if (alert === undefined) {
      throw new AppError("not_found", `There is no alert ${id}.`, { hint: "Copy its id from the log." });
    }
    return c.json({ data: alertDetailToWire(alert, deps) }, 200);
  });

  api.openapi(evidenceRoute, async (c) => {
    const { id } = c.req.valid("param");
    const alert = await store.getAlert(id);
    if (alert === undefined) {
      throw new AppError("not_found", `There is no alert ${id}.`, { hint: "Copy its id from the log." });
    }
    return c.json({ data: await collectEvidence(deps, alert) }, 200);
  });

  api.openapi(routedAgainRoute, async (c) => {
    const { id } = c.req.valid("param");
    const alert = await store.getAlert(id);
    if (alert === undefined) {
      throw new AppError("not_found", `There is no alert ${id}.`, { hint: "Copy its id from the log." });
    }
    const routed = operations.routeAgain(alert);
    if (routed === undefined) {
      throw new AppError("conflict", "No route was asked for this alert.", {
        hint: "It is not routed yet, a repeat of an earlier one, shown by the message of another, or one that Tocsin wrote itself.",
      });
    }
    return c.json({ data: routedAgainToWire(routed) }, 200);
  });

  api.openapi(findIdsRoute, async (c) => {
    const { alerts, searchedTo } = await store.findByIdPart(c.req.valid("query").part, mostNamed);
    const meta = searchedTo === undefined ? {} : { searchedTo: toIso(searchedTo) };
    return c.json({ data: alerts.map((alert) => alertToWire(alert, deps)), meta }, 200);
  });

  api.openapi(resendRoute, async (c) => {
    const { destination } = c.req.valid("json") ?? {};
    const deliveries = await operations.resend(
      c.req.valid("param").id,
      destination === undefined ? undefined : [destination],
    );
    return c.json({ data: deliveries.map(deliveryToWire) }, 200);
  });

  api.openapi(releaseRoute, async (c) => {
    const { destination, alerts } = c.req.valid("json") ?? {};
    return c.json({ data: await operations.releaseHeld({ destination, alertIds: alerts }) }, 200);
  });

  api.openapi(previewResendRoute, async (c) => {
    const preview = await operations.previewResend(toFailedFilter(c.req.valid("query")));
    return c.json({ data: previewToWire(preview) }, 200);
  });

  api.openapi(resendFailedRoute, async (c) => {
    const result = await operations.resendFailed(toFailedFilter(c.req.valid("json") ?? {}));
    return c.json({ data: result }, 200);
  });

  api.openapi(tryDestinationRoute, async (c) => {
    const result = await operations.tryDestination(c.req.valid("param").name);
    return c.json({ data: tryResultToWire(result) }, 200);
  });

  api.openapi(testDestinationRoute, async (c) => {
    const { severity } = c.req.valid("json") ?? {};
    const { isNew, alert } = await operations.testDestination(c.req.valid("param").name, severity);
    return c.json({ data: { isNew, alert: alertToWire(alert, deps) } }, 200);
  });

  api.openapi(pauseDestinationRoute, async (c) => {
    const view = await operations.pauseDestination(c.req.valid("param").name, "api");
    return c.json({ data: destinationToWire(view) }, 200);
  });

  api.openapi(resumeDestinationRoute, async (c) => {
    const view = await operations.resumeDestination(c.req.valid("param").name);
    return c.json({ data: destinationToWire(view) }, 200);
  });

  api.openapi(putBackRoute, async (c) => {
    return c.json({ data: { result: await operations.putBackOutputs(c.req.valid("json")?.source) } }, 200);
  });

  api.openapi(statusRoute, async (c) => c.json({ data: statusToWire(await operations.status()) }, 200));

  api.openapi(listRelaysRoute, (c) => c.json({ data: operations.relays().map(relayToWire) }, 200));

  api.openapi(listDestinationsRoute, async (c) => {
    const destinations = await operations.destinations();
    return c.json({ data: destinations.map(destinationToWire) }, 200);
  });

  api.openapi(gapsRoute, async (c) => {
    const report = await operations.gaps(c.req.valid("query").source);
    return c.json({ data: report === undefined ? null : gapsToWire(report) }, 200);
  });

  api.openapi(checkGapsRoute, async (c) => {
    const { source, ...window } = c.req.valid("json") ?? {};
    if ((window.since ?? 0) >= (window.until ?? Number.POSITIVE_INFINITY)) {
      throw new AppError("invalid_request", "since must be before until.", { hint: describedAt });
    }
    return c.json({ data: gapsToWire(await operations.checkGaps(window, source)) }, 200);
  });

  api.openapi(shapesRoute, async (c) => c.json({ data: shapesToWire(await operations.shapes()) }, 200));

  api.openapi(listRefusedRoute, async (c) => {
    const { limit = defaultPageSize, ...query } = c.req.valid("query");
    const list = await operations.listRefused({ limit, ...query });
    return c.json({ data: list.map(refusedToWire) }, 200);
  });

  api.openapi(getRefusedRoute, async (c) => {
    const found = await operations.findRefused(c.req.valid("param").id);
    return c.json({ data: refusedDetailToWire(found) }, 200);
  });

  api.openapi(releaseRefusedRoute, async (c) => {
    return c.json({ data: await operations.releaseRefused(c.req.valid("param").id) }, 200);
  });

  api.openapi(listMutesRoute, async (c) => {
    const mutes = await operations.listMutes(c.req.valid("query").ended === "true");
    return c.json({ data: mutes.map((mute) => muteToWire(mute, clock.now())) }, 200);
  });

  api.openapi(addMuteRoute, async (c) => {
    const mute = await operations.addMute(readMute(deps, c.req.valid("json"), "api"));
    const preview = await previewBeside(deps, mute.matchers);
    const data = { ...muteToWire(mute, clock.now()), preview: preview ? mutePreviewToWire(preview) : null };
    return c.json({ data }, 201);
  });

  api.openapi(previewMuteRoute, async (c) => {
    const preview = await operations.previewMute(parseMatch(c.req.valid("json").match));
    return c.json({ data: mutePreviewToWire(preview) }, 200);
  });

  api.openapi(endMuteRoute, async (c) => {
    await operations.endMute(c.req.valid("param").id);
    return c.body(null, 204);
  });

  api.openapi(streamRoute, async (c) => {
    const asked = c.req.valid("query").after;
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
  });

  return api;
}

function invalidRequest(error: z.ZodError): AppError {
  const problems = error.issues.map((issue) => {
    const where = issue.path.join(".");
    if (issue.code === "unrecognized_keys") return `${issue.keys.join(", ")} is not known here`;
    return where === "" ? issue.message : `${where} ${issue.message}`;
  });
  return new AppError("invalid_request", `${problems.join("; ")}.`, {
    hint: describedAt,
  });
}

/** A body of another type would be ignored, and a resend to one destination would go to all of them. */
function requireJson(contentType: string | undefined, hasBody: boolean): void {
  if (!hasBody || /^application\/([^;\s]+\+)?json\b/i.test(contentType ?? "")) return;
  throw new AppError("invalid_request", "The body must be JSON.", {
    hint: "Add the header Content-Type: application/json.",
  });
}

/** The OpenAPI 3.1 document, made from the routes that answer. */
export function createDocument(api: OpenAPIHono<WebEnv>, publicUrl: string) {
  return api.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Tocsin",
      version: "1",
      description:
        "Alerts, their deliveries, destinations and mutes. Times are ISO 8601 in UTC. Answers hold their content in `data`, failures in `error`.",
    },
    servers: [{ url: publicUrl }],
    security: [{ adminToken: [] }],
  });
}

export type ApiDocument = ReturnType<typeof createDocument>;
