import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { AppError, type ErrorCode } from "../core/errors.ts";
import type { PricingClient } from "./pricing-client.ts";
import { UpstreamUnreachable } from "./requester.ts";

/** The duration of a registration by the interface document, in words. */
export const inAWhile = "it can be queried in 30 seconds to 3 minutes";
/** `inAWhile` is the promise of the interface. Asking more often would only spend the rate limit. */
const pollEveryMs = 5_000;

/** Explains the documented refusals, with what to do, followed by the service's own words. */
export function explainRefusal(error: AppError, name: string): AppError {
  const { code, message, retryAfterMs } = error;
  const explain = (what: string, hint: string) => new AppError(code, `${what} (${message})`, { hint, retryAfterMs });
  if (error instanceof UpstreamUnreachable && error.sent === "maybe") {
    const hint = "nothing was sent twice; add it again: the service answers that it exists if it does";
    return explain(`whether ${name} was registered is not known`, hint);
  }
  switch (code) {
    case "upstream_conflict":
      return explain(`${name} is registered already`, "query it with `tocsin upstream ticker SYMBOL/USD`");
    case "upstream_rejected":
      return explain(`the service does not take ${name}`, "check the catalogue id, or the definition in the file");
    case "upstream_failed": {
      const hint = "its catalogue or its discovery of pools failed; try again in some minutes";
      return explain(`the service could not register ${name}`, hint);
    }
    default:
      return error;
  }
}

/** Evidence that a registered asset can be queried: its ticker, or one of its pools. */
export type Evidence = { kind: "ticker"; symbol: string } | { kind: "pool"; chainId: string; address: string };

/** The answer's `data` is not documented. */
const signed = z.object({
  symbol: z.optional(z.string().regex(/^[^/\s]+$/)).catch(undefined),
  pools: z.array(z.object({ chainId: z.string(), address: z.string() })).catch([]),
});
const answered = z.object({ data: signed.extend({ asset: z.optional(signed).catch(undefined) }) });

/** From `symbol` and `pools`. Empty without any: a catalogue id is no symbol, and a guess could find another asset. */
export function findEvidence(definition: unknown, answer: unknown): Evidence[] {
  const data = answered.safeParse(answer).data?.data;
  const found = [signed.safeParse(definition).data, data, data?.asset];
  const symbol = found.find((one) => one?.symbol !== undefined)?.symbol;
  const [pool] = found.flatMap((one) => one?.pools ?? []);
  return [
    ...(symbol === undefined ? [] : [{ kind: "ticker" as const, symbol: `${symbol}/USD` }]),
    ...(pool === undefined ? [] : [{ kind: "pool" as const, ...pool }]),
  ];
}

export function describeEvidence(evidence: Evidence): string {
  return evidence.kind === "ticker" ? `ticker ${evidence.symbol}` : `pool ${evidence.address} on ${evidence.chainId}`;
}

/** Failures that may pass, so waiting helps: the service is down, limits us, or does not answer. */
const mayPass: readonly ErrorCode[] = ["upstream_failed", "upstream_unreachable", "upstream_rate_limited"];

interface WaitOptions extends Pick<Clock, "now" | "sleep"> {
  timeoutMs: number;
  signal: AbortSignal;
  /** Called before each wait. `why`: the obstacle in brackets, or an empty text. */
  onWait(waitedMs: number, why: string): Promise<void>;
}

/** Returns the first evidence that can be queried, with its answer. A 404 means not yet. Throws `timeout`. */
export async function waitUntilQueryable(client: PricingClient, all: readonly Evidence[], options: WaitOptions) {
  const { timeoutMs, now, sleep, signal, onWait } = options;
  const startedAt = now();
  for (;;) {
    let hindrance: AppError | undefined;
    for (const evidence of all) {
      try {
        const state = await (evidence.kind === "ticker"
          ? client.readTicker(evidence.symbol, { signal })
          : client.readPoolState(evidence, { signal }));
        return { evidence, state, waitedMs: now() - startedAt };
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (mayPass.includes(error.code)) hindrance ??= error;
        else if (error.code !== "upstream_not_found") throw error;
      }
    }
    const waitedMs = now() - startedAt;
    if (waitedMs + pollEveryMs > timeoutMs) {
      const last = hindrance === undefined ? "" : `; the last answer was: ${hindrance.message}`;
      const what = `${all.map(describeEvidence).join(" or ")} still cannot be queried`;
      throw new AppError("timeout", `registered, and ${what} after ${Math.round(waitedMs / 1_000)} s${last}`, {
        hint: "the service says 30 seconds to 3 minutes; look again later, or wait longer with --timeout 10m",
      });
    }
    await onWait(waitedMs, hindrance === undefined ? "" : ` (${hindrance.message})`);
    await sleep(pollEveryMs, signal);
  }
}
