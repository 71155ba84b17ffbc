/**
 * Lists claims whose call has not begun. A lane claims a run of deliveries in one commit and calls them one after
 * another. When the process is killed, the claims in the journal have surely not arrived.
 *
 *     note(tokens) ──▶ claims on disk ──▶ strike(token) ──▶ the call leaves
 *
 * A claim that is missing in the journal counts as ambiguous. A relay without a journal claims one delivery at a time.
 */
export interface ClaimJournal {
  /** False also after a restart of the machine, and when the journal is damaged or gone. */
  isUntried(token: string): boolean;
  /** Called before the claims are made. False: they cannot be noted, so each must be made by itself. */
  note(tokens: readonly string[]): boolean;
  /**
   * Called before a claim's first call, and when a claim was given back. Ignores a token that is not noted.
   * @throws when the token cannot be struck. No call may be made then
   */
  strike(token: string): void;
  /** For a claim that was not made and never will be under this token. Never throws. */
  forget(token: string): void;
  /** Forgets the last process's claims. Called when all of them are settled. */
  forgetInherited(): void;
}
