import type { Config, SourceSettings } from "../../config/config.ts";
import type { UpstreamAccess } from "../../config/upstream-env.ts";
import { AppError } from "../../core/errors.ts";
import { suggestOrList } from "../../ground/text/suggest.ts";

/** @throws AppError `usage` for a source without an account. */
export function findAccount({ sources }: Config, source: string): SourceSettings & { account: UpstreamAccess } {
  const found = sources.find(({ name }) => name === source);
  if (found?.account !== undefined) return { ...found, account: found.account };
  const known = sources.filter(({ account }) => account !== undefined).map(({ name }) => name);
  const hint =
    known.length === 0 ? "give it one: sources.NAME.account with url and apiKey" : suggestOrList(source, known);
  const why = found === undefined ? "is not in the configuration" : "has no account of its own";
  throw new AppError("usage", `the source ${source} ${why}`, { hint });
}
