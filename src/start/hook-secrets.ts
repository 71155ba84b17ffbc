import type { Config } from "../config/config.ts";
import { followSourceSecrets, followWebhookSecret, type ServerSecrets } from "../config/generated-secrets.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Poll } from "../core/poll.ts";
import type { KeptRecords } from "../core/ports/kept-records.ts";
import type { Secret } from "../core/secret.ts";
import type { Door } from "../intake/door/door.ts";

export interface HookSecretsDeps {
  door: Pick<Door, "addSecret" | "setSecretsOf">;
  /** Where those lie that nobody has given. */
  kept: KeptRecords;
  /** What the log may hold no more. Default: nobody hears of it. */
  hide?(secrets: readonly string[]): void;
  clock: Clock;
  log: Log;
}

export type SecretsInForce = ReturnType<typeof openHookSecrets>;

/** The secrets that the hooks take now: gives the door what is known at the start, and, while the polls run, what takes its place. */
export function openHookSecrets(
  { webhookSecret: given, sources }: Pick<Config, "webhookSecret" | "sources">,
  known: ServerSecrets,
  { door, kept, hide = () => {}, clock, log }: HookSecretsDeps,
) {
  let present = known.webhookSecret;
  const former = [...known.previousWebhookSecrets];
  const ofSources = new Map(known.sourceSecrets);
  const polls: Poll[] = [];
  for (const secret of [present, ...former]) door.addSecret(secret);
  for (const [source, secrets] of ofSources) door.setSecretsOf(source, secrets);

  if (given === undefined) {
    const take = (secret: Secret) => {
      former.push(present);
      present = secret;
      hide([secret.reveal()]);
      door.addSecret(secret);
    };
    polls.push(followWebhookSecret(kept, present, take, { clock, log }));
  }
  const givenSources = new Set(sources.flatMap(({ name, secret }) => (secret === undefined ? [] : [name])));
  const madeSources = new Map([...ofSources].filter(([name]) => !givenSources.has(name)));
  if (madeSources.size > 0) {
    polls.push(
      followSourceSecrets(
        kept,
        madeSources,
        (source, secrets) => {
          ofSources.set(source, secrets);
          hide(secrets.map((secret) => secret.reveal()));
          door.setSecretsOf(source, secrets);
        },
        { clock, log },
      ),
    );
  }

  return {
    /** Of the hook without a name, the present one first. */
    ofHook: (): [Secret, ...Secret[]] => [present, ...former],
    /** Of the hook of a source, the present one first; none for an unknown name. */
    ofSource: (name: string): readonly Secret[] => ofSources.get(name) ?? [],
    /** The present one of each source, by its name. */
    ofSources: () => [...ofSources].map<[name: string, secret: Secret]>(([name, [secret]]) => [name, secret]),
    /** What finds those that another process has made since; empty when all are given. */
    polls,
  };
}
