import type { Now } from "../../core/clock.ts";

export interface DatabaseClockDeps {
  machine: Now;
  /** Called for a large correction. Positive when the database's clock is ahead. */
  onCorrected?(aheadMs: number): void;
}

/** Synchronized clocks differ by less. The machine's clock is then as good as the database's. */
const slackMs = 50;
const loggedMs = 1_000;

/** The clock of all relays on a database, as each reads times that others wrote. Their machines may differ by minutes. */
export class DatabaseClock {
  #aheadMs = 0;

  constructor(private readonly deps: DatabaseClockDeps) {}

  /** Epoch milliseconds. The machine's clock, until the difference is known. */
  readonly now = (): number => this.deps.machine() + this.#aheadMs;

  /** @param ask gives the database's time, epoch milliseconds. Its rejection is passed on */
  async compare(ask: () => Promise<number>): Promise<void> {
    const { machine, onCorrected } = this.deps;
    const askedAt = machine();
    const databaseAt = await ask();
    // The database read its clock between question and answer. After a long freeze of this process that says nothing.
    const [least, most] = [databaseAt - machine() - slackMs, databaseAt - askedAt + slackMs];
    const fits = (ms: number) => ms >= least && ms <= most;
    if (fits(this.#aheadMs)) return;
    const before = this.#aheadMs;
    this.#aheadMs = fits(0) ? 0 : Math.round((least + most) / 2);
    if (Math.abs(this.#aheadMs - before) >= loggedMs) onCorrected?.(this.#aheadMs);
  }
}
