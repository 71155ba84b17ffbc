import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createMailboxStandIn } from "../../workshop/mailbox/mailbox-stand-in.ts";
import { type Canary, makeCanary } from "../support/canaries.ts";
import { findLastingPort } from "../support/lasting-port.ts";
import { createScriptedSmtpServer } from "../support/scripted-smtp-server.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import {
  type Behaviour,
  createHttpVendor,
  echo,
  json,
  text,
  type VendorAnswer,
  type VendorRequest,
} from "../support/vendors/http-vendor.ts";

/**
 * Every option that holds a secret, each with a canary. What follows the name are characters that change their look.
 */
export const canaries = {
  hook: makeCanary("hook"),
  admin: makeCanary("admin", `"\\<&%+/=`),
  alertingKey: makeCanary("alertingKey", `"\\<&+/=`),
  pricingKey: makeCanary("pricingKey", `"\\<&+/=`),
  bot: makeCanary("bot", "_-"),
  mailPassword: makeCanary("mailPassword", `"\\<&@:/?#%+ü €`),
  signing: { name: "signing", value: `whsec_${Buffer.from("CANARYsigningq7Zk3Vx9!!!").toString("base64")}` },
  bearer: makeCanary("bearer", `"\\<&%+/=`),
  apiHeader: makeCanary("apiHeader", `'"<&`),
  plainHeader: makeCanary("plainHeader"),
  urlPath: makeCanary("urlPath", "%20%3C"),
  urlQuery: makeCanary("urlQuery", "&b=%22"),
  slack: makeCanary("slack"),
  discord: makeCanary("discord"),
  teams: makeCanary("teams", "_-"),
  ntfyToken: makeCanary("ntfyToken"),
  appriseUser: makeCanary("appriseUser"),
  routingKey: { name: "routingKey", value: "CANARYroutingKeyq7Zk3Vx9XXXXXXXX" },
  heartbeat: makeCanary("heartbeat", "%20%3C"),
  applicationUrl: makeCanary("applicationUrl", "%22"),
  sourceHook: makeCanary("sourceHook", "_-"),
  sourceKey: makeCanary("sourceKey", `"\\<&+/=`),
  sourceCheck: makeCanary("sourceCheck", `"\\<&%+/=`),
} satisfies Record<string, Canary>;

/** Secrets that the sender of an alert puts into its headers. */
export const sendersCanaries = {
  authorization: makeCanary("sendersBearer"),
  cookie: makeCanary("sendersCookie"),
  "x-api-key": makeCanary("sendersKey"),
} satisfies Record<string, Canary>;

/** Of all of them, as `findCanaries` wants them. */
export const canaryNames = [...Object.values(canaries), ...Object.values(sendersCanaries)].map(({ name }) => name);

const httpKinds = ["webhook", "slack", "discord", "ntfy", "apprise", "pagerduty", "teams", "telegram"] as const;
type HttpKind = (typeof httpKinds)[number];

/** What the other side makes of a message: success, and every failure that may bring a secret back. */
const behaviours: Record<string, Behaviour> = {
  takes: { kind: "answer", answer: takeEverything },
  refuses: { kind: "answer", answer: repeatIn(401) },
  rejects: { kind: "answer", answer: repeatIn(400) },
  fails: { kind: "answer", answer: repeatIn(500) },
  limits: { kind: "answer", answer: (request) => ({ ...repeatIn(429)(request), headers: { "retry-after": "600" } }) },
  redirects: { kind: "answer", answer: redirectElsewhere },
  accepts: { kind: "answer", answer: repeatIn(200) },
  hangs: { kind: "take_then_hang" },
  resets: { kind: "take_then_reset" },
  babbles: { kind: "garbage" },
};

/**
 * A destination of every third kind for each behaviour, in turn, so that one alert provokes everything at once. That no kind says a
 * secret at any fault is for test/conformance/channels.test.ts.
 */
export async function createCanaryWorld() {
  const dataDir = makeTempFolder();
  const origins: Record<string, string> = { isAbsent: `http://127.0.0.1:${await findLastingPort()}` };
  for (const [name, behaviour] of Object.entries(behaviours)) {
    const vendor = await createHttpVendor(takeEverything);
    vendor.behave(behaviour);
    origins[name] = vendor.origin;
  }
  // TLS is spoken to a server that speaks none.
  origins.speaksPlainly = String(origins.takes).replace("http:", "https:");

  const ofCanaries: Record<string, keyof typeof canaries> = {
    ...{ WEBHOOK_SECRET: "hook", ADMIN_TOKEN: "admin", ALERTING_API_KEY: "alertingKey", PRICING_API_KEY: "pricingKey" },
    ...{ SIGNING: "signing", BEARER: "bearer", API_HEADER: "apiHeader", PLAIN_HEADER: "plainHeader" },
    ...{ SOURCE_HOOK: "sourceHook", SOURCE_KEY: "sourceKey", SOURCE_CHECK: "sourceCheck", NTFY_TOKEN: "ntfyToken" },
  };
  const rejects = String(origins.rejects);
  const { heartbeat, appriseUser, applicationUrl } = canaries;
  const env: Record<string, string> = {
    ...Object.fromEntries(Object.entries(ofCanaries).map(([variable, name]) => [variable, canaries[name].value])),
    ...{ ALERTING_URL: rejects, PRICING_URL: rejects, PUBLIC_URL: "http://127.0.0.1:9" },
    HEARTBEAT: `${rejects}/ping/${heartbeat.value}?key=${heartbeat.value}`,
    APPRISE_URL: `mailto://${appriseUser.value}:${applicationUrl.value}@mail.example`,
  };
  const lines: string[] = [];
  let bots = 7_700_000;
  for (const [turn, [behaviour, origin]] of Object.entries(origins).entries()) {
    for (const kind of httpKinds.filter((_, index) => (index + turn + Math.floor(turn / 3)) % 3 === 0)) {
      const variable = `${kind}_${behaviour}`.toUpperCase();
      bots += 1;
      const { secret, options } = configurationOf(kind, origin, variable, bots);
      env[variable] = secret;
      lines.push(`  ${kind}-${behaviour}: { ${options} }`);
    }
  }
  for (const [behaviour, url] of Object.entries(await createMailServers())) {
    const variable = `SMTP_${behaviour}`.toUpperCase();
    env[variable] = url;
    lines.push(
      `  email-${behaviour}: { type: email, to: [risk@desk.example], from: alerts@tocsin.example, smtpUrl: "\${${variable}}" }`,
    );
  }
  const configFile = join(dataDir, "tocsin.yaml");
  const ofRelay = `delivery:
  sendTimeout: 2s
  emailSendTimeout: 10s
heartbeat: { url: "\${HEARTBEAT}", every: 10s, allowInternal: [127.0.0.1] }
sources:
  forge: { secret: "\${SOURCE_HOOK}", check: { type: bearer, token: "\${SOURCE_CHECK}" } }
  second: { account: { url: "${origins.rejects}", apiKey: "\${SOURCE_KEY}" } }
`;
  writeFileSync(configFile, `destinations:\n${lines.join("\n")}\n${ofRelay}`);
  env.TOCSIN_CONFIG = configFile;
  /** In the configuration. */
  const destinations = lines.map((line) => line.trim().split(":", 1)[0] ?? "");
  return { dataDir, env, destinations };
}

export type CanaryWorld = Awaited<ReturnType<typeof createCanaryWorld>>;

/** For each kind the text of its secret, and its options with the variable that has it. */
function configurationOf(
  kind: HttpKind,
  origin: string,
  variable: string,
  botId: number,
): { secret: string; options: string } {
  const internal = `allowInternal: ["127.0.0.1"]`;
  const reference = `"\${${variable}}"`;
  const url = `type: ${kind}, url: ${reference}, ${internal}`;
  const headers = `{ Authorization: "Bearer \${BEARER}", X-Api-Key: "\${API_HEADER}", X-Desk: "\${PLAIN_HEADER}" }`;
  const { urlPath, urlQuery, slack, discord, teams, bot, routingKey } = canaries;
  const teamsPath = "workflows/0a1b2c3d4e/triggers/manual/paths/invoke";
  const all: Record<HttpKind, [secret: string, options: string]> = {
    webhook: [`${origin}/${urlPath.value}?a=${urlQuery.value}`, `${url}, secret: "\${SIGNING}", headers: ${headers}`],
    slack: [`${origin}/services/T0/B0/${slack.value}`, url],
    discord: [`${origin}/api/webhooks/9007199254740993/${discord.value}`, url],
    teams: [`${origin}/${teamsPath}?api-version=1&sig=${teams.value}`, url],
    telegram: [
      `${botId}:${bot.value}`,
      `type: telegram, chatId: "-1001700000001", botToken: ${reference}, apiRoot: "${origin}"`,
    ],
    pagerduty: [routingKey.value, `type: pagerduty, routingKey: ${reference}, server: "${origin}", ${internal}`],
    ntfy: ["unused", `type: ntfy, server: "${origin}", topic: alerts, token: "\${NTFY_TOKEN}", ${internal}`],
    apprise: ["unused", `type: apprise, server: "${origin}", urls: ["\${APPRISE_URL}"], ${internal}`],
  };
  const [secret, options] = all[kind];
  return { secret, options };
}

/** What each vendor says when it has taken a message. */
function takeEverything({ path }: VendorRequest): VendorAnswer {
  if (path.startsWith("/services/")) return text(200, "ok");
  if (path.startsWith("/bot")) return json(200, { ok: true, result: { message_id: 1, date: 1, chat: { id: -1 } } });
  return json(200, { id: "700000000000000000" });
}

/** All that was sent comes back, in the words of a Bot API where one was asked. */
function repeatIn(status: number): (request: VendorRequest) => VendorAnswer {
  return (request) => {
    if (!request.path.startsWith("/bot")) return echo(status)(request);
    const description = `Bad Request: https://127.0.0.1${request.path} ${decodeURIComponent(request.path)}`;
    return json(status, { ok: false, error_code: status, description });
  };
}

function redirectElsewhere({ path }: VendorRequest): VendorAnswer {
  return { status: 307, headers: { location: `https://elsewhere.example${path}` } };
}

/** A provider that takes mails, and two that repeat the login in their refusals. */
async function createMailServers(): Promise<Record<string, string>> {
  const user = "desk";
  const password = canaries.mailPassword.value;
  const login = `${user}:${encodeURIComponent(password)}`;
  const echoed = `${password} ${base64(`\0${user}\0${password}`)} ${base64(password)}`.replace(/[\r\n]/g, "");
  const mailbox = await createMailboxStandIn({ now: Date.now, login: { user, password } });
  const deaf = await createScriptedSmtpServer({ script: { auth: `535 5.7.8 not you: ${echoed}` } });
  const picky = await createScriptedSmtpServer({ script: { dot: `554 5.6.0 not this, ${echoed}` } });
  const broken = await createScriptedSmtpServer({ script: { mail: `450 4.3.0 later, ${echoed}` } });
  onTestFinished(() => mailbox.close());
  const urlOf = (port: number) => `smtp://${login}@127.0.0.1:${port}?allowInsecureAuth=true`;
  return {
    takes: urlOf(mailbox.smtpPort),
    refuses: urlOf(deaf.port),
    rejects: urlOf(picky.port),
    fails: urlOf(broken.port),
    isAbsent: urlOf(await findLastingPort()),
    insists: `smtp://${login}@127.0.0.1:${mailbox.smtpPort}`,
    speaksPlainly: `smtps://${login}@127.0.0.1:${mailbox.smtpPort}`,
  };
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
