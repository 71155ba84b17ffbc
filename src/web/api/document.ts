import type { OpenAPIHono } from "@hono/zod-openapi";
import type { WebEnv } from "../web-env.ts";

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
