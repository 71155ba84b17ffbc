import type { z } from "zod";
import type { ChannelType } from "../core/delivery.ts";
import type { Pace, QuietHours } from "../core/rules.ts";
import type { defaultsSchema, quietHoursSchema } from "./schema.ts";

/** The section `defaults:`. */
export type Defaults = z.infer<typeof defaultsSchema>;

/** What each vendor bears for one chat or webhook; e-mail and own servers have no bound of ours. */
const channelPace: Readonly<Record<ChannelType, Pace>> = {
  telegram: { perSecond: 1, perMinute: 18 },
  email: {},
  webhook: {},
  slack: { perSecond: 1 },
  discord: { perSecond: 2, perMinute: 30 },
  ntfy: {},
  apprise: {},
};

export type BaseOptions = Defaults & { quietHours?: z.infer<typeof quietHoursSchema> };

/** What every destination has, from its own options, then `defaults:`, then the defaults of its channel. */
export function buildBase<T extends ChannelType>(
  name: string,
  type: T,
  options: BaseOptions,
  defaults: Defaults,
  definedAt: string,
) {
  const quietHours: QuietHours | undefined = options.quietHours && {
    ...options.quietHours,
    except: options.quietHours.except ?? ["critical"],
  };
  return {
    name,
    timeZone: options.timeZone ?? defaults.timeZone ?? "UTC",
    onAmbiguous: options.onAmbiguous ?? defaults.onAmbiguous ?? ("retry" as const),
    digestOver: options.digestOver ?? defaults.digestOver ?? 10,
    pace: options.pace ?? slowerPace(channelPace[type], defaults.pace ?? {}),
    ...(quietHours === undefined ? {} : { quietHours }),
    definedAt,
  };
}

/** A default for all channels never drives one faster than its vendor bears. */
function slowerPace(a: Pace, b: Pace): Pace {
  const slower = (x: number | undefined, y: number | undefined) => Math.min(x ?? Infinity, y ?? Infinity);
  const perSecond = slower(a.perSecond, b.perSecond);
  const perMinute = slower(a.perMinute, b.perMinute);
  return {
    ...(perSecond === Infinity ? {} : { perSecond }),
    ...(perMinute === Infinity ? {} : { perMinute }),
  };
}
