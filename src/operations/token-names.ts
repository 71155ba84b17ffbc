import type { AlertFacts, AlertOrigin } from "../core/alert.ts";
import { Budget } from "../core/budget.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { isAddress } from "../core/metric-key.ts";
import { createPoll } from "../core/poll.ts";
import type { CommonStates } from "../core/ports/watch.ts";
import { type BareSubject, bareSubjectOf } from "../core/subject-name.ts";
import { listLeaves } from "../facts/leaves.ts";
import { guessToken } from "../facts/usual-names.ts";
import { whenAborted, withTimeLimit } from "../ground/net/time-limit.ts";
import { RecentMap } from "../ground/recent-map.ts";
import { errorText } from "../ground/text/error-text.ts";
import { dayMs, hourMs, minuteMs } from "../ground/time/spans.ts";
import { cleanSymbol, exchangeNames, type KnownNames, keyOf, NameBook, readTokenNames } from "./name-book.ts";
import { type Breaker, callsOf } from "./questions.ts";

export interface NameService {
  /** Safe names by address in lower case, for one chain. Throws `AppError` of an `upstream_…` code. */
  ask(chain: string, addresses: readonly string[], options: { signal: AbortSignal }): Promise<Map<string, string>>;
  breaker: Breaker;
  mostAtOnce: number;
  mostAnHour: number;
}

export interface TokenNamesDeps {
  store: CommonStates;
  /** Other relays learn names too. */
  isShared: boolean;
  /** The service for each kind of subject. A kind without one keeps its addresses. */
  services: Partial<Record<BareSubject["kind"], NameService>>;
  /** The sources of other accounts, whose alerts ask for no names. */
  sources: readonly string[];
  clock: Clock;
  log: Log;
  /** The time limit of one call. Default 10 s. */
  timeLimitMs?: number;
}

/** Names change rarely. An old one is shown until the service has given it again. */
const renewAfterMs = 7 * dayMs;
/** How long an answer is used that the service knows no name. */
const unknownForMs = dayMs;
const mostUnknown = 1_000;
const mostWaiting = 1_000;
/** The pause between calls while more names wait. */
const restMs = 2_000;
/** Names of another relay are known here within twice this time. */
const exchangeEveryMs = 15_000;
const refusalsToLeave = 3;

interface Call extends Pick<BareSubject, "kind" | "chain"> {
  service: NameService;
  subjects: BareSubject[];
}

/** Nothing waits for a name: several addresses are asked for in one call, and are named in the next message. */
export class TokenNames implements KnownNames {
  readonly #keepEveryMs: number;
  readonly #sources: Set<string>;
  readonly #book = new NameBook();
  readonly #unknown = new RecentMap<string, number>(mostUnknown);
  readonly #waiting = new RecentMap<string, BareSubject>(mostWaiting);
  readonly #budgets: Record<BareSubject["kind"], Budget>;
  #learned = new Set<string>();
  #savedAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #askedAt = Number.NEGATIVE_INFINITY;
  /** The addresses of the next call. After a refusal there are fewer, until the refused address is found. */
  #atOnce = Number.POSITIVE_INFINITY;
  /** The number of refused addresses, by kind and chain: a service refuses all addresses of an unknown chain. */
  readonly #refused = new RecentMap<string, number>(mostUnknown);
  #stopping?: AbortSignal;
  readonly #poll: ReturnType<typeof createPoll>;
  readonly nameOf = this.#book.nameOf;
  readonly symbolOf = this.#book.symbolOf;
  readonly find = this.#book.find;

  /** Starts with the saved names. Never rejects: without them, names are learned anew. */
  static async open(deps: TokenNamesDeps): Promise<TokenNames> {
    const names = new TokenNames(deps);
    await readTokenNames(deps.store, names.#book).catch(names.#onFailed);
    return names;
  }

  private constructor(private readonly deps: TokenNamesDeps) {
    const { services, clock } = deps;
    this.#keepEveryMs = deps.isShared ? exchangeEveryMs : minuteMs;
    this.#sources = new Set(deps.sources);
    this.#budgets = {
      token: new Budget(clock, services.token?.mostAnHour ?? 0, hourMs),
      pool: new Budget(clock, services.pool?.mostAnHour ?? 0, hourMs),
    };
    this.#poll = createPoll({
      look: () => this.#look(),
      everyMs: () => (this.#nextCall() === undefined ? this.#keepEveryMs : restMs),
      clock,
      onFailed: this.#onFailed,
    });
  }

  /** Asks for the name of the alert's token or pool later, if needed. */
  note({ origin, facts }: { origin: AlertOrigin; facts: AlertFacts }): void {
    if (origin !== "hook" || (facts.source !== undefined && this.#sources.has(facts.source))) return;
    const subject = bareSubjectOf(facts);
    if (subject === undefined || this.deps.services[subject.kind] === undefined || !isAskable(subject)) return;
    const key = keyOf(subject);
    const now = this.deps.clock.now();
    const said = this.#book.get(key)?.saidAt;
    if (this.#waiting.has(key) || (said !== undefined && now - said < renewAfterMs)) return;
    if ((this.#unknown.get(key) ?? 0) > now) return;
    this.#waiting.set(key, subject);
    if (this.#waiting.size === 1) this.#poll.wake();
  }

  calls(kind: BareSubject["kind"]): { made: number; most: number } {
    return callsOf(this.#budgets[kind]);
  }

  /** Asks, until `stop` is aborted. Never rejects. */
  async run(stop: AbortSignal): Promise<void> {
    this.#stopping = stop;
    await this.#poll.run(stop);
    if (this.#learned.size > 0) await this.#save().catch(this.#onFailed);
  }

  readonly #onFailed = (error: unknown): void =>
    this.deps.log.warn("token_names.not_kept", { error: errorText(error) });

  #learn(subject: BareSubject, symbol: string | undefined): void {
    const key = keyOf(subject);
    const now = this.deps.clock.now();
    const before = this.#book.get(key);
    // The former name may still be right.
    const named = symbol === undefined ? before : { ...subject, symbol };
    if (named === undefined) {
      this.#unknown.set(key, now + unknownForMs);
      return;
    }
    this.#unknown.delete(key);
    const learnedAt = before?.symbol === named.symbol ? before.learnedAt : now;
    this.#book.remember({ ...named, learnedAt, saidAt: now });
    this.#learned.add(key);
  }

  #mayAsk(kind: BareSubject["kind"]): boolean {
    const service = this.deps.services[kind];
    return service !== undefined && !service.breaker.isOpen() && this.#budgets[kind].isLeft();
  }

  /** The next call: the first waiting address that may be asked for, with others of its chain. */
  #nextCall(): Call | undefined {
    const sinceFailed = this.deps.clock.now() - this.#failedAt;
    if (sinceFailed >= 0 && sinceFailed < minuteMs) return undefined;
    const first = [...this.#waiting.values()].find(({ kind }) => this.#mayAsk(kind));
    const service = first && this.deps.services[first.kind];
    if (first === undefined || service === undefined) return undefined;
    const subjects = [...this.#waiting.values()]
      .filter(({ kind, chain }) => kind === first.kind && chain === first.chain)
      .slice(0, Math.min(service.mostAtOnce, this.#atOnce));
    return { service, kind: first.kind, chain: first.chain, subjects };
  }

  async #look(): Promise<void> {
    const { clock, isShared } = this.deps;
    const call = this.#nextCall();
    // The poll may have been woken during the rest.
    if (call !== undefined && Math.abs(clock.now() - this.#askedAt) >= restMs) await this.#ask(call);
    const isDue = Math.abs(clock.now() - this.#savedAt) >= this.#keepEveryMs;
    if ((this.#learned.size > 0 || isShared) && isDue) await this.#save();
  }

  async #ask({ service, kind, chain, subjects }: Call): Promise<void> {
    const { clock, log, timeLimitMs = 10_000 } = this.deps;
    this.#budgets[kind].spend();
    this.#askedAt = clock.now();
    try {
      const addresses = subjects.map(({ address }) => address);
      const said = await withTimeLimit(timeLimitMs, this.#stopping, ({ signal }) =>
        Promise.race([service.ask(chain, addresses, { signal }), whenAborted(signal)]),
      );
      service.breaker.answered();
      this.#atOnce *= 2;
      this.#refused.delete(`${kind} ${chain}`);
      for (const subject of subjects) this.#learn(subject, said.get(subject.address.toLowerCase()));
      log.info("token_names.asked", { kind, asked: subjects.length, named: said.size });
    } catch (error) {
      const { reason, isAnswer } = service.breaker.failed(error);
      log.info("token_names.failed", { kind, reason });
      if (!isAnswer) {
        this.#failedAt = clock.now();
        return;
      }
      if (reason === "upstream_rejected" && subjects.length > 1) {
        this.#atOnce = Math.ceil(subjects.length / 2);
        return;
      }
      for (const subject of subjects) this.#learn(subject, undefined);
      if (reason === "upstream_rejected") this.#noteRefused(kind, chain);
    }
    for (const subject of subjects) this.#waiting.delete(keyOf(subject));
  }

  /** After some refusals in a row the other addresses of the chain are not tried. */
  #noteRefused(kind: BareSubject["kind"], chain: string): void {
    const key = `${kind} ${chain}`;
    const times = (this.#refused.get(key) ?? 0) + 1;
    this.#refused.set(key, times);
    if (times < refusalsToLeave) return;
    for (const [waitingKey, subject] of this.#waiting) {
      if (subject.kind !== kind || subject.chain !== chain) continue;
      this.#learn(subject, undefined);
      this.#waiting.delete(waitingKey);
    }
  }

  async #save(): Promise<void> {
    const saving = this.#learned;
    this.#learned = new Set();
    this.#savedAt = this.deps.clock.now();
    try {
      await exchangeNames(this.deps.store, this.#book, saving);
    } catch (error) {
      this.#learned = new Set([...saving, ...this.#learned]);
      throw error;
    }
  }
}

/** A sender may write any text as chain or address. */
function isAskable({ chain, address }: BareSubject): boolean {
  return /^[A-Za-z0-9_-]{1,40}$/.test(chain) && /^[A-Za-z0-9:.-]{20,128}$/.test(address);
}

/** `ONYX504/USDC`. Undefined where a token has no symbol, or the pool has too many tokens for a name. */
export function nameOfPool(tokens: readonly { symbol: string }[]): string | undefined {
  const symbols = tokens.map(({ symbol }) => cleanSymbol(symbol)).filter((symbol) => symbol !== undefined);
  const isWhole = symbols.length === tokens.length && symbols.length >= 2 && symbols.length <= 4;
  return isWhole ? symbols.join("/") : undefined;
}

/** The fields are undocumented. An address gets the symbol on which its tokens agree. A single token may have none. */
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
