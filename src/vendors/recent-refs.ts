const mostRefs = 1_000;

/**
 * Which messages of a channel are known to have a picture, the latest thousand of them. A restart forgets it, so it is never more
 * than a first guess.
 */
export class RecentRefs {
  readonly #refs = new Set<string>();

  has(ref: string): boolean {
    return this.#refs.has(ref);
  }

  add(ref: string): void {
    this.#refs.add(ref);
    const [oldest = ""] = this.#refs;
    if (this.#refs.size > mostRefs) this.#refs.delete(oldest);
  }
}
