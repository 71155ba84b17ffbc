import { z } from "zod";
import type { AlertFacts } from "../core/alert.ts";
import { type CommonStates, changeTogether, type WatchStore } from "../core/ports/watch.ts";
import { type BareSubject, bareSubjectOf, type LearnedName, shortAddress } from "../core/subject-name.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { cut } from "../ground/text/graphemes.ts";
import { wordSet } from "../ground/text/plain-text.ts";

/** The learned names of subjects that alerts name only by address. */
export interface KnownNames {
  /** As it was known at `at`. Has the address where two subjects share the name, or it looks like a well-known one. */
  nameOf(subject: BareSubject, at: number): string | undefined;
  /** The symbol alone, for a ticker. Undefined where another subject on its chain has the same. */
  symbolOf(subject: BareSubject): string | undefined;
  find(facts: AlertFacts): LearnedName | undefined;
}

const stateName = "token-names";
const mostNames = 2_000;
const longestName = 100;

const namedSchema = z.object({
  kind: z.enum(["token", "pool"]),
  chain: z.string(),
  address: z.string(),
  symbol: z.string().min(1).max(longestName),
  learnedAt: z.number(),
  saidAt: z.number(),
});
type Named = z.infer<typeof namedSchema>;
const savedSchema = z.object({ names: z.array(namedSchema) });
const readSaved = (state: unknown): Named[] => savedSchema.safeParse(state).data?.names ?? [];

/** The names that a relay has saved, for a process that only reads. Rejects as the store does. */
export async function readTokenNames(
  store: Pick<WatchStore, "loadWatchState">,
  book = new NameBook(),
): Promise<KnownNames> {
  for (const named of readSaved(await store.loadWatchState(stateName))) book.remember(named);
  return book;
}

/** Saves this relay's names, and adds those of others. Rejects as the store does. `learned`: perhaps not saved yet. */
export async function exchangeNames(store: CommonStates, book: NameBook, learned: ReadonlySet<string>): Promise<void> {
  const together = await changeTogether(store, stateName, (from) => {
    const given = new NameBook();
    for (const named of readSaved(from)) given.remember(named);
    for (const key of learned) {
      const mine = book.get(key);
      if (mine !== undefined) given.remember(laterOf(mine, given.get(key)));
    }
    return { given, state: learned.size === 0 ? undefined : { names: given.all() } };
  });
  for (const named of together.all()) book.remember(laterOf(named, book.get(keyOf(named))));
}

/** The later answer of the service counts. The name is known since the first answer. */
function laterOf(one: Named, other: Named | undefined): Named {
  if (other === undefined) return one;
  const later = other.saidAt > one.saidAt ? other : one;
  const isSame = one.symbol === other.symbol;
  return isSame ? { ...later, learnedAt: Math.min(one.learnedAt, other.learnedAt) } : later;
}

/** At most `mostNames`. The names with the oldest answers are dropped. */
export class NameBook implements KnownNames {
  readonly #names = new Map<string, Named>();
  readonly #bySymbol = new Map<string, Set<string>>();

  get(key: string): Named | undefined {
    return this.#names.get(key);
  }

  /** The name with the newest answer is last. */
  all(): Named[] {
    return [...this.#names.values()];
  }

  remember(named: Named): void {
    const key = keyOf(named);
    this.#forget(key);
    this.#names.set(key, named);
    const group = groupOf(named);
    this.#bySymbol.set(group, (this.#bySymbol.get(group) ?? new Set()).add(key));
    for (const oldest of this.#names.keys()) {
      if (this.#names.size <= mostNames) break;
      this.#forget(oldest);
    }
  }

  readonly nameOf = (subject: BareSubject, at: number): string | undefined => {
    const named = this.#names.get(keyOf(subject));
    if (named === undefined || named.learnedAt > at) return undefined;
    return this.#isShared(named) || mayPassForAnother(named.symbol)
      ? `${named.symbol} ${shortAddress(subject.address)}`
      : named.symbol;
  };

  readonly symbolOf = (subject: BareSubject): string | undefined => {
    const named = this.#names.get(keyOf(subject));
    return named === undefined || this.#isShared(named) ? undefined : named.symbol;
  };

  readonly find = (facts: AlertFacts): LearnedName | undefined => {
    const subject = bareSubjectOf(facts);
    const named = subject && this.#names.get(keyOf(subject));
    const name = subject && this.nameOf(subject, Number.POSITIVE_INFINITY);
    if (subject === undefined || named === undefined || name === undefined) return undefined;
    return { ...subject, name, learnedAt: named.learnedAt };
  };

  #forget(key: string): void {
    const named = this.#names.get(key);
    if (named === undefined) return;
    this.#names.delete(key);
    const group = this.#bySymbol.get(groupOf(named));
    group?.delete(key);
    if (group?.size === 0) this.#bySymbol.delete(groupOf(named));
  }

  #isShared(named: Named): boolean {
    return (this.#bySymbol.get(groupOf(named))?.size ?? 0) > 1;
  }
}

export function keyOf({ kind, chain, address }: BareSubject): string {
  return `${kind} ${chain.toLowerCase()} ${address.toLowerCase()}`;
}

function groupOf({ chain, symbol }: Named): string {
  return `${chain.toLowerCase()} ${folded(symbol)}`;
}

/** `USDC.` and `$USDC` count as USDC. */
function folded(symbol: string): string {
  return symbol.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}/]/gu, "");
}

/** Symbols that are often copied. A token with one of these is shown with its address, even if it is the right one. */
const oftenCopied = wordSet(
  `usdc usdce usdbc usdt usdt0 usdte usd dai sdai usds susds usde susde pyusd fdusd tusd busd frax lusd gusd crvusd gho usd0 usd1 rlusd eurc
  eurs eure eth weth steth wsteth reth cbeth eeth weeth ezeth btc wbtc cbbtc tbtc btcb sol wsol msol jitosol bnb wbnb matic pol wpol wmatic
  avax wavax arb op uni aave link mkr sky ldo crv cvx comp pepe shib doge xrp ton trx ada dot ltc bch`,
);

/** Letters of other scripts may look like ours. The pools of well-known tokens have several copies each. */
function mayPassForAnother(symbol: string): boolean {
  return !/^[\x20-\x7e]+$/.test(symbol) || symbol.split("/").every((one) => oftenCopied.has(folded(one)));
}

/** No real symbol is longer, and no more characters are looked at. */
const longestSymbol = 20;
const mostLookedAt = 200;

/** The beginnings of our own first lines: a token of this name would look like the state of its alert. */
const ownWords = wordSet(
  "critical warning info information notice urgent resolved recovered over ok test tocsin alert alarm possible repeat late",
);

/**
 * Makes a symbol safe for the first line of a message: an emoji could look like a severity, and other characters could
 * reverse the line. Undefined where no name is left.
 */
export function cleanSymbol(sent: unknown): string | undefined {
  if (typeof sent !== "string") return undefined;
  const folded = cleanLine(sent.slice(0, mostLookedAt)).normalize("NFKC");
  const plain = folded
    .replace(/[^\p{L}\p{M}\p{N}.\-+_$& ]/gu, "")
    .replace(/ {2,}/g, " ")
    .trim();
  const symbol = cut(plain, longestSymbol);
  if (!/\p{L}/u.test(symbol) || ownWords.has(symbol.toLowerCase())) return undefined;
  // Another address, or a part of one, is no name.
  return /^0x[0-9a-f]*…?$/i.test(symbol) ? undefined : symbol;
}
