import { type Relay, startRelay } from "../../app.ts";
import { loadOrCreateSecrets, type ServerSecrets } from "../../config/generated-secrets.ts";
import { loadConfig } from "../../config/load-config.ts";
import { AppError } from "../../core/errors.ts";
import { createLog } from "../../log.ts";
import { loginLink } from "../../web/access/login-link.ts";
import { runSetup } from "../setup/run-setup.ts";
import { type CliContext, untilAborted } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import type { DemoOptions } from "./demo.ts";
import { createDemoWorld, type DemoWorld } from "./demo-world.ts";
import { narrate } from "./narrate.ts";

const stormAfterMs = 10_000;

/** Builds a world around the relay, registers the relay by the real setup, and lets alerts come. */
export async function runDemo(options: DemoOptions, context: CliContext, output: Output): Promise<void> {
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
        ...output,
        json: false,
        result: async (_data, text) => output.print(indent(text())),
        print: (text) => output.print(indent(text)),
      };
      await runSetup({ yes: true }, { ...context, env }, quiet);
      await announce(relay, secrets, world, context, output);
      if (!output.json) narrate(relay.store, output, stop);
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
    const secrets = await loadOrCreateSecrets(config.dataDir, config);
    const log = createLog({ level: config.logLevel, secrets: [] });
    return { relay: await startRelay({ config, secrets, log }), secrets };
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
    chat: `${world.chat.url}/`,
    mailbox: `${world.mailbox.url}/`,
    service: `${world.service.url}/`,
    hook: `${relay.publicUrl}/hooks/${secrets.webhookSecret.reveal()}`,
  };
  await output.result(
    links,
    () =>
      `\n${output.style("bold", "Look here:")}\n${output.fields([
        ["log page", links.page],
        ["chat", links.chat],
        ["mailbox", links.mailbox],
        ["service", links.service],
      ])}\nSend one yourself, in another terminal:\n  curl -d 'USDC pool drained' ${links.hook}\n\nAlerts, as they come (Ctrl-C ends the demo and removes what it made):\n`,
  );
}

/** A few alerts at once, so that there is something to see; then the market goes its own way. */
async function play(world: DemoWorld, options: DemoOptions, stop: AbortSignal, context: CliContext): Promise<void> {
  const { service } = world;
  service.fire({ severity: "critical" });
  service.fire({ severity: "warning" });
  service.fire({ severity: "info" });
  const wait = (ms: number) => context.sleep(ms, stop).catch(() => {});
  await wait(1_500);
  if (!stop.aborted) service.setShape("text");
  if (!stop.aborted) service.fire({ severity: "critical" });
  await wait(1_500);
  service.setShape("flat");
  if (options.storm !== undefined) {
    await wait(stormAfterMs);
    if (!stop.aborted) service.storm(options.storm);
  }
  await untilAborted(stop);
}

function indent(text: string): string {
  return `${text.trimEnd().replace(/^(?=.)/gm, "  ")}\n`;
}
