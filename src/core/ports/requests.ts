import type { ErrorCode } from "../errors.ts";
import type { LaneFence } from "./lanes.ts";

/** What a relay asks of whichever relay holds a lane group. */
export interface RelayRequest {
  id: string;
  group: string;
  /** What is to be done, as holders know it by name. */
  kind: string;
  /** JSON. */
  args: unknown;
}

/** What came of it: JSON, or an `AppError` with its words. */
export type RequestAnswer =
  | { value: unknown }
  | { error: { code: ErrorCode; message: string; hint?: string; retryAfterMs?: number } };

/**
 * How relays on one database ask each other for what one of them alone can do, since it has the lane group and its
 * memory.
 *
 *     waiting ──the holder takes it──▶ taken ──▶ answered
 *        │ │──the asker withdraws it──▶ gone
 *        └──its time is over──▶ nobody takes it any more
 *
 * It is taken once, under the fence of the group, and never done again: of one whose holder is lost after that, nobody knows
 * whether it was done.
 */
export interface RelayRequests {
  /** @param takeWithinMs from now by the clock of the driver: nobody takes it later */
  putRequest(request: RelayRequest, takeWithinMs: number): Promise<void>;
  /** Those that wait for groups which are held still, the oldest first; each is the caller's from then on. */
  takeRequests(lanes: LaneFence[]): Promise<RelayRequest[]>;
  answerRequest(id: string, answer: RequestAnswer): Promise<void>;
  /** `lost`: it was taken under a fence that nobody holds any more, and is not answered. */
  lookAtRequest(id: string): Promise<RequestAnswer | "waiting" | "taken" | "lost">;
  /** True: nobody has taken it, and nobody will. */
  withdrawRequest(id: string): Promise<boolean>;
}
