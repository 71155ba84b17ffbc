import { type CommonStates, changeTogether } from "./ports/watch.ts";

/** Letters from other relays on the database to the relay that has a lane: a list in one record. */
export class Mailbox<Letter> {
  readonly #store: CommonStates;
  readonly #name: string;
  readonly #most: number;

  /** @param most letters that are kept. Beyond it the oldest are lost */
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

  /** Takes the wanted letters, oldest first. Each goes to one relay only. Rejects as the store does. */
  take(isWanted: (letter: Letter) => boolean = () => true): Promise<Letter[]> {
    return changeTogether(this.#store, this.#name, (from = []) => {
      const given = (from as Letter[]).filter(isWanted);
      const taken = new Set(given);
      return { given, state: taken.size === 0 ? undefined : (from as Letter[]).filter((letter) => !taken.has(letter)) };
    });
  }
}
