import type { RelayView } from "./ports/relays.ts";

/**
 * What a relay's configuration lets it do. `newest` routes and delivers. `older` and `starting` only accept: `older` since a
 * newer one runs elsewhere, `starting` until the relay was ready once. A relay that cannot run thus takes nothing from the others.
 */
export type ConfigurationState = "newest" | "older" | "starting";

/**
 * The relays with the latest configuration route and deliver. Only relays that run and were ready once are compared, or all
 * that run while none was ready. When the last of the newest ends, an older one routes and delivers again.
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
