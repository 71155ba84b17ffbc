/** Instants outside of these are zeros, counters and placeholders like 0001-01-01. */
const earliestAt = Date.UTC(2000, 0, 1);
const latestAt = Date.UTC(2100, 0, 1);

export interface ReadTime {
  /** Epoch milliseconds. */
  at: number;
  /** Whether the text names no zone. */
  assumedUtc: boolean;
}

/**
 * Reads ISO 8601 with a time of day (also with a blank instead of T, and as Go prints it), the dates of mail and HTTP,
 * and epoch seconds, milliseconds, microseconds or nanoseconds, which differ by size. A date alone is undefined.
 */
export function readTime(text: string): ReadTime | undefined {
  const trimmed = text.trim();
  if (trimmed.length > 64) return undefined;
  if (last?.text !== trimmed) {
    const read = readEpoch(trimmed) ?? readIso(trimmed) ?? readMailDate(trimmed);
    last = { text: trimmed, read: read !== undefined && isSane(read.at) ? read : undefined };
  }
  return last.read;
}

/** Remembered, since an alert's time is read three times: as its time, as the event's name, and for the key. */
let last: { text: string; read: ReadTime | undefined } | undefined;

function isSane(at: number): boolean {
  return at >= earliestAt && at < latestAt;
}

function readEpoch(text: string): ReadTime | undefined {
  if (!/^\d+(?:\.\d+)?(?:[eE]\+?\d{1,2})?$/.test(text)) return undefined;
  const number = Number(text);
  const at = [number * 1000, number, number / 1e3, number / 1e6].map(Math.round).find(isSane);
  return at === undefined ? undefined : { at, assumedUtc: false };
}

const isoPattern =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(?:(Z|UTC|GMT)|([+-])(\d\d):?(\d\d)(?: [A-Z]{3,4})?)?$/i;

function readIso(text: string): ReadTime | undefined {
  const match = isoPattern.exec(text);
  if (match === null) return undefined;
  const at = (group: number) => Number(match[group] ?? 0);
  const [day, minute, second] = [at(3), at(5), at(6)];
  const milliseconds = Math.floor(Number(`0.${match[7] ?? "0"}`) * 1000);
  const local = Date.UTC(at(1), at(2) - 1, day, at(4), minute, second, milliseconds);
  // Date.UTC turns 31 February into March, and 24:00 into the next day. Such a text is no instant.
  if (new Date(local).getUTCDate() !== day || minute > 59 || second > 59) return undefined;
  const offsetMinutes = match[9] === undefined ? 0 : Number(match[10]) * 60 + Number(match[11]);
  const offsetMs = (match[9] === "-" ? -1 : 1) * offsetMinutes * 60_000;
  return { at: local - offsetMs, assumedUtc: match[8] === undefined && match[9] === undefined };
}

function readMailDate(text: string): ReadTime | undefined {
  if (!/^(?:[A-Z][a-z]{2}, ?)?\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d(?::\d\d)? (?:GMT|UTC|[+-]\d{4})$/.test(text))
    return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : { at, assumedUtc: false };
}
