import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { CliContext } from "../../src/cli/shell/context.ts";
import { runTocsin } from "../support/cli.ts";
import { expectWords } from "../support/expect-words.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { type FakeAnswer, type FakeService, type SeenRequest, startFakeService } from "../upstream/fake-service.ts";

const now = Date.UTC(2026, 10, 21, 12);

let service: FakeService;
let answer: (request: SeenRequest, count: number) => FakeAnswer;
let folder: string;

beforeEach(async () => {
  answer = () => ({ status: 404, json: { message: "nothing here" } });
  service = await startFakeService((request, count) => answer(request, count));
  folder = makeTempFolder();
});

function tocsin(argv: string[], overrides: Partial<CliContext> = {}) {
  const env = { ALERTING_URL: service.url, ALERTING_API_KEY: "canary-key", PRICING_URL: service.url };
  return runTocsin(["upstream", ...argv], { env, cwd: folder, ...overrides });
}

describe("what goes wrong", () => {
  it("a missing setting is named, with status 2", async () => {
    const run = await tocsin(["account", "--json"], { env: {} });
    expect(run.status).toBe(2);
    expect(run.json().error.message).toBe("ALERTING_URL and ALERTING_API_KEY are not set");
  });

  it("a refused key ends with status 1 and is not shown", async () => {
    answer = () => ({ status: 401, json: { message: "key canary-key is not known" } });
    const run = await tocsin(["account"], {
      env: { ALERTING_URL: service.url, ALERTING_API_KEY: "canary-key", LOG_LEVEL: "debug" },
    });
    expect(run).toMatchObject({ status: 1, stdout: "" });
    expectWords(run.stderr, ["answered 401: key *** is not known", "check ALERTING_API_KEY"], { not: "canary" });
  });

  it("a wait before another try is explained", async () => {
    answer = (_request, count) =>
      count === 1 ? { status: 429, text: "", headers: { "retry-after": "7" } } : { json: { data: [] } };
    const run = await tocsin(["users", "--json"]);
    expect(run).toMatchObject({ status: 0, stderr: expect.stringContaining("429; trying again in 7 s") });
  });

  it.each([
    ["metrics"],
    ["metrics --chain eth --page x"],
    ["metrics --chain eth --key ,"],
    ["history"],
    ["history k --from yesterday"],
    ["history k --from 2026-13-01"],
    ["history k --from -1h --to -2h"],
    ["pool 0x1"],
    ["ticker ETHUSD"],
    ["assets add"],
    ["assets add x --pool 0x1"],
    ["assets add x --timeout soon"],
    ["assets add --asset missing.json"],
  ])("wrong usage is refused before anything is asked: %s", async (line) => {
    const run = await tocsin(line.split(" "));
    expect([run.status, service.seen.length]).toEqual([2, 0]);
    expect(run.stderr).toMatch(/^error: /m);
  });
});

describe("metrics", () => {
  const metricsOf = (page: number, count: number) =>
    Array.from({ length: count }, (_, n) => ({
      key: `eth_token_total_tvl_0x${page}_${n}`,
      kind: "tvl",
      token: { symbol: "ABC" },
    }));
  const pages = (sizes: number[]) => {
    answer = ({ query }) => {
      const page = Number(query.page);
      return { json: { data: metricsOf(page, sizes[page - 1] ?? 0) } };
    };
  };

  it("walk every page into one JSON document", async () => {
    pages([100, 100, 30]);
    const run = await tocsin(["metrics", "--chain", "eth", "--all", "--json"]);
    const document = run.json();
    expect(document.data).toHaveLength(230);
    expect(document.meta).toEqual({ pages: 3, metrics: 230, end: "empty" });
  });

  it("print the head of a long table once", async () => {
    pages([100, 5]);
    const lines = (await tocsin(["metrics", "--chain", "eth", "--all"])).stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(106);
    expect(lines.filter((line) => line.startsWith("key "))).toHaveLength(1);
  });

  it("show on a terminal how far the walk is", async () => {
    pages([100, 5]);
    const run = await tocsin(["metrics", "--chain", "eth", "--all"], {
      isTty: { stdin: false, stdout: false, stderr: true },
      columns: 80,
    });
    expect(run.stderr).toContain("\r\u001b[Kpage 1: 100 metrics so far\r\u001b[K");
    expect(run.stderr.endsWith("\r\u001b[K105 metrics on 2 pages\n")).toBe(true);
  });

  it("end a walk that breaks off as one document with the error", async () => {
    answer = ({ query }) =>
      query.page === "1" ? { json: { data: metricsOf(1, 100) } } : { status: 403, json: { message: "no more" } };
    const run = await tocsin(["metrics", "--chain", "eth", "--all", "--json"]);
    expect(run.status).toBe(1);
    expect(run.json()).toMatchObject({ error: { code: "upstream_forbidden" } });
    expect(run.json().data).toHaveLength(100);
    expect(run.stderr).toContain("no more");
  });

  it("stop asking when nobody reads any more", async () => {
    pages([100, 100, 100]);
    const run = await tocsin(["metrics", "--chain", "eth", "--all"], {
      stdout: { write: (_text, callback) => callback(Object.assign(new Error("EPIPE"), { code: "EPIPE" })) },
    });
    // Page 1, and page 0 to find out where they begin.
    expect([run.status, service.seen.length]).toEqual([0, 2]);
  });
});

describe("history", () => {
  const points = Array.from({ length: 48 }, (_, n) => ({
    timestamp: now / 1000 - (48 - n) * 1800,
    value: 1_000_000 + n * 5_000,
  }));
  beforeEach(() => {
    answer = () => ({ json: { data: { key: "eth_token_total_tvl_0xabc", points: [...points].reverse() } } });
  });

  it.each([
    ["-7d", 0],
    ["-8d", 1],
  ])("says that %s is longer than the service covers: %i times", async (from, times) => {
    let read = 0;
    const ticking = () => now + 250 * read++;
    const { stderr } = await tocsin(["history", "k", "--from", from], { now: ticking });
    expect(stderr.split("covers up to 7 days")).toHaveLength(times + 1);
  });

  it("writes the curve of the time and the steps asked for as SVG", async () => {
    const span = ["--from", "-1d", "--to", "now", "--granularity", "30m"];
    const run = await tocsin(["history", "k", ...span, "--svg", "curve.svg"]);
    const [from, to] = [now / 1000 - 86_400, now / 1000].map(String);
    expect(service.seen[0]?.query).toEqual({ key: "k", fromTimestamp: from, toTimestamp: to, granularity: "30m" });
    expect(run.stderr).toContain(`wrote ${join(folder, "curve.svg")}`);
    expect(await readFile(join(folder, "curve.svg"), "utf8")).toMatch(/^<svg .*<\/svg>\n$/s);
  });

  it("writes it as PNG, or says in one line what is missing for that", async () => {
    const run = await tocsin(["history", "k", "--png", "curve.png"]);
    if (run.status === 0) {
      const png = await readFile(join(folder, "curve.png"));
      expect(png.subarray(1, 4).toString()).toBe("PNG");
      expect(png.readUInt32BE(16)).toBe(1920);
    } else {
      expect(run.stderr).toMatch(/^error: .*\nhint: {2}npm install .*\n$/);
    }
  });

  it("says which file cannot be written", async () => {
    const run = await tocsin(["history", "k", "--svg", "no/such/folder.svg"]);
    expect(run).toMatchObject({ status: 1, stderr: expect.stringContaining("ENOENT") });
  });

  it("says so when there is nothing to draw", async () => {
    answer = () => ({ json: { data: { key: "k", points: [] } } });
    expect((await tocsin(["history", "k"])).stdout).toContain("no records in this range");
  });
});

it("tokens, users, subscriptions: it shows what is there, whatever its fields, as harmless text", async () => {
  const first = { subscription: { id: "s1", tags: ["a", "b"] }, metric: { key: "k\u001b[2J" } };
  const second = { subscription: { id: "s2", threshold: 5 }, metric: null };
  answer = () => ({ json: { data: [first, second] } });
  const run = await tocsin(["subscriptions", "--user", "u1"]);
  expect(run.stdout).toBe(
    [
      "subscription.id  metric.key  subscription.tags  subscription.threshold",
      "s1               k\\x1b[2J    a, b",
      "s2                                                                   5",
      "",
    ].join("\n"),
  );
  expect(run.stderr).toBe("2 subscriptions\n");
});

const symbol = { data: { symbol: "ABC" } };
const unknown: FakeAnswer = { status: 404, json: { message: "unknown ticker" } };
const away: FakeAnswer = { status: 502, text: "" };
const ticker: FakeAnswer = { json: { data: { id: "ABC/USD", aggregated: { price: 2 } } } };
const pool = { chainId: "eth", address: "0x1", protocol: "p", usdTvl: 1, h24UsdVolume: 1, tokens: [], pairs: [] };
const refused = (status: number): [number, object] => [status, { message: "the service's words" }];

/** Registration is answered by a status and a body; each look by the next of `looks`, from the last one on by that one. */
it.each<[what: string, options: string, registered: [number, object] | "reset", ...looks: FakeAnswer[]]>([
  ["is done at once when the asset was added", "abc", [200, symbol]],
  ["follows a registration by the symbol that the answer names", "abc", [202, symbol], unknown, unknown, ticker],
  ["follows it while the service is down", "abc --ticker ABC/USD", [202, {}], ...Array(5).fill(away), ticker],
  ["follows it by a pool", "abc --pool 0x1 --chain eth", [202, {}], { json: { data: pool } }],
  ["registers a manual definition and follows its symbol", "--asset asset.json", [202, {}], ticker],
  ["gives up after its time, saying so", "abc --timeout 30s", [202, symbol], unknown],
  ["says how to follow it by nothing", "abc", [202, { message: "still in progress" }]],
  ["does not wait with --no-wait", "abc --no-wait", [202, {}]],
  ["waits after 200 with --wait", "abc --wait", [200, symbol], unknown, ticker],
  ["ends clearly where the asset exists", "abc", refused(409)],
  ["ends clearly where it is not taken", "abc", refused(400)],
  ["ends clearly where it fails", "abc", refused(500)],
  ["says that nobody knows when the answer is lost", "abc", "reset"],
])("assets add %s", async (_what, options, registered, ...looks) => {
  await writeFile(join(folder, "asset.json"), '{"symbol":"ABC","tokenMapping":{"eth":"0x1"}}');
  const look = () => (looks.length > 1 ? looks.shift() : looks[0]) ?? unknown;
  const [status, json] = registered === "reset" ? [] : registered;
  answer = ({ method }) => (method !== "POST" ? look() : status === undefined ? "reset" : { status, json });
  const run = await tocsin(["assets", "add", ...options.split(" "), "--json"]);
  const asked = service.seen.map(({ method, target, body }) => `${method} ${target} ${body}`.trimEnd());
  const said = `ends with ${run.status}\n${JSON.stringify(run.json(), undefined, 1)}\n${run.stderr}`;
  expect(`${asked.join("\n")}\n${said}`.replaceAll(service.url, "<service>")).toMatchSnapshot();
});
