import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRequest } from "../../src/intake/read/read-request.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { bytesOf, describeFacts, translate } from "./describe-facts.ts";

const titles = (value: unknown) => translate(value).map(({ facts }) => facts.title);
const count = (value: unknown) => readRequest(bytesOf(value)).countAlerts();

describe("a batch", () => {
  const two = [{ title: "first" }, { title: "second" }];
  const list = JSON.stringify(two);
  const envelope = { title: "[FIRING:2] group", message: "all of it" };
  const ownWord = {
    commonLabels: { chain: "eth", severity: "warning" },
    commonAnnotations: { description: "for all" },
    ...{ externalURL: "https://am.example.com", groupKey: "g", receiver: "ops" },
    alerts: [{ labels: { alertname: "A", severity: "critical" } }, { labels: { alertname: "B" }, receiver: "own" }],
  };

  it.each<[string, unknown]>([
    ["a list of objects, one alert each in their order", two],
    ["the alerts of an envelope", '\ufeff\n {"version":"4","alerts" : [{"title":"a"},{"title":"b"}]}'],
    ["a form's payload", `payload=${encodeURIComponent(list)}&x=1`],
    ["a JSON string", JSON.stringify(list)],
    ["what the envelope says for all, where an alert does not say it itself", ownWord],
    [
      "the group's title for an alert that has none",
      { ...envelope, alerts: [{ labels: { alertname: "A" } }, { status: "firing" }] },
    ],
    ["no empty list", []],
    ["no envelope without alerts", { title: "x", alerts: [] }],
    ["no list of other things", [{ title: "x" }, 5]],
    ["no object that speaks of alerts", { title: "see", tags: ["alerts"] }],
    ["no object that has a word for them", { title: "see", alerts: "two" }],
  ])("is %s", (_what, body) => {
    const all = translate(body);
    expect(count(body)).toBe(all.length);
    const told = all.map(({ facts, payload }) => `${describeFacts(facts)}payload: ${JSON.stringify(payload)}`);
    expect(`\n${told.join("\n")}\n`).toMatchSnapshot();
  });

  it("gives each of many alerts the group's labels whole and its long text cut, and says so", () => {
    const alerts = Array.from({ length: 1_000 }, (_, index) => ({ labels: { pool: `p${index}` } }));
    const commonLabels = { alertname: "TVL fell", severity: "critical", team: "desk" };
    const commonAnnotations = { description: "word ".repeat(100_000) };
    const all = translate({ commonAnnotations, commonLabels, alerts });
    expect(all).toHaveLength(1_000);
    expect(all[999]?.facts).toMatchObject({ title: "TVL fell", severity: "critical" });
    expect(all[999]?.payload).toMatchObject({ labels: { ...commonLabels, pool: "p999" } });
    expect(all[999]?.facts.text).toMatch(/^word word .*…$/);
    const note = "what the request says for all its alerts is cut here (1 shortened); the raw body has it";
    expect(all[999]?.facts.notes).toEqual([note]);
    const [first] = translate({ commonAnnotations, commonLabels, alerts: [alerts[0]] });
    expect(first?.facts.text).toHaveLength(20_000);
  });

  it("gives an alert the first hundred of the group's labels, and says how many are left out", () => {
    const commonLabels = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`l${index}`, "v"]));
    const [only] = translate({ commonLabels, alerts: [{ title: "a" }] });
    const { labels } = (only?.payload ?? { labels: {} }) as { labels: object };
    expect(Object.keys(labels)).toHaveLength(100);
    const note = "what the request says for all its alerts is cut here (9,900 left out); the raw body has it";
    expect(only?.facts.notes[0]).toBe(note);
  });

  it("holds 1,000 alerts; one more are sent as one that says how many there are", () => {
    const list = (length: number) => Array.from({ length }, (_, index) => ({ title: `n${index}` }));
    expect(titles(list(1_000))).toHaveLength(1_000);
    expect(titles(list(1_001))).toEqual(["1,001 alerts in one request, the first: n0"]);
    const [long = ""] = titles(list(1_001).map(() => ({ title: "n".repeat(300) })));
    expect(long).toMatch(/^1,001 alerts .*n…$/);
    expect(long).toHaveLength(300);
  });

  it("may have more names than one alert may", () => {
    const wide = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`key${index}`, index]));
    const list = Array.from({ length: 500 }, (_, index) => ({ title: `n${index}`, ...wide }));
    expect(titles({ alerts: list })).toHaveLength(500);
  });

  it("is counted as it is translated, for any body and header", () => {
    const alert = fc.record({ title: fc.string(), alerts: fc.option(fc.array(fc.object())) }, { requiredKeys: [] });
    const body = fc.oneof(
      fc.array(fc.oneof(alert, alert, fc.integer()), { maxLength: 4 }),
      fc.record({ alerts: fc.array(fc.oneof({ weight: 9, arbitrary: alert }, fc.constant(null)), { maxLength: 4 }) }),
    );
    const packed = body.chain((value) => {
      const text = JSON.stringify(value);
      const spelled = text.replace("alerts", "\\u0061lerts");
      const form = `payload=${encodeURIComponent(text)}`;
      return fc.constantFrom(text, ` ${text}`, spelled, JSON.stringify(text), form, `${text},`, `\ufeff${text}`);
    });
    const encoded = fc
      .tuple(packed, fc.constantFrom("utf8", "utf16le", "latin1"))
      .map(([text, charset]) => Buffer.from(text, charset as BufferEncoding));
    const header = fc.constantFrom(undefined, "application/json", "text/plain", "application/x-www-form-urlencoded");
    fc.assert(
      fc.property(encoded, header, (raw, contentType) => {
        expect(translateRequest(raw, contentType)).toHaveLength(readRequest(raw, contentType).countAlerts());
      }),
      { numRuns: 400 },
    );
  });
});
