import { isDeepStrictEqual } from "node:util";
import type { AlertDetailView } from "../contract/operations.ts";
import type { AlertLog, PastAlert, Position } from "../core/ports/alert-log.ts";

/** Alerts of one statement. Their bodies go to the reading thread together. */
const pageSize = 200;
const mostPageBytes = 1024 * 1024;

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

/** Packs the alerts that another relay's API gives into pages, in their order. */
export async function* packPast(alerts: AsyncIterable<AlertDetailView>): AsyncGenerator<PastAlert[]> {
  let page: PastAlert[] = [];
  let bytes = 0;
  for await (const alert of alerts) {
    const past = toPast(alert, page.at(-1)?.body);
    if (past === undefined) continue;
    page.push(past);
    bytes += past.body.body.byteLength;
    if (bytes < mostPageBytes && page.length < pageSize) continue;
    yield page;
    [page, bytes] = [[], 0];
  }
  if (page.length > 0) yield page;
}

/** @param last the body of the alert before: alerts of a batch share the reading of their body */
function toPast(alert: AlertDetailView, last: PastAlert["body"] | undefined): PastAlert | undefined {
  const { id, source, receivedAt, routedAt, title, facts, dropped, decisions, deliveries, request } = alert;
  if (request === null) return undefined;
  const { contentType } = request;
  const body = { body: Buffer.from(request.body, request.bodyEncoding), contentType, source };
  return {
    ...{ id, receivedAt, routedAt: routedAt ?? receivedAt, title: title ?? undefined, dropped, decisions },
    wasUnreadable: facts?.format === "unreadable",
    deliveries: deliveries.filter(({ purpose }) => purpose === "alert"),
    body: last !== undefined && isDeepStrictEqual(last, body) ? last : body,
    item: request.item - 1,
  };
}
