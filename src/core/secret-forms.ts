/**
 * The looks under which others may repeat a secret: as it is, in JSON (also with escaped slashes), in an address. Longest
 * first, so that replacing one after the other leaves no rest of a longer one.
 */
export function secretForms(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const forms = new Set([secret, inJson, inJson.replaceAll("/", "\\/"), encodeURIComponent(secret)]);
  return [...forms].toSorted((a, b) => b.length - a.length);
}
