import { describe, expect, it } from "vitest";
import { describeUnreadable } from "../../src/routing/unreadable.ts";
import { describeFacts, readFacts } from "./describe-facts.ts";

const utf16be = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le").swap16();

it("reads 200 parts of a multipart form, and says that it has more", () => {
  const part = (name: string, text: string) =>
    `--XX\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
  const body = (count: number) =>
    `${part("title", "TVL fell")}${Array.from({ length: count }, (_, at) => part(`k${at}`, "v")).join("")}--XX--\r\n`;
  const note = "the form has more than 200 parts, and only these are read";
  expect(readFacts(body(199)).notes).not.toContain(note);
  expect(readFacts(body(200))).toMatchObject({
    title: "TVL fell",
    format: "form",
    notes: expect.arrayContaining([note]),
  });
});

it("says how much of a long broken JSON is shown", () => {
  const body = `{"title":"TVL fell","text":"${"word ".repeat(10_000)}`;
  expect(readFacts(body).notes).toContain("the text is cut from 50,027 characters to 20,000");
});

it("reads 10,000 fields of a form, and says that it has more", () => {
  const pairs = Array.from({ length: 10_001 }, (_, index) => `k${index}=${index}`).join("&");
  const facts = readFacts(`title=TVL+fell&${pairs}`, "application/x-www-form-urlencoded");
  expect(facts).toMatchObject({ title: "TVL fell", format: "form" });
  expect(facts.notes[0]).toBe("the form has more than 10,000 fields, and only these are read");
});

const cyrillic = Buffer.from([0xd2, 0xf0, 0xe5, 0xe2, 0xee, 0xe3, 0xe0]);
const coffee = '{"title":"Café 🚨"}';
const chinese = "\ufeff警报：资金池";
const part = (head: string, content: string) => `--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`;
const multipart = Buffer.concat([
  Buffer.from(part('name="title"', "Vault paused — base")),
  Buffer.from(part('name="log"; filename="a.log"\r\nContent-Type: text/plain', "line one")),
  Buffer.from('--XX\r\nContent-Disposition: form-data; name="shot"; filename="s.png"\r\n\r\n'),
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff]),
  Buffer.from("\r\n--XX--\r\n"),
]);
const form = "application/x-www-form-urlencoded";
const pairs = "title=TVL+fell&severity=critical&value=1%2C200";
const broken = `payload=${encodeURIComponent('{"title":"x",')}`;
const unseen = '{"title":"a\\u0000b\\u202Ecod.exe\\ud800 \\u001b[31m","text":"x\\r\\ny\\u2028z"}';

/** What is read of each is in golden/requests.txt. */
const requests: [what: string, body: string | Uint8Array, contentType?: string][] = [
  ["UTF-8", coffee],
  ["UTF-8 with a mark", `\ufeff${coffee}`],
  ["UTF-16LE with a mark", Buffer.from(`\ufeff${coffee}`, "utf16le")],
  ["UTF-16BE with a mark", utf16be(coffee)],
  ["UTF-16LE without one", Buffer.from(coffee, "utf16le")],
  ["UTF-16LE where no letter has a zero byte", Buffer.from(chinese, "utf16le")],
  ["UTF-16BE where no letter has one", utf16be(chinese.slice(1))],
  ["Latin-1, with a note that it is a guess", Buffer.from('{"title":"Café à Genève"}', "latin1")],
  ["a header's charset where UTF-8 fails", cyrillic, "text/plain; charset=windows-1251"],
  ["a damaged UTF-8 text", Buffer.concat([Buffer.from("größer als üblich: "), Buffer.from([0xff])])],
  ["characters that would act instead of being seen", unseen],

  ["a text in brackets", "[FIRING:2] TVL fell"],
  ["a text in braces", "{eth} TVL fell"],
  ["a form with its header", pairs, `${form}; charset=utf-8`],
  ["a form without it", pairs],
  ["every value of a repeated form field", "title=x&tag=a&tag=b"],
  ["JSON in a form's payload, and the fields beside it", `payload=${encodeURIComponent('{"title":"x"}')}&chain=eth`],
  ["broken JSON in a form's payload", broken, form],
  ["JSON that was encoded twice", JSON.stringify(JSON.stringify({ title: "x" }))],
  [
    "multipart: fields by name, text files by their text, others by size",
    multipart,
    "multipart/form-data; boundary=XX",
  ],
  ["a compressed body", Buffer.from([0x1f, 0x8b, 8, 0, 1])],
  ["binary data", Buffer.alloc(2_000, 0xff).fill(0, 0, 900)],

  ["broken JSON that nests too deep", `{"title":"TVL fell","deep":${"[".repeat(70)}${"]".repeat(70)}}`],
  ["broken JSON with nothing in it", "{,,,}", "application/json"],
];

it("reads of each request what a person has reviewed", async () => {
  const shown = requests.map(
    ([what, body, contentType]) => `=== ${what}\n${describeFacts(readFacts(body, contentType))}`,
  );
  await expect(shown.join("\n")).toMatchFileSnapshot("golden/requests.txt");
});

it.each([
  ["", "Alert (empty body)"],
  [" \r\n\t", "Alert (empty body)"],
  ["\ufeff", "Alert (empty body)"],
  ["{}", "Alert (empty JSON object)"],
  ["[]", "Alert (empty JSON list)"],
  ['""', "Alert (empty JSON text)"],
  ['{"title":"","text":null}', "Alert (empty JSON object)"],
])("an empty body is named: %j", (body, title) => {
  expect(readFacts(body).title).toBe(title);
});

it("keeps two different binary bodies apart", () => {
  expect(readFacts(Buffer.from([0x1f, 0x8b, 1])).alertKey).not.toBe(readFacts(Buffer.from([0x1f, 0x8b, 2])).alertKey);
});

it.each([
  ["a trailing comma", '{"title":"TVL fell","severity":"critical",}'],
  ["an unfilled template", '{"title":"TVL fell","value":{{close}},"severity":"critical"}'],
  ["a missing value", '{"title":"TVL fell","value":,"severity":"critical"}'],
  ["single quotes", "{'title':'TVL fell','severity':'critical'}"],
  ["bare names", '{title:"TVL fell",severity:"critical"}'],
  ["NaN", '{"value":NaN,"title":"TVL fell","severity":"critical"}'],
  ["a raw line break", '{"text":"one\ntwo","title":"TVL fell","severity":"critical"}'],
  ["unescaped quotes", '{"text":"say "now"","title":"TVL fell","severity":"critical"}'],
  ["a cut", '{"title":"TVL fell","severity":"critical","text":"and th'],
  ["something behind it", '{"title":"TVL fell","severity":"critical"}\n{"title":"other"}'],
])("with %s still reads what it can, and all of it is shown", (_, body) => {
  const facts = readFacts(body, "application/json");
  expect(facts).toMatchObject({ title: "TVL fell", severity: "critical", format: "broken-json" });
  expect(facts.text).toContain(body);
  expect(facts.notes[0]).toMatch(/^broken JSON at line \d+, column \d+: \S/);
});

describe("a body that cannot be read", () => {
  const id = "019aa5a0-7c3e-7d2a-9b1c-0242ac120002";
  const describeBody = (body: Uint8Array, alerts?: number) =>
    describeUnreadable({ id, body, reason: "reading it took longer than 1 s", alerts });

  it("shows the body as it came, marked, and takes it for what may be the worst", () => {
    expect(describeBody(Buffer.from('{"title":"TVL fell"}'))).toEqual({
      title: "Unreadable alert (20 bytes)",
      text: '{"title":"TVL fell"}',
      severity: "unknown",
      status: "unknown",
      format: "unreadable",
      alertKey: `unreadable:${id}`,
      fields: [],
      notes: ["Tocsin could not read this alert (reading it took longer than 1 s); it is shown as received"],
    });
  });

  it("shows the beginning of a long body, whole characters of it, and says so", () => {
    const { text = "", title, notes } = describeBody(Buffer.from("€".repeat(300_000)), 1_000);
    expect(title).toBe("Unreadable request of 1,000 alerts (900,000 bytes)");
    expect(text).toBe(`${"€".repeat(2_999)}…`);
    expect(notes).toContain("this is its beginning: the page has all of it");
  });

  it("shows what acts instead of being seen as pictures, and nothing of nothing", () => {
    expect(describeBody(Buffer.from([0x61, 0, 0x1b, 0xff, 0x62])).text).toBe("a␀␛�b");
    expect(describeBody(new Uint8Array())).not.toHaveProperty("text");
  });
});
