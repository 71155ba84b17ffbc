import { Secret } from "../core/secret.ts";
import { databasePasswords } from "../ground/net/database-place.ts";
import { vendorOf } from "../vendors/index.ts";
import type { Config } from "./config.ts";
import type { ServerSecrets } from "./generated-secrets.ts";

/** Every secret text of the configuration. Log, error pages and exports must never show one. */
export function secretTextsOf(config: Config, secrets: Partial<ServerSecrets>): string[] {
  const { alerting, pricing } = config.upstream;
  const all: (Secret | undefined)[] = [
    secrets.webhookSecret,
    secrets.adminToken,
    ...(secrets.previousWebhookSecrets ?? []),
    ...[...(secrets.sourceSecrets?.values() ?? [])].flat(),
    ...config.sources.flatMap(({ secret, formerSecrets, checks, account }) => [
      secret,
      ...formerSecrets,
      account?.apiKey,
      ...checks.flatMap((rule) => ("secrets" in rule ? rule.secrets : [])),
    ]),
    alerting?.apiKey,
    pricing?.apiKey,
    config.heartbeat?.url,
    config.databaseUrl,
    ...databasePasswords(config.databaseUrl?.reveal()).map((text) => new Secret(text)),
    config.databaseListenUrl,
    ...databasePasswords(config.databaseListenUrl?.reveal()).map((text) => new Secret(text)),
    ...config.rules.destinations.flatMap((one) => vendorOf(one.type).secrets(one)),
  ];
  const texts = all.flatMap((secret) => (secret === undefined ? [] : [secret.reveal()]));
  return [...new Set(texts)].filter((text) => text !== "");
}
