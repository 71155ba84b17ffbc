import { expect, it, onTestFinished } from "vitest";
import type { BodyReading } from "../../src/core/ports/body-reader.ts";
import { createShapeReader } from "../../src/intake/find/shape.ts";
import { ReadingThread } from "../../src/intake/thread/body-reader.ts";
import { readingThreadEntry } from "../support/reader.ts";
import { translate } from "./describe-facts.ts";

const taken = new Set(["forge", "other"]);

const read = (payload: unknown, is?: string) =>
  translate(payload, undefined, { naming: { is, taken } }).map(({ facts }) => facts);

it("calls what came by a source's hook by its name, and shows what the body calls itself", () => {
  const [facts] = read({ title: "push", source: "grafana" }, "forge");
  expect(facts).toMatchObject({ source: "forge", notes: [] });
  expect(facts?.fields).toContainEqual({ name: "source", value: "grafana" });
});

it.each([
  ["a text", "plain text"],
  ["broken JSON", '{"title": "x", '],
  ["nothing", ""],
  ["JSON null", "null"],
])("does so for %s", (_what, body) => {
  expect(read(body, "forge")).toMatchObject([{ source: "forge" }]);
});

it("does so for each alert of a batch", () => {
  const batch = { source: "grafana", alerts: [{ title: "a" }, { title: "b", source: "c" }] };
  expect(read(batch, "forge").map(({ source }) => source)).toEqual(["forge", "forge"]);
});

it("lets nobody else be called so", () => {
  for (const claimed of ["forge", " Forge ", "OTHER"]) {
    const [facts] = read({ title: "push", source: claimed });
    expect(facts?.source).toBeUndefined();
    expect(facts?.notes).toEqual([expect.stringContaining("the name of a source, and did not arrive at that hook")]);
  }
  expect(read({ title: "push", source: "forger" })).toMatchObject([{ source: "forger", notes: [] }]);
});

it("gives the same thing by two hooks two keys, and the account's the one that it always had", () => {
  const keys = [undefined, "forge", "other"].map(
    (is) => read({ title: "TVL fell", fingerprint: "f1" }, is)[0]?.alertKey,
  );
  expect(keys).toEqual(["fingerprint:f1", "forge/fingerprint:f1", "other/fingerprint:f1"]);
});

it("counts the shapes of two hooks apart", () => {
  const shapeOf = (hook?: string) => {
    return translate({ title: "a", value: 1 }, undefined, { shapes: createShapeReader(hook) })[0]?.shape?.id;
  };
  const ids = [shapeOf(), shapeOf("forge"), shapeOf("other")];
  expect(new Set(ids).size).toBe(3);
  expect(shapeOf("forge")).toBe(ids[1]);
});

it("reads by the source's mapping first, then by that of all, also what an unconfigured source has left", async () => {
  const reader = new ReadingThread({
    entry: readingThreadEntry,
    mapping: { title: ["payload.all"], token: ["payload.coin"] },
    sources: [{ name: "forge", mapping: { title: ["payload.own"] } }],
  });
  onTestFinished(() => reader.close());
  const body = Buffer.from(JSON.stringify({ title: "guess", all: "of all", own: "of its own", coin: "USDC" }));
  const readings = await reader.read([{ body }, { body, source: "forge" }, { body, source: "gone" }]);
  expect(readings.map(factsOf)).toMatchObject([
    { title: "of all", token: "USDC" },
    { title: "of its own", token: "USDC", source: "forge" },
    { title: "of all", token: "USDC", source: "gone" },
  ]);
});

function factsOf(reading: BodyReading) {
  return reading.kind === "read" ? reading.translations[0]?.facts : reading;
}
