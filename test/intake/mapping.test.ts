import { expect, it } from "vitest";
import type { FactMapping } from "../../src/core/mapping.ts";
import { compileMapping } from "../../src/intake/find/mapped-facts.ts";
import { ReadingThread } from "../../src/intake/thread/body-reader.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { readingThreadEntry } from "../support/reader.ts";

function translate(payload: unknown, mapping: FactMapping, contentType?: string) {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const options = { mapping: compileMapping(mapping) };
  return translateRequest(Buffer.from(text), contentType, options).map(({ facts, mapped }) => ({ ...facts, mapped }));
}

const alert = {
  title: "TVL alert",
  rule: { headline: "Vault drained", level: "P1", "a.b": "dotted" },
  items: [{ id: "first" }, { id: "second" }],
  amount: 12.5,
  when: "2026-11-22T10:00:00Z",
  severity: "info",
};

it("reads facts where the mapping says, whatever the guess would be, and says from where", () => {
  const mapping: FactMapping = {
    title: ["payload.rule.headline"],
    severity: ["payload.rule.level"],
    value: ["payload.amount"],
    occurredAt: ["payload.when"],
    token: ['payload.rule["a.b"]'],
    externalId: ["payload.items[1].id"],
    alertKey: ["payload.items.0.id"],
  };
  const [facts] = translate(alert, mapping);
  expect(facts).toMatchObject({
    title: "Vault drained",
    severity: "critical",
    value: "12.5",
    occurredAt: Date.parse("2026-11-22T10:00:00Z"),
    token: "dotted",
    externalId: "second",
    alertKey: "mapping:first",
    mapped: Object.fromEntries(Object.entries(mapping).map(([fact, [path]]) => [fact, path])),
    notes: [],
  });
  // What a fact says is not said again, and what is mapped elsewhere is shown.
  const names = facts?.fields.map(({ name }) => name);
  expect(names).toEqual(["title", "rule.level", "amount", "severity"]);
});

it("tries the paths in their order, and guesses when none has a value", () => {
  const title = ["payload.first", "payload.second"];
  expect(translate({ second: "2", title: "guess" }, { title })[0]).toMatchObject({ title: "Alert: 2" });
  expect(translate({ first: "one", second: "two" }, { title })[0]).toMatchObject({ title: "one" });
  for (const nothing of [{ title: "guess" }, { title: "guess", first: null }, { title: "guess", first: " " }])
    expect(translate(nothing, { title })[0]).toMatchObject({ title: "guess", notes: [] });
});

it("guesses what cannot be read as the fact, with a note", () => {
  const mapping: FactMapping = {
    severity: ["payload.colour"],
    occurredAt: ["payload.when"],
    link: ["payload.where"],
    value: ["payload.list"],
  };
  const [facts] = translate(
    {
      title: "t",
      colour: "mauve",
      when: "soon",
      where: "javascript:alert(1)",
      list: [{}],
      severity: "warning",
      value: 3,
    },
    mapping,
  );
  expect(facts).toMatchObject({ severity: "warning", value: "3", mapped: {} });
  expect(facts?.link).toBeUndefined();
  expect(facts?.notes).toEqual([
    "guessed, since what the mapping names cannot be read as that: severity (payload.colour), occurredAt (payload.when), value (payload.list), link (payload.where)",
  ]);
});

it("cleans and bounds what is mapped as it does what is guessed", () => {
  const [facts] = translate(
    { a: `evil\u202e\u0000 ${"x".repeat(5_000)}`, b: "y".repeat(30_000), c: "z".repeat(300), d: "k".repeat(9_000) },
    { title: ["payload.a"], text: ["payload.b"], token: ["payload.c"], alertKey: ["payload.d"] },
  );
  expect(facts?.title.length).toBeLessThanOrEqual(300);
  for (const sign of ["\u202e", "\u0000"]) expect(facts?.title).not.toContain(sign);
  expect(facts?.text?.length).toBeLessThanOrEqual(20_000);
  expect(facts?.token).toBeUndefined();
  expect(facts?.alertKey.length).toBeLessThanOrEqual(200);
});

it("maps each alert of a batch, forms, JSON inside an SNS message, and what is left of broken JSON", () => {
  const title = ["payload.headline", "payload.Message.headline", "payload.labels.what"];
  const batch = { commonLabels: { what: "shared" }, alerts: [{ headline: "one" }, { labels: { id: "2" } }] };
  expect(translate(batch, { title }).map((facts) => facts.title)).toEqual(["one", "shared"]);
  expect(translate("headline=by+form&title=no", { title }, "application/x-www-form-urlencoded")[0]?.title).toBe(
    "by form",
  );
  const sns = { Type: "Notification", TopicArn: "arn", Message: JSON.stringify({ headline: "inside", title: "no" }) };
  expect(translate(sns, { title })[0]?.title).toBe("inside");
  expect(translate('{"headline": "saved", "title": "no", "x": ', { title })[0]).toMatchObject({
    title: "saved",
    format: "broken-json",
  });
  expect(translate("plain text", { title })[0]).toMatchObject({ title: "plain text", format: "text" });
});

it("takes a name in a list of pairs, as the list of shapes has it", () => {
  const fields = [
    { name: "Sev", value: "P1" },
    { name: "a.b", value: "USDC" },
  ];
  const mapping: FactMapping = { severity: ["payload.fields.Sev"], token: ['payload.fields["a.b"]', "payload.none"] };
  expect(translate({ title: "t", fields }, mapping)[0]).toMatchObject({
    severity: "critical",
    token: "USDC",
    mapped: { severity: "payload.fields.Sev", token: 'payload.fields["a.b"]' },
  });
});

it("maps in the thread that reads for the relay", async () => {
  const reader = new ReadingThread({ entry: readingThreadEntry, mapping: { title: ["payload.rule.headline"] } });
  try {
    const [mapped, guessed] = await reader.read(
      [alert, { title: "only a guess" }].map((payload) => ({ body: Buffer.from(JSON.stringify(payload)) })),
    );
    expect(mapped).toMatchObject({
      translations: [{ facts: { title: "Vault drained" }, mapped: { title: "payload.rule.headline" }, payload: {} }],
    });
    expect(guessed).toMatchObject({ translations: [{ facts: { title: "only a guess" } }] });
  } finally {
    await reader.close();
  }
});

it("reads a sender's own words for a severity as the mapping says, in any place of one, and others as ever", () => {
  const severities = { havoc: "critical", "low risk": "info", critical: "warning" } as const;
  const read = (body: object, mapping: FactMapping = { severities }) => translate(body, mapping)[0]?.severity;
  expect(read({ title: "T", severity: "HAVOC " })).toBe("critical");
  expect(read({ title: "T", level: "Low risk" })).toBe("info");
  expect(read({ title: "T", severity: "critical" })).toBe("warning");
  expect(read({ title: "T", severity: "error" })).toBe("critical");
  expect(read({ title: "T", mood: "havoc" }, { severity: ["payload.mood"], severities })).toBe("critical");
  expect(read({ title: "T", severity: "havoc" }, {})).toBe("unknown");
});
