import { toStatement } from "../listing/list-words.ts";
import type { Add } from "../tx.ts";
import type { Sql } from "./database.ts";
import { postgresDialect } from "./tx.ts";

/** A read of one row, as a part of a statement. */
export interface OneRow<Row extends object> {
  /** A query that gives exactly one row. `add` gives the places of its values. */
  sql(add: Add): string;
  /** False: the answer is not sufficient yet, and everything that was read with it is read again. Default: always sufficient. */
  isEnough?(row: Row, look: number): boolean;
}

export type Reading = ReturnType<typeof createReading>;

/** A statement for more rows is planned each time, or each connection would keep a plan for each number of them. */
const mostPrepared = 6;

interface Asked {
  one: OneRow<object>;
  resolve(row: object): void;
  reject(error: unknown): void;
}

export function createReading(read: Sql) {
  let latestAsked: Promise<unknown> = Promise.resolve();
  let asked: Asked[] = [];
  let hasLatest = false;
  async function readTogether(wanted: readonly OneRow<object>[]): Promise<object[]> {
    const { sql, values } = toStatement(
      postgresDialect,
      (add) =>
        `SELECT ${wanted.map((one, index) => `(SELECT to_json(r) FROM (${one.sql(add)}) r) AS r${index}`).join(", ")}`,
    );
    for (let look = 1; ; look += 1) {
      const { rows } = await read.query<Record<string, object>>(sql, values, wanted.length <= mostPrepared);
      const found = wanted.map((_one, index) => rows[0]?.[`r${index}`] as object);
      if (wanted.every((one, index) => one.isEnough?.(found[index] as object, look) ?? true)) return found;
    }
  }

  async function send(): Promise<void> {
    const [all, isOfLatest] = [asked, hasLatest];
    [asked, hasLatest] = [[], false];
    try {
      if (!isOfLatest) await latestAsked;
      const found = await readTogether(all.map(({ one }) => one));
      for (const [index, { resolve }] of all.entries()) resolve(found[index] as object);
    } catch (error) {
      for (const { reject } of all) reject(error);
    }
  }

  /** Reads one row, as JSON. All reads of a turn become one statement. A read after `latest` waits for that. */
  function row<Row extends object>(one: OneRow<Row>): Promise<Row> {
    return new Promise((resolve, reject) => {
      if (asked.length === 0) queueMicrotask(send);
      asked.push({ one, resolve, reject } as unknown as Asked);
    });
  }

  const query: Sql["query"] = async (...statement) => {
    await latestAsked;
    return read.query(...statement);
  };

  return {
    query,
    row,
    /** No later read may show an earlier moment. On another connection it might, and a change would then be missed by both. */
    latest<Row extends object>(one: OneRow<Row>): Promise<Row> {
      hasLatest = true;
      const latest = row(one);
      // Without their results: otherwise each promise would keep all earlier ones.
      latestAsked = Promise.allSettled([latestAsked, latest]).then(() => {});
      return latest;
    },
    /** For reads that may show an earlier moment. */
    unordered: read,
  };
}
