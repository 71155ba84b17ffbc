import { expect, it } from "vitest";
import { createRelayWorld, opsChat, yaml } from "./relay-world.ts";

const alert = {
  title: "USDC TVL fell",
  severity: "critical",
  value: 4.2,
  pool: { id: "p1" },
  apiKey: "canary-key-012345",
};

it("tells once in the chats what a sender's change breaks, goes on delivering, and lists the places", async () => {
  // None is held for firing too often.
  const world = await createRelayWorld({ yaml: yaml.replaceAll(/to: \[(?=desk|ops)/g, "flapping: off, to: [") });
  expect((await world.run("shapes")).stdout).toContain("No alert with a payload has arrived yet.\n");
  for (let at = 0; at < 40; at += 1) await world.post({ ...alert, at });
  const { severity: _gone, ...changed } = alert;
  const ids: string[] = [];
  for (let at = 0; at < 8; at += 1) ids.push(...(await world.post({ ...changed, at })));
  for (const id of ids) expect((await world.ended(id)).routedAt).toBeDefined();
  const isTold = () => world.chat.messages(opsChat).filter(({ text }) => text.includes("payload.severity is gone"));
  await expect.poll(isTold).toHaveLength(1);
  expect(isTold()[0]?.text).toContain("Read from it: severity (not found now). Routes that ask for it: urgent, all.");
  expect(JSON.stringify(world.chat.messages(opsChat))).not.toContain("canary-key");

  const run = await world.run("shapes");
  expect(run.status).toBe(0);
  expect(run.stdout).toMatch(/Like “USDC TVL fell”\n48 alerts of 2 shapes, the first .*, the last /);
  expect(run.stdout).toMatch(/payload\.severity +text, gone +40 .* severity +urgent, all +critical/);
  expect(run.stdout).not.toContain("payload.apiKey");
  const [kind] = (await world.data("shapes --all")).kinds;
  expect(kind.places.find(({ path }: { path: string }) => path === "payload.apiKey")).toMatchObject({
    type: "text",
    example: "(not shown)",
    alerts: 48,
    facts: [],
  });
  expect(JSON.stringify(kind)).not.toContain("canary-key");
});
