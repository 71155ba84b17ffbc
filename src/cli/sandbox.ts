import { resolve } from "node:path";
import { Secret } from "../core/secret.ts";
import type { NotificationShape } from "../sandbox/service/options.ts";
import type { ServiceSandbox } from "../sandbox/service/service.ts";
import { command, type GivenOptions, type Run } from "./command.ts";
import { choice, parsed, text, Unreadable, whole } from "./options.ts";
import { untilAborted } from "./shell/context.ts";
import type { Output } from "./shell/output.ts";

/** Stated here as well, because the help must not load the sandbox; a test compares them. */
const shapes: readonly NotificationShape[] = ["flat", "nested", "text", "form", "batch", "minimal"];

const flags = {
  port: whole("port to listen on; 0 takes any free one", { default: "4010" }),
  host: text("address to listen on", { of: "address", default: "127.0.0.1" }),
  key: text("API key of its account; made up and printed when absent"),
  speed: parsed(parseAmount, "how many times faster than the clock its market and its waiting run", {
    of: "x",
    default: "1",
  }),
  storm: whole("fire this many alerts at once as soon as an output is set"),
  data: text("folder that keeps its state over a restart; without it nothing is kept", { of: "dir" }),
  metrics: whole("how many metrics its catalogue has", { default: "50000" }),
  shape: choice(shapes, "form of its notifications (default: flat)"),
};

/** `tocsin sandbox`: the alerting service's stand-in on this machine, until SIGTERM or SIGINT. */
export const sandbox = command({
  name: "sandbox",
  summary: "a local implementation of it, with a market that moves",
  says: "run a local implementation of the alerting service, with a market that moves, until stopped",
  options: flags,
  environment: {
    SANDBOX_BOT_TOKEN: "bot that sends alerts to the account's messenger channel; without it none is sent there",
    SANDBOX_BOT_API_ROOT: "its Bot API server (default: https://api.telegram.org)",
  },
  examples: ["tocsin sandbox", "tocsin sandbox --speed 20 --storm 1000 --data ./sandbox-data"],
  run: runSandbox,
});

async function runSandbox(given: GivenOptions<typeof flags>, { context, output }: Run): Promise<void> {
  const { createServiceSandbox } = await import("../sandbox/service/service.ts");
  const { SANDBOX_BOT_TOKEN: botToken, SANDBOX_BOT_API_ROOT: telegramApiRoot } = context.env;
  const service = await createServiceSandbox({
    now: context.now,
    random: context.random,
    port: given.port,
    host: given.host,
    key: given.key,
    speed: given.speed,
    stormCount: given.storm,
    dataDir: given.data === undefined ? undefined : resolve(context.cwd, given.data),
    metricCount: given.metrics,
    shape: given.shape,
    botToken: botToken ? new Secret(botToken) : undefined,
    telegramApiRoot: telegramApiRoot || undefined,
  });
  try {
    const { url, alertingUrl, pricingUrl, apiKey } = service;
    await output.result({ url, alertingUrl, pricingUrl, apiKey }, () => describeSandbox(service, output));
    await untilAborted(context.signal);
  } finally {
    await service.close();
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
    throw new Unreadable("give a number above 0, such as 20 or 0.5");
  }
  return Number(text);
}
