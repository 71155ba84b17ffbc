import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { Inbox } from "../core/ports/inbox.ts";
import type { RefusedDetail, RefusedLog } from "../core/ports/refused.ts";

export interface RefusedDeps {
  store: RefusedLog;
  inbox: Inbox;
  clock: Clock;
  newId: NewId;
  log: Log;
}

/** Far longer than a refused request is kept: it is released once. */
const releaseWindowMs = 10 * 365 * 86_400_000;

/** @throws AppError `not_found`. */
export async function findRefused(store: Pick<RefusedLog, "getRefused">, id: string): Promise<RefusedDetail> {
  const found = await store.getRefused(id);
  if (found) return found;
  throw new AppError("not_found", `There is no refused request ${id}.`, {
    hint: "Copy its id from the list; of each source the newest 200 are kept.",
  });
}

/**
 * Accepts what was refused, as if it came now and its sender had passed the check. However often it is asked for, it is
 * one request: after a kill between the two commits the next time finds the alerts by their key.
 * @returns ids of the alerts
 * @throws AppError `not_found`.
 */
export async function releaseRefused({ store, inbox, clock, newId, log }: RefusedDeps, id: string): Promise<string[]> {
  const { source, contentType, headers, body, items, released } = await findRefused(store, id);
  if (released !== undefined) return released.alertIds;
  const now = clock.now();
  const { ids } = await inbox.acceptRequest({
    receivedAt: now,
    contentType,
    headers: JSON.stringify([...headers, ["x-tocsin-released", `refused request ${id}`]]),
    body,
    ids: Array.from({ length: items }, newId),
    origin: "hook",
    source,
    dedupeKey: `released:${id}`,
    dedupeWindowMs: releaseWindowMs,
  });
  await store.markReleased(id, ids, now);
  log.info("refused.released", { refused: id, source, ids });
  return ids;
}
