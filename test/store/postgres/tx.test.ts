import { expect, it } from "vitest";
import type { Sql } from "../../../src/store/postgres/database.ts";
import { postgresDialect, toTx } from "../../../src/store/postgres/tx.ts";

const find = postgresDialect.statement(
  "find",
  { name: "text", since: "int8" },
  "SELECT state FROM watch_states WHERE name = :name AND 1 > :since AND state <> ''::text",
  ({ state }: { state: string }) => state,
);

/** Answers when it is told to. */
function openSql() {
  const asked: { text: string; values: readonly unknown[] }[] = [];
  const answers: ((rows: object[]) => void)[] = [];
  const query = (text: string, values: readonly unknown[] = []) => {
    asked.push({ text, values });
    return new Promise((resolve) => {
      answers.push((rows) => resolve({ rows, rowCount: rows.length }));
    });
  };
  return { tx: toTx({ query } as Sql), asked, answers };
}

it("asks all of one turn before anything is answered, and gives each its rows", async () => {
  const { tx, asked, answers } = openSql();
  const found = Promise.all([
    tx.run(find, { name: "one\0", since: 1 }),
    tx.look(find, [
      { name: "two", since: 2 },
      { name: "three", since: 3 },
    ]),
  ]);
  expect(asked.map(({ values }) => values)).toEqual([
    ["one\ufffd", 1],
    [
      ["two", "three"],
      [2, 3],
    ],
  ]);
  expect(asked[0]?.text).toContain("name = $1::text AND 1 > $2::bigint AND state <> ''::text");
  answers[0]?.([{ state: "first" }]);
  answers[1]?.([
    { place: 1, state: "third" },
    { place: 1, state: "fourth" },
  ]);
  expect(await found).toEqual([["first"], [[], ["third", "fourth"]]]);
});

it("refuses a statement that names what it is not given", () => {
  const make = () => postgresDialect.statement("wrong", { at: "int8" }, "SELECT :at, :to", (row: object) => row);
  expect(make).toThrow("nothing is given for :to");
});
