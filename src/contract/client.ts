import { z } from "zod";
import { type Answers, type Route, routes } from "./api.ts";
import { encode } from "./encode.ts";

/** Fields that an older relay leaves out get their defaults. */
export type Client = Answers;

export interface ApiCall {
  route: Route;
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: unknown;
}

/** @param send makes a call and reads its answer by the schema. Without a schema there is nothing to read */
export function createClient(send: (call: ApiCall, answer: z.ZodObject | undefined) => Promise<unknown>): Client {
  const methods = routes.map(([name, route]) => [
    name,
    async (asked: Record<string, unknown> = {}) => {
      const { data, meta } = route;
      const answer = data && z.object({ data, ...(meta && { meta }) });
      const said = (await send(toCall(route, asked), answer)) as { data: unknown } | undefined;
      return meta === undefined ? said?.data : said;
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
