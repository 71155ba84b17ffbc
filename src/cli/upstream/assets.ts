import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { AppError, type ErrorCode } from "../../core/errors.ts";
import { UpstreamUnreachable } from "../../upstream/network-failure.ts";
import type { AssetRegistration, PricingClient } from "../../upstream/pricing-client.ts";
import type { Run } from "../command.ts";
import { fileFailure } from "../shell/failure.ts";
import { connectPricing } from "./connect.ts";
import type { AddAssetOptions } from "./upstream.ts";

/** What `--json` shows; `queryable` is said only when it was seen. */
interface AddedAsset {
  outcome: "added" | "in_progress" | "queryable";
  registration: unknown;
  evidence?: Evidence;
  state?: unknown;
  waitedMs?: number;
}

/** What shows that a registered asset can be queried: its ticker, or one of its pools. */
type Evidence = { kind: "ticker"; symbol: string } | { kind: "pool"; chainId: string; address: string };

const inAWhile = "it can be queried in 30 seconds to 3 minutes";
/** The interface promises what `inAWhile` says; asking more often only spends the rate limit. */
const pollEveryMs = 5_000;

/** `tocsin upstream assets add`: registers, and follows a registration in progress until the asset can be queried. */
export async function addAsset(run: Run, options: AddAssetOptions): Promise<void> {
  const { context, output } = run;
  const asked = await readRegistration(options, context.cwd);
  const name = asked.catalogId ?? options.asset ?? "the asset";
  const client = connectPricing(run);
  try {
    await output.progress.update(`registering ${name}; the service answers within about 20 s`);
    const { state, body } = await client.registerAsset(asked, context).catch((error: unknown) => {
      throw error instanceof AppError ? explainRefusal(error, name) : error;
    });
    const isOpen = state === "in_progress";
    const added: AddedAsset = { outcome: state, registration: body };
    if (options.wait ?? isOpen) {
      const evidence = findEvidence(options, asked, body);
      if (evidence.length === 0) throw nothingToLookAt(name, isOpen);
      await output.note(`${name} ${isOpen ? "is being registered" : "is registered"}; ${inAWhile}`);
      Object.assign(added, { outcome: "queryable" }, await waitUntilQueryable(run, client, evidence, options.timeout));
    }
    await output.result(added, () => `${name} ${describeAdded(added)}.\n`);
  } finally {
    await output.progress.clear();
  }
}

function describeAdded({ outcome, evidence, waitedMs = 0 }: AddedAsset): string {
  if (outcome === "added") return `is added; ${inAWhile}`;
  if (outcome === "in_progress") return `is still being registered; ${inAWhile}`;
  const seen = evidence === undefined ? "" : `: ${describeEvidence(evidence)} answers`;
  return `is registered and can be queried${seen} (after ${Math.round(waitedMs / 1_000)} s)`;
}

/** The documented ends of a registration in the user's terms, and what to do; beside them stands what the service said. */
function explainRefusal(error: AppError, name: string): AppError {
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

function nothingToLookAt(name: string, isOpen: boolean): AppError {
  const state = isOpen ? "is still being registered" : "is registered";
  const message = `${name} ${state}, and the service's answer does not say by which ticker or pool to follow it`;
  return new AppError("upstream_in_progress", message, {
    hint: `${inAWhile}: \`tocsin upstream ticker SYMBOL/USD\`; next time add --ticker SYMBOL/USD, or --pool ADDRESS --chain C`,
  });
}

/** Nobody documents what an answer has in its `data`. */
const signed = z.object({
  symbol: z.optional(z.string().regex(/^[^/\s]+$/)).catch(undefined),
  pools: z.array(z.object({ chainId: z.string(), address: z.string() })).catch([]),
});
const answered = z.object({ data: signed.extend({ asset: z.optional(signed).catch(undefined) }) });

/**
 * What to look at: what the user named, else what the registration and the answer to it show by a `symbol` and `pools`.
 * Empty when nothing does: a catalogue id is no symbol, and a guess could find another asset.
 */
function findEvidence({ ticker, pool, chain }: AddAssetOptions, sent: AssetRegistration, answer: unknown): Evidence[] {
  const atTicker = (symbol: string): Evidence => ({ kind: "ticker", symbol });
  if (ticker !== undefined || pool !== undefined) {
    const atPool: Evidence[] = pool && chain ? [{ kind: "pool", chainId: chain, address: pool }] : [];
    return [...(ticker === undefined ? [] : [atTicker(ticker)]), ...atPool];
  }
  const data = answered.safeParse(answer).data?.data;
  const found = [signed.safeParse(sent.asset).data, data, data?.asset];
  const symbol = found.find((one) => one?.symbol !== undefined)?.symbol;
  const pools = found.flatMap((one) => one?.pools ?? []).slice(0, 1);
  return [
    ...(symbol === undefined ? [] : [atTicker(`${symbol}/USD`)]),
    ...pools.map((at): Evidence => ({ kind: "pool", ...at })),
  ];
}

function describeEvidence(evidence: Evidence): string {
  return evidence.kind === "ticker" ? `ticker ${evidence.symbol}` : `pool ${evidence.address} on ${evidence.chainId}`;
}

/** What does not last is waited for: the service is down, limits us, or does not answer. */
const mayPass: readonly ErrorCode[] = ["upstream_failed", "upstream_unreachable", "upstream_rate_limited"];

/**
 * Asks until one piece of the evidence can be queried, and returns it with what it says. A 404 means not yet. Throws
 * `timeout` when the time is over.
 */
async function waitUntilQueryable({ context, output }: Run, client: PricingClient, all: Evidence[], timeoutMs: number) {
  const startedAt = context.now();
  const names = all.map(describeEvidence).join(" or ");
  for (;;) {
    let hindrance: AppError | undefined;
    for (const evidence of all) {
      try {
        const state =
          evidence.kind === "ticker"
            ? await client.readTicker(evidence.symbol, context)
            : await client.readPoolState(evidence, context);
        return { evidence, state, waitedMs: context.now() - startedAt };
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (mayPass.includes(error.code)) hindrance ??= error;
        else if (error.code !== "upstream_not_found") throw error;
      }
    }
    const waitedMs = context.now() - startedAt;
    const seconds = Math.round(waitedMs / 1_000);
    if (waitedMs + pollEveryMs > timeoutMs) {
      const last = hindrance === undefined ? "" : `; the last answer was: ${hindrance.message}`;
      throw new AppError("timeout", `registered, and ${names} still cannot be queried after ${seconds} s${last}`, {
        hint: "the service says 30 seconds to 3 minutes; look again later, or wait longer with --timeout 10m",
      });
    }
    const why = hindrance === undefined ? "" : ` (${hindrance.message})`;
    await output.progress.update(`waiting for ${names}: ${seconds} s${why}`);
    await context.sleep(pollEveryMs, context.signal);
  }
}

async function readRegistration({ catalogId, asset }: AddAssetOptions, cwd: string): Promise<AssetRegistration> {
  if (catalogId === undefined && asset === undefined) {
    throw new AppError("usage", "give a catalogue id, or a definition with --asset FILE", {
      hint: "see: tocsin upstream assets add --help",
    });
  }
  return {
    ...(catalogId !== undefined && { catalogId }),
    ...(asset !== undefined && { asset: await readDefinition(resolve(cwd, asset)) }),
  };
}

async function readDefinition(path: string): Promise<Record<string, unknown>> {
  const unread = fileFailure("usage", `cannot read ${path}`, "give a JSON file that can be read");
  const text = await readFile(path, "utf8").catch(unread);
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch (cause) {
    throw new AppError("usage", `${path} does not hold one JSON object`, {
      hint: 'write e.g. {"symbol": "XYZ", "tokenMapping": {"eth": "0x…"}}',
      cause,
    });
  }
}
