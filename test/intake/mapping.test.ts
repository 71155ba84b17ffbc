import { expect, it } from "vitest";
import type { FactMapping } from "../../src/core/mapping.ts";
import { compileMapping } from "../../src/intake/find/mapped-facts.ts";
import { ReadingThread } from "../../src/intake/thread/body-reader.ts";
import { readingThreadEntry } from "../support/reader.ts";
import { describeFacts, translate } from "./describe-facts.ts";

const mapped = (payload: unknown, mapping: FactMapping, contentType?: string) =>
  translate(payload, contentType, { mapping: compileMapping(mapping) });

const alert = {
  title: "TVL alert",
  rule: { headline: "Vault drained", level: "P1", "a.b": "dotted" },
  items: [{ id: "first" }, { id: "second" }],
  amount: 12.5,
  when: "2026-11-22T10:00:00Z",
  severity: "info",
};

const mapping: FactMapping = {
  title: ["payload.rule.headline"],
  severity: ["payload.rule.level"],
  value: ["payload.amount"],
  occurredAt: ["payload.when"],
  token: ['payload.rule["a.b"]'],
  externalId: ["payload.items[1].id"],
  alertKey: ["payload.items.0.id"],
};
const unreadable: FactMapping = {
  severity: ["payload.colour"],
  occurredAt: ["payload.when"],
  link: ["payload.where"],
  value: ["payload.list"],
};
const strange = { colour: "mauve", when: "soon", where: "javascript:alert(1)", list: [{}] };
const title = ["payload.first", "payload.second"];
const headline = { title: ["payload.headline", "payload.Message.headline", "payload.labels.what"] };
const batch = { commonLabels: { what: "shared" }, alerts: [{ headline: "one" }, { labels: { id: "2" } }] };
const sns = { Type: "Notification", TopicArn: "arn", Message: JSON.stringify({ headline: "inside", title: "no" }) };
const fields = Object.entries({ Sev: "P1", "a.b": "USDC" }).map(([name, value]) => ({ name, value }));
const named: FactMapping = { severity: ["payload.fields.Sev"], token: ['payload.fields["a.b"]', "payload.none"] };
const severities = { havoc: "critical", "low risk": "info", critical: "warning" } as const;
const said = (severity: string) => ({ title: "T", severity });

/** What is read of each is in golden/mapped.txt. */
const bodies: [what: string, body: unknown, mapping: FactMapping, contentType?: string][] = [
  ["where the mapping says, whatever the guess would be, and the rest shown", alert, mapping],
  ["the second path where the first has nothing", { second: "2", title: "guess" }, { title }],
  ["the first path of two", { first: "one", second: "two" }, { title }],
  ["a guess where no path has a value", { title: "guess" }, { title }],
  ["a guess for null", { title: "guess", first: null }, { title }],
  ["a guess for white space", { title: "guess", first: " " }, { title }],
  ["a guess, and a note, for what is no such fact", { ...said("warning"), ...strange, value: 3 }, unreadable],
  ["each alert of a batch", batch, headline],
  ["a form", "headline=by+form&title=no", headline, "application/x-www-form-urlencoded"],
  ["JSON inside an SNS message", sns, headline],
  ["what is left of broken JSON", '{"headline": "saved", "title": "no", "x": ', headline],
  ["a guess of plain text", "plain text", headline],
  ["a name in a list of pairs, as the list of shapes has it", { title: "t", fields }, named],
  ["a sender's own word for a severity", said("HAVOC "), { severities }],
  ["a sender's own word in another place of one", { title: "T", level: "Low risk" }, { severities }],
  ["a known word that the mapping has otherwise", said("critical"), { severities }],
  ["a known word that the mapping does not have", said("error"), { severities }],
  ["a sender's word in a mapped place", { title: "T", mood: "havoc" }, { severity: ["payload.mood"], severities }],
  ["no word where none is mapped", said("havoc"), {}],
];

it("reads facts as the mapping says, and says from where", async () => {
  const shown = bodies.map(([what, body, given, contentType]) => {
    const alerts = mapped(body, given, contentType).map(
      ({ facts, mapped: from }) => `${describeFacts(facts)}mapped: ${JSON.stringify(from)}\n`,
    );
    return `=== ${what}\n${alerts.join("")}`;
  });
  await expect(shown.join("\n")).toMatchFileSnapshot("golden/mapped.txt");
});

it("cleans and bounds what is mapped as it does what is guessed", () => {
  const [first] = mapped(
    { a: `evil\u202e\u0000 ${"x".repeat(5_000)}`, b: "y".repeat(30_000), c: "z".repeat(300), d: "k".repeat(9_000) },
    { title: ["payload.a"], text: ["payload.b"], token: ["payload.c"], alertKey: ["payload.d"] },
  );
  const facts = first?.facts;
  expect(facts?.title.length).toBeLessThanOrEqual(300);
  for (const sign of ["\u202e", "\u0000"]) expect(facts?.title).not.toContain(sign);
  expect(facts?.text?.length).toBeLessThanOrEqual(20_000);
  expect(facts?.token).toBeUndefined();
  expect(facts?.alertKey.length).toBeLessThanOrEqual(200);
});

it("maps in the thread that reads for the relay", async () => {
  const reader = new ReadingThread({ entry: readingThreadEntry, mapping: { title: ["payload.rule.headline"] } });
  try {
    const [byMapping, guessed] = await reader.read(
      [alert, { title: "only a guess" }].map((payload) => ({ body: Buffer.from(JSON.stringify(payload)) })),
    );
    expect(byMapping).toMatchObject({
      translations: [{ facts: { title: "Vault drained" }, mapped: { title: "payload.rule.headline" }, payload: {} }],
    });
    expect(guessed).toMatchObject({ translations: [{ facts: { title: "only a guess" } }] });
  } finally {
    await reader.close();
  }
});
