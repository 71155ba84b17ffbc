import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { expectWords } from "../support/expect-words.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createRelayWorld, deskChat, opsChat, yaml } from "./relay-world.ts";

const next = `
destinations:
  desk: { type: telegram, chatId: "${deskChat}" }
  ops: { type: telegram, chatId: "${opsChat}" }
routes:
  - { name: pools, match: { payload.pool.tvl: { lt: 10 } }, to: [desk] }
  - { name: critical, match: { severity: critical }, to: [ops] }
`;

async function createHistory() {
  const world = await createRelayWorld();
  writeFileSync(join(world.dataDir, "next.yaml"), next);
  const ids = [
    ...(await world.post({ title: "Critical", severity: "critical" })),
    ...(await world.post([
      { title: "Small pool", severity: "info", pool: { tvl: 3 } },
      { title: "Large pool", severity: "warning", pool: { tvl: 30 } },
    ])),
  ];
  for (const id of ids) await world.ended(id);
  await world.run("test --severity warning");
  return { world, ids };
}

it("says alert by alert what another configuration would have sent elsewhere, and why", async () => {
  const { world, ids } = await createHistory();
  const data = await world.data("backtest --config next.yaml");
  expect(data).toMatchObject({
    ...{ alerts: 3, changed: 3, unmatched: { before: 1, after: 1 } },
    newlySent: [
      { id: ids[1], title: "Small pool", destination: "desk", reason: expect.stringMatching(/^pools: .*3.*10/) },
    ],
    noLongerSent: [{ id: ids[2] }, { destination: "desk", reason: expect.stringContaining("pools: ") }, { id: ids[0] }],
  });
  const people = await world.run("backtest --config next.yaml");
  expectWords(people.stdout, [/3 alerts from .*; 3 would have gone elsewhere by next\.yaml/, /ops +2 +1 +0 +1/]);
  expect(people.stdout).not.toContain("Took none");
});

it("names the rules that took no alert, which may be misspelt", async () => {
  const { world } = await createHistory();
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const more = `
  - { name: misspelt, match: { severity: critical, source: gthub }, to: [ops] }
  - { name: off, disabled: true, match: { source: nobody }, to: [ops] }
inhibit:
  - { name: bridge down, while: metric=bridge, hold: severity=critical }
  - { name: small, while: title=Small pool, hold: title=Dust }
mutes:
  - { match: title=Large pool, reason: too large, from: "2020-01-01T00:00:00Z", until: "${until}" }
  - { match: title=Nothing, reason: known dust, from: "2020-01-01T00:00:00Z", until: "${until}" }
`;
  const all = next.replace("match: { severity: critical }", "continue: true, match: { severity: [critical, warning] }");
  writeFileSync(join(world.dataDir, "next.yaml"), `${all.trimEnd()}${more}`);
  const { stdout } = await world.run("backtest --config next.yaml");
  expect(stdout.trim().split("\n").at(-1)).toBe(
    "Took none of these alerts: route misspelt, while of bridge down, hold of small, mute “known dust”.",
  );
});

it("asks a relay elsewhere for its log, and the file once no relay runs", async () => {
  const { world } = await createHistory();
  const elsewhere = { ...world.env, DATA_DIR: makeTempFolder(), PORT: "1", TOCSIN_CONFIG: "next.yaml" };
  const argv = ["backtest", "--config", "next.yaml", "--json"];
  const flags = ["--url", world.relay.localUrl, "--token-file", join(world.dataDir, "secrets", "admin-token")];
  const asked = await world.run([...argv, ...flags], { env: elsewhere });
  await world.stopRelay();
  const read = await world.run(argv);
  expect(read.stderr).toContain(`reading the database in ${world.dataDir} instead`);
  const [{ from, to, ...ofRelay }, { from: _from, to: _to, ...ofFile }] = [asked, read].map(
    (run) => run.json().data,
  ) as [Record<string, unknown>, Record<string, unknown>];
  expect(ofRelay).toEqual(ofFile);
  expect(ofRelay).toMatchObject({ alerts: 3, changed: 3 });
});

it("finds no difference to the configuration that was at work, whatever was muted meanwhile", async () => {
  const { world } = await createHistory();
  const argv = ["mutes", "add", "--match", "chain=bsc", "--for", "2h", "--reason", "x", "--json"];
  const mute = (await world.run(argv)).json();
  await world.send({ title: "Muted", severity: "critical", chain: "bsc" });
  await world.run(`mutes remove ${mute.data.id}`);
  const data = await world.data("backtest --config tocsin.yaml");
  const same = { changed: 0, newlySent: [], noLongerSent: [] };
  expect(data).toMatchObject({ alerts: 4, muted: { before: 1, after: 1 }, ...same });
});

it("counts an end that was told before as what the routes said of it", async () => {
  const world = await createRelayWorld();
  const told = { title: "Critical", severity: "critical", alertKey: "k" };
  const end = { ...told, status: "resolved", startsAt: "2026-11-21T11:00:00Z" };
  for (const text of ["over", "over, said again"]) {
    for (const id of await world.post({ ...end, text })) await world.ended(id);
  }
  const data = await world.data("backtest --config tocsin.yaml");
  expect(data).toMatchObject({ alerts: 2, changed: 0, unmatched: { before: 0, after: 0 } });
});

it("keeps to the time and the number asked for, and changes nothing", async () => {
  const { world, ids } = await createHistory();
  await world.stopRelay();
  const database = readFileSync(join(world.dataDir, "tocsin.db"));
  const one = await world.data("backtest --config next.yaml --limit 1");
  expect(one).toMatchObject({ alerts: 1, noLongerSent: [{ id: ids[2] }], comparedFrom: expect.any(String) });
  const people = await world.run("backtest --config next.yaml --limit 1");
  expect(people.stdout).toContain(`The newest 1 alert from ${one.comparedFrom.slice(0, 19)}Z to`);
  const now = () => Date.now() + 7_200_000;
  const later = await world.run("backtest --config next.yaml --last 1h", { now });
  expect(later.stdout).toContain("No alerts of senders were stored");
  expect(readFileSync(join(world.dataDir, "tocsin.db")).equals(database)).toBe(true);
});

it("says what would ring and what would be held back, and proposes options that ring less", async () => {
  const world = await createRelayWorld({ yaml: yaml.replaceAll(/to: \[(?=desk|ops)/g, "flapping: off, to: [") });
  const price = { title: "Price below 100", severity: "warning", alertKey: "pool", threshold: 100 };
  const prices = Array.from({ length: 7 }, (_, index) => ({ ...price, value: 98 - index / 10 }));
  for (const id of await world.post(prices)) await world.ended(id);
  const rung = (over: object) => ({ destination: "ops", route: "all", alerts: 7, ...over });
  const backtest = async (options: string, ...flags: string[]) => {
    const file = `destinations: { ops: { type: telegram, chatId: "${opsChat}" } }\nroutes: [{ name: all, to: ops, updates: reply${options} }]\n`;
    writeFileSync(join(world.dataDir, "next.yaml"), file);
    return world.run(["backtest", "--config", "next.yaml", ...flags]);
  };
  const asIs = (await backtest("", "--json")).json().data.ringing;
  const loudest = { from: expect.any(String), rings: expect.any(Number) };
  const worst = { id: expect.any(String), receivedAt: expect.any(String), change: "−0.31 %" };
  expect(asIs.places).toEqual([rung({ rings: 4, heldBack: 3, loudest, worst })]);
  const { proposals } = (await backtest(", flapping: off", "--json")).json().data.ringing;
  expect(proposals).toMatchObject([{ route: "all", rings: 1, insteadOf: 7, worst: { change: "−0.61 %" } }]);
  const { stdout } = await backtest(", flapping: off");
  expect(stdout).toMatch(/all +1 +7 +−0\.61 % at .* again: \{ furtherBy: 1% \}, rearm: \{ backBy: 1% \}/);
});

it("says in how many stored alerts a mapping finds its facts, and routes by them", async () => {
  const { world } = await createHistory();
  const mapping = "mapping: { severity: payload.urgency, value: payload.pool.tvl }";
  writeFileSync(join(world.dataDir, "mapped.yaml"), `${mapping}\n${next}`);
  const argv = ["backtest", "--config", "mapped.yaml"];
  expect((await world.run([...argv, "--json"])).json().data.mapping).toEqual([
    { fact: "severity", found: 0 },
    { fact: "value", found: 2 },
  ]);
  expect((await world.run(argv)).stdout).toMatch(/value by mapping +in 2, else guessed/);
});

it("refuses a file with a mistake, with its line, and says how to check it", async () => {
  const world = await createRelayWorld();
  writeFileSync(join(world.dataDir, "next.yaml"), next.replace("to: [ops]", "to: [opps]"));
  const run = await world.run("backtest --config next.yaml");
  expect(run.status).toBe(2);
  for (const words of [/next\.yaml:7:\d+ /, /check --config next\.yaml` whether all is well/])
    expect(run.stderr).toMatch(words);
});
