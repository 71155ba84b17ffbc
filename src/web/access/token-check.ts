import { type Clock, within } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { Allowance, SharedAllowances } from "../../core/ports/shared.ts";
import { isSameText, type Secret } from "../../core/secret.ts";
import { RecentMap } from "../../ground/recent-map.ts";

type GuessLimit = Omit<Allowance, "name">;

export interface TokenCheckOptions {
  /** The limit for one network. Default: 10, then one every 6 s. */
  perNetwork?: GuessLimit;
  /** Networks that are remembered. The network that was silent longest is forgotten first. Default 10,000. */
  maxNetworks?: number;
}

export interface TokenCheckDeps {
  adminToken: Secret;
  /** The counts that relays share. Default: there are no other relays. */
  store?: Partial<SharedAllowances>;
  clock: Pick<Clock, "now" | "sleep">;
}

/** `limited`: the token is wrong too, and the limit of answers is reached. */
export type TokenVerdict = { kind: "right" } | { kind: "wrong" } | { kind: "limited"; waitMs: number };

export type TokenCheck = ReturnType<typeof createTokenCheck>;

const together: GuessLimit = { burst: 100, intervalMs: 600 };

/** The longest wait for the database, milliseconds. After it each relay counts by itself. */
const longestLookMs = 1_000;

/**
 * The right token always passes, even after many wrong ones: a limit would let a guesser lock out people who share an
 * address. A reachable token has 128 bits or more (`findTokenWeakness`). The limit only reduces answers and lines in
 * the log. A relay adds only those wrong tokens to the shared count that it would answer itself, so a flood costs the
 * database nothing.
 */
export function createTokenCheck(deps: TokenCheckDeps, options: TokenCheckOptions = {}) {
  const { adminToken, store, clock } = deps;
  const { perNetwork = { burst: 10, intervalMs: 6_000 }, maxNetworks = 10_000 } = options;
  /** When each network may get its full burst of answers again. */
  const paidOffAt = new RecentMap<string, number>(maxNetworks);
  let allPaidOffAt = 0;

  function waitMs(paidOff: number, { burst, intervalMs }: GuessLimit): number {
    return Math.max(0, paidOff - clock.now() - (burst - 1) * intervalMs);
  }

  /** The `paidOffAt` of a network that gets no answer for `wait`. */
  function paidOffAfter(wait: number, { burst, intervalMs }: GuessLimit): number {
    return wait === 0 ? 0 : clock.now() + wait + (burst - 1) * intervalMs;
  }

  function recordFailure(network: string): void {
    allPaidOffAt = Math.max(allPaidOffAt, clock.now()) + together.intervalMs;
    paidOffAt.set(network, Math.max(paidOffAt.get(network) ?? 0, clock.now()) + perNetwork.intervalMs);
  }

  /** @returns how long the relays together answer nothing from this network, milliseconds */
  async function countForAll(network: string): Promise<number> {
    const asked = store?.useAllowances?.([
      { name: "wrong tokens", ...together },
      { name: `wrong tokens of ${network}`, ...perNetwork },
    ]);
    if (asked === undefined) return 0;
    const waits = await within(
      asked.catch(() => []),
      longestLookMs,
      clock,
    );
    const [ofAll = 0, ofNetwork = 0] = waits ?? [];
    allPaidOffAt = Math.max(allPaidOffAt, paidOffAfter(ofAll, together));
    paidOffAt.set(network, Math.max(paidOffAt.get(network) ?? 0, paidOffAfter(ofNetwork, perNetwork)));
    return Math.max(ofAll, ofNetwork);
  }

  return {
    /** Never rejects. @param networkOf the network to count, asked only for a wrong token */
    async judge(given: string, networkOf: () => string): Promise<TokenVerdict> {
      if (isSameText(given, adminToken.reveal())) return { kind: "right" };
      const network = networkOf();
      const wait = Math.max(waitMs(paidOffAt.get(network) ?? 0, perNetwork), waitMs(allPaidOffAt, together));
      if (wait > 0) return { kind: "limited", waitMs: wait };
      recordFailure(network);
      const waitForAll = await countForAll(network);
      return waitForAll > 0 ? { kind: "limited", waitMs: waitForAll } : { kind: "wrong" };
    },
  };
}

/**
 * @param authorization the header of this name
 * @throws AppError `unauthorized` without the token or with a wrong one, `rate_limited` after many wrong ones.
 */
export async function admitToken(
  authorization: string | undefined,
  networkOf: () => string,
  { tokenCheck, log }: { tokenCheck: TokenCheck; log: Log },
): Promise<void> {
  const given = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
  if (given === undefined) {
    throw new AppError("unauthorized", "This needs the admin token.", {
      hint: "Send the header Authorization: Bearer <ADMIN_TOKEN>.",
    });
  }
  const verdict = await tokenCheck.judge(given, networkOf);
  switch (verdict.kind) {
    case "right":
      return;
    case "limited":
      throw tooManyTries(verdict.waitMs);
    case "wrong":
      log.warn("token.refused", { address: networkOf() });
      throw new AppError("unauthorized", "This is not the admin token.", {
        hint: "Compare it with ADMIN_TOKEN or with secrets/admin-token, a file in DATA_DIR or a row of kept_records in PostgreSQL.",
      });
    default:
      verdict satisfies never;
  }
}

export function tooManyTries(waitMs: number): AppError {
  return new AppError("rate_limited", "This is not the admin token, and too many wrong ones were tried before it.", {
    hint: `The right one is taken at any time. Try another in ${Math.ceil(waitMs / 1000)} seconds.`,
    retryAfterMs: waitMs,
  });
}
