import type { RelayView } from "./ports/relays.ts";

/**
 * What a relay's configuration lets it do: `newest` routes and delivers. `older` and `starting` only accept: the first since a
 * newer one runs elsewhere, the second until it was ready once, so that one that cannot run takes nothing from those that do.
 */
export type ConfigurationState = "newest" | "older" | "starting";

/**
 * The relays with the latest configuration route and deliver, among those that run and were ready once; among all that run while
 * none was ready. When the last of them ends, an older one routes and delivers again.
 */
export function judgeConfiguration(
  { configurationVersion: version }: Pick<RelayView, "configurationVersion">,
  relays: readonly Pick<RelayView, "configurationVersion" | "report">[],
): ConfigurationState {
  const started = relays.filter(({ report }) => report?.started !== false);
  const among = started.length > 0 ? started : relays;
  const newest = Math.max(...among.map(({ configurationVersion }) => configurationVersion));
  if (version === newest) return "newest";
  return version < newest ? "older" : "starting";
}
