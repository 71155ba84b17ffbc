import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { Secret } from "../../src/core/secret.ts";
import { createAlertingClient } from "../../src/upstream/alerting-client.ts";
import type { UpstreamClientOptions } from "../../src/upstream/requester.ts";
import { findLastingPort } from "../support/lasting-port.ts";
import { type FakeAnswer, type SeenRequest, startFakeService } from "./fake-service.ts";

const key = "canary-key-5f1d";
const account = {
  id: "acc-1",
  accountName: "Desk",
  alertOutputs: { webhookUrl: null, messengerChannelId: "-100" },
  apiKeyHash: "h",
  apiKeyExpirationTimestamp: "1800000000",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-02T00:00:00Z",
};

type Answer = (request: SeenRequest, count: number) => FakeAnswer;
type Client = ReturnType<typeof createAlertingClient>;

async function setUp(answer: Answer | FakeAnswer, overrides: Partial<UpstreamClientOptions> = {}) {
  const service = await startFakeService(typeof answer === "function" ? answer : () => answer);
  const waits: number[] = [];
  const client = createAlertingClient({
    url: `${service.url}/`,
    apiKey: new Secret(key),
    random: () => 1,
    sleep: async (ms) => void waits.push(ms),
    ...overrides,
  });
  return { client, waits, seen: service.seen };
}

async function failure(promise: Promise<unknown>): Promise<AppError> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof AppError)) throw new Error(`no AppError: ${inspect(thrown)}`);
  expect(inspect(thrown, { depth: 10, showHidden: true })).not.toContain(key);
  return thrown;
}

/** What a call comes to that must fail. Default: the one for the users. */
async function fail(
  answer: Answer | FakeAnswer,
  call: (client: Client) => Promise<unknown> = (client) => client.listUsers(),
  overrides: Partial<UpstreamClientOptions> = {},
) {
  const { client, waits, seen } = await setUp(answer, overrides);
  const { code, message, hint, retryAfterMs } = await failure(call(client));
  return { code, message, hint, retryAfterMs, waits: waits.length, calls: seen.map(({ method }) => method) };
}

const says = (words: string) => expect.stringContaining(words);
const dataOf = (data: unknown): FakeAnswer => ({ json: { data } });

describe("reading the account", () => {
  const readAccount = async (data: unknown) => (await (await setUp(dataOf(data))).client.readAccount()).account;

  it("sends the key itself as Authorization, and no query or body", async () => {
    const { client, seen } = await setUp({ json: { message: "authorized", data: account } });
    const answer = await client.readAccount();
    expect(answer.message).toBe("authorized");
    expect(answer.account).toMatchObject({ accountName: "Desk", apiKeyExpiresAt: 1_800_000_000_000 });
    expect(seen).toMatchObject([{ method: "GET", target: "/account", body: "" }]);
    expect(seen[0]?.headers.authorization).toBe(key);
    expect(seen[0]?.headers["x-api-key"]).toBeUndefined();
  });

  it("takes no outputs for none, whatever stands beside them, an id that is a number, and fields that no document names", async () => {
    const none = { webhookUrl: null, messengerChannelId: null };
    for (const alertOutputs of [null, {}, { webhookUrl: "", messengerChannelId: null }])
      expect((await readAccount({ ...account, alertOutputs })).alertOutputs).toEqual(none);
    const odd = { id: 12, accountName: ["x"], apiKeyHash: 7, apiKeyExpirationTimestamp: { never: true }, createdAt: 0 };
    const read = await readAccount({ ...odd, alertOutputs: null, plan: "gold" });
    expect(read).toMatchObject({ id: "12", plan: "gold" });
    expect([read.accountName, read.createdAt, read.apiKeyExpiresAt]).toEqual([undefined, undefined, undefined]);
  });

  it("refuses an answer that does not have the outputs, since somebody's URL could be overwritten", async () => {
    const { alertOutputs: _, ...rest } = account;
    const error = await fail(dataOf(rest), (client) => client.readAccount());
    expect(error).toMatchObject({ code: "upstream_bad_answer", message: says("data.alertOutputs") });
  });
});

describe("errors by cause", () => {
  it.each([
    [400, "upstream_rejected"],
    [401, "upstream_unauthorized"],
    [403, "upstream_forbidden"],
    [404, "upstream_not_found"],
    [409, "upstream_conflict"],
    [422, "upstream_rejected"],
    [302, "upstream_bad_answer"],
  ])("a %i is %s, sent once", async (status, code) => {
    const json = { error: { message: `no, ${key} will not do` } };
    const headers: Record<string, string> = status === 302 ? { location: "http://127.0.0.1:1/" } : {};
    const error = await fail({ status, json, headers }, (client) => client.readAccount());
    expect(error).toMatchObject({ code, calls: ["GET"] });
    expect(error.message).toContain(`alerting: GET /account answered ${status}: no, *** will not do`);
  });

  const html = { headers: { "content-type": "text/html" } };
  const once = { retry: { attempts: 1 } };
  const odd: UpstreamClientOptions["fetch"] = (_url, init) =>
    Promise.reject(new TypeError(`bad header ${JSON.stringify(init?.headers)}`));
  const small = { maxAnswerBytes: 100 };
  const signIn = { text: "<!doctype html><title>Sign in</title>", ...html };
  const badGateway = { status: 502, text: "<html><title>Bad\n gateway</title>", ...html };
  const named = '502: an HTML page, "Bad gateway"';
  const late = { timeoutMs: 30, ...once };
  it.each<[string, FakeAnswer, Partial<UpstreamClientOptions>, string, string]>([
    ["an HTML page", signIn, small, "upstream_bad_answer", "an HTML page"],
    ["no JSON", { text: "OK" }, small, "upstream_bad_answer", "something that is not JSON"],
    ["another shape", dataOf("x"), small, "upstream_bad_answer", "another shape (data: expected array"],
    ["nothing", { text: "" }, small, "upstream_bad_answer", "another shape (the body: expected object"],
    ["too much", { text: " ".repeat(200) }, small, "upstream_bad_answer", "more than 100 bytes"],
    ["an HTML page of an error, which is named by its title", badGateway, once, "upstream_failed", named],
    ["nothing in time", "hang", late, "upstream_unreachable", "no answer within 0.03 s"],
    [
      "a failure of another kind, of which nothing is shown",
      "hang",
      { fetch: odd, ...once },
      "upstream_unreachable",
      "",
    ],
  ])("%s instead of the documented answer is said as what it is", async (_what, answer, options, code, words) => {
    expect(await fail(answer, undefined, options)).toMatchObject({ code, message: says(words) });
  });

  it("nobody listening is upstream_unreachable", async () => {
    const url = `http://127.0.0.1:${await findLastingPort()}`;
    const refused = { code: "upstream_unreachable", message: says("connection refused"), waits: 3 };
    expect(await fail("hang", undefined, { url })).toMatchObject(refused);
    // What never left is repeated, also where it changes something.
    expect(await fail("hang", (client) => client.setAlertOutputs(wanted), { url })).toMatchObject(refused);
  });

  it("a call ends when asked to", async () => {
    const controller = new AbortController();
    const stop = () => {
      controller.abort();
      return "hang" as const;
    };
    const { code } = await fail(stop, (client) => client.readAccount({ signal: controller.signal }));
    expect(code).toBe("cancelled");
  });
});

it.each([
  ["a 503", { status: 503, text: "" }],
  ["a 429", { status: 429, text: "" }],
  ["a reset connection", "reset" as const],
])("repeating a read happens after %s, with growing waits", async (_name, answer) => {
  const { client, seen, waits } = await setUp((_request, count) => (count < 3 ? answer : dataOf([])));
  expect(await client.listUsers()).toEqual([]);
  expect(seen).toHaveLength(3);
  expect(waits[1]).toBe(2 * (waits[0] ?? 0));
});

it.each([
  ["seconds", "17", 17_000],
  ["a date", "Sat, 21 Nov 2026 12:00:30 GMT", 30_000],
  ["neither: as usual", "not before 2030", expect.any(Number)],
])("repeating a read obeys Retry-After in full, given as %s", async (_how, text, wait) => {
  const later = { status: 503, text: "", headers: { "retry-after": text } };
  const now = () => Date.UTC(2026, 10, 21, 12, 0, 0);
  const { client, waits } = await setUp((_request, count) => (count === 1 ? later : dataOf([])), { now });
  await client.listUsers();
  expect(waits).toEqual([wait]);
});

it("repeating a read gives up rather than come back before a long Retry-After, and says when", async () => {
  const error = await fail({ status: 429, text: "", headers: { "retry-after": "3600" } });
  expect(error).toMatchObject({ code: "upstream_rate_limited", retryAfterMs: 3_600_000, hint: says("3600 s") });
  expect(error).toMatchObject({ waits: 0, calls: ["GET"] });
});

const wanted = { webhookUrl: "https://relay.example/hooks/s", messengerChannelId: null };

describe("setting the outputs", () => {
  const set = (client: Client) => client.setAlertOutputs(wanted);

  it("sends only what is to change", async () => {
    const data = { alertOutputs: { ...account.alertOutputs, webhookUrl: null }, message: "updated" };
    const { client, seen } = await setUp(dataOf(data));
    const answer = await client.setAlertOutputs({ webhookUrl: null });
    expect(answer).toMatchObject({ message: "updated", confirmedBy: "answer" });
    expect(seen).toMatchObject([{ method: "PUT", path: "/account", body: '{"webhookUrl":null}' }]);
    expect(seen[0]?.headers["content-type"]).toBe("application/json");
  });

  it.each([
    ["the connection breaks", "reset" as const],
    ["the service fails", { status: 500, text: "" }],
    ["the answer is unreadable", { text: "done!" }],
  ])("is sent once and read back when %s", async (_name, answer) => {
    const { client, seen } = await setUp(({ method }) =>
      method === "PUT" ? answer : dataOf({ ...account, alertOutputs: wanted }),
    );
    expect(await set(client)).toEqual({ alertOutputs: wanted, confirmedBy: "read-back" });
    expect(seen.map(({ method }) => method)).toEqual(["PUT", "GET"]);
  });

  it("says so when the change was not made, and when nobody can know", async () => {
    const lost = await fail(({ method }) => (method === "PUT" ? "reset" : dataOf(account)), set);
    expect(lost).toMatchObject({ code: "upstream_unreachable", message: says("the outputs are not changed") });
    expect(lost.calls.filter((method) => method === "PUT")).toHaveLength(1);
    expect((await fail("reset", set)).message).toContain("is not known");
  });

  it("does not repeat after a refusal, and refuses a channel id without a minus before asking", async () => {
    for (const status of [429, 400, 403]) expect((await fail({ status, text: "no" }, set)).calls).toHaveLength(1);
    const minus = await fail("reset", (client) => client.setAlertOutputs({ messengerChannelId: "100" }));
    expect(minus).toMatchObject({ code: "usage", calls: [] });
  });
});

it("lists travel comma-separated, addresses in lower case, keys as they are, and without what is not asked for", async () => {
  const { client, seen } = await setUp((_request, count) => dataOf(count === 1 ? [{ key: "k" }] : []));
  const of = { tokenAddresses: ["0xAB", "0xCD"], poolAddresses: ["0xEF"], keys: ["eth_Token&1", "b"] };
  await client.listMetrics({ chainId: "eth", page: 2, ...of });
  await client.listTokens({ chainId: "eth", addresses: [] });
  await client.listUsers({ ids: ["a", "b"] });
  await client.listSubscriptions();
  expect(seen.map(({ target }) => target)).toEqual([
    "/metrics?chainId=eth&page=2&tokenAddresses=0xab,0xcd&poolAddresses=0xef&keys=eth_Token%261,b",
    "/tokens?chainId=eth",
    "/users?ids=a,b",
    "/subscriptions",
  ]);
});

describe("metric history", () => {
  it("asks in Unix seconds and reads instants as epoch milliseconds", async () => {
    const { client, seen } = await setUp(dataOf({ key: "k", points: [{ timestamp: 1_700_000_000, value: 5 }] }));
    const history = await client.readHistory({ key: "k", fromAt: 1_999, toAt: 2_001, granularity: "1h" });
    expect(history.points).toEqual([{ timestamp: 1_700_000_000, value: 5, at: 1_700_000_000_000 }]);
    expect(seen.map(({ target }) => target)).toEqual([
      "/metrics/records/range?key=k&fromTimestamp=1&toTimestamp=3&granularity=1h",
    ]);
  });

  /** A service with one record an hour, of 2023-11-14 22:13:20 and the two hours before, in the given unit. */
  function hourly(unitMs: number, answerEmpty: FakeAnswer = dataOf({ key: "k", points: [] })) {
    const instants = [lastAt - 2 * hourMs, lastAt - hourMs, lastAt];
    return ({ query }: SeenRequest): FakeAnswer => {
      const from = query.fromTimestamp === undefined ? 0 : Number(query.fromTimestamp) * unitMs;
      const to = query.toTimestamp === undefined ? lastAt : Number(query.toTimestamp) * unitMs;
      const points = instants
        .filter((at) => from <= at && at <= to)
        .map((at) => ({ timestamp: at / unitMs, value: 1 }));
      return points.length === 0 ? answerEmpty : dataOf({ key: "k", points });
    };
  }
  const hourMs = 3_600_000;
  const lastAt = 1_700_000_000_000;
  const lastHour = { key: "k", fromAt: lastAt - hourMs, toAt: lastAt };

  it.each<[string, (request: SeenRequest) => FakeAnswer]>([
    ["in seconds", hourly(1000)],
    ["in milliseconds", hourly(1)],
    ["in milliseconds, and refuses a range that holds nothing", hourly(1, { status: 400, text: "range" })],
    ["in milliseconds, and knows no record of a range that holds nothing", hourly(1, { status: 404, text: "" })],
  ])("gets the range that was asked for from a service that counts %s", async (_name, answer) => {
    const { client } = await setUp(answer);
    for (const range of [lastHour, { ...lastHour, toAt: undefined }]) {
      expect((await client.readHistory(range)).points.map(({ at }) => at)).toEqual([lastAt - hourMs, lastAt]);
    }
    const first = await client.readHistory({ key: "k", toAt: lastAt - 2 * hourMs });
    expect(first.points.map(({ at }) => at)).toEqual([lastAt - 2 * hourMs]);
  });

  it("finds the unit out once, also by a history without a range", async () => {
    const { client, seen } = await setUp(hourly(1));
    await client.readHistory(lastHour);
    const asked = seen.length;
    await client.readHistory(lastHour);
    expect(seen.length - asked).toBe(1);
    expect(seen.at(-1)?.query).toMatchObject({ fromTimestamp: String(lastAt - hourMs) });
    const other = await setUp(hourly(1));
    await other.client.readHistory({ key: "k" });
    await other.client.readHistory(lastHour);
    expect(other.seen).toHaveLength(2);
  });

  it("takes an empty range for empty when the service counts in seconds, and a refusal for what it is", async () => {
    const { client } = await setUp(hourly(1000));
    const before = { key: "k", fromAt: lastAt - 9 * hourMs, toAt: lastAt - 8 * hourMs };
    expect((await client.readHistory(before)).points).toEqual([]);
    const ofKey = await fail({ status: 401, text: "" }, (one) => one.readHistory(lastHour));
    expect(ofKey).toMatchObject({ code: "upstream_unauthorized", calls: ["GET"] });
    // Why the range was refused, not what finding out the unit met.
    const [noKey, noStep] = [
      { status: 404, text: "unknown key" },
      { status: 400, text: "unknown granularity" },
    ];
    const answer: Answer = ({ query }) => (query.fromTimestamp === undefined ? noKey : noStep);
    expect((await fail(answer, (one) => one.readHistory(lastHour))).message).toContain("unknown granularity");
  });
});

describe("walking all metrics", () => {
  const pageOf = (page: number, size: number) => Array.from({ length: size }, (_, n) => ({ key: `m${page}-${n}` }));

  async function walk(read: (page: number) => FakeAnswer, options = {}) {
    const { client, seen } = await setUp(({ query }) => read(Number(query.page)));
    const sizes: number[] = [];
    const pages = client.walkMetrics({ chainId: "eth" }, options);
    for (;;) {
      const next = await pages.next();
      if (next.done) return { sizes, end: next.value, asked: seen.map(({ query }) => Number(query.page)) };
      sizes.push(next.value.items.length);
    }
  }

  /** A service whose pages count from 1. */
  const fromOne = (read: (page: number) => FakeAnswer) => (page: number) => (page === 0 ? dataOf([]) : read(page));

  const metrics = (page: number, size: number) => dataOf(pageOf(page, size));
  const moving = (page: number) => pageOf(page, 100).map((metric) => ({ ...metric, value: Math.random() }));
  /** The last metric of each page comes on the next once more. */
  const overlapping = (page: number) => [...pageOf(page - 1, 100).slice(-1), ...pageOf(page, 99)];
  const gone = { status: 404, text: "" };

  type Walk = [string, (page: number) => FakeAnswer, { sizes: number[]; end: string }];
  it.each<Walk>([
    [
      "goes on until a page is empty, past a page that is merely short",
      (page) => metrics(page, [100, 40, 100, 0][page - 1] ?? 0),
      { sizes: [100, 40, 100], end: "empty" },
    ],
    [
      "takes a page 0 of which one metric has moved on to page 1 for a page of its own",
      (page) => dataOf(page < 2 ? [...(page === 1 ? pageOf(0, 1) : []), ...pageOf(page, 50)] : []),
      { sizes: [50, 51], end: "empty" },
    ],
    [
      "ends at a service that repeats its last page",
      fromOne((page) => metrics(Math.min(page, 2), 100)),
      { sizes: [100, 100], end: "repeated" },
    ],
    [
      "ends at a service that begins anew",
      fromOne((page) => metrics((page - 1) % 2, 100)),
      { sizes: [100, 100], end: "repeated" },
    ],
    [
      "knows a repeated page by its keys when the values have moved, and when it came back shorter",
      fromOne((page) => dataOf(moving(Math.min(page, 2)).slice(page > 2 ? 1 : 0))),
      { sizes: [100, 100], end: "repeated" },
    ],
    [
      "goes on past a page that overlaps the one before",
      fromOne((page) => dataOf(page > 3 ? [] : overlapping(page))),
      { sizes: [100, 100, 100], end: "empty" },
    ],
    [
      "takes a refused page after the last one for the end",
      fromOne((page) => (page > 2 ? gone : metrics(page, 100))),
      { sizes: [100, 100], end: "refused" },
    ],
    ...[400, 404].map(
      (status): Walk => [
        `reads the only page where pages count from 0 and page 1 is refused with ${status}`,
        (page) => (page === 0 ? metrics(0, 40) : { status, text: "no such page" }),
        { sizes: [40], end: "refused" },
      ],
    ),
    ...[3, 1].map(
      (pages): Walk => [
        `begins with page 0 where ${pages} pages count from it`,
        (page) => metrics(page, page < pages ? 100 : 0),
        { sizes: Array(pages).fill(100), end: "empty" },
      ],
    ),
  ])("%s", async (_name, read, expected) => {
    expect(await walk(read)).toMatchObject(expected);
  });

  it.each<[string, FakeAnswer, number]>([
    ["is refused", { status: 400, text: "page must be positive" }, 1],
    ["is not there", { status: 404, text: "" }, 1],
    ["makes the service fail", { status: 500, text: "offset must not be negative" }, 4],
    ["is empty", dataOf([]), 1],
    ["is answered by a web page", { text: "<!doctype html><title>Oops</title>" }, 1],
    ["is unauthorized", { status: 401, text: "" }, 1],
    ["is forbidden", { status: 403, text: "" }, 1],
    ["is page 1 once more", metrics(1, 100), 1],
    ["is page 1 with a metric that is new", dataOf([{ key: "new" }, ...pageOf(1, 99)]), 1],
  ])("reads every metric once where page 0 %s", async (_name, zero, tries) => {
    const result = await walk((page) => (page === 0 ? zero : metrics(page, page > 2 ? 0 : 100)));
    const asked = [1, ...Array<number>(tries).fill(0), 2, 3];
    expect(result).toEqual({ sizes: [100, 100], end: "empty", asked });
  });

  it("takes neither a refusal nor a failure for a list that has no such page", async () => {
    const refused = walk((page) => ({ status: 400, text: `page ${page}: unknown chain` }));
    expect((await failure(refused)).message).toContain("page 1: unknown chain");
    const failing = walk((page) => (page === 1 ? { status: 500, text: "" } : metrics(page, 1)));
    expect((await failure(failing)).code).toBe("upstream_failed");
  });

  it("ends at the limit of a service that never does, and can begin at page 0", async () => {
    const result = await walk((page) => metrics(page, 1), { firstPage: 0, maxPages: 3 });
    expect(result).toEqual({ sizes: [1, 1, 1], end: "limit", asked: [0, 1, 2] });
  });
});

it("whatever can be read is taken: records without a time or a value are counted, and the others come in order, each time once", async () => {
  const points = [
    { timestamp: 1_800_000_600, value: 3 },
    { timestamp: "1800000300", value: "2.5" },
    { timestamp: 1_800_000_600, value: 4 },
    { timestamp: "soon", value: 1 },
    { timestamp: 1_800_000_900, value: null },
    { value: 1 },
    null,
  ];
  const read = {
    points: [
      { at: 1_800_000_300_000, value: 2.5 },
      { at: 1_800_000_600_000, value: 4 },
    ],
    unread: 4,
  };
  for (const data of [{ key: 7, points }, points]) {
    const { client } = await setUp(dataOf(data));
    expect(await client.lookAtRecords({ key: "a", fromAt: 1 })).toEqual(read);
  }
});

it("whatever can be read is taken: subscriptions of any form, and how many there are", async () => {
  const entries = [{ subscription: null }, "text", 7];
  for (const [extra, total] of [
    [{ meta: { total: 12 } }, 12],
    [{ count: 3 }, 3],
    [{}, undefined],
  ] as const) {
    const { client } = await setUp({ json: { data: entries, ...extra } });
    expect(await client.lookAtSubscriptions()).toEqual({ entries, total });
  }
});

it("whatever can be read is taken: an answer that is none at all is refused", async () => {
  for (const answer of [{ text: "<html><title>502</title>" }, dataOf("none")] as const) {
    const { client } = await setUp(answer);
    for (const call of [client.lookAtSubscriptions(), client.lookAtRecords({ key: "a" })])
      expect((await failure(call)).code).toBe("upstream_bad_answer");
  }
});

it("rests between its tries, whoever makes them", async () => {
  let now = 1_000_000;
  const at: number[] = [];
  const { client } = await setUp(
    () => {
      at.push(now);
      return at.length === 2 ? { status: 502, text: "" } : dataOf([]);
    },
    {
      restMs: 200,
      now: () => now,
      sleep: async (ms) => {
        now += ms;
      },
      retry: { attempts: 2, baseMs: 1 },
    },
  );
  for (let call = 0; call < 3; call += 1) await client.lookAtSubscriptions();
  expect(at.map((one) => one - 1_000_000)).toEqual([0, 200, 400, 600]);
});
