import type { Now } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { type Acceptance, type Inbox, isToBeRouted } from "../../core/ports/inbox.ts";
import type { Asked } from "../transactions/accepting.ts";
import type { AcceptRequests } from "../transactions/index.ts";
import type { Database, Transaction } from "./database.ts";
import { createSharing } from "./sharing.ts";
import { isLocked } from "./store-error.ts";
import { lateSpan } from "./times.ts";
import { toTx } from "./tx.ts";

/** The limit of one transaction. More waits for the next one, so that a flood delays no commit for long. */
const mostPerBatch = 256;
const mostBytesPerBatch = 4 * 1024 * 1024;
/** A request that is stored this long after it came is late. Searches by time tolerate far more. */
const lateMs = 60_000;

interface Waiting extends Asked {
  /** Epoch milliseconds by the database's clock. */
  askedAt: number;
}

export interface AcceptingOptions {
  /** The relay that routes these alerts first. */
  relayName: string;
  /** The database's clock. */
  now: Now;
  acceptRequests: AcceptRequests;
  /** Whether the other relays are to route the alerts. Default: never. */
  isLeft?(): boolean;
  /** Called when requests were stored and their callers are answered. */
  onAccepted?(): void;
}

/** Requests that come together share a transaction. Each writes only when the one before commits, so rows are in order. */
export function createAccepting(database: Database, options: AcceptingOptions) {
  const { relayName, now, acceptRequests, isLeft = () => false, onAccepted = () => {} } = options;
  let lastWritten: Promise<unknown> = Promise.resolve();

  function storeInTurn(asked: readonly Waiting[]): Promise<Acceptance[]> {
    const askedAt = Math.min(...asked.map((one) => one.askedAt));
    const before = lastWritten;
    let finish = () => {};
    lastWritten = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const store = (which: readonly Asked[]) =>
      database.transaction(async (tx) => {
        await before;
        const router = isLeft() ? undefined : relayName;
        const [acceptances] = await Promise.all([
          acceptRequests(toTx(tx, tx.notes), which, { router, askedAt }),
          noteLate(tx, which, now()),
        ]);
        if (router === undefined) tx.notes.left = acceptances.some(isToBeRouted);
        finish();
        return acceptances;
      });
    return store(asked)
      .catch((error: unknown) => {
        const isOfDrafts = !(error instanceof AppError) || isLocked(error.cause);
        if (!isOfDrafts || asked.every(({ drafts }) => drafts === undefined)) throw error;
        // Alerts that cannot be routed, or not without waiting for others, are stored without their routing. Routing finds the
        // reason again.
        return store(asked.map(({ request }) => ({ request })));
      })
      .finally(finish);
  }

  const { make, settled } = createSharing<Waiting, Acceptance>({
    most: { items: mostPerBatch, weight: mostBytesPerBatch },
    weightOf: ({ request }) => request.body.length,
    makeTogether: storeInTurn,
    makeAlone: async (asked) => (await storeInTurn([asked]))[0] as Acceptance,
    onAnswered(acceptances) {
      if (acceptances.some((acceptance) => acceptance !== undefined && isToBeRouted(acceptance))) onAccepted();
    },
  });
  const inbox: Inbox = { acceptRequest: (request, drafts) => make({ request, drafts, askedAt: now() }) };
  return { ...inbox, settled };
}

/** Notes the time of late requests, as from a spool. A search by time finds their alerts by this note. */
async function noteLate(tx: Transaction, asked: readonly Asked[], now: number): Promise<void> {
  const oldest = asked.reduce((least, { request }) => Math.min(least, request.receivedAt), now);
  if (oldest >= now - lateMs) return;
  await tx.query(
    `INSERT INTO late_spans (from_id, to_id) SELECT $1, $2
     WHERE NOT EXISTS (SELECT FROM late_spans WHERE from_id <= $1 AND to_id >= $2)`,
    lateSpan(oldest, now),
  );
}
