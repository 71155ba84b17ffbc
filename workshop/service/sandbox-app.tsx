import { Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { isLoopback } from "../../src/ground/net/local-host.ts";
import { createAlertingApi } from "./alerting-api.ts";
import { refuse, type SandboxEnv } from "./answers.ts";
import { type Controls, createControlApi } from "./control-api.ts";
import { createGate } from "./gate.ts";
import type { AlertEvent } from "./notification.ts";
import type { Settings } from "./options.ts";
import { createPricingApi } from "./pricing-api.ts";
import type { PageLink } from "./service.ts";
import type { SandboxNotification } from "./state.ts";
import type { World } from "./world.ts";

/**
 * A page of another site can let its own name point to this machine, and would then count as the same origin; the name
 * in the request gives it away.
 */
const refuseForeignHost: MiddlewareHandler<SandboxEnv> = async (context, next) => {
  const { hostname } = new URL(context.req.url);
  if (!isLoopback(hostname)) return refuse(403, `This sandbox answers on this machine only, not as ${hostname}`);
  return await next();
};

/** The two interfaces, the control interface and the page on one server. `isOpen`: only this machine can reach it. */
export function createSandboxApp(
  world: World,
  settings: Settings,
  options: { isOpen: boolean; controls: () => Controls; links: () => readonly PageLink[] },
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
      links: isOpen ? options.links() : [],
      isWebhookSet: world.accounts.getAccount().webhookUrl !== null,
      isChannelSet: world.accounts.getAccount().messengerChannelId !== null,
      notifications: isOpen ? controls.listNotifications({ limit: 50 }) : [],
      asked: isOpen && event !== undefined ? listOfEvent(controls, event) : undefined,
    };
    context.header(
      "content-security-policy",
      "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'",
    );
    context.header("cache-control", "no-store");
    return context.html(`<!doctype html>${(<IndexPage facts={facts} />).toString()}`);
  });
  const sent: AlertEvent[] = [];
  app.post("/send", async (context) => {
    const controls = options.controls();
    // Only the page has the key: a form of another site cannot send it.
    const { key, what } = await context.req.parseBody();
    if (!isOpen || key !== controls.apiKey) return refuse(403, "Send this from the sandbox's own page");
    if (what === "critical" || what === "warning") sent.push(controls.fire({ severity: what }));
    if (what === "storm") controls.storm(stormOfThePage);
    const over = what === "resolve" ? sent.pop() : undefined;
    if (over !== undefined) controls.fire({ metricKey: over.metricKey, severity: over.severity, status: "resolved" });
    return context.redirect("/", 303);
  });
  app.notFound((context) => refuse(404, `No such route: ${context.req.method} ${context.req.path}`));
  app.onError((error) => refuse(500, `Internal failure: ${error.message}`));
  return app;
}

const stormOfThePage = 300;

function listOfEvent(controls: Controls, event: string): SandboxNotification[] {
  const all = controls.listNotifications({ limit: Number.POSITIVE_INFINITY });
  return all.filter(({ eventIds }) => eventIds.includes(event));
}

interface IndexFacts {
  url: string;
  alertingUrl: string;
  pricingUrl: string;
  /** Absent when the page can be read from beyond this machine. */
  apiKey?: string;
  links: readonly PageLink[];
  metricCount: number;
  chainIds: readonly string[];
  shape: string;
  isWebhookSet: boolean;
  isChannelSet: boolean;
  notifications: SandboxNotification[];
  /** Those of the alert whose link was followed; absent when none was. */
  asked?: SandboxNotification[];
  trouble?: string;
}

const indexStyle = `body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
pre{background:#f3f3f3;padding:1rem;white-space:pre-wrap;overflow-wrap:anywhere}
form{display:flex;flex-wrap:wrap;gap:.5rem}button{font:inherit;padding:.4rem .9rem;color:inherit;background:#eee;border:1px solid #767676;border-radius:.3rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;min-width:42rem}time{white-space:nowrap}code{overflow-wrap:anywhere}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ccc;vertical-align:top}
@media (prefers-color-scheme:dark){body{color:#ddd;background:#161616}pre,button{background:#222}th,td{border-color:#444}a{color:#8bf}}`;

/**
 * What this is, how to try it, and what was sent last. Every text is escaped by hono/jsx; nothing comes from elsewhere.
 */
function IndexPage({ facts }: { facts: IndexFacts }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>Alerting service sandbox</title>
        <link rel="stylesheet" href="/_sandbox.css" />
      </head>
      <body>
        <main>
          <h1>Alerting service sandbox</h1>
          <p>
            A stand-in for the market pricing and alerting service, on this machine. Its market is invented: nothing
            here is a price. It has {facts.metricCount.toLocaleString("en")} metrics on {facts.chainIds.join(", ")}.
          </p>
          {facts.trouble !== undefined && <p role="alert">Trouble: {facts.trouble}</p>}
          <p>
            API key: <code>{facts.apiKey ?? "(shown only to this machine, by the command)"}</code>. Webhook:{" "}
            {facts.isWebhookSet ? "set" : "not set"}. Messenger channel: {facts.isChannelSet ? "set" : "not set"}. Shape
            of notifications: {facts.shape}.
          </p>
          {facts.asked !== undefined && <FollowedAlert notifications={facts.asked} />}
          <h2>Try it</h2>
          {facts.apiKey !== undefined && <SendButtons apiKey={facts.apiKey} />}
          {facts.links.length > 0 && (
            <p>
              Where they arrive:{" "}
              {facts.links.map(({ name, url }, index) => (
                <>
                  {index > 0 && " · "}
                  <a href={url}>{name}</a>
                </>
              ))}
            </p>
          )}
          <pre>{curlLines(facts).join("\n")}</pre>
          <h2>Last notifications</h2>
          {facts.notifications.length === 0 ? (
            <p>None yet. Alerts go to the outputs that PUT /account sets.</p>
          ) : (
            <NotificationTable notifications={facts.notifications} />
          )}
        </main>
      </body>
    </html>
  );
}

/** Work without script; the table below shows what they did. */
function SendButtons({ apiKey }: { apiKey: string }) {
  return (
    <form method="post" action="/send">
      <input type="hidden" name="key" value={apiKey} />
      <button type="submit" name="what" value="critical">
        Send a critical alert
      </button>
      <button type="submit" name="what" value="warning">
        Send a warning
      </button>
      <button type="submit" name="what" value="resolve">
        End the last of these
      </button>
      <button type="submit" name="what" value="storm">
        Storm of {stormOfThePage}
      </button>
    </form>
  );
}

/** What was sent of one alert, as it was sent. */
function FollowedAlert({ notifications }: { notifications: SandboxNotification[] }) {
  return (
    <section>
      <h2>The alert you followed</h2>
      {notifications.length === 0 ? (
        <p>Nothing is kept of it: the sandbox keeps the newest notifications only.</p>
      ) : (
        <>
          <NotificationTable notifications={notifications} />
          {notifications.map(({ body }) => (
            <pre>{body}</pre>
          ))}
        </>
      )}
    </section>
  );
}

function NotificationTable({ notifications }: { notifications: SandboxNotification[] }) {
  return (
    <div class="wide">
      <table>
        <thead>
          <tr>
            <th>At</th>
            <th>Output</th>
            <th>State</th>
            <th>What</th>
            <th>Last attempt</th>
          </tr>
        </thead>
        <tbody>
          {notifications.map((notification) => (
            <tr>
              <td>
                <Instant at={notification.createdAt} />
              </td>
              <td>{notification.output}</td>
              <td>{notification.state}</td>
              <td>{notification.summary}</td>
              <td>
                {notification.attempts.length === 0
                  ? "none yet"
                  : `${notification.attempts.length}: ${notification.attempts.at(-1)?.detail ?? ""}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Instant({ at }: { at: number }) {
  const iso = new Date(at).toISOString();
  return <time datetime={iso}>{iso.slice(0, 19).replace("T", " ")} UTC</time>;
}

function curlLines({ alertingUrl, pricingUrl, url, apiKey }: IndexFacts): string[] {
  const key = apiKey ?? "$KEY";
  const json = "-H 'content-type: application/json'";
  return [
    `curl -H 'Authorization: ${key}' ${alertingUrl}/account`,
    `curl -X PUT -H 'Authorization: ${key}' ${json} -d '{"webhookUrl":"http://127.0.0.1:8080/hooks/SECRET"}' ${alertingUrl}/account`,
    `curl -H 'Authorization: ${key}' '${alertingUrl}/metrics?chainId=eth&page=1'`,
    `curl -H 'x-api-key: ${key}' '${pricingUrl}/v1/assets/ticker?symbol=ETH/USD'`,
    `curl ${json} -d '{"severity":"critical"}' ${url}/_sandbox/fire`,
    `curl ${json} -d '{"count":1000}' ${url}/_sandbox/storm`,
    `curl ${json} -d '{"kind":"status","status":500,"route":"GET /account"}' ${url}/_sandbox/faults`,
    `curl ${url}/_sandbox/deliveries`,
  ];
}
