import { Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { isLoopback } from "../../ground/net/local-host.ts";
import { createAlertingApi } from "./alerting-api.ts";
import type { SandboxEnv } from "./answers.ts";
import { refuse } from "./answers.ts";
import { createControlApi } from "./control-api.ts";
import type { Controls } from "./controls.ts";
import { createGate } from "./gate.ts";
import { IndexPage, indexStyle } from "./index-page.tsx";
import type { Settings } from "./options.ts";
import { createPricingApi } from "./pricing-api.ts";
import type { SandboxNotification } from "./state.ts";
import type { World } from "./world.ts";

/**
 * A page of another site can let its own name point to this machine, and would then count as the same origin; the name in
 * the request gives it away.
 */
const refuseForeignHost: MiddlewareHandler<SandboxEnv> = async (context, next) => {
  const { hostname } = new URL(context.req.url);
  if (!isLoopback(hostname))
    return refuse(403, `This sandbox answers on this machine only, not as ${hostname}`);
  return await next();
};

/** The two interfaces, the control interface and the page on one server. `isOpen`: only this machine can reach it. */
export function createSandboxApp(
  world: World,
  settings: Settings,
  options: { isOpen: boolean; controls: () => Controls },
): Hono<SandboxEnv> {
  const app = new Hono<SandboxEnv>();
  const { isOpen } = options;
  if (isOpen) app.use(refuseForeignHost);
  app.use(bodyLimit({ maxSize: 64 * 1024, onError: () => refuse(413, "The body is over 64 KiB") }));
  app.route("/alerting", createAlertingApi({ ...world, gate: createGate(world, "alerting") }, settings));
  app.route("/pricing", createPricingApi({ ...world, gate: createGate(world, "pricing") }));
  app.route("/_sandbox", createControlApi(options.controls, { needsKey: !isOpen }));
  app.get("/_sandbox.css", (context) => context.body(indexStyle, 200, { "content-type": "text/css" }));
  app.get("/", (context) => {
    const controls = options.controls();
    const { apiKey, url } = controls;
    const event = context.req.query("event");
    const facts = {
      ...controls.describe(),
      url,
      apiKey: isOpen ? apiKey : undefined,
      isWebhookSet: world.accounts.getAccount().webhookUrl !== null,
      isChannelSet: world.accounts.getAccount().messengerChannelId !== null,
      notifications: isOpen ? controls.listNotifications({ limit: 50 }) : [],
      asked: isOpen && event !== undefined ? listOfEvent(controls, event) : undefined,
    };
    context.header("content-security-policy", "default-src 'none'; style-src 'self'; frame-ancestors 'none'");
    context.header("cache-control", "no-store");
    return context.html(`<!doctype html>${(<IndexPage facts={facts} />).toString()}`);
  });
  app.notFound((context) => refuse(404, `No such route: ${context.req.method} ${context.req.path}`));
  app.onError((error) => refuse(500, `Internal failure: ${error.message}`));
  return app;
}

function listOfEvent(controls: Controls, event: string): SandboxNotification[] {
  const all = controls.listNotifications({ limit: Number.POSITIVE_INFINITY });
  return all.filter(({ eventIds }) => eventIds.includes(event));
}
