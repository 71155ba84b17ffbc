import { expect, test } from "vitest";
import { botEnv, load, problemsOf } from "./load.ts";

const base = "destinations: { ops: { type: telegram, chatId: -1 } }\n";
const env = { ...botEnv, PUBLIC_URL: "https://tocsin.example.com" };

test("canary is read with where it goes, which is nowhere unless it is said", () => {
  const { canary, rules } = load(`${base}canary: { every: 1h, to: [ops] }`, env);
  expect([canary, rules.canaryTo]).toEqual([{ kind: "every", everyMs: 3_600_000 }, ["ops"]]);
  expect(load(`${base}canary: { every: 15m }`, env).rules.canaryTo).toEqual([]);
  expect(load(`${base}canary: off`, env).canary).toBeUndefined();
  expect(load(base, env).canary).toBeUndefined();
});

test("canary is read with times of the day, in the zone of the defaults unless it says another", () => {
  const yaml = `defaults: { timeZone: Europe/Zurich }\n${base}canary: { at: ["19:30", "07:30"], days: mon-wed }`;
  const schedule = { kind: "at", times: ["07:30", "19:30"], days: [1, 2, 3], timeZone: "Europe/Zurich" };
  expect(load(yaml, env).canary).toEqual(schedule);
  const daily = { kind: "at", times: ["07:30"] };
  expect(load(`${base}canary: { at: "07:30" }`, env).canary).toEqual({ ...daily, timeZone: "UTC" });
  const tokyo = load(`${base}canary: { at: "07:30", timeZone: Asia/Tokyo }`, env).canary;
  expect(tokyo).toEqual({ ...daily, timeZone: "Asia/Tokyo" });
});

test.each([
  ["canary: { every: 1h, at: ['07:30'] }", "canary.at", "cannot be used together with every"],
  ["canary: { every: 1h, days: mon-fri }", "canary.days", "has no effect together with every"],
  ["canary: { at: ['7:30'] }", "canary.at[0]", '"7:30" is not a time of day'],
  ["canary: { at: '07:30', days: monkey }", "canary.days", '"monkey" is not a day of the week, nor a range of days'],
  ["canary: { every: 1m }", "canary.every", '"1m" is out of bounds'],
  ["canary: { to: [ops] }", "canary.every", "is missing, and at as well"],
  ["canary: { every: 1h, to: [nobody] }", "canary.to[0]", 'there is no destination "nobody"'],
  ["canary: hourly", "canary", 'is the value "hourly", and a map belongs here'],
])("canary refuses %j", (yaml, path, message) => {
  expect(problemsOf(base + yaml, env)).toMatchObject([{ path, message }]);
});

test("canary needs the address that it is sent to", () => {
  expect(problemsOf(`${base}canary: { every: 1h }`, botEnv)).toMatchObject([
    { path: "canary", instead: "set PUBLIC_URL, or remove canary" },
  ]);
});
