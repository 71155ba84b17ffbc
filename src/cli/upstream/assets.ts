import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import {
  describeEvidence,
  type Evidence,
  explainRefusal,
  findEvidence,
  inAWhile,
  waitUntilQueryable,
} from "../../upstream/asset-registration.ts";
import type { Run } from "../command.ts";
import { fileFailure } from "../shell/failure.ts";
import { connectPricing } from "./connect.ts";
import type { AddAssetOptions } from "./upstream.ts";

/** Registers an asset, and follows the registration until the asset can be queried. */
export async function addAsset(run: Run, options: AddAssetOptions): Promise<void> {
  const { context, output } = run;
  const { catalogId, asset: file, timeout: timeoutMs } = options;
  const asset = file === undefined ? undefined : await readDefinition(resolve(context.cwd, file));
  const name = catalogId ?? file ?? "the asset";
  const client = connectPricing(run);
  await output.progress.update(`registering ${name}; the service answers within about 20 s`);
  const { state, body } = await client.registerAsset({ catalogId, asset }, context).catch((error: unknown) => {
    throw error instanceof AppError ? explainRefusal(error, name) : error;
  });
  const isOpen = state === "in_progress";
  if (!(options.wait ?? isOpen)) {
    const is = isOpen ? "is still being registered" : "is added";
    return output.result({ outcome: state, registration: body }, () => `${name} ${is}; ${inAWhile}.\n`);
  }
  const named = nameEvidence(options);
  const evidence = named.length > 0 ? named : findEvidence(asset, body);
  if (evidence.length === 0) throw nothingToLookAt(name, isOpen);
  await output.note(`${name} ${isOpen ? "is being registered" : "is registered"}; ${inAWhile}`);
  const names = evidence.map(describeEvidence).join(" or ");
  const onWait = (waitedMs: number, why: string) =>
    output.progress.update(`waiting for ${names}: ${Math.round(waitedMs / 1_000)} s${why}`);
  const seen = await waitUntilQueryable(client, evidence, { ...context, timeoutMs, onWait });
  await output.result({ outcome: "queryable", registration: body, ...seen }, () => {
    const after = `after ${Math.round(seen.waitedMs / 1_000)} s`;
    return `${name} is registered and can be queried: ${describeEvidence(seen.evidence)} answers (${after}).\n`;
  });
}

/** The evidence by which the user says that the registration can be followed. */
function nameEvidence({ ticker, pool, chain }: AddAssetOptions): Evidence[] {
  return [
    ...(ticker === undefined ? [] : [{ kind: "ticker" as const, symbol: ticker }]),
    ...(pool && chain ? [{ kind: "pool" as const, chainId: chain, address: pool }] : []),
  ];
}

function nothingToLookAt(name: string, isOpen: boolean): AppError {
  const state = isOpen ? "is still being registered" : "is registered";
  const message = `${name} ${state}, and the service's answer does not say by which ticker or pool to follow it`;
  return new AppError("upstream_in_progress", message, {
    hint: `${inAWhile}: \`tocsin upstream ticker SYMBOL/USD\`; next time add --ticker SYMBOL/USD, or --pool ADDRESS --chain C`,
  });
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
