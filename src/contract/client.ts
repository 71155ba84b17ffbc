import { z } from "zod";
import { type Api, type Asked, type Route, type RouteName, routes } from "./api.ts";
import { encode } from "./encode.ts";

/** Those that answer in JSON, or with nothing. */
export type JsonRoute = Exclude<RouteName, "exportAlerts" | "openStream">;

/** What a client hears: JSON as it is outside, with the defaults of what an older relay does not say. */
export type Heard<N extends RouteName> = Api[N] extends {
  data: infer D extends z.ZodType;
  meta: infer M extends z.ZodType;
}
  ? { data: z.input<D>; meta: z.input<M> }
  : Api[N] extends { data: infer D extends z.ZodType }
    ? z.input<D>
    : undefined;

/** One method a route, which takes what stands in path, query and body in one. */
export type Client = {
  [N in JsonRoute]: (...asked: unknown extends Asked<N> ? [] : [Asked<N>]) => Promise<Heard<N>>;
};

/** A route with what is asked of it put in. */
export interface ApiCall {
  route: Route;
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: unknown;
}

/**
 * The API as functions.
 * @param send makes a call and reads its answer by the schema; without one there is nothing to read
 */
export function createClient(send: (call: ApiCall, answer: z.ZodObject | undefined) => Promise<unknown>): Client {
  const methods = routes.map(([name, route]) => [
    name,
    async (asked: Record<string, unknown> = {}) => {
      const { data, meta } = route;
      const answer = data && z.object({ data, ...(meta && { meta }) });
      const said = await send(toCall(route, asked), answer);
      if (answer === undefined) return undefined;
      const heard = encode(answer, said as z.output<typeof answer>);
      return meta === undefined ? heard.data : heard;
    },
  ]);
  return Object.fromEntries(methods) as Client;
}

function toCall(route: Route, asked: Record<string, unknown>): ApiCall {
  const [method, template = ""] = route.path.split(" ") as [ApiCall["method"], string];
  const path = template.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(asked[name])));
  const query = Object.entries(route.query === undefined ? {} : encode(route.query, asked));
  const search = new URLSearchParams(query.map(([name, value]): [string, string] => [name, String(value)]));
  return {
    route,
    method,
    path: search.size === 0 ? path : `${path}?${search}`,
    body: route.body && encode(route.body, asked),
  };
}
