import type { Hono } from "hono";
import { z } from "zod";
import { describedAt, toFailedFilter } from "../../contract/alert-query.ts";
import {
  type Asked,
  type JsonRoute,
  type Route,
  type RouteName,
  routes,
  type Said,
  toAnswer,
} from "../../contract/api.ts";
import { createLogAnswers } from "../../contract/log-answers.ts";
import { viewAlert, viewMute } from "../../contract/make-views.ts";
import { statusOf } from "../../contract/openapi.ts";
import { AppError } from "../../core/errors.ts";
import { findAlert } from "../../core/find-alert.ts";
import { readJson } from "../../ground/text/read-json.ts";
import { collectEvidence } from "../evidence.ts";
import { breakOffOf } from "../export.ts";
import { previewBeside, readMute, readMuted } from "../read-mute.ts";
import type { PageDeps, WebContext, WebEnv } from "../web-env.ts";
import type { EventStreams } from "./event-stream.ts";

export function createHandlers(deps: PageDeps & { streams: EventStreams }): Handlers {
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

/** A route without a JSON answer writes its response itself. */
type Handlers = {
  [N in RouteName]: (asked: Asked<N>, c: WebContext) => Answer<N> | Promise<Answer<N>>;
};
type Answer<N extends RouteName> = N extends JsonRoute ? Said<N> : Response;

/** The guard has already decided who may use the routes. */
export function mountApi(app: Hono<WebEnv>, handlers: Handlers): void {
  for (const [name, route] of routes) {
    const [method = "", path = ""] = route.path.split(" ");
    const handle = handlers[name] as (asked: unknown, c: WebContext) => unknown;
    app.on(method, path, async (c) => {
      const asked = { ...c.req.param(), ...readQuery(c, route), ...(await readBody(c, route)) };
      const said = await handle(asked, c);
      if (said instanceof Response) return said;
      if (route.data === undefined) return c.body(null, 204);
      return c.json(toAnswer(name as JsonRoute, said), statusOf(route) as 200 | 201);
    });
  }
}

const nothing = z.strictObject({});

/** Refuses unknown parameters: a request with a misspelt filter would act on all alerts. */
function readQuery(c: WebContext, { query = nothing }: Route): object {
  // A parameter that is given twice is no text, so its check fails.
  const given = Object.entries(c.req.queries()).map(([name, all]) => [name, all.length === 1 ? all[0] : all]);
  return check(query, Object.fromEntries(given));
}

async function readBody(c: WebContext, { body }: Route): Promise<object> {
  const text = c.req.method === "POST" ? await c.req.text() : "";
  // A body of another type would be ignored, and a resend to one destination would go to all.
  if (text !== "" && !/^application\/([^;\s]+\+)?json\b/i.test(c.req.header("content-type") ?? "")) {
    throw new AppError("invalid_request", "The body must be JSON.", {
      hint: "Add the header Content-Type: application/json.",
    });
  }
  if (body === undefined) return {};
  const given = text === "" ? {} : readJson(text);
  if (given === undefined) throw new AppError("invalid_request", "The body is not valid JSON.");
  return check(body, given);
}

function check(schema: z.ZodObject, given: unknown): object {
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  const problems = read.error.issues.map((issue) => {
    const where = issue.path.join(".");
    if (issue.code === "unrecognized_keys") return `${issue.keys.join(", ")} is not known here`;
    return where === "" ? issue.message : `${where} ${issue.message}`;
  });
  throw new AppError("invalid_request", `${problems.join("; ")}.`, { hint: describedAt });
}
