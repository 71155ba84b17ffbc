import { toIso } from "../contract/encode.ts";
import type { RingEvent, RingMemory } from "../core/ring.ts";
import type { RingCount } from "../core/tally.ts";
import { writeChange } from "../ground/numbers/format-number.ts";
import { hourMs } from "../ground/time/spans.ts";
import { furtherBy } from "../ringing/distance.ts";

export class RingCounter {
  alerts = 0;
  joined = 0;
  messages = 0;
  #rings = 0;
  #heldBack = 0;
  readonly #ringsOfHour = new Map<number, number>();
  #far = 0;
  #worst?: RingCount["worst"];
  #worstAlert = 0;

  ring(at: number): void {
    this.#rings += 1;
    const hour = Math.floor(at / hourMs);
    this.#ringsOfHour.set(hour, (this.#ringsOfHour.get(hour) ?? 0) + 1);
  }

  /** @param alert its number; an older alert has a larger one. Among equally far values the older one stays */
  holdBack(alert: number, { id, at, value }: RingEvent, { rings }: RingMemory): void {
    this.#heldBack += 1;
    const last = rings.at(-1);
    if (value === undefined || !last?.value) return;
    const far = furtherBy(value, last.value, last.direction) / Math.abs(last.value);
    const change = this.#isWorse(far, alert) ? writeChange(String(last.value), String(value)) : undefined;
    if (change === undefined) return;
    [this.#far, this.#worstAlert] = [far, alert];
    this.#worst = { id, receivedAt: toIso(at), change };
  }

  addUp(other: RingCounter): void {
    for (const name of ["alerts", "joined", "messages"] as const) this[name] += other[name];
    this.#rings += other.#rings;
    this.#heldBack += other.#heldBack;
    for (const [hour, rings] of other.#ringsOfHour)
      this.#ringsOfHour.set(hour, (this.#ringsOfHour.get(hour) ?? 0) + rings);
    if (other.#worst && this.#isWorse(other.#far, other.#worstAlert))
      [this.#far, this.#worst, this.#worstAlert] = [other.#far, other.#worst, other.#worstAlert];
  }

  #isWorse(far: number, alert: number): boolean {
    return far > this.#far || (far === this.#far && this.#worst !== undefined && alert > this.#worstAlert);
  }

  view(): RingCount {
    const { alerts, joined, messages } = this;
    // The earliest of the loudest hours.
    const [loudest] = [...this.#ringsOfHour].sort(([hour, rings], [other, those]) => those - rings || hour - other);
    return {
      ...{ alerts, rings: this.#rings, heldBack: this.#heldBack },
      ...(messages > 0 && { joined, messages }),
      ...(loudest && { loudest: { from: toIso(loudest[0] * hourMs), rings: loudest[1] } }),
      ...(this.#worst && { worst: this.#worst }),
    };
  }
}
