import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { Secret } from "../core/secret.ts";
import type { NotificationShape } from "../sandbox/service/options.ts";
import type { ServiceSandbox } from "../sandbox/service/service.ts";
import { parseWhole } from "./shell/arguments.ts";
import { type CliContext, untilAborted } from "./shell/context.ts";
import { addExamples, type Output, openOutput } from "./shell/output.ts";

interface SandboxFlags {
  port: number;
  host: string;
  key?: string;
  speed: number;
  storm?: number;
  data?: string;
  metrics: number;
  shape?: NotificationShape;
}

/** Stated here as well, because the help must not load the sandbox; a test compares them. */
const shapes: readonly NotificationShape[] = ["flat", "nested", "text", "form", "batch", "minimal"];

/** `tocsin sandbox`: the alerting service's stand-in on this machine, until SIGTERM or SIGINT. */
export function registerSandbox(program: Command, context: CliContext): void {
  const command = program
    .command("sandbox")
    .description("run a local implementation of the alerting service, with a market that moves, until stopped")
    .option("--port <n>", "port to listen on; 0 takes any free one", parseWhole, 4010)
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--key <key>", "API key of its account; made up and printed when absent")
    .option("--speed <x>", "how many times faster than the clock its market and its waiting run", parseAmount, 1)
    .option("--storm <n>", "fire this many alerts at once as soon as an output is set", parseWhole)
    .option("--data <dir>", "folder that keeps its state over a restart; without it nothing is kept")
    .option("--metrics <n>", "how many metrics its catalogue has", parseWhole, 50_000)
    .addOption(new Option("--shape <shape>", "form of its notifications (default: flat)").choices(shapes))
    .addHelpText(
      "after",
      "\nEnvironment:\n  SANDBOX_BOT_TOKEN     bot that sends alerts to the account's messenger channel; without it none is sent there\n  SANDBOX_BOT_API_ROOT  its Bot API server (default: https://api.telegram.org)",
    )
    .action((flags: SandboxFlags, self: Command) => runSandbox(flags, context, openOutput(context, self)));
  addExamples(command, "tocsin sandbox", "tocsin sandbox --speed 20 --storm 1000 --data ./sandbox-data");
}

async function runSandbox(flags: SandboxFlags, context: CliContext, output: Output): Promise<void> {
  const { createServiceSandbox } = await import("../sandbox/service/service.ts");
  const { SANDBOX_BOT_TOKEN: botToken, SANDBOX_BOT_API_ROOT: telegramApiRoot } = context.env;
  const sandbox = await createServiceSandbox({
    now: context.now,
    random: context.random,
    port: flags.port,
    host: flags.host,
    key: flags.key,
    speed: flags.speed,
    stormCount: flags.storm,
    dataDir: flags.data === undefined ? undefined : resolve(context.cwd, flags.data),
    metricCount: flags.metrics,
    shape: flags.shape,
    botToken: botToken ? new Secret(botToken) : undefined,
    telegramApiRoot: telegramApiRoot || undefined,
  });
  try {
    const { url, alertingUrl, pricingUrl, apiKey } = sandbox;
    await output.result({ url, alertingUrl, pricingUrl, apiKey }, () => describeSandbox(sandbox, output));
    await untilAborted(context.signal);
  } finally {
    await sandbox.close();
  }
}

function describeSandbox({ url, alertingUrl, pricingUrl, apiKey }: ServiceSandbox, output: Output): string {
  const facts = output.fields([
    ["page", `${url}/`],
    ["alerting", alertingUrl],
    ["pricing", pricingUrl],
    ["API key", apiKey],
  ]);
  const settings = [
    ["ALERTING_URL", alertingUrl],
    ["ALERTING_API_KEY", apiKey],
    ["PRICING_URL", pricingUrl],
  ];
  const lines = settings.map(([name, value]) => `  export ${name}='${value?.replaceAll("'", "'\\''")}'`);
  return `${facts}\nIn another terminal:\n${lines.join("\n")}\n  tocsin upstream account\n\nCtrl-C ends it.\n`;
}

function parseAmount(text: string): number {
  if (!/^\d{1,4}(\.\d{1,3})?$/.test(text) || Number(text) === 0) {
    throw new InvalidArgumentError("give a number above 0, such as 20 or 0.5");
  }
  return Number(text);
}
