import { toIso } from "../contract/encode.ts";
import type { RingEvent, RingMemory } from "../core/ring.ts";
import type { RingCount } from "../core/tally.ts";
import { writeChange } from "../ground/numbers/format-number.ts";
import { hourMs } from "../ground/time/spans.ts";
import { furtherBy } from "../ringing/distance.ts";

/** What would ring at one place, while it is counted. */
export class RingCounter {
  alerts = 0;
  joined = 0;
  messages = 0;
  #rings = 0;
  #heldBack = 0;
  readonly #ringsOfHour = new Map<number, number>();
  #far = 0;
  #worst?: { alert: number } & NonNullable<RingCount["worst"]>;

  ring(at: number): void {
    this.#rings += 1;
    const hour = Math.floor(at / hourMs);
    this.#ringsOfHour.set(hour, (this.#ringsOfHour.get(hour) ?? 0) + 1);
  }

  /** @param alert its number: among alerts that went as far the older one counts, which has the larger number */
  holdBack(alert: number, { id, at, value }: RingEvent, { rings }: RingMemory): void {
    this.#heldBack += 1;
    const last = rings.at(-1);
    if (value === undefined || !last?.value) return;
    const far = furtherBy(value, last.value, last.direction) / Math.abs(last.value);
    const isOlder = far === this.#far && this.#worst !== undefined && alert > this.#worst.alert;
    const change = far > this.#far || isOlder ? writeChange(String(last.value), String(value)) : undefined;
    if (change === undefined) return;
    this.#far = far;
    this.#worst = { alert, id, receivedAt: toIso(at), change };
  }

  addUp(other: RingCounter): void {
    for (const name of ["alerts", "joined", "messages"] as const) this[name] += other[name];
    this.#rings += other.#rings;
    this.#heldBack += other.#heldBack;
    for (const [hour, rings] of other.#ringsOfHour)
      this.#ringsOfHour.set(hour, (this.#ringsOfHour.get(hour) ?? 0) + rings);
    if (other.#far > this.#far) [this.#far, this.#worst] = [other.#far, other.#worst];
  }

  view(): RingCount {
    const { alerts, joined, messages } = this;
    const { alert: _, ...worst } = this.#worst ?? { alert: 0, id: "", receivedAt: "", change: "" };
    // The first of hours that are as loud.
    const [hour, most] = [...this.#ringsOfHour].reduce(
      (loudest, one) => (one[1] > loudest[1] || (one[1] === loudest[1] && one[0] < loudest[0]) ? one : loudest),
      [0, 0],
    );
    return {
      ...{ alerts, rings: this.#rings, heldBack: this.#heldBack },
      ...(messages > 0 && { joined, messages }),
      ...(most > 0 && { loudest: { from: toIso(hour * hourMs), rings: most } }),
      ...(this.#worst && { worst }),
    };
  }
}
