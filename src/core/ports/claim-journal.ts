/**
 * Lists the claims that are made and not begun. A lane claims a run of deliveries in one commit and calls them one after
 * another. If the process ends meanwhile, only those whose call had begun may have arrived.
 *
 *     note(tokens) ──▶ claims on disk ──▶ strike(token) ──▶ the call leaves
 *
 * The journal lists claims that are surely untried. If a part is lost, its claims count as ambiguous, never the other way
 * round. A relay without a journal claims one delivery at a time.
 */
export interface ClaimJournal {
  /**
   * Whether a claim of this process or the last one was made and not begun. False also when that is unknown: the machine was
   * restarted, or the journal is damaged or gone.
   */
  isUntried(token: string): boolean;
  /** Called before the claims are made. False: they cannot be noted, so each has to be made by itself. */
  note(tokens: readonly string[]): boolean;
  /**
   * Called before the first call of a claim, and when a claim was given back. Does nothing for a token that is not noted.
   * @throws when the token cannot be struck: no call may be made then
   */
  strike(token: string): void;
  /** Called when the claim was not made, and no claim will ever have this token. Never throws. */
  forget(token: string): void;
  /** Called when all claims of the last process are settled. */
  forgetInherited(): void;
}
