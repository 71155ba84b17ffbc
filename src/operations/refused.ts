import type { ReleasedRefused } from "../contract/operations.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { Inbox } from "../core/ports/inbox.ts";
import type { RefusedDetail, RefusedLog } from "../core/ports/refused.ts";

export interface RefusedDeps {
  store: RefusedLog;
  /** The idempotency key that the sender gave, signed or not. Undefined when it gave none. */
  keyOf(refused: RefusedDetail): string | undefined;
  inbox: Inbox;
  clock: Clock;
  newId: NewId;
  log: Log;
}

/** Far longer than a refused request is kept, so it is released once. */
const releaseWindowMs = 10 * 365 * 86_400_000;

export async function findRefused(store: Pick<RefusedLog, "getRefused">, id: string): Promise<RefusedDetail> {
  const found = await store.getRefused(id);
  if (found) return found;
  throw new AppError("not_found", `There is no refused request ${id}.`, {
    hint: "Copy its id from the list; of each source 200 are kept.",
  });
}

/**
 * A second release finds the alerts by their key and changes nothing, also after a kill between the two commits. The
 * sender's own key comes first, so the sender's repeat is no second alert. @throws AppError `not_found`
 */
export async function releaseRefused(deps: RefusedDeps, id: string): Promise<ReleasedRefused> {
  const { store, inbox, keyOf, clock, newId, log } = deps;
  const refused = await findRefused(store, id);
  const { source, contentType, headers, body, items, released } = refused;
  if (released !== undefined) return { ids: released.alertIds, duplicate: true };
  const now = clock.now();
  const { ids, kind } = await inbox.acceptRequest({
    receivedAt: now,
    contentType,
    headers: JSON.stringify([...headers, ["x-tocsin-released", `refused request ${id}`]]),
    body,
    ids: Array.from({ length: items }, newId),
    origin: "hook",
    source,
    dedupeKey: keyOf(refused) ?? `released:${id}`,
    dedupeWindowMs: releaseWindowMs,
  });
  await store.markReleased(id, ids, now);
  log.info("refused.released", { refused: id, source, ids });
  return { ids, duplicate: kind === "duplicate" };
}
