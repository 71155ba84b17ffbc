import { type Alert, type Severity, severities } from "../core/alert.ts";

/** Alerts of one alert key, told on one line. */
export interface DigestItem {
  /** The newest where the newest is a resolution; else the newest of the worst severity among them. */
  told: Alert;
  /** How many alerts the line stands for. */
  count: number;
  /** Set when it is over: when the first of them fired, epoch milliseconds. */
  firedAt?: number;
}

/** One item for each alert key: what still fires first, the worst first, and of equals the newest first. */
export function gatherDigestItems(alerts: Alert[]): DigestItem[] {
  const byKey = new Map<string, Alert[]>();
  for (const alert of alerts.toSorted(newestFirst)) {
    const same = byKey.get(alert.facts.alertKey);
    if (same === undefined) byKey.set(alert.facts.alertKey, [alert]);
    else same.push(alert);
  }
  return [...byKey.values()]
    .flatMap((same): DigestItem[] => {
      const told = pickTold(same);
      return told === undefined ? [] : [{ told, count: same.length, firedAt: firedBefore(told, same) }];
    })
    .sort((one, other) => rankOf(one.told) - rankOf(other.told) || newestFirst(one.told, other.told));
}

export function isResolved(alert: Alert): boolean {
  return alert.facts.status === "resolved";
}

/** 0 is the worst. An unknown severity may be anything and stands above mere information. */
export function severityRank(severity: Severity): number {
  const ranks: Record<Severity, number> = { critical: 0, warning: 1, unknown: 2, info: 3 };
  return ranks[severity];
}

/** `same`: newest first. */
function pickTold(same: Alert[]): Alert | undefined {
  const newest = same[0];
  if (newest === undefined || isResolved(newest)) return newest;
  const worst = Math.min(...same.filter((alert) => !isResolved(alert)).map(rankOf));
  return same.find((alert) => !isResolved(alert) && rankOf(alert) === worst);
}

/** Since the resolution before, if there is one among them. */
function firedBefore(told: Alert, same: Alert[]): number | undefined {
  if (!isResolved(told)) return undefined;
  const before = same.slice(same.indexOf(told) + 1);
  const last = before.findIndex((alert) => !isResolved(alert));
  if (last === -1) return undefined;
  const end = before.findIndex((alert, index) => index > last && isResolved(alert));
  return before.slice(last, end === -1 ? undefined : end).at(-1)?.receivedAt;
}

function rankOf(alert: Alert): number {
  return severityRank(alert.facts.severity) + (isResolved(alert) ? severities.length : 0);
}

function newestFirst(one: Alert, other: Alert): number {
  return other.seq - one.seq;
}
