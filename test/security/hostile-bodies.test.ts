import { expect, it } from "vitest";
import { type ApiAlert, type ApiDelivery, createJourneyWorld, deskChat } from "../support/journey-world.ts";
import { waitUntil } from "../support/relay-process.ts";
import { fill } from "./costly-bodies.ts";

const mebibyte = 1024 * 1024;

const json = "application/json";
const form = "application/x-www-form-urlencoded";
const hostileBodies: [what: string, contentType: string, body: string][] = [
  ["lists in lists", json, fill("[")],
  ["objects in objects", json, fill('{"a":')],
  ["nesting that is closed", json, `${"[".repeat(mebibyte / 2)}${"]".repeat(mebibyte / 2)}`],
  ["half a million elements", json, fill("0,", "[", "0]")],
  ["a batch beyond reason", json, fill("{},", "[", "{}]")],
  ["a hundred thousand keys", json, `{${Array.from({ length: 80_000 }, (_, key) => `"k${key}":0`).join(",")}}`],
  ["one key, again and again", json, fill('"title":"a",', "{", '"title":"b"}')],
  ["a number of a million digits", json, fill("9", '{"value":', "}")],
  ["an exponent beyond reason", json, `{"value":1e${"9".repeat(1_000)},"threshold":-1e-99999999999}`],
  ["a text of escapes", json, fill("\\u0000", '{"title":"', '"}')],
  ["a text of quotes", json, fill('\\"', '{"title":"', '"}')],
  ["a text without its end", json, fill("a", '{"title":"')],
  ["lone surrogates", json, fill("\\ud800", '{"title":"', '"}')],
  ["a title of spaces", json, fill(" ", '{"title":"a', 'b"}')],
  ["a title of combining marks", json, fill("\u0301", '{"title":"a', '"}')],
  ["prototype keys", json, '{"__proto__":{"title":"polluted"},"constructor":{"prototype":{"severity":"critical"}}}'],
  ["header lines", json, '{"title":"a\\r\\nBcc: everybody@example.com\\r\\n\\r\\nb","severity":"warning\\u0000"}'],
  ["markup", json, fill("<b>*_[](https://x.example)", '{"title":"', '"}')],
  ["addresses", json, fill("https://x.example/ ", '{"text":"', '"}')],
  ["separators of a form", form, fill("&")],
  ["fields of a form", form, fill("a=b&")],
  ["percent signs", form, fill("%", "title=")],
  ["brackets of a form", form, fill("[a]", "title")],
  ["boundaries", "multipart/form-data; boundary=x", fill("--x\r\n\r\n\r\n")],
  ["a boundary without parts", `multipart/form-data; boundary=${"x".repeat(5_000)}`, fill("--")],
  ["lines", "text/plain", fill("\n")],
  ["lines that look like facts", "text/plain", fill("severity: critical\n")],
  ["numbers in a text", "text/plain", fill("1,000.00 ")],
  ["an unknown charset", 'text/plain; charset="\\', fill("\u00ff")],
  ["half of UTF-16", "application/json; charset=utf-16le", fill("\0{")],
];

/** Items 5, 6 and 9. What reading may cost is held by reading-cost.test.ts. */
it("reads, routes and relays every hostile body, and holds up no alert behind one", async () => {
  const world = await createJourneyWorld({
    yaml: `
destinations:
  desk: { type: telegram, chatId: "${deskChat}", pace: { perSecond: 1000 } }
  mail: { type: email, to: [risk@desk.example], from: "Tocsin <alerts@tocsin.example>" }
routes:
  - { name: patterns, match: { title: { matches: "^(a+)+$" }, payload.a.b: { exists: true }, value: { gt: 5 } }, to: [desk] }
  - { name: rest, to: [desk, mail] }
`,
    chat: { limited: false },
  });
  const relay = await world.start({ TELEGRAM_CHAT_IDS: "", EMAIL_TO: "" });
  for (const [what, contentType, body] of hostileBodies) {
    const { status, ids } = await relay.post(body, { "content-type": contentType });
    expect(status, what).toBe(202);
    expect((await relay.api(`/api/alerts/${ids[0]}`)).status, what).toBe(200);
    const behind = await relay.post(`{"title":"behind ${what}","severity":"critical"}`);
    await waitUntil(
      () => relay.getJson<{ data: { deliveries: unknown[] } }>(`/api/alerts/${behind.ids[0]}`),
      ({ data }) => data.deliveries.length === 2,
      `a decision for the alert behind ${what}`,
    );
  }

  const sent = await waitUntil(
    () => relay.getJson<{ data: ApiAlert[] }>("/api/alerts?limit=200"),
    ({ data }) => data.every(({ deliveries }) => deliveries.every(hasGoneOut)),
    "every alert sent to the chat and by mail",
  );
  // A key like any other: it names the alert that it came with, and no other.
  expect(sent.data.filter(({ title }) => title === "polluted")).toHaveLength(1);
  const mails = world.mailbox.mails();
  expect(new Set(mails.map(({ mailbox, to }) => `${mailbox} ${to}`))).toEqual(
    new Set(["risk@desk.example risk@desk.example"]),
  );
  expect(new Set(mails.flatMap(({ headers }) => headers.map(({ name }) => name.toLowerCase())))).not.toContain("bcc");
  expect(relay.log().match(/"level":"error".*/g) ?? []).toEqual([]);
  expect(await relay.stop()).toBe(0);
});

const hasGoneOut = ({ state }: ApiDelivery): boolean => state === "sent" || state === "digested";
