import type { Clock } from "./clock.ts";

/** Allows `most` spendings within any `withinMs`. Forgets the earlier ones when the clock is set back. */
export class Budget {
  #spent: number[] = [];

  constructor(
    private readonly clock: Pick<Clock, "now">,
    readonly most: number,
    private readonly withinMs: number,
  ) {}

  made(): number {
    const now = this.clock.now();
    this.#spent = this.#spent.filter((at) => at > now - this.withinMs && at <= now);
    return this.#spent.length;
  }

  isLeft(): boolean {
    return this.made() < this.most;
  }

  spend(): void {
    this.#spent.push(this.clock.now());
  }
}
