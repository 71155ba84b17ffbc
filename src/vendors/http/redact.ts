import type { Outcome } from "../../core/delivery.ts";

/** Shorter texts are no secrets. Masking them would mask common words. */
const minSecretLength = 4;

/** User and password, the values of the query, and path segments that are long and no plain word (`services`). */
export function secretsOfUrl(url: URL): string[] {
  const segments = url.pathname.split("/").filter((segment) => segment.length >= 8 && !/^[a-z]{8,12}$/.test(segment));
  const path = url.pathname + url.search;
  return [
    url.href,
    ...(path.length >= 8 ? [path, url.pathname] : []),
    ...segments,
    ...segments.map(decodePart),
    ...[...url.searchParams.values()].filter((value) => value.length >= 6),
    decodePart(url.username),
    decodePart(url.password),
  ].filter((part) => part.length >= minSecretLength && part !== "/");
}

/** A header's value, and its part after the scheme (`Bearer …`). */
export function secretsOfHeader(value: string): string[] {
  const space = value.indexOf(" ");
  return space < 0 ? [value] : [value, value.slice(space + 1)];
}

/** Percent-decodes. Returns an undecodable text unchanged. */
export function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function rewordOutcome(outcome: Outcome, write: (words: string) => string): Outcome {
  if (outcome.kind !== "sent") return { ...outcome, detail: write(outcome.detail) };
  return outcome.note === undefined ? outcome : { ...outcome, note: write(outcome.note) };
}
