import type { Destination } from "../core/rules.ts";
import type { Secret } from "../core/secret.ts";
import type { Config } from "./config.ts";
import type { ServerSecrets } from "./generated-secrets.ts";

/** Every secret text of the configuration, for what must never let one through: the log, error pages, exports. */
export function secretTextsOf(
  config: Config,
  secrets: Pick<ServerSecrets, "webhookSecret" | "adminToken"> & Partial<ServerSecrets>,
): string[] {
  const { alerting, pricing } = config.upstream;
  const all: (Secret | undefined)[] = [
    secrets.webhookSecret,
    secrets.adminToken,
    ...(secrets.previousWebhookSecrets ?? []),
    alerting?.apiKey,
    pricing?.apiKey,
    ...config.rules.destinations.flatMap(secretsOf),
  ];
  const texts = all.flatMap((secret) => (secret === undefined ? [] : [secret.reveal()]));
  return [...new Set(texts)].filter((text) => text !== "");
}

function secretsOf(destination: Destination): (Secret | undefined)[] {
  switch (destination.type) {
    case "telegram":
      return [destination.bot.token];
    case "email":
      return [destination.account.password];
    case "webhook":
      return [destination.secret, ...Object.values(destination.headers)];
    case "slack":
    case "discord":
      return [destination.url];
    case "ntfy":
      return [destination.token];
    case "apprise":
      return destination.urls;
  }
}
