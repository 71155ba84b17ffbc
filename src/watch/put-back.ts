import { AppError } from "../core/errors.ts";
import type { AccountReading, AccountService, Registration } from "../core/ports/account.ts";
import type { Secret } from "../core/secret.ts";
import { type AccountNames, accountNames, type Target } from "./judge-account.ts";

interface Outputs {
  webhookUrl?: string | null;
  messengerChannelId?: string | null;
}

/**
 * What has to change for the account to send to this relay as it was registered; undefined when nothing has. Pure.
 *
 * @param hook `isHere`: whether an address is a hook that this relay takes
 * @param names for what to do about it. Default: those of the account of `ALERTING_URL`
 * @throws AppError `not_found` when nothing was registered here, `conflict` for another account or one whose webhook
 *   setup has turned off.
 */
export function planPutBack(
  reading: AccountReading,
  registration: Registration | undefined,
  hook: { url: string; isHere(url: string): boolean },
  names: AccountNames = accountNames(),
): Outputs | undefined {
  if (registration === undefined) {
    throw new AppError("not_found", "There is nothing to put back: this relay was not registered from here yet.", {
      hint: `Register it with: ${names.setup}`,
    });
  }
  if (reading.id !== registration.accountId) {
    throw new AppError("conflict", "The API key belongs to another account than the one that was set up.", {
      hint: `Set the right ${names.key}; or, if the other account is meant, run: ${names.setup}`,
    });
  }
  if (registration.webhookOff) {
    throw new AppError("conflict", "Setup has turned the account's webhook off, so there is nothing to put back.", {
      hint: `Turn it on again with: ${names.setup}`,
    });
  }
  const { webhookUrl, messengerChannelId } = reading;
  const change: Outputs = {};
  if (typeof webhookUrl !== "string" || !hook.isHere(webhookUrl)) change.webhookUrl = hook.url;
  const wanted = registration.messengerChannelId;
  if (wanted !== undefined && messengerChannelId !== wanted) change.messengerChannelId = wanted;
  return Object.keys(change).length > 0 ? change : undefined;
}

/**
 * The secret in the address of a hook of the relay at `place`; undefined for another address. Only the host tells whose
 * address it is: a program elsewhere may pass questions for a proof on to the relay, and keep the alerts.
 */
export function secretInHook(url: string, place: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const given = new URL(url);
  // A public address may end in a path of its own.
  const hooks = new URL(`${place}/hooks/`);
  if (originOf(given) !== originOf(hooks) || !given.pathname.startsWith(hooks.pathname)) return undefined;
  // As the relay reads it.
  return given.pathname.slice(hooks.pathname.length).replace(/\/$/, "");
}

/** One for all names of this machine. `URL` has written the host in lower case and left a default port out. */
function originOf({ protocol, hostname, port }: URL): string {
  const isThisMachine = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return `${protocol}//${isThisMachine ? "localhost" : hostname}:${port}`;
}

/** Whether an address is a hook of the relay at `place` with one of these secrets. */
export function isSecretOf(url: string, place: string, secrets: Secret[]): boolean {
  const found = secretInHook(url, place);
  return secrets.some((secret) => secret.reveal() === found);
}

/** Where an account's webhook leads, by its address alone. `places`: where the relay is or was found. */
export function targetOf(url: string | null, places: readonly (string | undefined)[], secrets: Secret[]): Target {
  if (url === null) return "nowhere";
  const known = places.filter((place) => place !== undefined);
  if (known.some((place) => isSecretOf(url, place, secrets))) return "here";
  return known.some((place) => secretInHook(url, place) !== undefined) ? "stranger" : "elsewhere";
}

/** The same, once the relay at another host was asked. Undefined where the account does not say. */
export async function findTarget(
  url: string | null | undefined,
  places: readonly (string | undefined)[],
  { hookSecrets, answersAt }: { hookSecrets(): Secret[]; answersAt(url: string): Promise<boolean> },
): Promise<Target | undefined> {
  if (url === undefined) return undefined;
  const target = targetOf(url, places, hookSecrets());
  return target === "elsewhere" && url !== null && (await answersAt(url)) ? "answered" : target;
}

/**
 * Puts it into the account, and reads back.
 *
 * @param isHere whether an address that reads back in another form is a hook of this relay
 * @throws AppError `failed` when it reads back differently.
 */
export async function putBack(
  service: AccountService,
  change: Outputs,
  isHere: (url: string) => boolean,
  signal?: AbortSignal,
): Promise<void> {
  await service.setAlertOutputs(change, { signal });
  const after = await service.lookAtAccount({ signal });
  const isTaken = ({ webhookUrl: url }: Outputs) =>
    url === change.webhookUrl || (typeof change.webhookUrl === "string" && typeof url === "string" && isHere(url));
  const isSame =
    (change.webhookUrl === undefined || isTaken(after)) &&
    (change.messengerChannelId === undefined || after.messengerChannelId === change.messengerChannelId);
  if (isSame) return;
  throw new AppError("failed", "The service took the change, but the account reads back differently.", {
    hint: "Look at it with: tocsin upstream outputs",
  });
}
