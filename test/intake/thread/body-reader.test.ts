import { expect, it, onTestFinished } from "vitest";
import { isJsonObject, JsonNumber } from "../../../src/core/json.ts";
import type { BodyReading, StoredBody } from "../../../src/core/ports/body-reader.ts";
import { type BodyReaderOptions, ReadingThread } from "../../../src/intake/thread/body-reader.ts";
import { translateRequest } from "../../../src/intake/translate.ts";
import { readingThreadEntry, roughThreadEntry } from "../../support/reader.ts";

function startReader(options: BodyReaderOptions = {}) {
  const reader = new ReadingThread({ entry: roughThreadEntry, ...options });
  onTestFinished(() => reader.close());
  return reader;
}

function bodiesOf(...texts: string[]): StoredBody[] {
  return texts.map((text) => ({ body: Buffer.from(text), contentType: undefined }));
}

/** The titles, or why there is none. */
function outcomes(readings: BodyReading[]): string[] {
  return readings.map((reading) =>
    reading.kind === "read" ? reading.translations.map(({ facts }) => facts.title).join() : reading.reason,
  );
}

it("reads as the translator does, digits, nothing and odd names included", async () => {
  const reader = startReader({ entry: readingThreadEntry });
  const texts = [
    '{"title":"TVL fell","value":123456789012345678901,"pool":{"__proto__":"x","constructor":1.10}}',
    '[{"title":"one"},{"title":"two","a":[1e400,null,true,""]}]',
    '{"title":"both","commonLabels":{"chain":"eth"},"alerts":[{"labels":{"a":"1"}},{"title":"two","value":1.10}]}',
    "just words\nValue: 3",
    "token=USDC&value=1.10",
    '{"title":"broken',
    "",
    '{"title":"\\ud800 lone"}',
  ];
  const readings = await reader.read(bodiesOf(...texts));
  for (const [index, text] of texts.entries()) {
    const reading = readings[index];
    if (reading?.kind !== "read") throw new Error(`not read: ${text}`);
    const own = translateRequest(Buffer.from(text), undefined);
    expect(reading.translations.map(({ facts }) => facts)).toEqual(own.map(({ facts }) => facts));
    expect(reading.translations.map(({ payload }) => payload)).toEqual(own.map(({ payload }) => payload));
  }
  const [first] = readings;
  const payload = first?.kind === "read" ? first.translations[0]?.payload : undefined;
  if (!isJsonObject(payload)) throw new Error("no payload");
  expect(payload.value).toBeInstanceOf(JsonNumber);
  expect(Object.getPrototypeOf(payload)).toBeNull();
});

it("ends a thread that has nothing to read, and starts another for the next body", async () => {
  const reader = startReader({ restAfterMs: 0 });
  const ask = async () => outcomes(await reader.read(bodiesOf("which thread"))).join();
  const first = await ask();
  expect(first).toMatch(/^thread \d+$/);
  await expect.poll(ask).not.toBe(first);
  const busy = startReader();
  const [one, other] = [bodiesOf("which thread"), bodiesOf("which thread")].map((bodies) => busy.read(bodies));
  expect(await one).toEqual(await other);
});

it("ends what takes too long, and reads the others of the same call", async () => {
  const reader = startReader({ limitMs: 500 });
  const readings = await reader.read(bodiesOf("before", "please hang", "after", "please hang too", "last"));
  const overdue = "reading it took longer than 0.5 s";
  expect(outcomes(readings)).toEqual(["before", overdue, "after", overdue, "last"]);
  expect(outcomes(await reader.read(bodiesOf("next")))).toEqual(["next"]);
});

it("ends what sleeps for ever, although it uses no processor", async () => {
  const reader = startReader({ limitMs: 50 });
  const readings = await reader.read(bodiesOf("before", "please sleep", "after"));
  expect(outcomes(readings)).toEqual(["before", "reading it took longer than 0.1 s", "after"]);
});

it("ends what needs too much memory, and what ends the thread", async () => {
  const reader = startReader({ maxHeapMb: 32, limitMs: 60_000 });
  const readings = await reader.read(bodiesOf("one", "please eat", "two", "please crash", "three"));
  expect(outcomes(readings)).toEqual([
    "one",
    "reading it needed more than 32 MB of memory",
    "two",
    "the thread that reads ended",
    "three",
  ]);
});

it("gives a large body more time than a small one", async () => {
  const reader = startReader({ limitMs: 400 });
  const [small, large] = outcomes(await reader.read(bodiesOf("please hang", `please hang${" ".repeat(1024 * 1024)}`)));
  expect([small, large]).toEqual(["reading it took longer than 0.4 s", "reading it took longer than 0.8 s"]);
});

it("loses nothing of what the thread had besides when a body ends it, whoever had asked", async () => {
  const reader = startReader({ limitMs: 500 });
  const calls = [["one"], ["please vanish"], ["two", "please hang"], ["please crash"], ["three"]];
  const readings = await Promise.all(calls.map((texts) => reader.read(bodiesOf(...texts))));
  const ended = "the thread that reads ended";
  const overdue = "reading it took longer than 0.5 s";
  expect(readings.map(outcomes)).toEqual([["one"], [ended], ["two", overdue], [ended], ["three"]]);
});

it("lets a short call pass one with many bodies", async () => {
  const reader = startReader();
  const answered: string[] = [];
  const many = reader.read(bodiesOf(...Array.from({ length: 8 }, () => "x".repeat(200_000))));
  const one = reader.read(bodiesOf("short"));
  await Promise.all([many.then(() => answered.push("many")), one.then(() => answered.push("one"))]);
  expect(answered).toEqual(["one", "many"]);
});

it("says what a reader threw, and goes on in the same thread", async () => {
  const reader = startReader();
  const readings = await reader.read(bodiesOf("one", "please throw", "two"));
  expect(outcomes(readings)).toEqual(["one", "Error: the reader has a bug", "two"]);
});

it("gives no verdict on what it was reading when it is closed, or when whoever asked goes away", async () => {
  const reader = startReader({ limitMs: 60_000 });
  const gone = new AbortController();
  const abandoned = reader.read(bodiesOf("please hang"), gone.signal);
  gone.abort();
  expect(await abandoned).toMatchObject([{ kind: "not_read" }]);
  const waiting = reader.read(bodiesOf("behind it"));
  await reader.close();
  expect(await waiting).toMatchObject([{ kind: "not_read" }]);
  expect(reader.problem()).toBeUndefined();
});

it("says why when no thread can be started, and blames no body for it", async () => {
  const reader = startReader({ entry: new URL("./no-such-thread.mjs", import.meta.url) });
  const [reading] = await reader.read(bodiesOf("innocent"));
  expect(reading).toMatchObject({ kind: "not_read", reason: expect.stringContaining("no-such-thread") });
  expect(reader.problem()).toContain("no-such-thread");
});

it("reads many bodies and large ones, each its own reading", async () => {
  const reader = startReader({ entry: readingThreadEntry });
  const texts = Array.from({ length: 300 }, (_, index) =>
    JSON.stringify({ title: `Alert ${index}`, filling: "x".repeat(index % 50 === 0 ? 300_000 : 10) }),
  );
  expect(outcomes(await reader.read(bodiesOf(...texts)))).toEqual(texts.map((_, index) => `Alert ${index}`));
});

it("describes a shape once, and once more for who has forgotten it", async () => {
  const reader = startReader({ entry: readingThreadEntry, readsShapes: true });
  const readShape = async (text: string) => {
    const [reading] = await reader.read(bodiesOf(text));
    return reading?.kind === "read" ? reading.translations[0]?.shape : undefined;
  };
  const first = await readShape('{"title": "a", "pool": {"id": 1}}');
  expect(first?.places?.map(({ path }) => path)).toEqual(["payload.title", "payload.pool.id"]);
  const { id = "" } = first ?? {};
  expect(await readShape('{"title": "b", "pool": {"id": 2}}')).toEqual({ id });
  reader.forgetShape(id);
  expect(await readShape('{"title": "c", "pool": {"id": 3}}')).toMatchObject({ id, places: [{ example: "c" }, {}] });
  expect(await readShape('{"title": "d", "pool": {"id": 4}}')).toEqual({ id });
  expect(await readShape("plain text")).toBeUndefined();
});
