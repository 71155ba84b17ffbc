import { AppError } from "../../core/errors.ts";
import type { PricingClient } from "../../upstream/pricing-client.ts";
import type { CliContext } from "../shell/context.ts";
import type { Progress } from "../shell/output.ts";
import { describeEvidence, type Evidence } from "./asset-evidence.ts";

/** The interface promises 30 seconds to 3 minutes; asking more often only spends the rate limit. */
const pollEveryMs = 5_000;

export interface WaitOptions {
  timeoutMs: number;
  progress: Progress;
}

/**
 * Asks until one piece of the evidence can be queried, and returns it with what it says. A 404 means not yet; so does
 * a service that is down, limits us or does not answer, until the time is over. Throws `timeout` then, anything else
 * at once.
 */
export async function waitUntilQueryable(
  client: PricingClient,
  evidence: readonly Evidence[],
  context: CliContext,
  options: WaitOptions,
): Promise<{ evidence: Evidence; state: unknown; waitedMs: number }> {
  const startedAt = context.now();
  const names = evidence.map(describeEvidence).join(" or ");
  for (;;) {
    let hindrance: AppError | undefined;
    for (const candidate of evidence) {
      const seen = await look(client, candidate, context.signal);
      if (seen.kind === "there") {
        return { evidence: candidate, state: seen.state, waitedMs: context.now() - startedAt };
      }
      hindrance ??= seen.hindrance;
    }
    const waitedMs = context.now() - startedAt;
    if (waitedMs + pollEveryMs > options.timeoutMs) throw tooLate(names, waitedMs, hindrance);
    const why = hindrance === undefined ? "" : ` (${hindrance.message})`;
    await options.progress.update(`waiting for ${names}: ${Math.round(waitedMs / 1000)} s${why}`);
    await context.sleep(pollEveryMs, context.signal);
  }
}

type Look = { kind: "there"; state: unknown } | { kind: "not_yet"; hindrance?: AppError };

async function look(client: PricingClient, evidence: Evidence, signal: AbortSignal): Promise<Look> {
  try {
    const state =
      evidence.kind === "ticker"
        ? await client.readTicker(evidence.symbol, { signal })
        : await client.readPoolState(evidence, { signal });
    return { kind: "there", state };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === "upstream_not_found") return { kind: "not_yet" };
    const mayPass = ["upstream_failed", "upstream_unreachable", "upstream_rate_limited"].includes(error.code);
    if (mayPass) return { kind: "not_yet", hindrance: error };
    throw error;
  }
}

function tooLate(names: string, waitedMs: number, hindrance: AppError | undefined): AppError {
  const seconds = Math.round(waitedMs / 1000);
  const last = hindrance === undefined ? "" : `; the last answer was: ${hindrance.message}`;
  return new AppError("timeout", `registered, and ${names} still cannot be queried after ${seconds} s${last}`, {
    hint: "the service says 30 seconds to 3 minutes; look again later, or wait longer with --timeout 10m",
  });
}
