import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRelayWorld, opsChat, type RelayWorld } from "./relay-world.ts";

const key = "canary-forge-signing-secret";
const yaml = `
sources:
  forge: { check: { type: github, secret: "\${FORGE}" } }
  other: { check: { type: github, secret: "\${FORGE}" } }
destinations:
  ops: { type: telegram, chatId: "${opsChat}" }
`;

async function openWorld() {
  const world = await createRelayWorld({ yaml, env: { FORGE: key } });
  const post = async (source: string, title: string, signedWith: string, delivery = title) => {
    const secret = readFileSync(join(world.dataDir, "secrets", `source-${source}`), "utf8").trim();
    const body = JSON.stringify({ title });
    const signature = `sha256=${createHmac("sha256", signedWith).update(body).digest("hex")}`;
    const headers = { "x-github-delivery": delivery, "x-hub-signature-256": signature };
    const answer = await fetch(`${world.relay.localUrl}/hooks/${secret}`, { method: "POST", body, headers });
    const { data } = (await answer.json()) as { data?: { id: string; duplicate: boolean } };
    return { status: answer.status, ...data };
  };
  return { ...world, post };
}

const titlesOf = async ({ run }: Pick<RelayWorld, "run">) =>
  ((await run(["alerts", "list", "--json"])).json().data as { title: string }[]).map(({ title }) => title);

it("relays what was refused, each once, whatever its sender sends again before and after", async () => {
  const world = await openWorld();
  for (const title of ["early", "late", "never"]) await world.post("forge", title, "former key");
  await world.post("other", "of another", "former key");
  // The right key is in place now, and one has come again by itself.
  expect(await world.post("forge", "early", key)).toMatchObject({ status: 202, duplicate: false });

  const relay = await world.run("refused relay --source forge --yes");
  expect(relay.stdout).toContain(
    "Relayed 2 alerts. 1 request had been relayed before, or sent again with the right key.",
  );
  expect(await world.post("forge", "late", key)).toMatchObject({ status: 202, duplicate: true });
  await expect.poll(async () => (await titlesOf(world)).sort()).toEqual(["early", "late", "never"]);
  const again = await world.run("refused relay --source forge --yes");
  expect(again.stdout).toBe("Nothing to relay: none is kept that was not relayed.\n");
  const [one] = await world.data("refused list --source other");
  expect(await world.data(`refused relay ${one.id}`)).toMatchObject([{ id: one.id, duplicate: false }]);
  const [released] = await world.data("alerts list --source other");
  expect((await world.ended(released.id)).facts?.title).toBe("of another");
});

it("asks before it relays many, refuses what says nothing of which, and relays nothing while no relay runs", async () => {
  const world = await openWorld();
  await world.post("forge", "first", "another key");
  const unasked = await world.run("refused relay --source forge");
  expect(unasked).toMatchObject({ status: 2, stderr: expect.stringContaining("--yes") });
  for (const argv of [[], ["--reason", "wrong_signature", "--yes"], ["some-id", "--source", "forge"]])
    expect((await world.run(["refused", "relay", ...argv])).status).toBe(2);
  expect(await titlesOf(world)).toEqual([]);

  const [one] = await world.data("refused list");
  await world.stopRelay();
  const left = await world.run("refused list --json");
  expect(left.json().data).toEqual([one]);
  expect(left.stderr).toContain("reading the database");
  expect((await world.run(`refused show ${one.id}`)).stdout).toContain('{"title":"first"}');
  expect((await world.run(`refused relay ${one.id}`)).status).toBe(1);
});
