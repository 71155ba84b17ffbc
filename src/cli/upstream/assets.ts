import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { AppError } from "../../core/errors.ts";
import { UpstreamUnreachable } from "../../upstream/network-failure.ts";
import type { AssetRegistration, PricingClient, RegistrationAnswer } from "../../upstream/pricing-client.ts";
import type { Run } from "../command.ts";
import type { CliContext } from "../shell/context.ts";
import { describeEvidence, type Evidence, findEvidence } from "./asset-evidence.ts";
import { waitUntilQueryable } from "./asset-wait.ts";
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

/** `tocsin upstream assets add`: registers, and follows a registration in progress until the asset can be queried. */
export async function addAsset(run: Run, options: AddAssetOptions): Promise<void> {
  const { context } = run;
  const registration = await readRegistration(options, context);
  const name = registration.catalogId ?? options.asset ?? "the asset";
  const client = connectPricing(run);
  const answer = await register(run, client, registration, name);
  const inProgress = answer.state === "in_progress";
  if (!(options.wait ?? inProgress)) {
    return showAdded(run, name, { outcome: answer.state, registration: answer.body });
  }
  const { ticker, pool: address, chain: chainId } = options;
  const pool = address === undefined || chainId === undefined ? undefined : { chainId, address };
  const evidence = findEvidence({ ticker, pool }, registration, answer.body);
  if (evidence.length === 0) throw nothingToLookAt(name, inProgress);
  await run.output.note(
    `${name} ${inProgress ? "is being registered" : "is registered"}; it can be queried in 30 seconds to 3 minutes`,
  );
  const progress = run.output.progress;
  try {
    const found = await waitUntilQueryable(client, evidence, context, {
      timeoutMs: options.timeout,
      progress,
    });
    await showAdded(run, name, { outcome: "queryable", registration: answer.body, ...found });
  } finally {
    await progress.clear();
  }
}

async function register(
  run: Run,
  client: PricingClient,
  registration: AssetRegistration,
  name: string,
): Promise<RegistrationAnswer> {
  const progress = run.output.progress;
  await progress.update(`registering ${name}; the service answers within about 20 s`);
  try {
    return await client.registerAsset(registration, { signal: run.context.signal });
  } catch (error) {
    throw error instanceof AppError ? explainRefusal(error, name) : error;
  } finally {
    await progress.clear();
  }
}

/** The documented ends of a registration in the user's terms, beside what the service said. */
function explainRefusal(error: AppError, name: string): AppError {
  const explain = (message: string, hint: string) =>
    new AppError(error.code, `${message} (${error.message})`, { hint, retryAfterMs: error.retryAfterMs });
  if (error instanceof UpstreamUnreachable && error.sent === "maybe") {
    return explain(
      `whether ${name} was registered is not known`,
      "nothing was sent twice; add it again: the service answers that it exists if it does",
    );
  }
  switch (error.code) {
    case "upstream_conflict":
      return explain(`${name} is registered already`, "query it with `tocsin upstream ticker SYMBOL/USD`");
    case "upstream_rejected":
      return explain(`the service does not take ${name}`, "check the catalogue id, or the definition in the file");
    case "upstream_failed":
      return explain(
        `the service could not register ${name}`,
        "its catalogue or its discovery of pools failed; try again in some minutes",
      );
    default:
      return error;
  }
}

function nothingToLookAt(name: string, inProgress: boolean): AppError {
  const state = inProgress ? "is still being registered" : "is registered";
  return new AppError(
    "upstream_in_progress",
    `${name} ${state}, and the service's answer does not say by which ticker or pool to follow it`,
    {
      hint: "it can be queried in 30 seconds to 3 minutes: `tocsin upstream ticker SYMBOL/USD`; next time add --ticker SYMBOL/USD, or --pool ADDRESS --chain C",
    },
  );
}

async function showAdded({ output }: Run, name: string, added: AddedAsset): Promise<void> {
  await output.result(added, () => {
    switch (added.outcome) {
      case "added":
        return `${name} is added; it can be queried in 30 seconds to 3 minutes.\n`;
      case "in_progress":
        return `${name} is still being registered; it can be queried in 30 seconds to 3 minutes.\n`;
      case "queryable": {
        const seconds = Math.round((added.waitedMs ?? 0) / 1000);
        const seen = added.evidence === undefined ? "" : `: ${describeEvidence(added.evidence)} answers`;
        return `${name} is registered and can be queried${seen} (after ${seconds} s).\n`;
      }
    }
  });
}

async function readRegistration(options: AddAssetOptions, context: CliContext): Promise<AssetRegistration> {
  if (options.catalogId === undefined && options.asset === undefined) {
    throw new AppError("usage", "give a catalogue id, or a definition with --asset FILE", {
      hint: "see: tocsin upstream assets add --help",
    });
  }
  const asset = options.asset === undefined ? undefined : await readDefinition(resolve(context.cwd, options.asset));
  return {
    ...(options.catalogId === undefined ? {} : { catalogId: options.catalogId }),
    ...(asset === undefined ? {} : { asset }),
  };
}

async function readDefinition(path: string): Promise<Record<string, unknown>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new AppError("usage", `cannot read ${path}`, { hint: "give a JSON file that can be read", cause });
  }
  const hint = 'write one JSON object, e.g. {"symbol": "XYZ", "tokenMapping": {"eth": "0x…"}}';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AppError("usage", `${path} is not JSON`, { hint, cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new AppError("usage", `${path} is no JSON object`, { hint });
  }
  return value as Record<string, unknown>;
}
