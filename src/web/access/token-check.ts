import type { Secret } from "../../core/secret.ts";
import { isSameText } from "./keyed-hash.ts";

/** Of wrong tokens: `burst` at once, then one after each interval. */
export interface GuessLimit {
  burst: number;
  intervalMs: number;
}

export interface TokenCheckOptions {
  /** Of one network. Default: 10, then one every 6 s. */
  perNetwork?: GuessLimit;
  /** Of all together. Default: 100, then one every 600 ms. */
  together?: GuessLimit;
  /** Networks remembered; the one that was silent longest is forgotten first. Default 10,000. */
  maxNetworks?: number;
}

export interface TokenCheckDeps {
  adminToken: Secret;
  now(): number;
}

/** `limited`: wrong as well, and more than are answered at once. */
export type TokenVerdict = { kind: "right" } | { kind: "wrong" } | { kind: "limited"; waitMs: number };

export interface TokenCheck {
  /** @param networkOf whom the limit counts; asked only for a wrong one. */
  judge(given: string, networkOf: () => string): TokenVerdict;
}

/**
 * Judges what is given as the admin token. The right one passes whatever was guessed before it, from wherever: many
 * people share an address, and a limit that refused them would be in the hands of whoever guesses. It costs nothing,
 * since a token that others can reach has 128 bits or more (`findTokenWeakness`) and cannot be found by guessing,
 * limited or not. What the limit holds down is the noise of wrong ones: answers, and lines in the log.
 */
export function createTokenCheck({ adminToken, now }: TokenCheckDeps, options: TokenCheckOptions = {}): TokenCheck {
  const {
    perNetwork = { burst: 10, intervalMs: 6_000 },
    together = { burst: 100, intervalMs: 600 },
    maxNetworks = 10_000,
  } = options;
  /** Until when the failures of a network would have been paid off, one interval each. */
  const paidOffAt = new Map<string, number>();
  let allPaidOffAt = 0;

  function waitMs(paidOff: number, { burst, intervalMs }: GuessLimit): number {
    return Math.max(0, paidOff - now() - (burst - 1) * intervalMs);
  }

  function recordFailure(network: string): void {
    allPaidOffAt = Math.max(allPaidOffAt, now()) + together.intervalMs;
    const next = Math.max(paidOffAt.get(network) ?? 0, now()) + perNetwork.intervalMs;
    paidOffAt.delete(network);
    paidOffAt.set(network, next);
    const [silentLongest] = paidOffAt.keys();
    if (paidOffAt.size > maxNetworks && silentLongest !== undefined) paidOffAt.delete(silentLongest);
  }

  return {
    judge(given, networkOf) {
      if (isSameText(given, adminToken.reveal())) return { kind: "right" };
      const network = networkOf();
      const wait = Math.max(waitMs(paidOffAt.get(network) ?? 0, perNetwork), waitMs(allPaidOffAt, together));
      if (wait > 0) return { kind: "limited", waitMs: wait };
      recordFailure(network);
      return { kind: "wrong" };
    },
  };
}
