import { readFile } from "node:fs/promises";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { Secret } from "../core/secret.ts";
import { secretPath } from "./generated-secrets.ts";

const everyMs = 1_000;

/**
 * Hands over a webhook secret that `tocsin setup --rotate-secret` has written while the relay runs, so that not one alert
 * is refused between the change at the service and a restart. Runs until `stop`; never rejects.
 */
export async function followWebhookSecret(
  dataDir: string,
  onSecret: (secret: Secret) => void,
  deps: { clock: Clock; log: Log; stop: AbortSignal },
): Promise<void> {
  const path = secretPath(dataDir, "webhook-secret");
  let known = await readText(path);
  while (!deps.stop.aborted) {
    await deps.clock.sleep(everyMs, deps.stop);
    const text = await readText(path);
    if (text === undefined || text === known) continue;
    known = text;
    onSecret(new Secret(text));
    deps.log.info("hook.secret_added");
  }
}

async function readText(path: string): Promise<string | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.trim() || undefined;
}
