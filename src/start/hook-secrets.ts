import type { Config } from "../config/config.ts";
import { followSecrets, type HookSecrets, type SecretName, type ServerSecrets } from "../config/generated-secrets.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { KeptRecords } from "../core/ports/kept-records.ts";
import type { Secret } from "../core/secret.ts";
import type { Door } from "../intake/door/door.ts";

interface HookSecretsDeps {
  door: Pick<Door, "addSecret" | "setSecretsOf">;
  /** Where those lie that nobody has given. */
  kept: KeptRecords;
  /** What the log may hold no more. Default: nobody hears of it. */
  hide?(secrets: readonly string[]): void;
  clock: Clock;
  log: Log;
}

const ofAccount = "webhook-secret";

/** The secrets that the hooks take now: gives the door what is known at the start, and, while the poll runs, what takes its place. */
export function openHookSecrets(
  { webhookSecret: given, sources }: Pick<Config, "webhookSecret" | "sources">,
  known: ServerSecrets,
  { door, kept, hide = () => {}, clock, log }: HookSecretsDeps,
) {
  const taken = new Map<SecretName, HookSecrets>();

  function take(name: SecretName, secrets: HookSecrets): void {
    const known = taken.get(name) ?? [];
    const without = (some: readonly Secret[], others: readonly Secret[]) =>
      some.filter((one) => !others.some((other) => other.reveal() === one.reveal()));
    if (taken.has(name)) hide(without(secrets, known).map((secret) => secret.reveal()));
    if (name !== ofAccount) {
      taken.set(name, secrets);
      door.setSecretsOf(name.slice("source-".length), secrets);
      return;
    }
    // The service may still send to one that was replaced: it is taken until a restart.
    taken.set(name, [...secrets, ...without(known, secrets)]);
    for (const secret of secrets) door.addSecret(secret);
  }

  take(ofAccount, [known.webhookSecret, ...known.previousWebhookSecrets]);
  for (const [source, secrets] of known.sourceSecrets) take(`source-${source}`, secrets);
  const isGiven = (name: SecretName) =>
    name === ofAccount
      ? given !== undefined
      : sources.some((source) => source.secret !== undefined && name === `source-${source.name}`);
  const made = new Map([...taken].filter(([name]) => !isGiven(name)));

  return {
    /** The secrets of a source's hook, or of the hook without a name, the present one first; none for an unknown name. */
    of: (source?: string): readonly Secret[] => taken.get(source === undefined ? ofAccount : `source-${source}`) ?? [],
    /** Finds secrets that another process has made since. Absent: all were given. */
    poll: made.size === 0 ? undefined : followSecrets(kept, made, take, { clock, log }),
  };
}
