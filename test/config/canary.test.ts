import { describe, expect, test } from "vitest";
import { botEnv, load, problemsOf } from "./load.ts";

const base = "destinations: { ops: { type: telegram, chatId: -1 } }\n";
const env = { ...botEnv, PUBLIC_URL: "https://tocsin.example.com" };

describe("canary", () => {
  test("is read with where it goes, which is nowhere unless it is said", () => {
    const { canary, rules } = load(`${base}canary: { every: 1h, to: [ops] }`, env);
    expect([canary, rules.canaryTo]).toEqual([{ everyMs: 3_600_000 }, ["ops"]]);
    expect(load(`${base}canary: { every: 15m }`, env).rules.canaryTo).toEqual([]);
    expect(load(`${base}canary: off`, env).canary).toBeUndefined();
    expect(load(base, env).canary).toBeUndefined();
  });

  test.each([
    ["canary: { every: 1m }", "canary.every", '"1m" is out of bounds'],
    ["canary: { to: [ops] }", "canary.every", "is missing"],
    ["canary: { every: 1h, to: [nobody] }", "canary.to[0]", 'there is no destination "nobody"'],
    ["canary: hourly", "canary", 'is the value "hourly", and a map belongs here'],
  ])("refuses %j", (yaml, path, message) => {
    expect(problemsOf(base + yaml, env)).toMatchObject([{ path, message }]);
  });

  test("needs the address that it is sent to", () => {
    expect(problemsOf(`${base}canary: { every: 1h }`, botEnv)).toMatchObject([
      { path: "canary", instead: "set PUBLIC_URL, or remove canary" },
    ]);
  });
});
