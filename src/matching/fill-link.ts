import { Refusal } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { suggestOrList } from "../ground/text/suggest.ts";
import type { MatchInput } from "./judge.ts";
import { factFields, readFact } from "./path.ts";

/** Browsers and chats accept no longer address. */
const longestAddress = 2_000;
const named = /\{([^{}]*)\}/g;
/** A regular expression for an address with facts in braces after its host. */
export const linkPattern = `^https://[^/?#{}@\\s]+(?:[/?#](?:[^{}\\s]|\\{(?:${factFields.join("|")})\\})*)?$`;
const example = "write e.g. https://dexscreener.com/{chain}/{token}";

/** The host is fixed, so no sender can lead readers elsewhere. */
export function readLinkTemplate(value: unknown): string | Refusal {
  if (typeof value !== "string") return new Refusal(`${showValue(value)} is no address`, example);
  if (!value.startsWith("https://")) return new Refusal("is no https address", example);
  if (!/^https:\/\/[^/?#{}@\s]+([/?#].*)?$/.test(value)) {
    return new Refusal("has a host that is not fixed", `facts stand behind the host: ${example}`);
  }
  const unknown = [...value.matchAll(named)].find(([, name]) => !factFields.some((fact) => fact === name));
  if (unknown !== undefined) {
    return new Refusal(`${showValue(unknown[1])} is not a fact`, suggestOrList(unknown[1] ?? "", factFields));
  }
  const filled = value.replace(named, "x");
  if (/^https:\/\/[^/?#{}@\s]+(?:[/?#][^{}\s]*)?$/.test(filled) && URL.canParse(filled)) return value;
  return new Refusal(`${showValue(value)} is no address`, example);
}

/** The facts are percent-encoded. */
export function fillLink(template: string, alert: MatchInput): { url: string } | { leftOut: string } {
  let missing: string | undefined;
  const url = template.replace(named, (_all, name: string) => {
    const value = readFact(name, alert);
    // A part of only dots would lead up a path.
    if (value === undefined || /^\.{0,2}$/.test(value))
      missing ??= `${name} ${value === undefined ? "is missing" : "leads nowhere"}`;
    // Converted through bytes, since half of a surrogate pair cannot be encoded.
    return encodeURIComponent(Buffer.from(value ?? "").toString());
  });
  if (missing !== undefined) return { leftOut: missing };
  return url.length > longestAddress ? { leftOut: `longer than ${longestAddress} characters` } : { url };
}
