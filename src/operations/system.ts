import type { MarketServiceView, SpoolView, SystemView, WatchView } from "../contract/operations.ts";
import type { Administration, StoreHealth } from "../core/ports/administration.ts";
import type { AlertLog } from "../core/ports/alert-log.ts";
import type { RetentionRules } from "../core/ports/retention.ts";
import type { Statistics } from "../core/ports/statistics.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { formatBytes } from "../ground/text/format-bytes.ts";
import { dayMs, minuteMs } from "../ground/time/spans.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { longestTurnMs, type ReadinessDeps } from "./readiness.ts";

export interface SystemDeps extends Pick<ReadinessDeps, "engine" | "reader" | "spool" | "clock"> {
  store: Pick<Administration, "health"> & Pick<AlertLog, "countAlerts"> & Pick<Statistics, "countSince">;
  watches(): WatchView[];
  market?(): MarketServiceView[];
  configuration(): SystemView["configuration"];
  retention: RetentionRules;
}

/** A longer forecast is of no use. */
const farthestDays = 3_650;
/** A small log is mostly the empty tables. */
const fewestAlerts = 1_000;

export async function viewSystem(deps: SystemDeps): Promise<SystemView> {
  const { store, clock } = deps;
  const now = clock.now();
  const [health, alerts, counts] = await Promise.all([
    store.health(),
    store.countAlerts(),
    store.countSince([now - minuteMs, now - 60 * minuteMs, now - dayMs]),
  ]);
  const [minute = 0, hour = 0, day = 0] = counts;
  const bytesEach = health.bytes / Math.max(1, alerts.kept);
  const known = alerts.oldestReceivedAt === undefined ? dayMs : now - alerts.oldestReceivedAt;
  const perDay = known > 0 && known < dayMs ? day * (dayMs / Math.max(known, 60 * minuteMs)) : day;
  return {
    nodeVersion: process.versions.node,
    configuration: deps.configuration(),
    accepted: { minute, hour, day },
    growth: alerts.kept < fewestAlerts ? undefined : forecast(bytesEach * perDay, health, deps.retention),
    parts: [
      part("database", health.writable && !health.full && health.damage === undefined, describeStore(health)),
      part("parser", deps.reader.problem() === undefined, deps.reader.problem() ?? "OK"),
      ...(deps.spool === undefined ? [] : [describeSpool(deps.spool())]),
      describeDelivery(deps, now),
      ...deps.watches().map(({ name, verdict, summary }) => ({ name: `watch ${name}`, verdict, detail: summary })),
      ...(deps.market?.() ?? []).map((view) => describeMarket(view, now)),
    ],
  };
}

type Part = SystemView["parts"][number];
const part = (name: string, isWell: boolean, detail: string): Part => ({
  name,
  verdict: isWell ? "well" : "trouble",
  detail,
});

function describeStore({ full, writable, damage, bytes }: StoreHealth): string {
  if (full) return "the disk is full: new alerts are answered 503";
  if (!writable) return "it cannot be written";
  return damage === undefined ? `OK, ${formatBytes(bytes)} on disk` : "it is probably damaged";
}

function describeSpool({ alerts, bytes, maxBytes, problem, stuck, unreadable, damagedFiles }: SpoolView) {
  const room = `${formatBytes(bytes)} of ${formatBytes(maxBytes)}`;
  const waits = alerts === 0 ? "nothing waits" : `${groupThousands(alerts)} alerts wait for the database, ${room}`;
  const refused = stuck === 0 ? "" : `; the database refuses ${stuck} of the requests`;
  const lost = unreadable === 0 ? "" : `; ${groupThousands(unreadable)} alerts cannot be read`;
  const kept = damagedFiles.length === 0 ? "" : `; damaged: ${damagedFiles.join(", ")}`;
  const isWell = alerts === 0 && problem === undefined && lost === "" && kept === "";
  return part("spool", isWell, `${waits}${refused}${lost}${kept}${problem ? `; ${problem}` : ""}`);
}

function describeMarket({ interface: of, calls, pausedUntil, pausedBecause }: MarketServiceView, now: number): Part {
  const used = `${calls.made} of ${calls.most} calls in the last hour`;
  const detail =
    pausedUntil === undefined
      ? `asked for pictures and context; ${used}`
      : `nothing is asked for ${formatDuration(Math.max(0, pausedUntil - now))}, because ${pausedBecause}; ${used}`;
  return part(`market data (${of})`, pausedUntil === undefined, detail);
}

function describeDelivery({ engine }: Pick<SystemDeps, "engine">, now: number): Part {
  const lanes = engine.laneTurns();
  const hung = lanes.filter(({ at }) => now - at > longestTurnMs).map(({ destination }) => destination);
  const isTurning = now - engine.lastTurnAt() <= longestTurnMs;
  const count = `${lanes.length} ${lanes.length === 1 ? "destination" : "destinations"}`;
  const detail = hung.length > 0 ? `stuck: ${hung.join(", ")}` : `OK, ${count}`;
  return part("delivery", isTurning && hung.length === 0, isTurning ? detail : "stuck");
}

/** Forecasts the disk at the pace of the last day. Rows that retention removes make room for new ones. */
function forecast(
  bytesPerDay: number,
  { bytes, freeBytes }: StoreHealth,
  { maxAgeMs, maxBytes }: RetentionRules,
): NonNullable<SystemView["growth"]> {
  const ofAge = maxAgeMs === undefined ? Number.POSITIVE_INFINITY : (bytesPerDay * maxAgeMs) / dayMs;
  const most = Math.min(ofAge, maxBytes ?? Number.POSITIVE_INFINITY);
  const rounded = Math.round(bytesPerDay);
  if (freeBytes === undefined || bytesPerDay <= 0) return { bytesPerDay: rounded, heldByRetention: false };
  if (most <= bytes + freeBytes) return { bytesPerDay: rounded, heldByRetention: true };
  const days = Math.floor(freeBytes / bytesPerDay);
  return { bytesPerDay: rounded, heldByRetention: false, ...(days <= farthestDays && { fullInDays: days }) };
}
