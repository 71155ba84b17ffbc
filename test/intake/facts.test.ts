import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { translateRequest } from "../../src/intake/translate.ts";

function read(payload: unknown) {
  const [translation] = translateRequest(Buffer.from(JSON.stringify(payload)), "application/json");
  if (translation === undefined) throw new Error("no translation");
  return translation.facts;
}

function readText(text: string) {
  const [translation] = translateRequest(Buffer.from(text), "text/plain");
  if (translation === undefined) throw new Error("no translation");
  return translation.facts;
}

describe("of several quantities", () => {
  const both = { token: "USDC", price: 1.0001, tvl: 24_000_000, threshold: 25_000_000 };

  it.each([
    [{ ...both, metric: "tvl" }, "24000000"],
    [{ ...both, metric: "eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48" }, "24000000"],
    [{ ...both, metric: "price" }, "1.0001"],
    [{ ...both, title: "TVL of USDC fell" }, "24000000"],
    [{ ...both, title: "Price of USDC fell" }, "1.0001"],
    [both, undefined],
    [{ token: "ETH", price: 3912, volume: 5, threshold: 4000 }, "3912"],
    [{ title: "Volume spike", token: "ETH", price: 3912, threshold: 4_000_000 }, undefined],
    [{ title: "Volume spike", token: "ETH", price: 3912 }, "3912"],
    [{ ...both, metric: "price", value: 7 }, "7"],
  ])("takes the one that %j is about", (payload, value) => {
    expect(read(payload).value).toBe(value);
  });

  it("takes none of the first of many rows, but those of a batch's first alert", () => {
    const rows = Array.from({ length: 4_000 }, (_, row) => ({ pool: `P${row}`, tvl: row / 10, chain: "eth" }));
    const report = read({ title: "Nightly report", rows });
    expect([report.title, report.value, report.chain]).toEqual(["Nightly report", undefined, undefined]);
    expect(read({ title: "Two pools", rows: rows.slice(0, 2) }).value).toBe("0");
    const nested = (count: number) => read({ title: "Daily report", report: [{ rows: rows.slice(0, count) }] }).value;
    expect([nested(20), nested(21), nested(30)]).toEqual(["0", undefined, undefined]);
    const deep = { title: "Deep", a: [{ b: [{ c: [rows.slice(0, 30)] }] }], tvl: 7 };
    expect(read(deep).value).toBe("7");
    expect(read({ ...deep, tvl: undefined }).value).toBeUndefined();
    expect(read({ title: "Table in a row", rows: [{ tvl: 5, cells: rows.slice(0, 30) }] }).value).toBe("5");
    expect(read(rows.map((row) => ({ ...row, title: row.pool }))).title).toMatch(/the first: P0$/);
  });

  it("takes no threshold for the value", () => {
    expect(read({ token: "USDC", metric: "tvl", threshold: { value: 6, type: "below" } })).toMatchObject({
      threshold: "6",
      value: undefined,
    });
    const nested = { metric: { name: "tvl", value: { amount: 5, unit: "USD" } }, threshold: { value: 6 } };
    expect(read(nested)).toMatchObject({ value: "5", unit: "USD", threshold: "6" });
  });
});

describe("a value and its unit in one text", () => {
  it.each([
    [
      { value: "24.3M USD", threshold: "25M USD" },
      { value: "24.3M", unit: "USD", threshold: "25M" },
    ],
    [
      { value: "5.2 %", previousValue: "4.9%", threshold: 5 },
      { value: "5.2", unit: "%", previousValue: "4.9" },
    ],
    [
      { value: "1,200 ETH", threshold: "1000" },
      { value: "1,200", unit: "ETH", threshold: "1000" },
    ],
    [{ value: "12 bps" }, { value: "12", unit: "bps" }],
    // Another unit, its own field, no number, a time, a price without one.
    [
      { value: "24.3 USD", threshold: "25 ETH" },
      { value: "24.3 USD", unit: undefined, threshold: "25 ETH" },
    ],
    [
      { value: "24.3 USD", unit: "EUR" },
      { value: "24.3 USD", unit: "EUR" },
    ],
    [{ value: "24.3 of 25 USD" }, { value: "24.3 of 25 USD", unit: undefined }],
    [{ value: "5 minutes" }, { value: "5 minutes", unit: undefined }],
    [
      { value: "100.5", threshold: "5 %" },
      { value: "100.5", unit: undefined, threshold: "5 %" },
    ],
  ])("reads %j as two facts where that is certain", (body, expected) => {
    expect(read({ title: "x", ...body })).toMatchObject(expected);
  });
});

describe("names", () => {
  it.each(["alertTitle", "alert_title", "Alert-Title", "ALERT TITLE", "alert.title"])(
    "finds a title under %s",
    (name) => {
      expect(read({ foo: "x", [name]: "TVL fell" }).title).toBe("TVL fell");
    },
  );

  it.each([
    [{ alert: { title: "T" } }],
    [{ event: { data: { title: "T" } } }],
    [{ labels: { alertname: "T" } }],
    [{ annotations: { summary: "T" }, labels: { alertname: "other" } }],
    [{ unheard: { of: { title: "T" } } }],
    [{ rule: { name: "T" }, token: { name: "USD Coin" } }],
    [{ alert: "T", name: "bot" }],
  ])("finds the title of %j", (payload) => {
    expect(read(payload).title).toBe("T");
  });

  it("does not call an alert by the name of its token, user or pool", () => {
    const facts = read({
      token: { name: "USD Coin", symbol: "USDC" },
      user: { title: "Dr" },
      message: "Depeg",
    });
    expect(facts).toMatchObject({ title: "Depeg", token: "USDC" });
  });

  it("finds metric, chain and token of the market service wherever they stand", () => {
    const address = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
    const key = `arbitrum_token_total_tvl_${address}`;
    for (const payload of [
      { metric: key },
      { data: { metric: { key } } },
      { key },
      { metricKey: key },
      { name: key },
    ]) {
      expect(read(payload)).toMatchObject({ metric: key, chain: "arbitrum", token: address });
    }
    expect(read({ text: `TVL alert: ${key} fell` })).toMatchObject({ chain: "arbitrum", token: address });
    expect(readText(`${key} fell below 5`)).toMatchObject({ metric: key, chain: "arbitrum", token: address });
    expect(read({ metric: key, token: "USDC", chain: "arb" })).toMatchObject({ chain: "arb", token: "USDC" });
  });

  it("does not take a pool's address for a token", () => {
    const facts = read({ metric: "bsc_pool_h24_volume_0x4c36388be6f416a29c8d8eee81c771ce6be14b18" });
    expect(facts.chain).toBe("bsc");
    expect(facts.token).toBeUndefined();
  });

  it("keeps the digits of values as sent", () => {
    const [translation] = translateRequest(
      Buffer.from('{"value":1.10,"previous":123456789012345678901,"threshold":"1,000.00"}'),
      undefined,
    );
    expect(translation?.facts).toMatchObject({
      value: "1.10",
      previousValue: "123456789012345678901",
      threshold: "1,000.00",
    });
  });

  it("makes a title of the reading when the sender gives none", () => {
    expect(read({ metric: "eth_tvl", value: 3.2, threshold: 5, unit: "%" }).title).toBe("eth_tvl is 3.2%, below 5");
    expect(read({ token: "ETH", price: 2999 }).title).toBe("ETH is 2999");
    expect(read({ metric: "eth_tvl" }).title).toBe("Alert on eth_tvl");
    expect(read({ foo: "bar", n: 1 }).title).toBe("foo bar, n 1");
  });

  it("puts the first line of a text into the title and the rest below it", () => {
    expect(read({ message: "first\nsecond\nthird" })).toMatchObject({
      title: "first",
      text: "second\nthird",
    });
    expect(readText("\n\n first \nsecond")).toMatchObject({ title: "first", text: "second" });
  });

  it("reads the elements of XML, and takes no declaration for a title", () => {
    const declaration = "<?xml version='1.0' encoding='utf-8'?>\n";
    const inner = "<Version>1.0</Version><Subject>Margin &lt; 5 %</Subject><MessageType>failure</MessageType>";
    const body = `<n:Notification xmlns:n="urn:x">${inner}<Message xml:lang="en">prime-3</Message></n:Notification>`;
    const facts = readText(`${declaration}<soapenv:Body>${body}</soapenv:Body>`);
    expect(facts).toMatchObject({ title: "Margin < 5 %", text: "prime-3", severity: "critical", format: "text" });
    expect(readText(`${declaration}<pool/> is empty`).title).toBe("<pool/> is empty");
  });

  it("loses nothing of a title that is too long", () => {
    const long = `TVL ${"x".repeat(400)} end`;
    for (const facts of [read({ title: long }), readText(long), read({ title: long, text: "more" })]) {
      expect(facts.title).toHaveLength(300);
      expect(facts.title.endsWith("…")).toBe(true);
      expect(facts.text).toContain(long);
    }
  });

  it("takes only addresses that a reader can open for the link", () => {
    expect(read({ url: "javascript:alert(1)", href: "https://a.example.com/x?y=1" }).link).toBe(
      "https://a.example.com/x?y=1",
    );
    for (const url of ["ftp://a.b/", "https://user:pass@a.b/", "https://a b/", "//a.b", "https://", "notes"]) {
      expect(read({ title: "x", url }).link).toBeUndefined();
    }
    expect(readText("see (https://a.example.com/x).").link).toBe("https://a.example.com/x");
  });
});

describe("severity", () => {
  it.each([
    ["critical", "CRITICAL crit Fatal emergency P1 P2 sev-1 high error Disaster urgent"],
    ["warning", "warning WARN medium P3 average moderate"],
    ["info", "info Informational low notice P4 P5 debug"],
  ])("reads as %s: %s", (severity, words) => {
    for (const word of words.split(" ")) expect([word, read({ severity: word }).severity]).toEqual([word, severity]);
  });

  it.each([
    [{ severity: 2 }, "critical"],
    [{ severity: "4" }, "warning"],
    [{ severity: 6 }, "info"],
    [{ priority: 1 }, "critical"],
    [{ priority: 3 }, "warning"],
    [{ priority: 5 }, "info"],
    [{ level: 50 }, "critical"],
    [{ level: 40 }, "warning"],
    [{ level: 30 }, "info"],
  ])("reads the number in %j as %s and says so", (payload, severity) => {
    const facts = read({ title: "x", ...payload });
    expect(facts.severity).toBe(severity);
    expect(facts.notes.join()).toContain(`was read as ${severity}`);
  });

  it("keeps a word that it does not know, and guesses nothing", () => {
    expect(read({ title: "x", severity: "spicy" })).toMatchObject({
      severity: "unknown",
      fields: [{ name: "severity", value: "spicy" }],
    });
    expect(read({ title: "x", severity: 99 }).severity).toBe("unknown");
    expect(read({ title: "x" }).severity).toBe("unknown");
  });

  it("keeps the sender's own word where it says more", () => {
    expect(read({ title: "x", severity: "P1" }).fields).toEqual([{ name: "severity", value: "P1" }]);
    expect(read({ title: "x", severity: "Critical" }).fields).toEqual([]);
  });

  it("is read from the title's tag or from the status when nothing else names it", () => {
    expect(readText("[CRITICAL] TVL fell").severity).toBe("critical");
    expect(readText("CRITICAL USDC pool: TVL fell").severity).toBe("critical");
    expect(readText("RESOLVED USDC pool: TVL fell").status).toBe("resolved");
    expect(readText("Warning shots were heard").severity).toBe("unknown");
    expect(readText("🚨 Warning: TVL fell").severity).toBe("warning");
    expect(read({ title: "x", status: "critical" })).toMatchObject({
      severity: "critical",
      status: "firing",
    });
    expect(readText("critical infrastructure is fine").severity).toBe("unknown");
  });

  it.each([
    [{ title: "x", status: "down" }, "critical", "firing"],
    [{ title: "x", state: "Up" }, "critical", "resolved"],
    [{ title: "x", current_state: "OFFLINE" }, "critical", "firing"],
    [{ monitor: { name: "x" }, heartbeat: { status: 0 } }, "critical", "firing"],
    [{ monitor: { name: "x" }, heartbeat: { status: 1 } }, "critical", "resolved"],
    [{ AlarmName: "x", NewStateValue: "ALARM" }, "critical", "firing"],
    [{ AlarmName: "x", NewStateValue: "OK" }, "critical", "resolved"],
    [{ AlarmName: "x", NewStateValue: "INSUFFICIENT_DATA" }, "unknown", "unknown"],
    [{ title: "x", status: "down", severity: "info" }, "info", "firing"],
    [{ title: "x", event: "price.down" }, "unknown", "unknown"],
    [{ title: "x", status: "ok" }, "unknown", "resolved"],
  ])("of a monitor that knows up and down alone is critical, its end as well: %j", (payload, severity, status) => {
    expect(read(payload)).toMatchObject({ severity, status });
  });

  it.each([
    ["failure", "critical", "firing"],
    ["warning", "warning", "firing"],
    ["info", "info", "unknown"],
    ["success", "info", "resolved"],
    ["charge.success", "unknown", "unknown"],
  ])("of a notification of the kind %s is %s, and it is %s", (type, severity, status) => {
    const sent = { version: "1.0", title: "Backup of prices", message: "took 3 min", attachments: [], type };
    expect(read(sent)).toMatchObject({ severity, status });
  });

  it("is not lowered by the kind of notification", () => {
    expect(read({ title: "[CRITICAL] Vault drained", type: "info" }).severity).toBe("critical");
    expect(read({ title: "RPC", status: "down", type: "info" }).severity).toBe("critical");
  });

  it("is not lowered by a priority that nobody has set", () => {
    expect(read({ title: "x", priority: "normal", alert_type: "error" }).severity).toBe("critical");
    expect(read({ title: "x", priority: "normal" }).severity).toBe("unknown");
  });
});

describe("status", () => {
  it.each([
    [{ status: "firing" }, "firing"],
    [{ state: "ALARM" }, "firing"],
    [{ alert_transition: "Triggered" }, "firing"],
    [{ status: "DOWN" }, "firing"],
    [{ resolved: false }, "firing"],
    [{ event_action: "trigger" }, "firing"],
    [{ status: "resolved" }, "resolved"],
    [{ state: "ok" }, "resolved"],
    [{ status: "Recovered" }, "resolved"],
    [{ status: "back to normal" }, "resolved"],
    [{ state: "closed" }, "resolved"],
    [{ resolved: true }, "resolved"],
    [{ heartbeat: { status: 1 } }, "resolved"],
    [{ alertType: "1", alertTypeFriendlyName: "Down" }, "firing"],
    [{ alertType: "2", alertTypeFriendlyName: "Up" }, "resolved"],
    [{ type: "alert.resolved" }, "resolved"],
    [{ title: "[RESOLVED] TVL fell" }, "resolved"],
    [{ title: "Up: ETH is above 4,000" }, "unknown"],
    [{ title: "Close: BTC at 97,000" }, "unknown"],
    [{ title: "✅ Recovered: TVL" }, "resolved"],
    [{ status: "acknowledged" }, "firing"],
    [{ event: "incident.acknowledged" }, "firing"],
    [{ status: "no data" }, "unknown"],
    [{ status: 200 }, "unknown"],
    [{ type: "price.up" }, "unknown"],
    [{ user: { status: "active" } }, "unknown"],
  ])("of %j is %s", (payload, status) => {
    expect(read({ name: "x", ...payload }).status).toBe(status);
  });

  it("leaves the word in the fields where it says more: it is acknowledged", () => {
    expect(read({ title: "x", status: "Acknowledged" }).fields).toEqual([{ name: "status", value: "Acknowledged" }]);
  });

  it("of an interface's envelope is not the alert's", () => {
    expect(read({ status: "ok", data: { title: "TVL fell" } }).status).toBe("unknown");
    expect(read({ status: "success", data: { title: "TVL fell", state: "firing" } }).status).toBe("firing");
  });
});

describe("times", () => {
  const at = Date.UTC(2026, 10, 21, 0, 0, 0);
  it.each([
    1795219200,
    "1795219200",
    1795219200000,
    "1795219200000000",
    "1795219200.0",
    "2026-11-21T00:00:00Z",
    "2026-11-21T01:00:00+01:00",
    "2026-11-20T19:00:00-0500",
    "2026-11-21T00:00:00.000000000Z",
    "2026-11-21 00:00:00 +0000 UTC",
    "Sat, 21 Nov 2026 00:00:00 GMT",
  ])("reads %j", (timestamp) => {
    const facts = read({ title: "x", timestamp });
    expect(facts.occurredAt).toBe(at);
    expect(facts.notes).toEqual([]);
  });

  it("takes UTC for a time without a zone and says so", () => {
    const facts = read({ title: "x", time: "2026-11-21 00:00:00" });
    expect(facts.occurredAt).toBe(at);
    expect(facts.notes[0]).toContain("names no zone");
  });

  it.each([
    0,
    12,
    "0001-01-01T00:00:00Z",
    "2026-02-31T00:00:00Z",
    "2026-11-21",
    "soon",
    99999999999999,
    "2026-11-21T25:00:00Z",
    "2026-11-21T10:60:00Z",
    "2026-11-21T10:00:60Z",
  ])("leaves %j alone", (timestamp) => {
    expect(read({ title: "x", timestamp }).occurredAt).toBeUndefined();
  });

  it("takes the end of an alert that is over", () => {
    const times = { startsAt: "2026-11-20T00:00:00Z", endsAt: "2026-11-21T00:00:00Z" };
    expect(read({ title: "x", status: "resolved", ...times }).occurredAt).toBe(at);
    expect(read({ title: "x", status: "firing", ...times }).occurredAt).toBe(at - 86_400_000);
  });
});

describe("Slack's own notation", () => {
  const slack = (text: string, blocks: object[] = []) => read({ text: "", blocks: [...blocks, mrkdwn(text)] }).title;
  const mrkdwn = (text: string) => ({ type: "section", text: { type: "mrkdwn", text } });

  it.each([
    ["*USDC* is at _0.96_ (was ~0.99~)", "USDC is at 0.96 (was 0.99)"],
    ["*two words*, and a_name_with_lines", "two words, and a_name_with_lines"],
    ["5 * 3 * 2 and *open", "5 * 3 * 2 and *open"],
  ])("is read without its marks: %s", (text, expected) => {
    expect(slack(text)).toBe(expected);
  });

  it("leaves out the stand-in for small screens beside blocks, unless it has a number that these lack", () => {
    const blocks = [mrkdwn("USDC has left its peg")];
    expect(read({ text: "a peg is lost", blocks })).toMatchObject({ title: "USDC has left its peg", text: undefined });
    expect(read({ text: "USDC at 0.96", blocks }).text).toBe("USDC at 0.96");
    expect(read({ text: "only this", blocks: [{ type: "divider" }] }).title).toBe("only this");
  });
});

describe("the field list", () => {
  it("holds what no fact tells, in order, under readable names", () => {
    const facts = read({
      title: "x",
      data: {
        pool: { address: "0x1", fee: 0.05 },
        tags: ["a", "b"],
        empty: "",
        nothing: null,
        paused: false,
      },
      items: [{ id: 7, kind: "a" }, { id: 8 }],
    });
    expect(facts.fields).toEqual([
      { name: "pool.address", value: "0x1" },
      { name: "pool.fee", value: "0.05" },
      { name: "tags", value: "a, b" },
      { name: "paused", value: "false" },
      { name: "kind", value: "a" },
      { name: "[1].id", value: "8" },
    ]);
  });

  it("is short: 40 fields, the outermost first to stay, and says how many there are more", () => {
    const deep = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`d${index}`, index]));
    const flat = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}`, index]));
    const facts = read({ title: "x", unknown: { inner: deep }, ...flat });
    expect(facts.fields).toHaveLength(40);
    expect(facts.fields.filter(({ name }) => name.startsWith("f"))).toHaveLength(30);
    expect(facts.notes).toContain("20 more fields are only in the raw body");
  });

  it("cuts long values and says so", () => {
    const facts = read({ title: "x", blob: "y".repeat(600) });
    expect(facts.fields[0]?.value).toHaveLength(500);
    expect(facts.notes).toContain("one long field is cut");
  });

  it("names a credential and does not show it, not even in a made title", () => {
    const facts = read({ passphrase: "hunter2", apiKey: "k-123", strategy: "breakout" });
    expect(JSON.stringify(facts)).not.toMatch(/hunter2|k-123/);
    expect(facts.fields.filter(({ value }) => value === "(not shown)").map(({ name }) => name)).toEqual([
      "passphrase",
      "apiKey",
    ]);
  });
});

describe("any body", () => {
  it("gives a title, a key and facts within their limits, and never throws", () => {
    const json = fc.json({ maxDepth: 6, stringUnit: "binary" });
    const names = fc.constantFrom(
      "title",
      "text",
      "severity",
      "status",
      "metric",
      "token",
      "value",
      "timestamp",
      "url",
      "id",
      "fields",
      "attachments",
      "blocks",
      "embeds",
      "alerts",
      "Message",
      "data",
      "__proto__",
      "labels",
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
    const header = fc.option(
      fc.constantFrom(
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
      ),
      { nil: undefined },
    );
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

describe("what a woken person would ask", () => {
  const key = "eth_token_total_tvl_0xdac17f958d2ee523a2206206994597c13d831ec7";

  it("says in words what a metric key means where the sender gives no title", () => {
    expect(read({ metricKey: key, token: "USDT", value: 3, threshold: 5 }).title).toBe(
      "USDT total TVL on eth is 3, below 5",
    );
    expect(read({ key, value: 3 }).title).toBe("Total TVL of 0xdac1…1ec7 on eth is 3");
    const pool = "bsc_pool_h24_volume_0x4c36388be6f416a29c8d8eee81c771ce6be14b18";
    expect(read({ key: pool, value: 3 }).title).toBe("24 h volume of pool 0x4c36…4b18 on bsc is 3");
    expect(read({ metric: "error_rate", value: 3 }).title).toBe("error_rate is 3");
  });

  it("calls a pool by its pair, its name, or the token that the payload names", () => {
    const pool = "polygon_pool_total_tvl_0x4c36388be6f416a29c8d8eee81c771ce6be14b18";
    const numbers = {
      metricKey: pool,
      value: 18623.426,
      threshold: 19000,
      previousValue: 20282.771,
      unit: "USD",
    };
    const end = "pool TVL on polygon is 18623.426 USD, below 19000, was 20282.771";
    expect(read({ ...numbers, tokenSymbol: "ONYX504" }).title).toBe(`ONYX504 ${end}`);
    expect(read({ ...numbers, tokenSymbol: "ONYX504", pool: { name: "ONYX504/WETH 0.3%" } }).title).toBe(
      `ONYX504/WETH 0.3% ${end}`,
    );
    expect(read({ ...numbers, pair: "ONYX504/USDC" }).title).toBe(`ONYX504/USDC ${end}`);
    expect(read({ ...numbers, pool: { address: "0x4c36" } }).title).toBe(
      "Total TVL of pool 0x4c36…4b18 on polygon is 18623.426 USD, below 19000, was 20282.771",
    );
    expect(read({ ...numbers, token: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", tokenName: "USD Coin" }).title).toBe(
      `USD Coin ${end}`,
    );
  });

  it("puts the token before a metric that does not name it", () => {
    expect(read({ metric: "price", token: "ETH", chain: "base", value: 3 }).title).toBe("ETH price on base is 3");
    expect(read({ metric: "eth_tvl", token: "ETH", value: 3 }).title).toBe("eth_tvl is 3");
  });

  it.each([
    [{ value: 3, threshold: 5 }, "below 5"],
    [{ value: "4,012.3", threshold: "$4,000" }, "above $4,000"],
    [{ value: 5, threshold: 5, condition: "below" }, "threshold 5"],
    [{ value: 7, threshold: 5, condition: "below" }, "threshold 5"],
    [{ value: 7, threshold: 5, condition: "below", status: "resolved" }, "above 5"],
    [{ value: 5, threshold: 7, operator: ">=" }, "threshold 7"],
    [{ value: 9, threshold: 7, operator: "GreaterThanOrEqualToThreshold" }, "above 7"],
    [{ value: "26.3", unit: "M USD", threshold: "25000000" }, "threshold 25000000"],
    [{ value: "26.3", unit: "M USD", threshold: "25", condition: "above" }, "above 25"],
    [{ value: "5m", threshold: 6 }, "threshold 6"],
    [{ value: "many 3", threshold: 5, condition: "LessThanThreshold" }, "below 5"],
    [{ value: "many 3", threshold: 5, condition: "below", status: "resolved" }, "threshold 5"],
    [{ value: 3305, threshold: 2.5, condition: "change_percent" }, "threshold of the change 2.5"],
  ])("says in the title of %j: %s", (numbers, words) => {
    const { title } = read({ metric: "eth_tvl", ...numbers });
    expect(title).toMatch(/^eth_tvl is /);
    expect(title.split(", ").at(-1)).toBe(words);
  });

  it("keeps the pair that the ticker calls its id", () => {
    const facts = read({ id: "WBTC/USD", aggregated: { price: 91000.5 }, message: "deviation above 0.5%" });
    expect(facts.token).toBe("WBTC/USD");
    expect(facts.externalId).toBeUndefined();
    expect(read({ id: "evt/1", token: "ETH", message: "x" })).toMatchObject({
      token: "ETH",
      externalId: "evt/1",
    });
  });

  it("keeps the name of a number that nothing else in the message calls by its name", () => {
    expect(read({ title: "Depeg", price: 0.97, threshold: 0.99 }).fields).toEqual([{ name: "price", value: "0.97" }]);
    expect(read({ title: "Price of USDT fell", price: 0.97 }).fields).toEqual([]);
    expect(read({ title: "Depeg", value: 0.97 }).fields).toEqual([]);
  });

  it.each(["thresholdPrice", "price_threshold", "triggerPrice", "limitPrice"])("reads a threshold under %s", (name) => {
    expect(read({ title: "Price", price: 2, [name]: 3 }).threshold).toBe("3");
  });

  it("does not call JSON that is too deep an empty object", () => {
    const [translation] = translateRequest(Buffer.from(`${'{"a":'.repeat(200)}1${"}".repeat(200)}`), undefined);
    expect(translation?.facts.title).toBe("Alert (broken JSON)");
  });
});
