/**
 * Which claims are made and not begun. A lane claims a run of deliveries in one commit and calls them one after another;
 * if the process ends meanwhile, only those whose call had begun may have arrived.
 *
 *     note(tokens) ──▶ claims on disk ──▶ strike(token) ──▶ the call leaves
 *
 * It lists what is surely untried, so whatever is lost of it makes a claim ambiguous, never the other way round. A
 * relay that has none claims one delivery at a time.
 */
export interface ClaimJournal {
  /**
   * Whether this claim, of this process or of the one before it, was made and not begun. False also when that cannot be
   * known: the machine was started anew since, or the journal is damaged or gone.
   */
  isUntried(token: string): boolean;
  /** Before the claims are made. False: they cannot be noted, so that each has to be made by itself. */
  note(tokens: readonly string[]): boolean;
  /**
   * Before the first call of a claim, and when a claim was given back. Does nothing for one that is not noted.
   * @throws when it cannot be struck: no call may be made then.
   */
  strike(token: string): void;
  /** The claim was not made, and no claim will ever have this token. Never throws. */
  forget(token: string): void;
  /** All claims of the process before this one are settled. */
  forgetInherited(): void;
}
