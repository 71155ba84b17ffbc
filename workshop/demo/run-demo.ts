import stringWidth from "string-width";
import { tailAlerts } from "../../src/cli/alerts/tail.ts";
import { runSetup } from "../../src/cli/setup/run-setup.ts";
import { type CliContext, writeText } from "../../src/cli/shell/context.ts";
import { type Output, wrapText } from "../../src/cli/shell/output.ts";
import type { DemoFlags } from "../../src/cli/workshop.ts";
import { loadOrCreateSecrets } from "../../src/config/generated-secrets.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { loginLink } from "../../src/contract/login-link.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Secret } from "../../src/core/secret.ts";
import { readJson } from "../../src/ground/text/read-json.ts";
import { factsOf } from "../../src/panels/sections.ts";
import { createLog } from "../../src/start/log.ts";
import { startRelay } from "../../src/start/relay.ts";
import { withKept } from "../../src/store/with-kept.ts";
import { createDemoWorld, type DemoWorld } from "./demo-world.ts";

const stormAfterMs = 10_000;
const nextAlertMs = 20_000;
/** The most open alerts. Above it the oldest is resolved, some two minutes after it came. */
const mostOpen = 6;

/** The relay in this process, or several behind a balancer. */
interface Served {
  publicUrl: string;
  webhookSecret: Secret;
  adminToken: Secret;
  /** Environment of a command that reaches it, in addition to the world's. */
  env: Record<string, string>;
  besides: string;
  data: Record<string, unknown>;
  failed?: Promise<never>;
  stop(): Promise<void>;
}

/** Builds a world around the relay, registers the relay by the real setup, and sends alerts. */
export async function runDemo(
  options: DemoFlags,
  context: CliContext,
  output: Output,
  indented: Output,
): Promise<void> {
  if (options.onDatabaseUrl && options.relays === undefined)
    throw new AppError("usage", "--on-database-url goes with --relays", { hint: "see: tocsin demo --help" });
  const stop = endOf(options, context);
  const world = await createDemoWorld(context);
  try {
    const serveIt = options.relays === undefined ? serveByOne : serveBySeveral;
    const served = await serveIt({ world, options, context, output });
    try {
      await output.print("setup: prove that alerts arrive, register this relay's hook, read back, send a test\n");
      // No other variables: the settings of a person's own relay must not apply to this one.
      const env = { ...world.env, PORT: new URL(served.publicUrl).port, PUBLIC_URL: served.publicUrl, ...served.env };
      const print: Output["print"] = async (shown) => {
        // The other output on this terminal does not know of this line.
        await indented.progress.clear();
        await output.print(indent(indented.draw(shown), indented.width));
      };
      const quiet: Output = { ...indented, json: false, result: async (_data, text) => print(await text()), print };
      await runSetup({ yes: true }, { ...context, env }, quiet);
      await announce(served, world, context, output);
      if (!output.json) narrate(served, context, output, stop);
      await Promise.race([play(world, options, stop, context), ...(served.failed ? [served.failed] : [])]);
    } finally {
      await served.stop();
    }
  } finally {
    await world.close();
  }
}

/** Aborted by Ctrl-C, or after `--for` on the context's clock. */
function endOf(options: DemoFlags, context: CliContext): AbortSignal {
  if (options.for === undefined) return context.signal;
  const end = new AbortController();
  const abort = () => end.abort();
  context.sleep(options.for * 1000, context.signal).then(abort, abort);
  return end.signal;
}

interface Serving {
  world: DemoWorld;
  options: DemoFlags;
  context: CliContext;
  output: Output;
}

/** Opens the requested port. Without a request: the usual port, or any free one when it is taken. */
async function openPort<T>({ options, context }: Serving, open: (port: number) => Promise<T>): Promise<T> {
  const asked = options.port ?? (context.env.PORT ? Number(context.env.PORT) : undefined);
  if (asked !== undefined) return open(asked);
  try {
    return await open(8080);
  } catch (error) {
    if (error instanceof AppError && error.code === "config_invalid") return open(0);
    throw error;
  }
}

async function serveByOne(serving: Serving): Promise<Served> {
  const { world, context } = serving;
  const { relay, secrets } = await openPort(serving, async (port) => {
    const config = loadConfig({ env: { ...world.env, PORT: String(port) }, cwd: world.dataDir });
    const secrets = await withKept(config, (kept) => loadOrCreateSecrets(kept, config), { isExisting: false });
    const log = createLog(config.logLevel);
    const { storeThreadEntry, readingThreadEntry } = context;
    const parts = { storeThreadEntry, readingThreadEntry, picturesOnThisMachine: true };
    return { relay: await startRelay({ config, secrets, log, ...parts }), secrets };
  });
  const { webhookSecret, adminToken } = secrets;
  return {
    publicUrl: relay.publicUrl,
    ...{ webhookSecret, adminToken, env: {}, besides: "", data: {} },
    stop: relay.stop,
  };
}

async function serveBySeveral(serving: Serving): Promise<Served> {
  const { world, options, context, output } = serving;
  const { startSeveralRelays, startedAgainAfterMs } = await import("./several-relays.ts");
  const count = options.relays ?? 0;
  const serverUrl = options.onDatabaseUrl ? context.env.DATABASE_URL?.trim() : undefined;
  if (options.onDatabaseUrl && !serverUrl)
    throw new AppError("usage", "--on-database-url, and DATABASE_URL is not set");
  const where = serverUrl === undefined ? "a PostgreSQL made for them" : "a database made for them";
  await output.print(`${count} relays on ${where}: it takes some seconds until they run\n`);
  const say = (text: string) => void output.print(`${text}\n`).catch(() => {});
  const several = await startSeveralRelays(world, context, {
    count,
    serverUrl,
    openPort: (open) => openPort(serving, open),
    onGone: ({ name, pid }) =>
      say(
        output.style("red", `✗ ${name} (process ${pid}) is gone:`) +
          ` the others take over what it delivered\n  within 15 s, and it is started again in ${startedAgainAfterMs / 1000} s`,
      ),
    onStartedAgain: ({ name, pid }) => say(output.style("green", `✓ ${name} runs again, as process ${pid}`)),
    onLog: (name, line) => {
      // The relay's name is in no event.
      const asJson = () => writeText(context.stderr, `${line.replace(/^\{/, `{"relay":"${name}",`)}\n`);
      void (output.json ? asJson() : output.note(describeLogLine(name, line))).catch(() => {});
    },
  });
  const { publicUrl, webhookSecret, adminToken } = several;
  const relays = several.relays();
  return {
    ...{ publicUrl, webhookSecret, adminToken, failed: several.failed, stop: several.stop },
    env: {
      DATABASE_URL: several.databaseUrl,
      WEBHOOK_SECRET: webhookSecret.reveal(),
      ADMIN_TOKEN: adminToken.reveal(),
    },
    besides: `\n${count} relays serve all of that, behind a balancer.
Kill one in another terminal, and see the others take over:\n${output.draw(
      factsOf(relays.map(({ name, pid }) => [name, `kill -9 ${pid}`])),
    )}The page System says which of them does what, and X-Served-By of each answer which one gave it.\n`,
    data: { relays },
  };
}

/** The most columns of a line, so it fits next to a browser. */
const widestLine = 100;

/** Prints each alert and its outcome, as `tocsin alerts tail` does, until `stop` is aborted. */
function narrate({ publicUrl, adminToken }: Served, context: CliContext, output: Output, stop: AbortSignal): void {
  const ended = { ...context, env: { ADMIN_TOKEN: adminToken.reveal() }, signal: stop };
  const width = Math.min(output.width ?? widestLine, widestLine);
  // The end of a relay is reported elsewhere.
  const quiet = { ...output, width, note: async () => {} };
  tailAlerts({ context: ended, output: quiet, flags: { url: publicUrl } }, { lines: 50 }).catch(() => {});
}

async function announce(served: Served, world: DemoWorld, context: CliContext, output: Output): Promise<void> {
  const { publicUrl, adminToken, webhookSecret } = served;
  const shown = (app: string) => `${world.board.url}/?app=${app}`;
  const boards = {
    ...{ chat: shown("telegram"), mailbox: shown("mail") },
    ...{ slack: shown("slack"), discord: shown("discord"), ntfy: shown("ntfy") },
  };
  const names = { chat: "Telegram", mailbox: "mailboxes", slack: "Slack", discord: "Discord", ntfy: "ntfy" };
  const apps = Object.entries(names).map(([app, name]): [string, string] => [name, boards[app as keyof typeof names]]);
  const links = {
    page: loginLink(publicUrl, adminToken, context.now()),
    token: adminToken.reveal(),
    ...boards,
    service: `${world.service.url}/`,
    hook: `${publicUrl}/hooks/${webhookSecret.reveal()}`,
  };
  world.service.links = [["log page", `${publicUrl}/`] as const, ...apps].map(([name, url]) => ({ name, url }));
  await output.result(
    { ...links, ...served.data },
    () =>
      `\n${output.style("bold", "Look here:")}\n${output.draw(
        factsOf([
          ["log page", links.page],
          ["", `in another browser: ${publicUrl}/ with the token ${links.token}`],
          ...apps,
          ["service", links.service],
        ]),
      )}${served.besides}
Send one yourself, by the buttons of the service's page, or in another terminal:
  curl -d 'pool drained' ${links.hook}

Alerts as they come (→) and how each ended (←);
Ctrl-C ends the demo and removes what it made:
`,
  );
}

/** `relay 2: lane.lost, group destination:chat, why its lease has ended`: the event and its fields, without braces. */
export function describeLogLine(name: string, line: string): string {
  // Node's own warnings are no JSON.
  const parsed = readJson(line);
  if (typeof parsed !== "object" || parsed === null) return `${name}: ${line}`;
  const { event = "", level: _level, time: _time, ...fields } = parsed as Record<string, unknown>;
  const words = Object.entries(fields).map(([field, value]) => {
    return `${field} ${typeof value === "string" ? value : JSON.stringify(value)}`;
  });
  return `${name}: ${[event, ...words].join(", ")}`;
}

/** Sends a few alerts at once, so there is something to see. Then one now and then, each open for a while. */
async function play(world: DemoWorld, options: DemoFlags, stop: AbortSignal, context: CliContext): Promise<void> {
  const { service } = world;
  const wait = (ms: number) => context.sleep(ms, stop).catch(() => {});
  const severities = ["critical", "warning", "info"] as const;
  const open = severities.map((severity) => service.fire({ severity }));
  await wait(1_500);
  if (!stop.aborted) service.setShape("text");
  if (!stop.aborted) service.fire({ severity: "critical" });
  await wait(1_500);
  service.setShape("flat");
  if (options.storm !== undefined) {
    await wait(stormAfterMs);
    if (!stop.aborted) service.alarm.storm(options.storm);
  }
  for (let turn = 0; !stop.aborted; turn += 1) {
    await wait(nextAlertMs);
    if (stop.aborted) return;
    const severity = severities[turn % severities.length];
    open.push(service.fire({ severity }));
    if (open.length <= mostOpen) continue;
    const over = open.shift();
    if (over !== undefined) service.fire({ metricKey: over.metricKey, severity: over.severity, status: "resolved" });
  }
}

/** Lines that fit stay unchanged: they may be rows of a table. */
function indent(text: string, width: number | undefined): string {
  const lines = text.trimEnd().split("\n");
  const fitting = lines.flatMap((line) =>
    width === undefined || stringWidth(line) <= width ? [line] : wrapText(line, width, { keepsWords: true }),
  );
  return `${fitting.join("\n").replace(/^(?=.)/gm, "  ")}\n`;
}
