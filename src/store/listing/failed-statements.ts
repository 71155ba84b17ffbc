import type { FailedQuery, Position } from "../../core/ports/alert-log.ts";
import { bodyConditions, factConditions, timeConditions, unsent } from "../list-filters.ts";
import { fromPosition } from "../positions.ts";
import type { Add } from "../tx.ts";
import { select } from "./list-statements.ts";
import { type Bounds, type ListWords, type Statement, toStatement } from "./list-words.ts";

/** The statements of what failed, or was muted, and was not resent. They walk its small index, and look at each alert. */
export function createFailedStatements<Search>(words: ListWords<Search>) {
  const { sql } = words;
  const isResolved = `${sql.statusOf("e")} = 'resolved'`;
  const statement = (build: (add: Add) => string): Statement => toStatement(sql, build);

  /** But for state, destination and position. */
  function failedConditions(query: FailedQuery, search: Search | undefined, add: Add): string[] {
    const { route, source, key, severity, failedUntil, mute, over = false } = query;
    const equal = (column: string, value: string | undefined) =>
      value === undefined ? [] : [`${column} = ${add(value)}`];
    return [
      ...[mute === undefined ? unsent : "d.resent_by IS NULL"],
      ...[`d.finished_at <= ${add(failedUntil)}`, ...equal("d.route", route)],
      ...(mute === undefined || over ? [] : [`d.seq NOT IN (${overOf(mute, add)})`]),
      ...(search === undefined ? [] : [words.matches(search, add)]),
      ...timeConditions(query, add),
      ...[...equal("a.source", source), ...equal("a.alert_key", key), ...equal("a.severity", severity)],
      ...[...factConditions(sql, query, add), ...bodyConditions(sql, query, add)],
    ];
  }

  /** The deliveries that a mute has held back of alert keys that are over. Asked once, whatever the number of rows. */
  function overOf(mute: string, add: Add): string {
    const muted = `deliveries m ${sql.indexedBy("deliveries_muted")} JOIN alerts x ON x.seq = m.alert_seq`;
    const isHeld = () => `m.mute_id = ${add(mute)} AND m.resent_by IS NULL`;
    return `SELECT m.seq FROM ${muted} JOIN (
        SELECT m.destination, x.alert_key, max(x.seq) AS seq FROM ${muted} WHERE ${isHeld()}
        GROUP BY m.destination, x.alert_key
      ) AS last ON last.alert_key = x.alert_key AND last.destination = m.destination JOIN (
        SELECT e.alert_key, max(e.seq) AS seq FROM alerts e WHERE ${isResolved} AND e.alert_key IN (
          SELECT x.alert_key FROM ${muted} WHERE ${isHeld()})
        GROUP BY e.alert_key
      ) AS ends ON ends.alert_key = x.alert_key AND ends.seq >= last.seq
      WHERE ${isHeld()}`;
  }

  function failedAlong({ destination, mute }: FailedQuery): string {
    const unsentAlong = destination === undefined ? "deliveries_unsent" : "deliveries_unsent_by_destination";
    return `deliveries d ${sql.indexedBy(mute === undefined ? unsentAlong : "deliveries_muted")} ${words.alertOf("d.alert_seq")}`;
  }

  return {
    /** One batch of what failed, newest alert first. Each state by itself: the small index is in this order for one alone. */
    toFailed: (
      query: FailedQuery,
      search: Search | undefined,
      { from, below }: Bounds,
      { limit, after }: { limit: number; after?: Position },
    ) =>
      statement((add) => {
        const [afterAlert = below, afterDelivery = 0] = after === undefined ? [] : fromPosition(after);
        const ends = { from: [from, 0], below: afterAlert < below ? [afterAlert, afterDelivery] : [below, 0] };
        const { destination, mute } = query;
        const isAt = mute === undefined || destination === undefined ? [] : [`d.destination = ${add(destination)}`];
        const lists = (mute === undefined ? query.states : [undefined]).map((state) => {
          const failed = destination === undefined ? { state } : { destination, state };
          const columns = mute === undefined ? failed : { mute_id: mute };
          const { where, order } = words.rangeOf("d", columns, ["alert_seq", "seq"], ends, add);
          const all = [where, ...isAt, ...failedConditions(query, search, add)];
          const ofMute = mute === undefined ? "" : `, a.id, a.received_at AS "receivedAt", a.facts`;
          const listed = `d.seq, d.alert_seq AS "alertSeq", d.destination, d.recipient${ofMute}`;
          return words.limited(select(listed, { from: failedAlong(query), where: all, order }), limit, add);
        });
        if (lists.length === 1) return lists[0] as string;
        const together = lists.map((list, index) => `SELECT * FROM (${list}) of_${index}`).join(" UNION ALL ");
        return `SELECT * FROM (${together}) f ORDER BY f."alertSeq" DESC, f.seq DESC LIMIT ${add(limit)}`;
      }),

    /** How many they are, at which destinations, and how old. Reads all of them: 100,000 take a tenth of a second. */
    toFailedCount: (query: FailedQuery, search: Search | undefined, { from, below }: Bounds) =>
      statement((add) => {
        const { states, destination, mute } = query;
        const where = [
          ...[
            mute === undefined ? `d.state IN (${states.map(add).join(", ")})` : `d.mute_id = ${add(mute)}`,
            `d.alert_seq >= ${add(from)} AND d.alert_seq < ${add(below)}`,
          ],
          ...(destination === undefined ? [] : [`d.destination = ${add(destination)}`]),
          ...failedConditions(query, search, add),
        ];
        const sent =
          mute === undefined
            ? `count(*) AS deliveries, count(DISTINCT d.alert_seq) AS alerts`
            : `count(DISTINCT a.alert_key || ' ' || d.recipient) AS deliveries, count(DISTINCT a.alert_key) AS alerts,
          count(DISTINCT d.alert_seq) AS "heldBack"`;
        const counted = `d.destination, ${sent},
          min(a.received_at) AS "oldestAt", max(a.received_at) AS "newestAt"`;
        return select(counted, { from: failedAlong(query), where, group: "GROUP BY d.destination" });
      }),
  };
}
