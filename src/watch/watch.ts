import type { WatchView } from "../contract/operations.ts";

/** A duty of the relay that looks at something around it, and tells of what it finds. */
export interface Watch {
  view(): WatchView;
  /** Until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}
