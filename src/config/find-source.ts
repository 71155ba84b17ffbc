import { AppError } from "../core/errors.ts";
import { suggestOrList } from "../ground/text/suggest.ts";
import type { Config, SourceSettings } from "./config.ts";
import type { UpstreamAccess } from "./upstream-env.ts";

/** @param known those that can be meant. @throws AppError `usage` for another one */
export function requireSource<S extends { name: string }>(
  known: readonly S[],
  name: string,
  { why = "is not in the configuration", none = "no source is configured" } = {},
): S {
  const found = known.find((source) => source.name === name);
  if (found !== undefined) return found;
  const names = known.map((source) => source.name);
  const hint = names.length === 0 ? none : suggestOrList(name, names);
  throw new AppError("usage", `the source ${name} ${why}`, { hint });
}

/** @throws AppError `usage` for a source without an account. */
export function findAccount({ sources }: Config, name: string): SourceSettings & { account: UpstreamAccess } {
  const having = sources.flatMap(({ account, ...source }) => (account === undefined ? [] : { ...source, account }));
  const why = sources.some((source) => source.name === name) ? "has no account of its own" : undefined;
  return requireSource(having, name, { why, none: "give it one: sources.NAME.account with url and apiKey" });
}
