import { sampleWords } from "../../bench/sample-alerts.ts";
import type { AlertLog, AlertQuery, AlertSummary, FailedQuery, Position } from "../../src/core/ports/alert-log.ts";

/** When the log ends that tests of pages write. */
export const endAt = Date.UTC(2026, 5, 1);
export const day = 86_400_000;

const choices = {
  q: [undefined, sampleWords.everywhere, sampleWords.rare, sampleWords.oldest, "liq", "market pool", "nowhere", "b"],
  severity: [undefined, "critical", "info"],
  state: [undefined, "sent", "failed", "unmatched", "queued", "problem", "repeat", "dropped", "unrouted"],
  destination: [undefined, "chat", "pager", "left"],
  times: [{}, { fromAt: endAt - 120 * day, toAt: endAt - 40 * day }],
} as const;

/** A part of all combinations, with each value of each filter beside each of the others: one in so many. */
export function everyQuery(oneIn: number): Omit<AlertQuery, "limit">[] {
  const combined = choices.q.flatMap((q) =>
    choices.severity.flatMap((severity) =>
      choices.state.flatMap((state) =>
        choices.destination.flatMap((destination) =>
          choices.times.map((times) => ({ q, severity, state, destination, ...times })),
        ),
      ),
    ),
  );
  return combined.filter((_, index) => index % oneIn === 0);
}

/** By route, key and facts, as an alert of the log has them. */
export function queriesOf(alerts: readonly AlertSummary[]) {
  const some = alerts.find(({ facts, deliveries }) => facts?.token !== undefined && deliveries.length > 0);
  const { token = "", chain = "", alertKey: key = "", title = "" } = some?.facts ?? {};
  const route = some?.deliveries[0]?.route;
  const over = (number: number) => ({ fact: "value", compare: ">", number }) as const;
  const queries: Partial<AlertQuery>[] = [
    { route },
    { route: "none" },
    { key },
    { key, route },
    { facts: [{ fact: "token", is: token.toLowerCase() }] },
    { facts: [{ fact: "chain", is: chain.toUpperCase() }, over(1_000)] },
    { facts: [over(5_000_000)] },
    { facts: [{ fact: "title", has: title.slice(0, 6) }] },
    { facts: [{ fact: "status", is: "resolved" }] },
  ];
  return { some, title, key, queries };
}

/** Positions of what failed, page by page, and of not many more than a hundred. */
export async function listAllFailed(log: Pick<AlertLog, "listFailed">, query: FailedQuery, limit: number) {
  const seqs: number[] = [];
  for (let after: Position | undefined; ; ) {
    const page = await log.listFailed(query, { limit, after });
    if (page.length === 0 || seqs.length > 100) return seqs;
    seqs.push(...page.map(({ deliverySeq }) => deliverySeq));
    after = page.at(-1)?.position;
  }
}
