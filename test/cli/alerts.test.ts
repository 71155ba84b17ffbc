import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import type { CliContext } from "../../src/cli/shell/context.ts";
import { exportLines } from "../../src/contract/export-lines.ts";
import { runTocsin } from "../support/cli.ts";
import { expectWords } from "../support/expect-words.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startFakeService } from "../upstream/fake-service.ts";
import { createRelayWorld, deskChat, yaml } from "./relay-world.ts";

describe("alerts list", () => {
  it.each([
    ["severity:critical", "severity is a filter beside the search already"],
    ["value>x", "value"],
  ])("refuses the search %s beside --severity as wrong usage", async (words, why) => {
    for (const command of ["list", "export"]) {
      const argv = ["alerts", command, "-q", words, "--severity", "info", "--url", "http://127.0.0.1:9"];
      const { status, stderr } = await runTocsin(argv, { env: { ADMIN_TOKEN: "x".repeat(40) } });
      expect([status, stderr]).toEqual([2, expect.stringContaining(why)]);
    }
  });

  it("fits a terminal of whatever width: status, short id, whole title, whole reason", async () => {
    const world = await createRelayWorld();
    const title = "Deep fall of the pool's TVL, seen by everybody at the desk";
    const { id } = await world.send({ title, severity: "critical", status: "resolved" });
    const isTty = { stdin: false, stdout: true, stderr: false };
    // The age of an alert is the same in all runs, however long they take.
    const at = Date.now();
    const now = () => at;
    for (const columns of [40, 80, 160]) {
      const { stdout } = await world.run("alerts list", { columns, isTty, now });
      for (const line of stdout.split("\n")) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
      const said = stripVTControlCharacters(stdout).replace(/\s+/g, " ");
      expect(said).toMatch(new RegExp(`${id.slice(-8)}.*critical resolved|critical resolved.*${id.slice(-8)}`));
      expectWords(said, [columns === 160 ? "Deep fall" : title, "3 sent"], { not: id });
      expect(stdout).toContain("\u001b[32mresolved");
      const plain = await world.run("alerts list", { columns, isTty, now, env: { ...world.env, NO_COLOR: "1" } });
      expect(plain.stdout).toBe(stripVTControlCharacters(stdout));
    }
  });

  it("says that nothing runs where there is no database either", async () => {
    const folder = makeTempFolder();
    const run = await runTocsin(["alerts", "list"], { env: { DATA_DIR: folder, PORT: "9" }, cwd: folder });
    expect(run).toMatchObject({ status: 1, stderr: expect.stringContaining("no relay answers at http://127.0.0.1:9") });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("hands the token kept here to no other host unless --token-file says so", async () => {
    const world = await createRelayWorld();
    const { url, seen } = await startFakeService(() => ({ json: {} }));
    // A name of this machine that is neither loopback by its looks nor the relay's own.
    const other = url.replace("127.0.0.1", "0.0.0.0");
    const run = await world.run(`alerts list --url ${other}`);
    expect(run.status).toBe(1);
    expect(run.stderr).toContain(`no admin token is known for the relay at ${other}`);
    const file = join(world.dataDir, "secrets/admin-token");
    const env = { ...world.env, ADMIN_TOKEN: "canary-wrong-admin-token-0123456789" };
    expect(await world.run(`alerts list --token-file ${file}`, { env })).toMatchObject({ status: 0, stderr: "" });
    expect(seen.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
  });

  it("knows a server that is no relay from one", async () => {
    const { url } = await startFakeService(() => ({ text: "<h1>It works!</h1>" }));
    const run = await runTocsin(["alerts", "list", "--url", url], { env: { ADMIN_TOKEN: "x".repeat(40) } });
    expect(run.status).toBe(1);
    expect(run.stderr).toContain(`what answers at ${url} is no Tocsin relay`);
  });

  it("does not follow a redirection with the token", async () => {
    const { url: location, seen } = await startFakeService(() => ({ json: {} }));
    const { url } = await startFakeService(() => ({ status: 307, text: "", headers: { location } }));
    const run = await runTocsin(["alerts", "list", "--url", url], { env: { ADMIN_TOKEN: "x".repeat(40) } });
    expect(run.status).toBe(1);
    expect(seen).toEqual([]);
  });
});

it("alerts show gives the body byte for byte with --raw, and harmless on a terminal", async () => {
  const world = await createRelayWorld();
  const body = Buffer.from([0xff, 0xfe, 0, 0x1b, 0x5b, 0x32, 0x4a, 10, 13, 10, 0x80]);
  const [id = ""] = await world.post(body, { "content-type": "application/octet-stream" });
  const chunks: Buffer[] = [];
  const stdout: CliContext["stdout"] = {
    write: (text, callback) => {
      chunks.push(Buffer.from(text as Uint8Array));
      callback();
    },
  };
  expect((await world.run(`alerts show ${id} --raw`, { stdout })).status).toBe(0);
  expect(Buffer.concat(chunks)).toEqual(body);

  const terminal = await world.run(`alerts show ${id} --raw`, { isTty: { stdin: false, stdout: true, stderr: false } });
  expect(terminal.stdout).not.toContain("\u001b");
  expect((await world.run(`alerts show ${id} --raw --json`)).status).toBe(2);
});

describe("a token whose symbol was learned after its alert came", () => {
  const address = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
  const body = { metric: `eth_token_total_tvl_${address}`, value: 24_318_772, threshold: 25_000_000, unit: "USD" };
  const words = "TVL 24.32 M USD, below 25 M (eth)";

  async function learn() {
    const world = await createRelayWorld();
    const { id } = await world.send(body);
    const run = (...argv: string[]) =>
      world.run(argv, { env: { ...world.env, ALERTING_URL: "http://127.0.0.1:9", ALERTING_API_KEY: "k" } });
    expect((await run("alerts", "list")).stdout).toContain(`0xa0b8…eb48 ${words}`);
    const times = { learnedAt: Date.now(), saidAt: Date.now() };
    const names = [{ kind: "token", chain: "eth", address, symbol: "ONYX504", ...times }];
    await world.relay.store.saveWatchState({ name: "token-names", state: { names } });
    return { world, id, run };
  }

  it("is called by it in list, show and export of the database, and show says whose word that is, unless the configuration learns none", async () => {
    const { world, id, run } = await learn();
    await world.stopRelay();
    expect((await run("alerts", "list")).stdout).toContain(`ONYX504 ${words}`);
    const { stdout } = await run("alerts", "show", id);
    expectWords(stdout, [/^ONYX504 TVL 24\.32 M USD/, /title as sent +Total TVL of 0xa0b8…eb48/]);
    expect(stdout).toMatch(
      /named by +the service: 0xa0b\w+ on eth is ONYX504, learned since: its messages have the address/,
    );
    const [data] = JSON.parse((await run("alerts", "list", "--json")).stdout).data;
    expect(data).toMatchObject({
      headline: `ONYX504 ${words}`,
      learnedName: { kind: "token", chain: "eth", address, name: "ONYX504" },
    });
    expect(data.title).toContain("0xa0b8…eb48");
    writeFileSync(join(world.dataDir, "tocsin.yaml"), `${yaml}\nmarket: { symbols: false }\n`);
    expect((await run("alerts", "list")).stdout).toContain(`0xa0b8…eb48 ${words}`);
  });

  it("is called by it in the messages that explain makes, of a stored alert and of a file, while the relay runs", async () => {
    const { world, id, run } = await learn();
    const file = join(world.dataDir, "body.json");
    writeFileSync(file, JSON.stringify({ ...body, severity: "critical" }));
    for (const subject of [id, file])
      expect((await run("explain", subject, "--messages")).stdout).toContain(`ONYX504 ${words}`);
    const past = await run("explain", file, "--messages", "--at", "2026-01-01T00:00:00Z");
    expect(past.stdout).toContain(`0xa0b8…eb48 ${words}`);
  });
});

it("a part of an id stands for the one alert whose id ends or begins so, in every command", async () => {
  const world = await createRelayWorld();
  const { id } = await world.send({ title: "One", severity: "critical" });
  const short = id.slice(-8).toUpperCase();
  for (const part of [short, id.slice(0, 18), id.slice(-12)])
    expect((await world.data(`alerts show ${part}`)).id).toBe(id);
  expect(await world.data(`alerts resend ${short} --to desk`)).toHaveLength(1);
  expect((await world.run(`alerts release ${short}`)).stdout).toContain("Nothing to release");
  expect(await world.data(`explain ${short}`)).toMatchObject([{ facts: { title: "One" } }]);
  // A file is meant rather than an alert.
  writeFileSync(join(world.dataDir, short), '{"title":"From a file"}');
  expect(await world.data(`explain ${short}`)).toMatchObject([{ facts: { title: "From a file" } }]);
  await world.stopRelay();
  expect((await world.data(`alerts show ${short}`)).id).toBe(id);
});

it("a part of an id is refused with the alerts that it may mean, and where there is none", async () => {
  const world = await createRelayWorld();
  const ids = await world.post([{ title: "One" }, { title: "Two" }]);
  await world.ended(ids[1] ?? "");
  const several = await world.run(["alerts", "show", (ids[0] ?? "").slice(0, 8)]);
  expect(several.status).toBe(2);
  expect(several.stderr).toMatch(/matches several alerts:[\s\S]*Two[\s\S]*One[\s\S]*give more of the id/);
  for (const id of ids) expect(several.stderr).toContain(id);
  const none = await world.run("alerts resend eeeeeeeeeeee --yes --json");
  expect(none.status).toBe(1);
  expect(none.json().error).toMatchObject({ code: "not_found", message: expect.stringContaining("eeeeeeeeeeee") });
});

describe("alerts release", () => {
  /** Hours away from now: nothing of it begins or ends while this runs. */
  const hourFromNow = (hours: number) => `${new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 13)}:00`;
  const [from, to] = [hourFromNow(-6), hourFromNow(6)];
  const quiet = `
destinations:
  desk: { type: telegram, chatId: "${deskChat}", quietHours: { from: "${from}", to: "${to}", except: [] } }
`;

  it("sends now what quiet hours hold, as one summary", async () => {
    const world = await createRelayWorld({ yaml: quiet });
    const ids = await world.post([{ title: "One" }, { title: "Two" }]);
    const [first = ""] = ids;
    while ((await world.relay.store.getAlert(first))?.deliveries[0]?.state !== "held")
      await new Promise((resolve) => setImmediate(resolve));
    expect(world.chat.messages(deskChat)).toHaveLength(0);

    const unasked = await world.run("alerts release");
    expect(unasked).toMatchObject({ status: 2, stderr: expect.stringContaining("--yes") });
    const wrong = await world.run("alerts release --destination desc --yes");
    expect(wrong).toMatchObject({ status: 1, stderr: expect.stringMatching(/no destination desc[\s\S]*desk/) });

    const run = await world.run("alerts release --destination desk --yes --json");
    expect(run.json().data).toEqual([{ destination: "desk", released: 2 }]);
    await world.ended(first);
    expect(world.chat.messages(deskChat).map(({ text }) => text)).toEqual([
      expect.stringContaining(`While quiet (${from} to ${to}): 2 alerts`),
    ]);
    const again = await world.run(`alerts release ${first}`);
    expect([again.status, again.stdout]).toEqual([0, "Nothing to release: none of it is held.\n"]);
    const { decisions } = (await world.relay.store.getAlert(first)) ?? {};
    expect(decisions?.[0]?.reason).toMatch(/held until .*; released manually at .* UTC$/);
  });

  it("does not call sent what waits for a paused destination", async () => {
    const world = await createRelayWorld({ yaml: quiet });
    const [id = ""] = await world.post({ title: "One" });
    while ((await world.relay.store.getAlert(id))?.deliveries[0]?.state !== "held")
      await new Promise((resolve) => setImmediate(resolve));
    expect((await world.run(`alerts show ${id}`)).stdout).toMatch(/ held until \S+Z \(in /);
    await world.run("destinations pause desk");
    const { stdout } = await world.run("alerts release --yes");
    expect(stdout).toContain("Released: 1 for desk (paused: sent when it is resumed). Follow it with:");
  });
});

describe("alerts export", () => {
  it("writes every alert once over many pages, each with its deliveries", async () => {
    const world = await createRelayWorld();
    const ids = await world.post(
      Array.from({ length: 450 }, (_, index) => ({ title: `Alert ${index}`, severity: "info" })),
    );
    await world.ended(ids.at(-1) ?? "");
    const run = await world.run("alerts export");
    const lines = run.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ id }) => id)).toEqual(ids.toReversed());
    expect(lines[0].deliveries).toEqual([]);
    expect(run.stderr).toBe("450 alerts exported\n");
  });

  it("gives spreadsheets text where a sender wrote a formula, in the form of RFC 4180", async () => {
    const world = await createRelayWorld();
    const formula = { title: '=HYPERLINK("http://evil","x")', value: "-5", text: 'a "b",\nc' };
    await world.send({ ...formula, severity: "info" });
    const { stdout } = await world.run("alerts export --format csv");
    const [head = "", ...rest] = stdout.split("\r\n");
    expect(head.split(",").slice(0, 6)).toEqual(["id", "received_at", "origin", "severity", "status", "title"]);
    const record = rest.join("\r\n");
    expectWords(record, [`,"'=HYPERLINK(""http://evil"",""x"")",`, ",-5,", `,"a ""b"",\nc",`]);
    expect(record.endsWith("\r\n")).toBe(true);
    const [alert] = await world.data("alerts list");
    for (const first of ["=", "+", "-", "@", "\t", "\r", "\n", "\u{ff1d}", "\u{200b}=", " \u{2060}@", "\u{feff}-"])
      expect(exportLines.csv.write({ ...alert, title: `${first}A1` })).toContain(`'${first}A1`);
    for (const within of [";=A1", 'x;"=A1', "x\n@A1", "x\t+A1", ";\u{200b}=A1"])
      expect(exportLines.csv.write({ ...alert, title: within })).toMatch(/'\u{200b}?[=@+]A1/u);
    expect(exportLines.csv.write({ ...alert, title: "\u{1b}[2J\0" })).toContain(",\u{fffd}[2J\u{fffd},");
  });

  it("leaves a file as it was when the export breaks off, and nothing beside it", async () => {
    const folder = makeTempFolder();
    const file = join(folder, "log.csv");
    writeFileSync(file, "before");
    const page = { data: [], meta: { nextCursor: "7" } };
    const { url } = await startFakeService(({ target }) => (target.includes("cursor") ? "reset" : { json: page }));
    const argv = ["alerts", "export", "--format", "csv", "--output", "log.csv", "--url", url];
    const env = { ADMIN_TOKEN: "x".repeat(40) };
    expect((await runTocsin(argv, { env, cwd: folder })).status).toBe(1);
    expect(readFileSync(file, "utf8")).toBe("before");
    expect(readdirSync(folder)).toEqual(["log.csv"]);
  });

  it("asks a relay that looked for a moment only to go on until the page is full", async () => {
    const cursors: (string | undefined)[] = [];
    const { url } = await startFakeService(({ path, query }) => {
      if (path === "/readyz") return { json: {} };
      cursors.push(query.cursor);
      return { json: { data: [], meta: { nextCursor: cursors.length < 3 ? String(90 - cursors.length) : null } } };
    });
    const argv = ["alerts", "list", "-q", "rare", "--json", "--url", url];
    const { status, stdout } = await runTocsin(argv, { env: { ADMIN_TOKEN: "x".repeat(40) } });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ data: [], meta: { nextCursor: null } });
    expect(cursors).toEqual([undefined, "89", "88"]);
  });
});
