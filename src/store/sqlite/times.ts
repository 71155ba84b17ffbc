import { firstIdAt, lastIdAt, mostBehindMs } from "../../core/id.ts";

/** The time in an alert's id is at most this much after the alert came. Ids narrow the walk, `received_at` decides. */
const mostAheadMs = mostBehindMs + 1_000;
export const sinceId = (fromAt: number): string => firstIdAt(fromAt);
export const untilId = (toAt: number): string => lastIdAt(toAt + mostAheadMs);
export const firstSince = (place = "?") =>
  `SELECT coalesce(min(seq), 9000000000000000) FROM (SELECT seq FROM alerts WHERE id >= ${place} ORDER BY id LIMIT 1)`;
export const lastUntil =
  "SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM alerts WHERE id <= ? ORDER BY id DESC LIMIT 1)";
