import type { Hono } from "hono";
import type { WebDeps } from "./web-deps.ts";
import type { WebEnv } from "./web-env.ts";

/** For machines that watch the process: the first two are open and tell nothing else. */
export function addProbeRoutes(app: Hono<WebEnv>, { operations }: Pick<WebDeps, "operations">): void {
  app.get("/healthz", (c) => c.json({ data: { alive: true } }));
  app.get("/readyz", async (c) => {
    const { ready } = await operations.readiness();
    return c.json({ data: { ready } }, ready ? 200 : 503);
  });
  app.get("/metrics", async (c) =>
    c.body(await operations.metricsText(), 200, {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
    }),
  );
}
