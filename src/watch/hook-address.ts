import type { Secret } from "../core/secret.ts";
import type { Target } from "./judge-account.ts";

/** The secret in the address of a hook below `place`. Undefined for other hosts, even where they pass on proofs. */
export function secretInHook(url: string, place: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const given = new URL(url);
  const hooks = new URL(`${place}/hooks/`);
  if (originOf(given) !== originOf(hooks) || !given.pathname.startsWith(hooks.pathname)) return undefined;
  // In the form in which the relay reads it.
  return given.pathname.slice(hooks.pathname.length).replace(/\/$/, "");
}

/** All names of this machine become one. `URL` gives the host in lower case, without a default port. */
function originOf({ protocol, hostname, port }: URL): string {
  const isThisMachine = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return `${protocol}//${isThisMachine ? "localhost" : hostname}:${port}`;
}

export function isSecretOf(url: string, place: string, secrets: readonly Secret[]): boolean {
  const found = secretInHook(url, place);
  return secrets.some((secret) => secret.reveal() === found);
}

/** The target by the address alone. `places`: present and former addresses of the relay. */
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

/** The target, after a question to the relay at another host. Undefined where the account has no address. */
export async function findTarget(
  url: string | null | undefined,
  places: readonly (string | undefined)[],
  { hookSecrets, answersAt }: { hookSecrets(): readonly Secret[]; answersAt(url: string): Promise<boolean> },
): Promise<Target | undefined> {
  if (url === undefined) return undefined;
  const target = targetOf(url, places, hookSecrets());
  return target === "elsewhere" && url !== null && (await answersAt(url)) ? "answered" : target;
}
