import { Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { FC } from "hono/jsx";
import { isLoopback } from "../../src/ground/net/local-host.ts";
import { createAlertingApi } from "./alerting-api.ts";
import { refuse, type SandboxEnv } from "./answers.ts";
import { createControlApi } from "./control-api.ts";
import { createGate, interfaces } from "./gate.ts";
import type { AlertEvent } from "./notification.ts";
import { createPricingApi } from "./pricing-api.ts";
import type { ServiceSandbox } from "./service.ts";
import type { SandboxNotification } from "./state.ts";

/** Another site can point its own name at this machine and have the same origin. The request's host reveals it. */
const refuseForeignHost: MiddlewareHandler<SandboxEnv> = async (context, next) => {
  const { hostname } = new URL(context.req.url);
  if (!isLoopback(hostname)) return refuse(403, `This sandbox answers on this machine only, not as ${hostname}`);
  return await next();
};

/** The two interfaces, the control interface and the page on one server. */
export function createSandboxApp(sandbox: ServiceSandbox): Hono<SandboxEnv> {
  /** Whether only this machine can reach it. */
  const isOpen = isLoopback(sandbox.settings.host);
  const app = new Hono<SandboxEnv>();
  if (isOpen) app.use(refuseForeignHost);
  app.use(bodyLimit({ maxSize: 64 * 1024, onError: () => refuse(413, "The body is over 64 KiB") }));
  app.route("/alerting", createAlertingApi(sandbox, createGate(sandbox, interfaces.alerting)));
  app.route("/pricing", createPricingApi(sandbox, createGate(sandbox, interfaces.pricing)));
  app.route("/_sandbox", createControlApi(sandbox, { needsKey: !isOpen }));
  app.get("/_sandbox.css", (context) => context.body(indexStyle, 200, { "content-type": "text/css" }));
  app.get("/", (context) => {
    const policy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'";
    context.header("content-security-policy", policy);
    context.header("cache-control", "no-store");
    const page = <IndexPage sandbox={sandbox} isOpen={isOpen} event={context.req.query("event")} />;
    return context.html(`<!doctype html>${page.toString()}`);
  });
  const sent: AlertEvent[] = [];
  app.post("/send", async (context) => {
    // Only this page has the key, so a form of another site cannot send it.
    const { key, what } = await context.req.parseBody();
    if (!isOpen || key !== sandbox.apiKey) return refuse(403, "Send this from the sandbox's own page");
    if (what === "critical" || what === "warning") sent.push(sandbox.fire({ severity: what }));
    if (what === "storm") sandbox.alarm.storm(stormOfThePage);
    const over = what === "resolve" ? sent.pop() : undefined;
    if (over !== undefined) sandbox.fire({ metricKey: over.metricKey, severity: over.severity, status: "resolved" });
    return context.redirect("/", 303);
  });
  app.notFound((context) => refuse(404, `No such route: ${context.req.method} ${context.req.path}`));
  app.onError((error) => refuse(500, `Internal failure: ${error.message}`));
  return app;
}

const stormOfThePage = 300;

const indexStyle = `body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
pre{background:#f3f3f3;padding:1rem;white-space:pre-wrap;overflow-wrap:anywhere}
form{display:flex;flex-wrap:wrap;gap:.5rem}
button{font:inherit;padding:.4rem .9rem;color:inherit;background:#eee;border:1px solid #767676;border-radius:.3rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;min-width:42rem}time{white-space:nowrap}code{overflow-wrap:anywhere}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ccc;vertical-align:top}
@media (prefers-color-scheme:dark){body{color:#ddd;background:#161616}pre,button{background:#222}th,td{border-color:#444}a{color:#8bf}}`;

/** hono/jsx escapes every text. Nothing comes from other sites. Only this machine gets keys and notifications. */
const IndexPage: FC<{ sandbox: ServiceSandbox; isOpen: boolean; event?: string }> = ({ sandbox, isOpen, event }) => {
  const { metricCount, chainIds, shape, trouble } = sandbox.describe();
  const { webhookUrl, messengerChannelId } = sandbox.accounts.getAccount();
  const notifications = isOpen ? sandbox.listNotifications({ limit: Number.POSITIVE_INFINITY }) : [];
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
            here is a price. It has {metricCount.toLocaleString("en")} metrics on {chainIds.join(", ")}.
          </p>
          {trouble !== undefined && <p role="alert">Trouble: {trouble}</p>}
          <p>
            API key: <code>{isOpen ? sandbox.apiKey : "(shown only to this machine, by the command)"}</code>. Webhook:{" "}
            {webhookUrl ? "set" : "not set"}. Messenger channel: {messengerChannelId ? "set" : "not set"}. Shape of
            notifications: {shape}.
          </p>
          {isOpen && event !== undefined && (
            <FollowedAlert notifications={notifications.filter(({ eventIds }) => eventIds.includes(event))} />
          )}
          <h2>Try it</h2>
          {isOpen && <SendButtons apiKey={sandbox.apiKey} />}
          {isOpen && sandbox.links.length > 0 && (
            <p>
              Where they arrive:{" "}
              {sandbox.links.map(({ name, url }, index) => (
                <>
                  {index > 0 && " · "}
                  <a href={url}>{name}</a>
                </>
              ))}
            </p>
          )}
          <pre>{curlLines(sandbox, isOpen ? sandbox.apiKey : "$KEY").join("\n")}</pre>
          <h2>Last notifications</h2>
          <NotificationTable
            notifications={notifications.slice(0, 50)}
            none="None yet. Alerts go to the outputs that PUT /account sets."
          />
        </main>
      </body>
    </html>
  );
};

const buttons = [
  ["critical", "Send a critical alert"],
  ["warning", "Send a warning"],
  ["resolve", "End the last of these"],
  ["storm", `Storm of ${stormOfThePage}`],
] as const;

const SendButtons: FC<{ apiKey: string }> = ({ apiKey }) => (
  <form method="post" action="/send">
    <input type="hidden" name="key" value={apiKey} />
    {buttons.map(([what, label]) => (
      <button type="submit" name="what" value={what}>
        {label}
      </button>
    ))}
  </form>
);

const FollowedAlert: FC<{ notifications: SandboxNotification[] }> = ({ notifications }) => (
  <section>
    <h2>The alert you followed</h2>
    <NotificationTable
      notifications={notifications}
      none="Nothing is kept of it: the sandbox keeps the newest notifications only."
    />
    {notifications.map(({ body }) => (
      <pre>{body}</pre>
    ))}
  </section>
);

const columns = ["At", "Output", "State", "What", "Last attempt"];

const NotificationTable: FC<{ notifications: SandboxNotification[]; none: string }> = ({ notifications, none }) =>
  notifications.length === 0 ? (
    <p>{none}</p>
  ) : (
    <div class="wide">
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {notifications.map(({ createdAt, output, state, summary, attempts }) => (
            <tr>
              <td>
                <Instant at={createdAt} />
              </td>
              <td>{output}</td>
              <td>{state}</td>
              <td>{summary}</td>
              <td>{attempts.length === 0 ? "none yet" : `${attempts.length}: ${attempts.at(-1)?.detail ?? ""}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );

const Instant: FC<{ at: number }> = ({ at }) => {
  const iso = new Date(at).toISOString();
  return <time datetime={iso}>{iso.slice(0, 19).replace("T", " ")} UTC</time>;
};

function curlLines({ alertingUrl, pricingUrl, url }: ServiceSandbox, key: string): string[] {
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
