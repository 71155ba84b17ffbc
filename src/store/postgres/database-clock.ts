import type { Now } from "../../core/clock.ts";

export interface DatabaseClockDeps {
  /** The machine's clock. */
  machine: Now;
  /** It is corrected by so much from now on, if that is worth a line in the log; positive when the database's is ahead. */
  onCorrected?(aheadMs: number): void;
}

/** Clocks that are kept in step are apart by less: the machine's is as good as the database's then. */
const slackMs = 50;
const loggedMs = 1_000;

/**
 * The time by which all relays of one database go. The clocks of their machines may be minutes apart, and what one of them
 * writes (when a chat was called last, until when it asked for silence, when a delivery is due) is read by another: each
 * relay adds to its own clock what that differs from the database's.
 */
export class DatabaseClock {
  #aheadMs = 0;

  constructor(private readonly deps: DatabaseClockDeps) {}

  /** Epoch milliseconds. The machine's clock gives them until the database's is known. */
  readonly now = (): number => this.deps.machine() + this.#aheadMs;

  /**
   * Compares the two clocks.
   * @param ask what the database's says, epoch milliseconds; what it rejects with is passed on
   */
  async compare(ask: () => Promise<number>): Promise<void> {
    const { machine, onCorrected } = this.deps;
    const askedAt = machine();
    const databaseAt = await ask();
    // It was read some time between the two, and nothing is known more closely: who stood still meanwhile learns nothing.
    const [least, most] = [databaseAt - machine() - slackMs, databaseAt - askedAt + slackMs];
    const fits = (ms: number) => ms >= least && ms <= most;
    if (fits(this.#aheadMs)) return;
    const before = this.#aheadMs;
    this.#aheadMs = fits(0) ? 0 : Math.round((least + most) / 2);
    if (Math.abs(this.#aheadMs - before) >= loggedMs) onCorrected?.(this.#aheadMs);
  }
}
