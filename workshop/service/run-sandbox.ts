import { resolve } from "node:path";
import type { Run } from "../../src/cli/command.ts";
import type { Output } from "../../src/cli/shell/output.ts";
import type { SandboxFlags } from "../../src/cli/workshop.ts";
import { untilAborted } from "../../src/core/clock.ts";
import { Secret } from "../../src/core/secret.ts";
import { factsOf } from "../../src/panels/sections.ts";
import { createServiceSandbox, type ServiceSandbox } from "./service.ts";

export async function runSandbox(flags: SandboxFlags, { context, output }: Run): Promise<void> {
  const { SANDBOX_BOT_TOKEN: botToken, SANDBOX_BOT_API_ROOT: telegramApiRoot } = context.env;
  const service = await createServiceSandbox({
    ...{ ...flags, now: context.now, random: context.random, stormCount: flags.storm, metricCount: flags.metrics },
    dataDir: flags.data === undefined ? undefined : resolve(context.cwd, flags.data),
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
  const facts = output.draw(
    factsOf([
      ["page", `${url}/`],
      ["alerting", alertingUrl],
      ["pricing", pricingUrl],
      ["API key", apiKey],
    ]),
  );
  const settings = [
    ["ALERTING_URL", alertingUrl],
    ["ALERTING_API_KEY", apiKey],
    ["PRICING_URL", pricingUrl],
  ];
  const lines = settings.map(([name, value]) => `  export ${name}='${value?.replaceAll("'", "'\\''")}'`);
  return `${facts}\nIn another terminal:\n${lines.join("\n")}\n  tocsin upstream account\n\nCtrl-C ends it.\n`;
}
