import type { Hono } from "hono";
import { z } from "zod";
import { describedAt } from "../../contract/alert-query.ts";
import {
  type Asked,
  type JsonRoute,
  type Route,
  type RouteName,
  routes,
  type Said,
  toAnswer,
} from "../../contract/api.ts";
import { statusOf } from "../../contract/openapi.ts";
import { AppError } from "../../core/errors.ts";
import { readJson } from "../../ground/text/read-json.ts";
import type { WebContext, WebEnv } from "../web-env.ts";

/** What answers each route. A route whose answer is no JSON writes it itself. */
export type Handlers = {
  [N in RouteName]: (asked: Asked<N>, c: WebContext) => Answer<N> | Promise<Answer<N>>;
};
type Answer<N extends RouteName> = N extends JsonRoute ? Said<N> : Response;

/** Has the routes of the API answered. Who may use them is decided before. */
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

/** What no route knows is refused everywhere: a filter with a slip of the pen would have it act on all. */
function readQuery(c: WebContext, { query = nothing }: Route): object {
  // A parameter that is given twice is no text, so its check fails.
  const given = Object.entries(c.req.queries()).map(([name, all]) => [name, all.length === 1 ? all[0] : all]);
  return check(query, Object.fromEntries(given));
}

async function readBody(c: WebContext, { body }: Route): Promise<object> {
  const text = c.req.method === "POST" ? await c.req.text() : "";
  // A body of another type would be ignored, and a resend to one destination would go to all of them.
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
