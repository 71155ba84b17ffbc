import type { Clock } from "./clock.ts";

/** Allows this many within each such time. A clock that is set back begins anew. */
export class Budget {
  readonly most: number;
  readonly #withinMs: number;
  readonly #clock: Pick<Clock, "now">;
  #spent: number[] = [];

  constructor(clock: Pick<Clock, "now">, most: number, withinMs: number) {
    this.#clock = clock;
    this.most = most;
    this.#withinMs = withinMs;
  }

  /** How many of it are spent just now. */
  made(): number {
    const now = this.#clock.now();
    this.#spent = this.#spent.filter((at) => at > now - this.#withinMs && at <= now);
    return this.#spent.length;
  }

  isLeft(): boolean {
    return this.made() < this.most;
  }

  spend(): void {
    this.#spent.push(this.#clock.now());
  }
}
