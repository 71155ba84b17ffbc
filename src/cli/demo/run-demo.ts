import stringWidth from "string-width";
import { type Relay, startRelay } from "../../app.ts";
import { loadOrCreateSecrets, type ServerSecrets } from "../../config/generated-secrets.ts";
import { loadConfig } from "../../config/load-config.ts";
import { AppError } from "../../core/errors.ts";
import { createLog } from "../../log.ts";
import { withKept } from "../../store/with-kept.ts";
import { loginLink } from "../../web/access/login-link.ts";
import { runSetup } from "../setup/run-setup.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import { wrapText } from "../shell/terminal-text.ts";
import type { DemoOptions } from "./demo.ts";
import { createDemoWorld, type DemoWorld } from "./demo-world.ts";
import { narrate } from "./narrate.ts";

const stormAfterMs = 10_000;
const nextAlertMs = 20_000;
/** So many stay open; then the oldest is over, some two minutes after it came. */
const mostOpen = 6;

/** Builds a world around the relay, registers the relay by the real setup, and lets alerts come. */
export async function runDemo(
  options: DemoOptions,
  context: CliContext,
  output: Output,
  indented: Output,
): Promise<void> {
  const stop = endOf(options, context);
  const world = await createDemoWorld(context);
  try {
    const { relay, secrets } = await startDemoRelay(world, options, context);
    try {
      await output.print("setup: prove that alerts arrive, register this relay's hook, read back, send a test\n");
      const { port } = new URL(relay.localUrl);
      // Nothing else: what is set for a relay of one's own would not be that of this one.
      const env = { ...world.env, PORT: port, PUBLIC_URL: relay.localUrl };
      const quiet: Output = {
        ...indented,
        json: false,
        result: async (_data, text) => output.print(indent(text(), indented.width)),
        print: (text) => output.print(indent(text, indented.width)),
      };
      await runSetup({ yes: true }, { ...context, env }, quiet);
      await announce(relay, secrets, world, context, output);
      if (!output.json) narrate(relay.store, relay.publicUrl, output, stop);
      await play(world, options, stop, context);
    } finally {
      await relay.stop();
    }
  } finally {
    await world.close();
  }
}

/**
 * Aborted by Ctrl-C, or after `--for` on the clock that the context has.
 */
function endOf(options: DemoOptions, context: CliContext): AbortSignal {
  if (options.for === undefined) return context.signal;
  const end = new AbortController();
  const abort = () => end.abort();
  context.sleep(options.for * 1000, context.signal).then(abort, abort);
  return end.signal;
}

/** On the port that was asked for; on any free one when nobody asked and the usual one is taken. */
async function startDemoRelay(
  world: DemoWorld,
  options: DemoOptions,
  context: CliContext,
): Promise<{ relay: Relay; secrets: ServerSecrets }> {
  const asked = options.port ?? (context.env.PORT ? Number(context.env.PORT) : undefined);
  const start = async (port: number) => {
    const config = loadConfig({ env: { ...world.env, PORT: String(port) }, cwd: world.dataDir });
    const secrets = await withKept(config, (kept) => loadOrCreateSecrets(kept, config), { isExisting: false });
    const log = createLog({ level: config.logLevel, secrets: [] });
    const { storeThreadEntry, readingThreadEntry } = context;
    return {
      relay: await startRelay({
        config,
        secrets,
        log,
        storeThreadEntry,
        readingThreadEntry,
        picturesOnThisMachine: true,
      }),
      secrets,
    };
  };
  if (asked !== undefined) return start(asked);
  try {
    return await start(8080);
  } catch (error) {
    if (error instanceof AppError && error.code === "config_invalid") return start(0);
    throw error;
  }
}

async function announce(
  relay: Relay,
  secrets: ServerSecrets,
  world: DemoWorld,
  context: CliContext,
  output: Output,
): Promise<void> {
  const links = {
    page: loginLink(relay.publicUrl, secrets.adminToken, context.now()),
    token: secrets.adminToken.reveal(),
    chat: `${world.chat.url}/`,
    mailbox: `${world.mailbox.url}/`,
    slack: `${world.apps.url}/?app=slack`,
    discord: `${world.apps.url}/?app=discord`,
    ntfy: `${world.apps.url}/?app=ntfy`,
    service: `${world.service.url}/`,
    hook: `${relay.publicUrl}/hooks/${secrets.webhookSecret.reveal()}`,
  };
  world.service.showLinks([
    { name: "log page", url: `${relay.publicUrl}/` },
    { name: "Telegram", url: links.chat },
    { name: "mailboxes", url: links.mailbox },
    { name: "Slack", url: links.slack },
    { name: "Discord", url: links.discord },
    { name: "ntfy", url: links.ntfy },
  ]);
  await output.result(
    links,
    () =>
      `\n${output.style("bold", "Look here:")}\n${output.fields([
        ["log page", links.page],
        ["", `in another browser: ${relay.publicUrl}/ with the token ${links.token}`],
        ["Telegram", links.chat],
        ["mailboxes", links.mailbox],
        ["Slack", links.slack],
        ["Discord", links.discord],
        ["ntfy", links.ntfy],
        ["service", links.service],
      ])}\nSend one yourself, by the buttons of the service's page, or in another terminal:\n  curl -d 'pool drained' ${links.hook}\n\nAlerts as they come (→) and how each ended (←);\nCtrl-C ends the demo and removes what it made:\n`,
  );
}

/** A few alerts at once, so that there is something to see; then one now and then, each open for a while. */
async function play(world: DemoWorld, options: DemoOptions, stop: AbortSignal, context: CliContext): Promise<void> {
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
    if (!stop.aborted) service.storm(options.storm);
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

/** Lines that fit stay as they are: they may be rows of a table. */
function indent(text: string, width: number | undefined): string {
  const lines = text.trimEnd().split("\n");
  const fitting = lines.flatMap((line) =>
    width === undefined || stringWidth(line) <= width ? [line] : wrapText(line, width, { keepsWords: true }),
  );
  return `${fitting.join("\n").replace(/^(?=.)/gm, "  ")}\n`;
}
