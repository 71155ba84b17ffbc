import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { translateRequest } from "../../src/intake/translate.ts";
import { describeFacts, readFacts } from "./describe-facts.ts";

const x = (members: object) => ({ title: "x", ...members });
const address = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const key = `arbitrum_token_total_tvl_${address}`;
const usdt = "eth_token_total_tvl_0xdac17f958d2ee523a2206206994597c13d831ec7";
const poolAddress = "0x4c36388be6f416a29c8d8eee81c771ce6be14b18";
const ofPool = (more: object) => ({
  metricKey: `polygon_pool_total_tvl_${poolAddress}`,
  ...{ value: 18623.426, threshold: 19000, previousValue: 20282.771, unit: "USD" },
  ...more,
});
const sides = { startsAt: "2026-11-20T00:00:00Z", endsAt: "2026-11-21T00:00:00Z" };
const mrkdwn = (text: string) => ({ type: "section", text: { type: "mrkdwn", text } });
const slack = (text: string) => ({ text: "", blocks: [mrkdwn(text)] });
const peg = { blocks: [mrkdwn("USDC has left its peg")] };
const xml = "<?xml version='1.0' encoding='utf-8'?>\n";
const xmlFacts = "<Version>1.0</Version><Subject>Margin &lt; 5 %</Subject><MessageType>failure</MessageType>";
const xmlBody = `<n:Notification xmlns:n="urn:x">${xmlFacts}<Message xml:lang="en">prime-3</Message></n:Notification>`;
const down = { title: "RPC", status: "down", type: "info" };

/** What is read of each is in golden/facts.txt. */
const bodies: [what: string, body: unknown][] = [
  ["no threshold for the value", { token: "USDC", metric: "tvl", threshold: { value: 6, type: "below" } }],
  ["a value in its metric", { metric: { name: "tvl", value: { amount: 5, unit: "USD" } }, threshold: { value: 6 } }],

  ["a value and its unit in one text", x({ value: "24.3M USD", threshold: "25M USD" })],
  ["a share", x({ value: "5.2 %", previousValue: "4.9%", threshold: 5 })],
  ["an amount of a token", x({ value: "1,200 ETH", threshold: "1000" })],
  ["basis points", x({ value: "12 bps" })],
  ["two units", x({ value: "24.3 USD", threshold: "25 ETH" })],
  ["a unit in its own field", x({ value: "24.3 USD", unit: "EUR" })],
  ["no number", x({ value: "24.3 of 25 USD" })],
  ["a time", x({ value: "5 minutes" })],
  ["a price without a unit", x({ value: "100.5", threshold: "5 %" })],

  [
    "not the name of a token, user or pool",
    { token: { name: "USD Coin", symbol: "USDC" }, user: { title: "Dr" }, message: "Depeg" },
  ],
  ["a key under metric", { metric: key }],
  ["a key under data.metric", { data: { metric: { key } } }],
  ["a key", { key }],
  ["a metricKey", { metricKey: key }],
  ["a name that is a key", { name: key }],
  ["a key in a text", { text: `TVL alert: ${key} fell` }],
  ["a key in plain text", `${key} fell below 5`],
  ["a key beside token and chain", { metric: key, token: "USDC", chain: "arb" }],
  ["a pool's address for no token", { metric: `bsc_pool_h24_volume_${poolAddress}` }],
  ["digits as sent", '{"value":1.10,"previous":123456789012345678901,"threshold":"1,000.00"}'],
  ["a title made of the reading", { metric: "eth_tvl", value: 3.2, threshold: 5, unit: "%" }],
  ["of a price", { token: "ETH", price: 2999 }],
  ["of a metric alone", { metric: "eth_tvl" }],
  ["of whatever there is", { foo: "bar", n: 1 }],
  ["the first line as the title", { message: "first\nsecond\nthird" }],
  ["the first line of plain text", "\n\n first \nsecond"],
  ["the elements of XML", `${xml}<soapenv:Body>${xmlBody}</soapenv:Body>`],
  ["no declaration of XML for a title", `${xml}<pool/> is empty`],
  ["a link that can be opened", { url: "javascript:alert(1)", href: "https://a.example.com/x?y=1" }],
  ["a link in brackets", "see (https://a.example.com/x)."],

  ["a severity that is not known", x({ severity: "spicy" })],
  ["a number that is none", x({ severity: 99 })],
  ["the sender's own word where it says more", x({ severity: "P1" })],
  ["and not where it says the same", x({ severity: "Critical" })],
  ["a tag of the title", "[CRITICAL] TVL fell"],
  ["the first word of the title", "CRITICAL USDC pool: TVL fell"],
  ["a state as the first word", "RESOLVED USDC pool: TVL fell"],
  ["a word that is no severity there", "Warning shots were heard"],
  ["a word behind a symbol", "🚨 Warning: TVL fell"],
  ["a severity for a status", x({ status: "critical" })],
  ["small letters", "critical infrastructure is fine"],
  ["a severity that the kind does not lower", { title: "[CRITICAL] Vault drained", type: "info" }],
  ["one of a status that the kind does not lower", down],
  ["one that a usual priority does not lower", x({ priority: "normal", alert_type: "error" })],
  ["a usual priority", x({ priority: "normal" })],
  ["a status that says more", x({ status: "Acknowledged" })],
  ["the status of an envelope", { status: "ok", data: { title: "TVL fell" } }],
  ["the status in an envelope", { status: "success", data: { title: "TVL fell", state: "firing" } }],

  ["a time without a zone", x({ time: "2026-11-21 00:00:00" })],
  ["the end of what is over", x({ status: "resolved", ...sides })],
  ["the beginning of what fires", x({ status: "firing", ...sides })],

  ["Slack's marks", slack("*USDC* is at _0.96_ (was ~0.99~)")],
  ["marks around words", slack("*two words*, and a_name_with_lines")],
  ["what is no mark", slack("5 * 3 * 2 and *open")],
  ["no stand-in for small screens", { text: "a peg is lost", ...peg }],
  ["one with a number that the blocks lack", { text: "USDC at 0.96", ...peg }],
  ["one without blocks of text", { text: "only this", blocks: [{ type: "divider" }] }],

  [
    "what no fact tells, in order, under readable names",
    x({
      data: { pool: { address: "0x1", fee: 0.05 }, tags: ["a", "b"], empty: "", nothing: null, paused: false },
      items: [{ id: 7, kind: "a" }, { id: 8 }],
    }),
  ],
  ["no credential, also not in a made title", { passphrase: "hunter2", apiKey: "k-123", strategy: "breakout" }],

  ["what a metric key means in words", { metricKey: usdt, token: "USDT", value: 3, threshold: 5 }],
  ["of a token that nobody names", { key: usdt, value: 3 }],
  ["of a pool that nobody names", { key: `bsc_pool_h24_volume_${poolAddress}`, value: 3 }],
  ["of a metric that is no key", { metric: "error_rate", value: 3 }],
  ["a pool by the token", ofPool({ tokenSymbol: "ONYX504" })],
  ["a pool by its name", ofPool({ tokenSymbol: "ONYX504", pool: { name: "ONYX504/WETH 0.3%" } })],
  ["a pool by its pair", ofPool({ pair: "ONYX504/USDC" })],
  ["a pool by its address", ofPool({ pool: { address: "0x4c36" } })],
  ["a pool by the token's name", ofPool({ token: address, tokenName: "USD Coin" })],
  ["the token before a metric that does not name it", { metric: "price", token: "ETH", chain: "base", value: 3 }],
  ["not before one that does", { metric: "eth_tvl", token: "ETH", value: 3 }],
  ["a pair as the id", { id: "WBTC/USD", aggregated: { price: 91000.5 }, message: "deviation above 0.5%" }],
  ["an id beside a token", { id: "evt/1", token: "ETH", message: "x" }],
  ["the name of a number that nothing else says", { title: "Depeg", price: 0.97, threshold: 0.99 }],
  ["not where the title says it", { title: "Price of USDT fell", price: 0.97 }],
  ["not of a value", { title: "Depeg", value: 0.97 }],
  ["JSON that is too deep", `${'{"a":'.repeat(200)}1${"}".repeat(200)}`],
];

it("reads of each body what a person has reviewed", async () => {
  const shown = bodies.map(([what, body]) => `=== ${what}\n${describeFacts(readFacts(body))}`);
  await expect(shown.join("\n")).toMatchFileSnapshot("golden/facts.txt");
});

const both = { token: "USDC", price: 1.0001, tvl: 24_000_000, threshold: 25_000_000 };
const eth = { token: "ETH", price: 3912 };
const spike = { title: "Volume spike", ...eth };
const [monitor, heartbeat] = [{ name: "x" }, (status: number) => ({ monitor: { name: "x" }, heartbeat: { status } })];
const alarm = (NewStateValue: string) => ({ AlarmName: "x", NewStateValue });
const friendly = (alertType: string, alertTypeFriendlyName: string) => ({ alertType, alertTypeFriendlyName });
const kindOf = (type: string) => {
  return { version: "1.0", title: "Backup of prices", message: "took 3 min", attachments: [], type };
};
const at = (timestamp: unknown) => x({ timestamp });
const tvl = (more: object) => ({ metric: "eth_tvl", ...more });
const below = (value: unknown, more: object = {}) => tvl({ value, threshold: 5, condition: "below", ...more });
const inM = (threshold: string, more: object = {}) => tvl({ value: "26.3", unit: "M USD", threshold, ...more });

/** Of each body the title, severity, status, value, time, link and notes. */
it.each<[string, unknown[]]>([
  [
    "several quantities, of which it takes the one that the body is about",
    [
      ...[{ ...both, metric: "tvl" }, { ...both, metric: key }, { ...both, metric: "price" }, both],
      ...[
        { ...both, title: "TVL of USDC fell" },
        { ...both, title: "Price of USDC fell" },
      ],
      ...[{ ...eth, volume: 5, threshold: 4000 }, { ...spike, threshold: 4_000_000 }, spike],
      { ...both, metric: "price", value: 7 },
    ],
  ],
  [
    "a title, wherever it stands",
    [
      ...["alertTitle", "alert_title", "Alert-Title", "ALERT TITLE", "alert.title"].map((name) => ({
        foo: "x",
        [name]: "T",
      })),
      ...[{ alert: { title: "T" } }, { event: { data: { title: "T" } } }, { labels: { alertname: "T" } }],
      { annotations: { summary: "T" }, labels: { alertname: "other" } },
      ...[{ unheard: { of: { title: "T" } } }, { rule: { name: "T" }, token: { name: "USD Coin" } }],
      { alert: "T", name: "bot" },
    ],
  ],
  [
    "no link that a reader cannot open",
    ["ftp://a.b/", "https://user:pass@a.b/", "https://a b/", "//a.b", "https://", "notes"].map((url) => x({ url })),
  ],
  [
    "a number for a severity, and says so",
    [
      ...[2, "4", 6].map((severity) => x({ severity })),
      ...[1, 3, 5].map((priority) => x({ priority })),
      ...[50, 40, 30].map((level) => x({ level })),
    ],
  ],
  [
    "a monitor that knows up and down alone as critical, its end as well",
    [
      ...[x({ status: "down" }), x({ state: "Up" }), x({ current_state: "OFFLINE" }), heartbeat(0), heartbeat(1)],
      ...[alarm("ALARM"), alarm("OK"), alarm("INSUFFICIENT_DATA"), x({ status: "down", severity: "info" })],
      ...[x({ event: "price.down" }), x({ status: "ok" })],
    ],
  ],
  ["a kind of notification", ["failure", "warning", "info", "success", "charge.success"].map(kindOf)],
  [
    "a status",
    [
      ...["firing", "DOWN", "resolved", "Recovered", "back to normal", "acknowledged", "no data", 200].map((status) =>
        x({ status }),
      ),
      ...["ALARM", "ok", "closed"].map((state) => x({ state })),
      ...["alert.resolved", "price.up"].map((type) => x({ type })),
      ...[x({ alert_transition: "Triggered" }), x({ resolved: false }), x({ resolved: true })],
      ...[x({ event_action: "trigger" }), x({ event: "incident.acknowledged" }), x({ user: { status: "active" } })],
      ...[{ ...monitor, heartbeat: { status: 1 } }, x(friendly("1", "Down")), x(friendly("2", "Up"))],
      ...["[RESOLVED] TVL fell", "Up: ETH is above 4,000", "Close: BTC at 97,000", "✅ Recovered: TVL"].map(
        (title) => ({ title }),
      ),
    ],
  ],
  [
    "a time",
    [
      ...[1795219200, "1795219200", 1795219200000, "1795219200000000", "1795219200.0", "2026-11-21T00:00:00Z"].map(at),
      ...["2026-11-21T01:00:00+01:00", "2026-11-20T19:00:00-0500", "2026-11-21T00:00:00.000000000Z"].map(at),
      ...["2026-11-21 00:00:00 +0000 UTC", "Sat, 21 Nov 2026 00:00:00 GMT"].map(at),
    ],
  ],
  [
    "no time",
    [
      ...[0, 12, "0001-01-01T00:00:00Z", "2026-02-31T00:00:00Z", "2026-11-21", "soon", 99999999999999].map(at),
      ...["2026-11-21T25:00:00Z", "2026-11-21T10:60:00Z", "2026-11-21T10:00:60Z"].map(at),
    ],
  ],
  [
    "a title of what a woken person would ask",
    [
      ...[tvl({ value: 3, threshold: 5 }), tvl({ value: "4,012.3", threshold: "$4,000" }), below(5), below(7)],
      ...[below(7, { status: "resolved" }), tvl({ value: 5, threshold: 7, operator: ">=" })],
      tvl({ value: 9, threshold: 7, operator: "GreaterThanOrEqualToThreshold" }),
      ...[inM("25000000"), inM("25", { condition: "above" }), tvl({ value: "5m", threshold: 6 })],
      ...[below("many 3", { condition: "LessThanThreshold" }), below("many 3", { status: "resolved" })],
      tvl({ value: 3305, threshold: 2.5, condition: "change_percent" }),
      ...["thresholdPrice", "price_threshold", "triggerPrice", "limitPrice"].map((name) => ({ price: 2, [name]: 3 })),
    ],
  ],
])("reads %s", (_what, bodies) => {
  const lines = bodies.map((body) => {
    const { title, severity, status, value, threshold, occurredAt, link, notes } = readFacts(body);
    const time = occurredAt === undefined ? undefined : new Date(occurredAt).toISOString();
    const facts = {
      title,
      severity,
      status,
      value,
      threshold,
      time,
      link,
      notes: notes.length > 0 ? notes : undefined,
    };
    return `${JSON.stringify(body)}\n  ${JSON.stringify(facts)}`;
  });
  expect(`\n${lines.join("\n")}\n`).toMatchSnapshot();
});

it("takes none of the first of many rows, but those of a batch's first alert", () => {
  const rows = Array.from({ length: 4_000 }, (_, row) => ({ pool: `P${row}`, tvl: row / 10, chain: "eth" }));
  const report = readFacts({ title: "Nightly report", rows });
  expect([report.title, report.value, report.chain]).toEqual(["Nightly report", undefined, undefined]);
  expect(readFacts({ title: "Two pools", rows: rows.slice(0, 2) }).value).toBe("0");
  const nested = (count: number) =>
    readFacts({ title: "Daily report", report: [{ rows: rows.slice(0, count) }] }).value;
  expect([nested(20), nested(21), nested(30)]).toEqual(["0", undefined, undefined]);
  const deep = { title: "Deep", a: [{ b: [{ c: [rows.slice(0, 30)] }] }], tvl: 7 };
  expect(readFacts(deep).value).toBe("7");
  expect(readFacts({ ...deep, tvl: undefined }).value).toBeUndefined();
  expect(readFacts({ title: "Table in a row", rows: [{ tvl: 5, cells: rows.slice(0, 30) }] }).value).toBe("5");
  expect(readFacts(rows.map((row) => ({ ...row, title: row.pool }))).title).toMatch(/the first: P0$/);
});

it("loses nothing of a title that is too long", () => {
  const long = `TVL ${"x".repeat(400)} end`;
  for (const facts of [readFacts({ title: long }), readFacts(long), readFacts({ title: long, text: "more" })]) {
    expect(facts.title).toHaveLength(300);
    expect(facts.title.endsWith("…")).toBe(true);
    expect(facts.text).toContain(long);
  }
});

it.each([
  ["critical", "CRITICAL crit Fatal emergency P1 P2 sev-1 high error Disaster urgent"],
  ["warning", "warning WARN medium P3 average moderate"],
  ["info", "info Informational low notice P4 P5 debug"],
])("reads as the severity %s: %s", (severity, words) => {
  for (const word of words.split(" ")) expect([word, readFacts({ severity: word }).severity]).toEqual([word, severity]);
});

describe("the field list", () => {
  it("is short: 40 fields, the outermost first to stay, and says how many there are more", () => {
    const deep = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`d${index}`, index]));
    const flat = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}`, index]));
    const facts = readFacts({ title: "x", unknown: { inner: deep }, ...flat });
    expect(facts.fields).toHaveLength(40);
    expect(facts.fields.filter(({ name }) => name.startsWith("f"))).toHaveLength(30);
    expect(facts.notes).toContain("20 more fields are only in the raw body");
  });

  it("cuts long values and says so", () => {
    const facts = readFacts({ title: "x", blob: "y".repeat(600) });
    expect(facts.fields[0]?.value).toHaveLength(500);
    expect(facts.notes).toContain("one long field is cut");
  });
});

describe("any body", () => {
  it("gives a title, a key and facts within their limits, and never throws", () => {
    const json = fc.json({ maxDepth: 6, stringUnit: "binary" });
    const names = fc.constantFrom(
      ..."title text severity status metric token value timestamp url id fields attachments blocks embeds".split(" "),
      ...["alerts", "Message", "data", "__proto__", "labels"],
    );
    const known = fc
      .dictionary(names, fc.oneof(fc.jsonValue({ maxDepth: 3 }), json), { maxKeys: 8 })
      .map((value) => JSON.stringify(value));
    const text = fc.oneof(json, known, fc.string({ unit: "binary" }));
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      text.map((one) => new Uint8Array(Buffer.from(one))),
      fc.tuple(text, fc.nat()).map(([one, at]) => new Uint8Array(Buffer.from(one.slice(0, at % (one.length + 1))))),
    );
    const types = [
      "application/json",
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
    ];
    const header = fc.option(fc.constantFrom(...types), { nil: undefined });
    fc.assert(
      fc.property(body, header, (raw, contentType) => {
        const translations = translateRequest(raw, contentType);
        expect(translations.length).toBeGreaterThan(0);
        for (const { facts } of translations) {
          expect(facts.title.trim()).not.toBe("");
          expect(facts.title.length).toBeLessThanOrEqual(300);
          expect(facts.title).not.toMatch(/[\n\r]|\p{Surrogate}/u);
          expect(facts.alertKey).not.toBe("");
          expect(facts.alertKey.length).toBeLessThanOrEqual(200);
          expect(facts.text?.length ?? 0).toBeLessThanOrEqual(20_000);
          expect(facts.fields.length).toBeLessThanOrEqual(40);
          // An escape, and not the sender's own words "\\u0000".
          expect(JSON.stringify(facts)).not.toMatch(/(?<!\\)(?:\\\\)*\\(?:u0000|ud[89a-f])/);
          expect(translateRequest(raw, contentType)[0]?.facts).toEqual(translations[0]?.facts);
        }
      }),
      { numRuns: 500 },
    );
  });
});
