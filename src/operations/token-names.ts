import type { AlertFacts, AlertOrigin } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { isAddress } from "../core/metric-key.ts";
import { createPoll } from "../core/poll.ts";
import type { CommonStates } from "../core/ports/watch.ts";
import { type BareSubject, bareSubjectOf } from "../core/subject-name.ts";
import { listLeaves } from "../facts/leaves.ts";
import { guessToken } from "../facts/usual-names.ts";
import { withTimeLimit } from "../ground/net/time-limit.ts";
import { RecentMap } from "../ground/recent-map.ts";
import { cleanSymbol } from "./clean-symbol.ts";
import { createNameBook, exchangeNames, type KnownNames, keyOf, loadNames } from "./name-book.ts";
import { type Breaker, createBudget, whenAborted } from "./questions.ts";

/** Says what tokens, or pools, are called. */
export interface NameService {
  /**
   * All of one chain. Names that may stand in messages, by address in lower case; without those that have none. Throws
   * `AppError` of an `upstream_…` code.
   */
  ask(chain: string, addresses: readonly string[], options: { signal: AbortSignal }): Promise<Map<string, string>>;
  /** Of the interface that is asked. */
  breaker: Breaker;
  /** Addresses of one call. */
  mostAtOnce: number;
  mostAnHour: number;
}

export interface TokenNamesDeps {
  store: CommonStates;
  /** Other relays learn names too. */
  isShared: boolean;
  /** By what they name. A kind without one keeps its addresses. */
  services: Partial<Record<BareSubject["kind"], NameService>>;
  /** Names of the sources of other accounts, about whose alerts nothing is asked. */
  sources: readonly string[];
  clock: Clock;
  log: Log;
  /** Of one call. Default 10 s. */
  timeLimitMs?: number;
}

/**
 * The names of tokens and pools that alerts give by address alone. Nothing waits for one: what is not known yet is asked
 * for in the background, some addresses in one call, and known for the next message.
 */
export interface TokenNames extends KnownNames {
  /** Has it asked for, if need be. */
  note(alert: { origin: AlertOrigin; facts: AlertFacts }): void;
  /** Calls of the last hour by kind. */
  calls(kind: BareSubject["kind"]): { made: number; most: number };
  /** Asks, until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Names change rarely; an old one is shown until the service has said it anew. */
const renewAfterMs = 7 * dayMs;
/** How long it is believed that the service knows no name. */
const unknownForMs = dayMs;
const mostUnknown = 1_000;
const mostWaiting = 1_000;
/** From one call to the next while more wait. */
const restMs = 2_000;
/** What another relay has learned is known here after twice as long. */
const exchangeEveryMs = 15_000;
const refusalsToLeave = 3;

/** With what was learned before. Never rejects: without that, names are learned anew. */
export async function openTokenNames(deps: TokenNamesDeps): Promise<TokenNames> {
  const { store, isShared, services, clock, log, timeLimitMs = 10_000 } = deps;
  const keepEveryMs = isShared ? exchangeEveryMs : minuteMs;
  const sources = new Set(deps.sources);
  const book = createNameBook();
  /** Until when nothing is asked of it. */
  const unknown = new RecentMap<string, number>(mostUnknown);
  const waiting = new RecentMap<string, BareSubject>(mostWaiting);
  const budgets = {
    token: createBudget({ clock, mostAnHour: services.token?.mostAnHour ?? 0 }),
    pool: createBudget({ clock, mostAnHour: services.pool?.mostAnHour ?? 0 }),
  };
  /** Keys of what is not saved. */
  let learned = new Set<string>();
  let savedAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.NEGATIVE_INFINITY;
  /** Addresses of the next call: fewer after a refusal, until it is clear which of them the service does not take. */
  let atOnce = Number.POSITIVE_INFINITY;
  /** Addresses that were refused, by kind and chain; none is taken of a chain that the service does not have. */
  const refused = new RecentMap<string, number>(mostUnknown);
  let stopping: AbortSignal | undefined;

  function learn(subject: BareSubject, symbol: string | undefined): void {
    const key = keyOf(subject);
    const now = clock.now();
    const before = book.get(key);
    if (symbol === undefined) {
      // What it was called it may still be.
      if (before === undefined) unknown.set(key, now + unknownForMs);
      else {
        book.remember({ ...before, saidAt: now });
        learned.add(key);
      }
      return;
    }
    unknown.delete(key);
    const learnedAt = before?.symbol === symbol ? before.learnedAt : now;
    book.remember({ subject, symbol, learnedAt, saidAt: now });
    learned.add(key);
  }

  function mayAsk(kind: BareSubject["kind"]): boolean {
    const service = services[kind];
    return service !== undefined && !service.breaker.isOpen() && budgets[kind].isLeft();
  }

  /** The next call: of the first that waits and may be asked for, with others of its chain. */
  function nextCall() {
    const sinceFailed = clock.now() - failedAt;
    if (sinceFailed >= 0 && sinceFailed < minuteMs) return undefined;
    const first = [...waiting.values()].find(({ kind }) => mayAsk(kind));
    const service = first && services[first.kind];
    if (first === undefined || service === undefined) return undefined;
    const subjects = [...waiting.values()]
      .filter(({ kind, chain }) => kind === first.kind && chain === first.chain)
      .slice(0, Math.min(service.mostAtOnce, atOnce));
    return { service, kind: first.kind, chain: first.chain, subjects };
  }

  async function look(): Promise<void> {
    const call = nextCall();
    // It may have been woken in the rest.
    if (call !== undefined && Math.abs(clock.now() - askedAt) >= restMs) await ask(call);
    if ((learned.size > 0 || isShared) && Math.abs(clock.now() - savedAt) >= keepEveryMs) await save();
  }

  async function ask({ service, kind, chain, subjects }: NonNullable<ReturnType<typeof nextCall>>): Promise<void> {
    budgets[kind].spend();
    askedAt = clock.now();
    try {
      const addresses = subjects.map(({ address }) => address);
      const said = await withTimeLimit(timeLimitMs, stopping, ({ signal }) =>
        Promise.race([service.ask(chain, addresses, { signal }), whenAborted(signal)]),
      );
      service.breaker.answered();
      atOnce *= 2;
      refused.delete(`${kind} ${chain}`);
      for (const subject of subjects) learn(subject, said.get(subject.address.toLowerCase()));
      log.info("token_names.asked", { kind, asked: subjects.length, named: said.size });
    } catch (error) {
      const code = error instanceof AppError ? error.code : "timeout";
      log.info("token_names.failed", { kind, reason: code });
      const knowsNone = code === "upstream_not_found" || code === "upstream_rejected";
      if (!knowsNone) {
        service.breaker.failed(error);
        failedAt = clock.now();
        return;
      }
      service.breaker.answered();
      if (code === "upstream_rejected" && subjects.length > 1) {
        atOnce = Math.ceil(subjects.length / 2);
        return;
      }
      for (const subject of subjects) learn(subject, undefined);
      if (code === "upstream_rejected") noteRefused(kind, chain);
    }
    for (const subject of subjects) waiting.delete(keyOf(subject));
  }

  /** After some in a row the others of the chain are not tried. */
  function noteRefused(kind: BareSubject["kind"], chain: string): void {
    const key = `${kind} ${chain}`;
    const times = (refused.get(key) ?? 0) + 1;
    refused.set(key, times);
    if (times < refusalsToLeave) return;
    for (const [waitingKey, subject] of waiting) {
      if (subject.kind !== kind || subject.chain !== chain) continue;
      learn(subject, undefined);
      waiting.delete(waitingKey);
    }
  }

  async function save(): Promise<void> {
    const saving = learned;
    learned = new Set();
    savedAt = clock.now();
    try {
      await exchangeNames(store, book, saving);
    } catch (error) {
      learned = new Set([...saving, ...learned]);
      throw error;
    }
  }

  const onFailed = (error: unknown) => log.warn("token_names.not_kept", { error: String(error).slice(0, 300) });
  const poll = createPoll({
    look,
    everyMs: () => (nextCall() === undefined ? keepEveryMs : restMs),
    clock,
    onFailed,
  });

  await loadNames(store, book).catch(onFailed);
  return {
    nameOf: book.nameOf,
    symbolOf: book.symbolOf,
    find: book.find,
    note({ origin, facts }) {
      if (origin !== "hook" || (facts.source !== undefined && sources.has(facts.source))) return;
      const subject = bareSubjectOf(facts);
      if (subject === undefined || services[subject.kind] === undefined || !isAskable(subject)) return;
      const key = keyOf(subject);
      const now = clock.now();
      const said = book.get(key)?.saidAt;
      if (waiting.has(key) || (said !== undefined && now - said < renewAfterMs)) return;
      if ((unknown.get(key) ?? 0) > now) return;
      waiting.set(key, subject);
      if (waiting.size === 1) poll.wake();
    },
    calls: (kind) => budgets[kind].view(),
    async run(stop) {
      stopping = stop;
      await poll.run(stop);
      if (learned.size > 0) await save().catch(onFailed);
    },
  };
}

/** What can be an id of a chain and an address, from any author. */
function isAskable({ chain, address }: BareSubject): boolean {
  return /^[A-Za-z0-9_-]{1,40}$/.test(chain) && /^[A-Za-z0-9:.-]{20,128}$/.test(address);
}

/** `ONYX504/USDC`; undefined where one of them has no symbol, or there are too many to be a name. */
export function nameOfPool(tokens: readonly { symbol: string }[]): string | undefined {
  const symbols = tokens.map(({ symbol }) => cleanSymbol(symbol)).filter((symbol) => symbol !== undefined);
  const isWhole = symbols.length === tokens.length && symbols.length >= 2 && symbols.length <= 4;
  return isWhole ? symbols.join("/") : undefined;
}

/**
 * The symbols among tokens whose fields the service does not document: of each address that one says alone. Where one was
 * asked for and one came without any address, it is that.
 */
export function readSymbols(
  tokens: readonly Record<string, unknown>[],
  addresses: readonly string[],
): Map<string, string> {
  const asked = new Set(addresses.map((address) => address.toLowerCase()));
  const found = new Map<string, Set<string>>();
  for (const token of tokens) {
    const { leaves } = listLeaves(token);
    const texts = leaves.flatMap(({ kind, text }) => (kind === "string" && text.length <= 128 ? text : []));
    const own = texts.map((text) => text.toLowerCase()).find((text) => asked.has(text));
    const isTheOne = own === undefined && tokens.length === 1 && asked.size === 1 && !texts.some(isAddress);
    const address = isTheOne ? [...asked][0] : own;
    const names = guessToken(leaves)("symbol").map(({ leaf }) => (leaf.kind === "string" ? leaf.text : undefined));
    const symbol = names.map(cleanSymbol).find((name) => name !== undefined);
    if (address === undefined || symbol === undefined) continue;
    found.set(address, (found.get(address) ?? new Set<string>()).add(symbol));
  }
  return new Map(
    [...found].flatMap(([address, [symbol, ...others]]) =>
      symbol === undefined || others.length > 0 ? [] : [[address, symbol]],
    ),
  );
}
