import { cleanLine } from "../ground/text/clean.ts";
import type { AlertFacts } from "./alert.ts";
import { isAddress, type MetricKeyParts, readMetricKey } from "./metric-key.ts";

/** A token or a pool that an alert names by its address alone. */
export interface BareSubject {
  kind: "token" | "pool";
  chain: string;
  /** As the sender wrote it. */
  address: string;
}

/** A name by another's word than the sender's: the service's, which was asked for it. */
export interface LearnedName extends BareSubject {
  /** As in messages. Plain text. */
  name: string;
  /** Epoch milliseconds. */
  learnedAt: number;
}

/** What a token or a pool is called, as far as that was known at an instant; undefined where it was not. */
export type NameOf = (subject: BareSubject, at: number) => string | undefined;

const poolNames = /(?:^|\.)(?:pool(?:[._]?(?:name|symbol|pair))?|trading_?pair|pair)$/i;
const tokenNames = /(?:^|\.)(?:token[._]?(?:symbol|name)|symbol)$/i;

/** The pair of a pool, the symbol of a token, by the sender's own word; undefined where there is none. */
export function nameInFacts(
  { token, fields }: Pick<AlertFacts, "token" | "fields">,
  parts: MetricKeyParts | undefined,
): string | undefined {
  const own = token === undefined || isAddress(token) ? "" : cleanLine(token);
  if (own.includes("/")) return own;
  const named = (names: RegExp): string | undefined =>
    fields.find(({ name, value }) => value.length <= 60 && names.test(name) && isName(value))?.value;
  const found = (parts?.kind === "pool" || own === "" ? named(poolNames) : undefined) ?? (own || named(tokenNames));
  return found === undefined || found === "" ? undefined : cleanLine(found);
}

/** What an alert is about, where it gives an address and no name. */
export function bareSubjectOf(
  facts: Pick<AlertFacts, "token" | "fields" | "metric" | "chain">,
): BareSubject | undefined {
  const parts = facts.metric === undefined ? undefined : readMetricKey(facts.metric);
  return nameInFacts(facts, parts) === undefined ? subjectOf(facts, parts) : undefined;
}

/** The same where it is known that there is no name. */
export function subjectOf(
  { token, chain }: Pick<AlertFacts, "token" | "chain">,
  parts: MetricKeyParts | undefined,
): BareSubject | undefined {
  if (parts !== undefined) return { kind: parts.kind, chain: parts.chain, address: parts.address };
  if (token === undefined || chain === undefined || !isAddress(token)) return undefined;
  return { kind: "token", chain: cleanLine(chain), address: token };
}

function isName(value: string): boolean {
  return /\p{L}/u.test(value) && !isAddress(value.trim());
}

/** `0xa0b8…eb48` */
export function shortAddress(address: string): string {
  return address.length > 14 ? `${address.slice(0, 6)}…${address.slice(-4)}` : cleanLine(address);
}
