import type { Mute } from "../core/rules.ts";
import type { MuteOnWire } from "./relay/wire.ts";

/** The mutes made at run time, as routing wants them; those of the configuration come with the configuration. */
export function toRuntimeMutes(mutes: MuteOnWire[]): Mute[] {
  return mutes
    .filter(({ createdBy }) => createdBy !== "configuration")
    .map(({ id, matchers, reason, createdBy, startsAt, endsAt, createdAt }) => ({
      id,
      matchers,
      reason,
      createdBy,
      startsAt: Date.parse(startsAt),
      endsAt: Date.parse(endsAt),
      createdAt: Date.parse(createdAt),
    }));
}
