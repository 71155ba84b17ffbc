import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import type { CliContext } from "../../src/cli/shell/context.ts";
import { type CliRun, runTocsin, stdinOf } from "../support/cli.ts";
import { roughThreadEntry } from "../support/reader.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startFakeService } from "../upstream/fake-service.ts";
import { botToken, createRelayWorld, deskChat, mailAddress, yaml } from "./relay-world.ts";

const words = { title: "USDC TVL fell", severity: "critical", text: "below\nthe line" };
const alert = { ...words, value: "4912345.60", pool: { tvl: 7 } };

/** Of a body that nobody has sent, where no relay has ever run. */
function explain(body: unknown, argv: string[] = [], config = yaml, more: Partial<CliContext> = {}): Promise<CliRun> {
  const cwd = makeTempFolder();
  writeFileSync(join(cwd, "tocsin.yaml"), config);
  const mail = { SMTP_URL: "smtp://127.0.0.1:9", EMAIL_FROM: "alerts@tocsin.example" };
  const env = { DATA_DIR: cwd, TOCSIN_CONFIG: "tocsin.yaml", TELEGRAM_BOT_TOKEN: botToken, ...mail };
  const stdin = stdinOf(typeof body === "string" ? body : JSON.stringify(body));
  return runTocsin(["explain", "-", ...argv], { cwd, env, stdin, ...more });
}

it("shows of a stored alert the very text that people have read, and sends nothing", async () => {
  const world = await createRelayWorld();
  const [id = ""] = await world.post(alert);
  const stored = await world.ended(id);
  const run = await world.run(`explain ${id} --json`);
  expect(run.status).toBe(0);
  const [explained, ...more] = run.json().data;
  expect(more).toEqual([]);
  expect(explained.decisions).toEqual(stored.decisions);
  const textOf = (name: string) =>
    explained.deliveries.find(({ destination }: { destination: string }) => destination === name).texts[0];
  expect(textOf("desk")).toBe(world.chat.messages(deskChat)[0]?.text);
  const [mail] = world.mailbox.mails(mailAddress);
  expect(textOf("mail").replaceAll(/\s+/g, " ").trim()).toBe(
    `${mail?.subject} ${mail?.text}`.replaceAll(/\s+/g, " ").trim(),
  );
  expect(world.chat.messages(deskChat)).toHaveLength(1);
  expect(await world.data("alerts list")).toHaveLength(1);
  // Of a batch only the one that was asked for.
  const [, second = ""] = await world.post([{ title: "One" }, { title: "Two" }]);
  await world.ended(second);
  expect(await world.data(`explain ${second}`)).toMatchObject([{ item: 2, items: 2, facts: { title: "Two" } }]);
});

it("says of a stored alert that it did not ring, and why, and that whether it would depends on what rang before", async () => {
  const destination = `destinations: { mail: { type: email, to: [${mailAddress}] } }\n`;
  const world = await createRelayWorld({ yaml: `${destination}routes: [{ to: mail, cooldown: 1h }]\n` });
  await world.post({ ...alert, alertKey: "tvl" });
  const [id = ""] = await world.post({ ...alert, alertKey: "tvl", value: "4912345.59" });
  const resultsOf = async () =>
    (await world.data(`alerts show ${id}`)).decisions.map(({ result }: { result: string }) => result);
  await expect.poll(resultsOf).toEqual(["damped"]);
  const run = await world.run(`explain ${id}`);
  expect(run.stderr).toMatch(/when it came it did not ring at mail: .*1 h/);
  expect(run.stdout).toContain("Whether it rings depends on what rang before");
});

it("shows the first twenty alerts of a batch, says how many it left out, and compares all with what is expected", async () => {
  const batch = Array.from({ length: 60 }, (_, n) => ({ title: `alert ${n}`, severity: "critical" }));
  const few = await explain(batch, ["--json"]);
  expect(few.json().data).toHaveLength(20);
  expect(few.stderr).toContain("40 more alerts of this body left out; --all shows them");
  expect((await explain(batch, ["--json", "--all"])).json().data).toHaveLength(60);
  const expecting = await explain(batch, ["--json", "--expect", "nobody"]);
  expect(expecting.json().data).toHaveLength(20);
  expect(expecting.json().meta.differences).toHaveLength(60);
});

it("shows the very body of an outgoing webhook, the sender's payload in it", async () => {
  const { url, seen } = await startFakeService(() => ({ status: 204, text: "" }));
  const world = await createRelayWorld({
    yaml: `destinations: { book: { type: webhook, url: "${url}", allowInternal: ["127.0.0.1"] } }\n`,
  });
  const { id } = await world.send(alert);
  const run = await world.run(`explain ${id} --json`);
  const [explained] = run.json().data;
  // When it is made, and which delivery it is, differ from call to call.
  const read = (body: string) => {
    const { timestamp: _at, data } = JSON.parse(body);
    return { ...data, deliveryId: "" };
  };
  expect(seen).toHaveLength(1);
  expect(read(explained.deliveries[0].texts[0])).toEqual(read(seen[0]?.body ?? ""));
  expect(read(seen[0]?.body ?? "").alerts[0].payload).toEqual(alert);
});

it("shows fields by the names that a matcher takes, and the near path of one that is missing", async () => {
  const subscription = { condition: { kind: "below" } };
  const body = { data: { title: "TVL fell", previousValue: "7.10", id: "e-1", note: "two  spaces ", subscription } };
  const match = (match: string, ...argv: string[]) => {
    const routes = `routes: [{ name: below, match: "${match}", to: [p] }]`;
    return explain(body, argv, `destinations: { p: { type: ntfy, topic: pools } }\n${routes}\n`);
  };
  const missed = await match("payload.subscription.condition.kind=below");
  expect(missed.stdout).toMatch(/below +not matched .*there is payload\.data\.subscription\.condition\.kind/);
  const document = (await match("payload.subscription.condition.kind=below", "--json")).json();
  const { facts, payload } = document.data[0].fields as Record<string, { field: string; value: string }[]>;
  const shown = [...(facts ?? []), ...(payload ?? [])];
  expect(shown).toContainEqual({ field: "previousValue", value: "7.10" });
  expect(shown).toContainEqual({ field: "externalId", value: "e-1" });
  expect(shown).toContainEqual({ field: "payload.data.subscription.condition.kind", value: "below" });
  expect(shown).toContainEqual({ field: "payload.data.note", value: "two  spaces " });
  // Each name that is shown can be written, with its value.
  for (const { field, value } of shown.filter(({ field }) => field !== "alertKey")) {
    expect(missed.stdout).toMatch(new RegExp(`^${field.replace(/[.[\]]/g, "\\$&")} +`, "m"));
    expect((await match(`${field}='${value}'`.replaceAll("'", '\\"'))).stdout).toMatch(/below +deliver/);
  }
});

it("says first where it would go, shows equal texts once, and all of them with --messages", async () => {
  const config = `
destinations:
  desk: { type: telegram, chatId: "${deskChat}" }
  ops: { type: telegram, chatId: "-1001700000002" }
  book: { type: webhook, url: "https://book.example/in" }
routes:
  - { name: whales, match: "value>=1000000", to: [desk, ops], continue: true }
  - { name: all, to: [book] }
`;
  const body = { title: "Whale", value: "2000000", text: "words ".repeat(300) };
  const { stdout } = await explain(body, [], config);
  expect(stdout).toMatch(/^Whale\n3 destinations: desk, ops \(route whales\), book \(route all\)\n/);
  expect(stdout).toMatch(/desk \(telegram .*\): sent at once\nops \(telegram .*\): sent at once\n {2}│ /);
  expect(stdout.match(/│ .*Whale/g)).toHaveLength(2);
  expect(stdout).toMatch(/│ \{.{400,1300}\n {2}… [\d,]+ characters in all: --messages shows them\n/);
  const all = (await explain(body, ["--messages"], config)).stdout;
  expect(all.match(/│ .*Whale/g)).toHaveLength(3);
  expect(all).not.toContain("--messages shows");
  const isTty = { stdin: false, stdout: true, stderr: false };
  const narrow = await explain(body, [], config, { columns: 50, isTty });
  for (const line of stripVTControlCharacters(narrow.stdout).split("\n")) expect(line.length).toBeLessThanOrEqual(50);
});

it("compares with the destinations expected, and fails with the difference", async () => {
  const body = '[{"title":"One","severity":"critical"},{"title":"Two","severity":"warning"}]';
  const all = await explain(body, ["--expect", "desk,mail,ops"]);
  expect(all.status).toBe(1);
  expect(all.stderr).toContain("alert 2: expected desk, mail, ops; missing: desk, mail\n");
  const json = (await explain(body, ["--expect", "ops", "--json"])).json();
  expect(json.meta).toMatchObject({
    expected: ["ops"],
    differences: [{ item: 1, missing: [], unexpected: expect.arrayContaining(["desk", "mail"]) }],
  });
  const slip = await explain(body, ["--expect", "opps"]);
  expect(slip).toMatchObject({ status: 2, stderr: expect.stringMatching(/there is no destination opps[\s\S]*ops/) });
  const one = '{"title":"x","severity":"info"}';
  const nobody = await explain(one, ["--expect", "nobody"]);
  expect(nobody).toMatchObject({ status: 0, stdout: expect.stringContaining("As expected.") });
  expect((await explain(one, ["--expect", "ops"])).status).toBe(1);
});

it("heeds the mutes made at run time and the quiet hours of the time asked for", async () => {
  const world = await createRelayWorld({
    yaml: `
destinations:
  desk: { type: telegram, chatId: "${deskChat}", quietHours: { from: "22:00", to: "07:00" } }
`,
  });
  await world.run("mutes add --match chain=bsc --for 2h --reason halted");
  const ask = (body: string, ...rest: string[]) => world.run(["explain", "-", ...rest], { stdin: stdinOf(body) });
  const muted = await ask('{"title":"x","chain":"bsc"}');
  expect(muted.stdout).toMatch(/desk \(telegram .*\): not sent; .*muted until .*: halted/);
  const held = await ask('{"title":"x","severity":"warning"}', "--at", "2026-11-21T23:00Z");
  expect(held.stdout).toMatch(/desk \(telegram .*\): held until 2026-11-22T07:00:00Z/);
  const urgent = await ask('{"title":"x","severity":"critical"}', "--at", "2026-11-21T23:00Z");
  expect(urgent.stdout).toContain("sent at once");
});

it("passes no escape code of a body on to the terminal", async () => {
  const hostile = { title: "\u001b]0;owned\u0007", severity: "critical", text: "\u001b[2J\u202eevil" };
  const { stdout } = await explain(hostile);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
});

it("says what it can explain when it is given something else", async () => {
  const run = await runTocsin(["explain", "nothing.json"], { env: {}, cwd: makeTempFolder() });
  expect(run.status).toBe(2);
  expect(run.stderr).toContain("nothing.json is no id of an alert, and no file that can be read (ENOENT)");
});

it("ends with what goes out when a body cannot be read, instead of hanging", async () => {
  const rough = { readingThreadEntry: roughThreadEntry, now: Date.now };
  const run = await explain("please hang", ["--json"], yaml, rough);
  expect(run.status).toBe(0);
  const [explained] = run.json().data;
  expect(explained.facts).toMatchObject({ format: "unreadable", text: "please hang" });
  expect(explained.decisions[0].reason).toMatch(/could not be read: .*longer than 1 s; sent as received/);
  const names = explained.deliveries.map(({ destination }: { destination: string }) => destination);
  expect(names).toEqual(["desk", "ops", "mail"]);
  expect(explained.deliveries[0].texts[0]).toContain("Tocsin could not read this alert");
  expect(run.stderr).toContain("Tocsin sends it as received");
});

it("tries a mapping beside the guess, and says what each path finds, or why nothing: a slip, an object, a list, no such fact", async () => {
  const body = { ...alert, rule: { headline: "Vault drained" }, rows: [{ level: "P1" }], when: "soon" };
  const paths = { title: "rule.headline", severity: "severity", chain: "rule.headlin", token: "rule", metric: "level" };
  const more = { link: "rows", occurredAt: "when", source: "nowhere" };
  const all = Object.entries({ ...paths, ...more }).map(([fact, path]) => [fact, `payload.${path}`]);
  const config = JSON.stringify({ mapping: Object.fromEntries(all) });
  const { stdout } = await explain(body, [], config);
  const lines = stdout.split("\n").filter((line) => /by mapping|so it is guessed/.test(line));
  const [explained] = (await explain(body, ["--json"], config)).json().data;
  expect(explained.facts.title).toBe("Vault drained");
  const found = explained.mapping.map((one: object) => JSON.stringify(one));
  expect(`\n${[...lines, ...found].join("\n")}\n`).toMatchSnapshot();
});
