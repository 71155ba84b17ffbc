import { type CommonStates, changeTogether } from "./ports/watch.ts";

/**
 * What relays on one database leave for the one that has a lane: a list in one record. What came of a letter shows in
 * what its reader saves, or in a letter that the reader leaves in turn.
 */
export class Mailbox<Letter> {
  readonly #store: CommonStates;
  readonly #name: string;
  readonly #most: number;

  /** @param most of more letters the oldest are lost */
  constructor(store: CommonStates, name: string, most: number) {
    this.#store = store;
    this.#name = `mail:${name}`;
    this.#most = most;
  }

  /** Rejects as the store does. */
  put(letters: readonly Letter[]): Promise<void> {
    return changeTogether(this.#store, this.#name, (from = []) => ({
      given: undefined,
      state: [...(from as Letter[]), ...letters].slice(-this.#most),
    }));
  }

  /** The oldest first; each is given once, whichever relays ask. Rejects as the store does. */
  take(isWanted: (letter: Letter) => boolean = () => true): Promise<Letter[]> {
    return changeTogether(this.#store, this.#name, (from = []) => {
      const given = (from as Letter[]).filter(isWanted);
      const taken = new Set(given);
      return { given, state: taken.size === 0 ? undefined : (from as Letter[]).filter((letter) => !taken.has(letter)) };
    });
  }
}
