import { maxKeyLength } from "../../core/metric-key.ts";

const maxLinkLength = 2_000;
/** How much of a text is searched for a metric key: as much as a message may show. */
const maxSearched = 20_000;

/** The text itself, if it is an http or https address without white space. Otherwise undefined. */
export function readLink(text: string): string | undefined {
  const link = text.trim();
  if (link.length > maxLinkLength || !/^https?:\/\/[^\s<>"\\\p{C}]+$/iu.test(link)) return undefined;
  if (!link.includes("@")) return URL.canParse(link) ? link : undefined;
  try {
    const { username, password } = new URL(link);
    // A password in an address must not spread. A user name in one usually hides the real host.
    return username === "" && password === "" ? link : undefined;
  } catch {
    return undefined;
  }
}

/** The first address in a text, without punctuation after it. */
export function findLink(text: string): string | undefined {
  const found = /https?:\/\/[^\s<>"'|\\]{1,2000}/i.exec(text)?.[0];
  if (found === undefined) return undefined;
  let end = found.length;
  while (".,;:!?)]}".includes(found.charAt(end - 1)) && end > 0) end -= 1;
  return readLink(found.slice(0, end));
}

/** The first metric key in a text. */
export function findMetricKey(text: string): string | undefined {
  const searched = text.slice(0, maxSearched);
  if (!/_(?:token|pool)_/.test(searched)) return undefined;
  for (const [run] of searched.matchAll(/[\w-]+/g)) {
    if (run.length > maxKeyLength) continue;
    const key = /^[a-z0-9-]{1,40}_(?:token|pool)_\w+/.exec(run)?.[0] ?? "";
    const measure = key.split("_").slice(2, -1).join("_");
    const address = key.slice(key.lastIndexOf("_") + 1);
    if (/^[a-z0-9_]{1,80}$/.test(measure) && /^[A-Za-z0-9]{20,128}$/.test(address)) return key;
  }
  return undefined;
}
