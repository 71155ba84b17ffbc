import type { Secret } from "../core/secret.ts";
import type { Target } from "./judge-account.ts";

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
export function isSecretOf(url: string, place: string, secrets: readonly Secret[]): boolean {
  const found = secretInHook(url, place);
  return secrets.some((secret) => secret.reveal() === found);
}

/** Where an account's webhook leads, by its address alone. `places`: where the relay is or was found. */
export function targetOf(
  url: string | null,
  places: readonly (string | undefined)[],
  secrets: readonly Secret[],
): Target {
  if (url === null) return "nowhere";
  const known = places.filter((place) => place !== undefined);
  if (known.some((place) => isSecretOf(url, place, secrets))) return "here";
  return known.some((place) => secretInHook(url, place) !== undefined) ? "stranger" : "elsewhere";
}

/** The target of an address, once the relay at another host was asked. Undefined where the account does not say. */
export async function findTarget(
  url: string | null | undefined,
  places: readonly (string | undefined)[],
  { hookSecrets, answersAt }: { hookSecrets(): readonly Secret[]; answersAt(url: string): Promise<boolean> },
): Promise<Target | undefined> {
  if (url === undefined) return undefined;
  const target = targetOf(url, places, hookSecrets());
  return target === "elsewhere" && url !== null && (await answersAt(url)) ? "answered" : target;
}
