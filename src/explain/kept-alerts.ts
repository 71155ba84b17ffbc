import { severities, statuses } from "../core/alert.ts";
import type { GroupRule } from "../core/group.ts";
import type { RingEvent, RingRule } from "../core/ring.ts";

/** The most alerts that are judged. All are kept first: they come newest first, and are judged oldest first. */
export const mostKept = 100_000;

export interface Place {
  index: number;
  destination: string;
  route: string;
  rule: RingRule;
  /** The oldest alert that went there. Places are listed in this order. */
  oldest: { alert: number; visit: number };
}

export interface Visit {
  place: Place;
  /** Quiet hours hold it until then: nobody is woken before. Epoch milliseconds. */
  quietUntil?: number;
  isMuted: boolean;
  /** Its route wants no sound for it. */
  isSilent: boolean;
  /** An alert that is older when it goes out makes no sound. */
  freshnessMs?: number;
  /** Absent where the alert waits for no group and no cause. */
  group?: GroupRule;
}

/** Alerts by number, the newest first, in columns: as objects they would take four times the memory. */
export class KeptAlerts {
  count = 0;
  readonly visits: (readonly Visit[])[] = [];
  readonly keys: string[] = [];
  readonly keyOf = new Int32Array(mostKept);
  readonly oldestOf: number[] = [];
  /** The next newer alert of its key, or -1. */
  readonly nextOf = new Int32Array(mostKept);
  /** For each alert: where its visits begin among those of all alerts. */
  readonly firstVisitOf = new Int32Array(mostKept + 1);
  readonly #ids: string[] = [];
  readonly #numberOfKey = new Map<string, number>();
  readonly #words = new Uint8Array(mostKept);
  readonly #numbers = new Float64Array(mostKept * 4);

  add(event: RingEvent, alertKey: string, visits: readonly Visit[]): void {
    const alert = this.count++;
    const key = this.#numberOfKey.get(alertKey) ?? this.keys.push(alertKey) - 1;
    this.#numberOfKey.set(alertKey, key);
    this.keyOf[alert] = key;
    this.nextOf[alert] = this.oldestOf[key] ?? -1;
    this.oldestOf[key] = alert;
    this.visits.push(visits);
    this.firstVisitOf[this.count] = (this.firstVisitOf[alert] as number) + visits.length;
    for (const [visit, { place }] of visits.entries()) place.oldest = { alert, visit };
    const { id, at, severity, status, value, previousValue, threshold } = event;
    this.#ids.push(id);
    this.#words[alert] = severities.indexOf(severity) * statuses.length + statuses.indexOf(status);
    const numbers = [at, value, previousValue, threshold].map((one) => one ?? Number.NaN);
    this.#numbers.set(numbers, alert * 4);
  }

  eventOf(alert: number): RingEvent {
    const word = this.#words[alert] as number;
    const number = (column: number): number | undefined => {
      const kept = this.#numbers[alert * 4 + column] as number;
      return Number.isNaN(kept) ? undefined : kept;
    };
    return {
      id: this.#ids[alert] as string,
      at: number(0) as number,
      severity: severities[Math.floor(word / statuses.length)] as RingEvent["severity"],
      status: statuses[word % statuses.length] as RingEvent["status"],
      value: number(1),
      previousValue: number(2),
      threshold: number(3),
    };
  }

  /** 1 for each key with a visit that is asked for. */
  keysWith(isAsked: (visit: Visit) => boolean): Uint8Array {
    const keys = new Uint8Array(this.keys.length);
    for (const [alert, visits] of this.visits.entries())
      if (visits.some(isAsked)) keys[this.keyOf[alert] as number] = 1;
    return keys;
  }
}
