import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { isJsonObject, type Json, JsonNumber, type JsonObject } from "../../src/core/json.ts";
import type { ShapePlace } from "../../src/core/shape.ts";
import { createShapeReader } from "../../src/intake/find/shape.ts";
import { listContent } from "../../src/intake/read/unwrap-payload.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { type PathStep, parseFieldPath } from "../../src/matching/path.ts";
import { createShapeWorld, readShapes } from "./shape-fixture.ts";

const folder = new URL("../fixtures/payloads/", import.meta.url);
const names = readdirSync(folder).filter((name) => /\.(json|txt)$/.test(name) && !name.endsWith(".facts.txt"));

/** The first alert of each payload, as it is read: without its packing, and with what its batch says for all. */
const fixtures = names.flatMap((name) => {
  const [first] = translateRequest(readFileSync(new URL(name, folder)), undefined);
  const content = first?.payload === undefined ? undefined : listContent(first.payload).content;
  return isJsonObject(content) ? [{ name, content }] : [];
});

type Change = "dropped" | "renamed" | "retyped";
const changes: Change[] = ["dropped", "renamed", "retyped"];

it("a place that facts or routes read, of the payloads of known senders, is looked for in at least 40 of them", () => {
  expect(fixtures.length).toBeGreaterThanOrEqual(40);
});

it.each(fixtures)(
  "a place that facts or routes read, of the payload of $name, is said once when it is dropped, renamed or retyped, each in turn",
  async (fixture) => {
    const { content } = fixture;
    const places = placesOf(content);
    const unread = places.find(({ facts }) => facts.length === 0);
    const read = places.filter((place) => place.facts.length > 0 || place === unread);
    expect(read.length).toBeGreaterThan(1);
    const routes = { "by payload": unread === undefined ? [] : [unread.path], "by fact": ["severity", "token"] };
    for (const [index, place] of read.entries()) {
      const change = changes[(index + fixtures.indexOf(fixture)) % changes.length] as Change;
      const world = await createShapeWorld({ routes });
      world.send(content, 60);
      const changed = changeAt(content, place, change);
      world.send(changed, 30);
      await world.run();
      await world.stop();
      const shown = `${place.path} ${change}: ${world.told.map(({ title }) => title).join("; ")}`;
      expect(world.told, shown).toHaveLength(1);
      const text = `${world.told[0]?.title}\n${world.told[0]?.text}`;
      expect(text, shown).toContain(place.path);
      for (const fact of place.facts) expect(text, shown).toMatch(new RegExp(`Read from it: .*${fact} \\(`));
      if (place === unread) expect(text, shown).toContain("asks for it: by payload.");
      if (change === "renamed") expect(text, shown).toMatch(/perhaps renamed to payload.*renamed/);
      if (change === "retyped") expect(text, shown).toMatch(/ is an? \w+ now, no /);
    }
  },
);

function placesOf(content: JsonObject): ShapePlace[] {
  const [seen] = readShapes(Buffer.from(JSON.stringify(content)), createShapeReader());
  return seen?.shape?.places ?? [];
}

/** A copy of the content in which one place is another. */
function changeAt(content: JsonObject, { path, type }: ShapePlace, change: Change): Json {
  const copy = copyOf(content);
  const parsed = parseFieldPath(path);
  if (!parsed.ok || parsed.path.kind !== "payload") throw new Error(path);
  const steps = parsed.path.steps;
  const holder = steps.slice(0, -1).reduce<Json>((value, step) => holderBelow(value, step), copy);
  const last = steps.at(-1) as PathStep;
  if (Array.isArray(holder)) {
    const at = holder.findIndex((element) => isPairOf(element, last));
    const pair = holder[at] as JsonObject;
    if (change === "dropped") holder.splice(at, 1);
    else if (change === "renamed")
      for (const key of ["name", "title"]) if (pair[key]) pair[key] = `${pair[key]} renamed`;
    if (change === "retyped") pair.value = otherType(type);
    return copy;
  }
  const object = holder as JsonObject;
  const key = last.kind === "key" ? last.key : "";
  const value = object[key];
  if (change === "retyped") object[key] = otherType(type);
  else delete object[key];
  if (change === "renamed") object[`${key}_renamed`] = value as Json;
  return copy;
}

function holderBelow(value: Json, step: PathStep): Json {
  if (Array.isArray(value)) return value[step.kind === "index" ? step.index : -1] ?? null;
  return isJsonObject(value) && step.kind === "key" ? (value[step.key] ?? null) : null;
}

function isPairOf(element: Json, step: PathStep): boolean {
  return isJsonObject(element) && step.kind === "key" && [element.name, element.title].includes(step.key);
}

function otherType(type: ShapePlace["type"]): Json {
  return type === "text" ? new JsonNumber("77") : "another word";
}

function copyOf(value: Json): Json {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyOf(member)]));
}
