import type { RelayView } from "./ports/relays.ts";

/**
 * What a relay may do. `newest`: route and deliver. `older`: only accept, since a newer configuration runs elsewhere.
 * `starting`: only accept until it was ready once, so a relay that cannot run takes nothing from the others.
 */
export type ConfigurationState = "newest" | "older" | "starting";

/** Compares the configurations of the running relays that were ready once, or of all while none was. */
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
