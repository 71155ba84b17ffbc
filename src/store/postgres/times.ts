import { firstIdAt, lastIdAt, mostBehindMs } from "../../core/id.ts";

/** The clocks of relays on one database may differ by this much, and positions follow none of them. */
const mostApartMs = 10 * 60_000;
const slotMs = 10 * 60_000;

/**
 * The time in an alert's id is by its relay's clock, shortly after the alert came. Ids narrow the walk, `received_at` decides.
 */
export const sinceId = (fromAt: number): string => firstIdAt(fromAt - mostApartMs);
export const untilId = (toAt: number): string => lastIdAt(toAt + mostBehindMs + 1_000 + mostApartMs);

/** The times of alerts that came long before they were stored, as whole slots, so that few rows describe a long handover. */
export const lateSpan = (fromAt: number, storedAt: number): [fromId: string, toId: string] => [
  sinceId(Math.floor(fromAt / slotMs) * slotMs),
  untilId(Math.ceil(storedAt / slotMs) * slotMs),
];

/** The place after the last alert that came and was stored before the time. The first one since may be stored later. */
export const firstSince = (place: string) =>
  `coalesce((SELECT seq + 1 FROM alerts
     WHERE id < least(${place}, (SELECT min(from_id) FROM late_spans WHERE to_id >= ${place})) ORDER BY id DESC LIMIT 1),
     (SELECT min(seq) FROM alerts), 1)`;
export const lastUntil = (place: string) =>
  `coalesce((SELECT seq - 1 FROM alerts
     WHERE id > greatest(${place}, (SELECT max(to_id) FROM late_spans WHERE from_id <= ${place})) ORDER BY id LIMIT 1),
     (SELECT max(seq) FROM alerts), 0)`;
