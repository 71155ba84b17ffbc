import type { AlertLog, PastAlert, Position } from "../core/ports/alert-log.ts";

/** One statement for all of them, and their bodies go to the thread that reads together. */
const pageSize = 200;

/** What senders sent and routes decided, page by page, the newest first. */
export async function* walkPast(
  store: Pick<AlertLog, "listPast">,
  { fromAt, most }: { fromAt: number; most: number },
): AsyncGenerator<PastAlert[]> {
  let before: Position | undefined;
  for (let left = most; left > 0; ) {
    const page = await store.listPast({ fromAt, before, limit: Math.min(left, pageSize) });
    if (page.length === 0) return;
    yield page;
    left -= page.length;
    before = page.at(-1)?.position;
  }
}
