export type Labels = Readonly<Record<string, string>>;

/** Counts events by labels. No label is forgotten, so labels must have few values, and none that a stranger chooses. */
export class Counter {
  readonly #counts = new Map<string, [labels: Labels, count: number]>();

  add(labels: Labels): void {
    const key = JSON.stringify(labels);
    const entry = this.#counts.get(key);
    if (entry === undefined) this.#counts.set(key, [labels, 1]);
    else entry[1] += 1;
  }

  series(): (readonly [labels: Labels, count: number])[] {
    return [...this.#counts.values()];
  }
}

export interface Distribution {
  labels: Labels;
  /** Each between one bound and the next. The last count is for values over all bounds. */
  counts: number[];
  sum: number;
}

/** Sizes by labels, as in `Counter`. */
export class Histogram {
  readonly #distributions = new Map<string, Distribution>();

  /** @param bounds ascending */
  constructor(readonly bounds: readonly number[]) {}

  /** Adds an empty distribution, since Prometheus misses the first value of a series that appears with its first value. */
  expect(labels: Labels): Distribution {
    const key = JSON.stringify(labels);
    const known = this.#distributions.get(key);
    if (known !== undefined) return known;
    const made = { labels, counts: Array(this.bounds.length + 1).fill(0), sum: 0 };
    this.#distributions.set(key, made);
    return made;
  }

  observe(labels: Labels, value: number): void {
    const of = this.expect(labels);
    const place = this.bounds.findIndex((bound) => value <= bound);
    const at = place === -1 ? this.bounds.length : place;
    of.counts[at] = (of.counts[at] ?? 0) + 1;
    of.sum += value;
  }

  series(): Distribution[] {
    return [...this.#distributions.values()];
  }
}
