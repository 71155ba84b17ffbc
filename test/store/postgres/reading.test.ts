import { expect, it } from "vitest";
import { createReading, type OneRow } from "../../../src/store/postgres/reading.ts";

/** A server that answers when it is told to. */
function createScene() {
  const asked: { sql: string; values: readonly unknown[]; isPrepared: boolean }[] = [];
  const answers: ((row: object) => void)[] = [];
  const reading = createReading({
    query(sql, values = [], isPrepared = true) {
      asked.push({ sql, values, isPrepared });
      return new Promise((resolve) => answers.push((row) => resolve({ rows: [row] as never[], rowCount: 1 })));
    },
  });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return { reading, asked, turn, answer: (row: object) => answers.shift()?.(row) };
}

const one = (value: string): OneRow<{ is: string }> => ({ sql: (add) => `SELECT ${add(value)} AS is` });

it("what is asked for in one turn is one statement, prepared with one text for other values as well", async () => {
  const { reading, asked, turn, answer } = createScene();
  for (const value of ["1", "2"]) {
    const found = Promise.all([reading.row(one(value)), reading.row(one(value))]);
    await turn();
    answer({ r0: { is: "A" }, r1: { is: "B" } });
    expect(await found).toEqual([{ is: "A" }, { is: "B" }]);
  }
  expect(asked).toEqual(
    ["1", "2"].map((value) => ({
      sql: "SELECT (SELECT to_json(r) FROM (SELECT $1 AS is) r) AS r0, (SELECT to_json(r) FROM (SELECT $2 AS is) r) AS r1",
      values: [value, value],
      isPrepared: true,
    })),
  );
});

it("a statement of many rows is not prepared: no two turns have as many", async () => {
  const { reading, asked, turn } = createScene();
  for (const many of [6, 7]) {
    for (let count = 0; count < many; count += 1) void reading.row(one("a"));
    await turn();
  }
  expect(asked.map(({ isPrepared }) => isPrepared)).toEqual([true, false]);
});

it("nothing that is asked for after the latest row is read before it, also where that has to be read again", async () => {
  const { reading, asked, turn, answer } = createScene();
  let looks = 0;
  const latest = reading.latest({ ...one("latest"), isEnough: () => ++looks > 1 });
  const [beside, list] = [reading.row(one("counts")), reading.query("the list")];
  await turn();
  const later = reading.row(one("later"));
  answer({ r0: { is: "unclear" }, r1: { is: "too old" } });
  await turn();
  expect(asked.map(({ values }) => values)).toEqual([
    ["latest", "counts"],
    ["latest", "counts"],
  ]);
  answer({ r0: { is: "clear" }, r1: { is: "new" } });
  expect(await Promise.all([latest, beside])).toEqual([{ is: "clear" }, { is: "new" }]);
  await turn();
  const last = asked.slice(2).map(({ sql }) => sql.replace(/.*\$1.*/, "later"));
  expect(last.sort()).toEqual(["later", "the list"]);
  answer({ r0: {} });
  answer({ r0: {} });
  await Promise.all([list, later]);
});

it("a statement that fails is the failure of all that was asked with it, and of nothing that comes then", async () => {
  let isAway = true;
  const reading = createReading({
    query: async () => {
      if (isAway) throw new Error("away");
      return { rows: [{ r0: { is: "there" } }] as never[], rowCount: 1 };
    },
  });
  const both = await Promise.allSettled([reading.latest(one("latest")), reading.row(one("b"))]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  isAway = false;
  expect(await reading.row(one("b"))).toEqual({ is: "there" });
});
