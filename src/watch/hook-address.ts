import type { Secret } from "../core/secret.ts";
import type { Target } from "./judge-account.ts";

/**
 * The secret in the address of a hook of the relay at `place`. Undefined for other addresses. Only the host shows whose address it
 * is: a program elsewhere may pass questions for a proof on to the relay, and keep the alerts.
 */
export function secretInHook(url: string, place: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const given = new URL(url);
  // A public address may end in a path.
  const hooks = new URL(`${place}/hooks/`);
  if (originOf(given) !== originOf(hooks) || !given.pathname.startsWith(hooks.pathname)) return undefined;
  // In the form in which the relay reads it.
  return given.pathname.slice(hooks.pathname.length).replace(/\/$/, "");
}

/** The same for all names of this machine. `URL` gives the host in lower case, without a default port. */
function originOf({ protocol, hostname, port }: URL): string {
  const isThisMachine = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return `${protocol}//${isThisMachine ? "localhost" : hostname}:${port}`;
}

/** Whether an address is a hook of the relay at `place` with one of these secrets. */
export function isSecretOf(url: string, place: string, secrets: readonly Secret[]): boolean {
  const found = secretInHook(url, place);
  return secrets.some((secret) => secret.reveal() === found);
}

/** The target of an account's webhook, by its address alone. `places`: present and former addresses of the relay. */
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

/** The target of an address, once the relay at another host was asked. Undefined where the account does not say it. */
export async function findTarget(
  url: string | null | undefined,
  places: readonly (string | undefined)[],
  { hookSecrets, answersAt }: { hookSecrets(): readonly Secret[]; answersAt(url: string): Promise<boolean> },
): Promise<Target | undefined> {
  if (url === undefined) return undefined;
  const target = targetOf(url, places, hookSecrets());
  return target === "elsewhere" && url !== null && (await answersAt(url)) ? "answered" : target;
}
