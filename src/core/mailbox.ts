import { type CommonStates, changeTogether } from "./ports/watch.ts";

/** Letters from other relays on the database to the relay that has a lane: a list in one record. */
export class Mailbox<Letter> {
  /** @param most letters that are kept. Beyond it the oldest are lost */
  constructor(
    private readonly store: CommonStates,
    private readonly name: string,
    private readonly most: number,
  ) {}

  /** Rejects as the store does. */
  put(letters: readonly Letter[]): Promise<void> {
    return this.#change((kept) => ({ given: undefined, state: [...kept, ...letters].slice(-this.most) }));
  }

  /** Takes the wanted letters, oldest first. Each goes to one relay only. Rejects as the store does. */
  take(isWanted: (letter: Letter) => boolean = () => true): Promise<Letter[]> {
    return this.#change((kept) => {
      const given = kept.filter(isWanted);
      return { given, state: given.length === 0 ? undefined : kept.filter((letter) => !given.includes(letter)) };
    });
  }

  #change<T>(change: (kept: Letter[]) => { given: T; state: Letter[] | undefined }): Promise<T> {
    return changeTogether(this.store, `mail:${this.name}`, (from = []) => change(from as Letter[]));
  }
}
