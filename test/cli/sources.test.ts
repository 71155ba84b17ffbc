import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createRelayWorld, deskChat, type RelayWorld } from "./relay-world.ts";

const yaml = `
destinations: { desk: { type: telegram, chatId: "${deskChat}" } }
routes:
  - { name: forge, match: { source: forge }, to: desk }
  - { name: rest, default: true, drop: true }
sources:
  forge:
    idempotency: payload.delivery
    mapping: { title: payload.head }
  other: {}
`;

const secretOf = (world: RelayWorld, name: string) =>
  readFileSync(join(world.dataDir, "secrets", `source-${name}`), "utf8").trim();

async function postTo(world: RelayWorld, name: string, body: object): Promise<string> {
  const response = await fetch(`${world.relay.localUrl}/hooks/${secretOf(world, name)}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(202);
  return ((await response.json()) as { data: { id: string } }).data.id;
}

it("routes what came by a source's hook by its name, reads it by its mapping, and finds it again by it", async () => {
  const world = await createRelayWorld({ yaml });
  const id = await postTo(world, "forge", { title: "guess", head: "Fix the pool", delivery: "d1" });
  const [claimed = ""] = await world.post({ title: "not of the forge", source: "forge" });
  const other = await postTo(world, "other", { title: "of the other" });
  expect(await postTo(world, "forge", { head: "Fix the pool", title: "guess", delivery: "d1" })).not.toBe("");
  expect(await world.ended(id)).toMatchObject({ source: "forge", facts: { title: "Fix the pool", source: "forge" } });
  for (const dropped of [claimed, other]) expect(await world.ended(dropped)).toMatchObject({ dropped: true });

  const listed = async (...filters: string[]) =>
    (await world.run(["alerts", "list", "--json", ...filters])).json().data.map((alert: { id: string }) => alert.id);
  expect(await listed("--source", "other")).toEqual([other]);
  expect(await listed("--source", "none")).toEqual([]);
  expect((await listed("--source", "forge")).at(-1)).toBe(id);
  const csv = (await world.run("alerts export --format csv --source other")).stdout;
  expect(csv.trim().split("\r\n")).toHaveLength(2);

  const status = await world.run("status --json");
  expect(status.json().data.sources).toMatchObject([
    { name: "forge", accepted: 2, lastAcceptedAt: expect.any(String) },
    { name: "other", accepted: 1 },
  ]);
  expect((await world.run("status")).stdout).toMatch(/^forge +.*accepted 2 requests since the start, the last /m);
  const metrics = await world.relay.operations.metricsText();
  expect(metrics).toContain('tocsin_source_requests_total{source="forge",result="accepted"} 2');
});

it("explains a stored alert as its source's hook reads it, and a file as any", async () => {
  const world = await createRelayWorld({ yaml });
  const id = await postTo(world, "forge", { title: "guess", head: "Fix the pool" });
  await world.ended(id);
  const explain = async (...args: string[]) => (await world.run(["explain", "--json", ...args])).json();
  const [stored] = (await explain(id)).data;
  expect(stored.facts).toMatchObject({ title: "Fix the pool", source: "forge" });
  expect(stored.mapping).toMatchObject([{ fact: "title", path: "payload.head", guess: "guess" }]);
  const file = join(world.dataDir, "tocsin.yaml");
  expect((await explain(file, "--source", "other")).data[0].facts).toMatchObject({ source: "other" });
  expect((await explain(file)).data[0].facts.source).toBeUndefined();
  const unknown = await world.run(`explain ${file} --source forg`);
  expect(unknown).toMatchObject({ status: 2, stderr: expect.stringContaining("did you mean forge?") });
});

it("makes a new address beside the former one, and takes the former no longer, while the relay runs", async () => {
  const world = await createRelayWorld({ yaml });
  const statusOf = async (secret: string) =>
    (await fetch(`${world.relay.localUrl}/hooks/${secret}`, { method: "POST", body: "x" })).status;
  const answers = (secret: string, status: number) => expect.poll(() => statusOf(secret)).toBe(status);
  const former = secretOf(world, "forge");
  const rotated = await world.run("sources --rotate forge --reveal");
  const present = secretOf(world, "forge");
  expect(present).not.toBe(former);
  expect(rotated.stdout).toContain(`/hooks/${present} (and 1 former)`);
  expect(rotated.stdout + rotated.stderr).not.toContain(former);
  expect(rotated.stderr).toContain("tocsin sources --retire forge");
  await answers(present, 202);
  expect(await statusOf(former)).toBe(202);

  expect((await world.run("sources --retire forge")).stderr).toContain("answered 404 from now on");
  await answers(former, 404);
  expect(await statusOf(present)).toBe(202);
  expect((await world.run("sources --retire forge")).stderr).toContain("nothing was changed");
  const slip = await world.run("sources --rotate forg");
  expect(slip).toMatchObject({ status: 2, stderr: expect.stringContaining("did you mean forge?") });
  expect((await world.run("sources --rotate forge --retire forge")).status).toBe(2);
});

it("takes each of several addresses that were given, and says where such a secret is changed", async () => {
  const env = { NEW: "canary-new-secret-kS93jdLwm2PzQe81", OLD: "canary-old-secret-kS93jdLwm2PzQe81" };
  const world = await createRelayWorld({ yaml: `sources: { shop: { secret: ["\${NEW}", "\${OLD}"] } }`, env });
  for (const secret of [env.NEW, env.OLD])
    expect((await fetch(`${world.relay.localUrl}/hooks/${secret}`, { method: "POST", body: "x" })).status).toBe(202);
  expect((await world.run("sources --reveal")).stdout).toContain(`/hooks/${env.NEW} (and 1 former)`);
  const rotated = await world.run("sources --rotate shop");
  expect(rotated).toMatchObject({ status: 2, stderr: expect.stringContaining("restart the relay") });
});

it("says that no source is configured", async () => {
  const cwd = makeTempFolder();
  expect((await runTocsin(["sources"], { env: { DATA_DIR: cwd }, cwd })).stdout).toContain("No source is configured");
});
