import { onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { Log } from "../../src/core/log.ts";
import type { Inbox, IncomingRequest } from "../../src/core/ports/inbox.ts";
import { Spool, type SpoolOptions } from "../../src/store/spool/spool.ts";
import { openSpoolDatabase, type SpooledCount } from "../../src/store/spool/spool-database.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { compiledThread } from "./compiled-thread.ts";
import { makeTempFolder } from "./temp-folder.ts";

/** A spool that hands over, until the test ends, and what it has logged. */
export async function openTestSpool(options: Partial<SpoolOptions> & { inbox: Inbox }) {
  const dir = options.dir ?? makeTempFolder();
  const stop = new AbortController();
  const lines: string[] = [];
  const add = (event: string) => void lines.push(event);
  const log: Log = { debug: add, info: add, warn: add, error: add };
  const threadEntry = compiledThread();
  const spool = await Spool.open({ maxBytes: 1e9, clock: systemClock, log, threadEntry, ...options, dir });
  const running = spool.run(stop.signal);
  let isOpen = true;
  const end = async () => {
    if (!isOpen) return;
    isOpen = false;
    stop.abort();
    await running;
    await spool.close();
  };
  onTestFinished(end);
  const waiting = () => spool.view().alerts;
  return {
    acceptRequest: (request: IncomingRequest) => spool.acceptRequest(request),
    view: spool.view,
    ...{ dir, lines, end, waiting },
  };
}

/** What is below a spool, closed when the test has ended at the latest. */
export async function openTestSpoolDatabase(dir: string, maxBytes = 1e9) {
  const unreadable: SpooledCount[] = [];
  const database = await openSpoolDatabase({ dir, maxBytes, threadEntry: compiledThread() });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= database.close();
    return closed;
  };
  onTestFinished(close);
  const take = () => database.take((lost) => void unreadable.push(lost));
  async function takeAll() {
    const all = [];
    for (let some = await take(); some.length > 0; some = await take()) all.push(...some);
    return all;
  }
  const append = (one: IncomingRequest) => database.append(one);
  return { database, append, take, takeAll, unreadable, found: database.found, close };
}

/** The first id of each of these. */
export const idsOf = (requests: { request: IncomingRequest }[]) => requests.map((one) => one.request.ids[0]);

/** As a disk may do it: the database does not notice. */
export function changeBody(path: string, id: string | undefined): void {
  const db = new Sqlite(path);
  const { changes } = db
    .prepare("UPDATE spooled SET body = CAST(body || 0 AS BLOB) WHERE request ->> '$.ids[0]' = ?")
    .run(id);
  db.close();
  if (changes !== 1) throw new Error(`no request with the alert ${id} waits in ${path}`);
}
