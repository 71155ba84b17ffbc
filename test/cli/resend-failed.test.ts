import { expect, it } from "vitest";
import type { CliContext } from "../../src/cli/shell/context.ts";
import { stdinOf } from "../support/cli.ts";
import { createRelayWorld, deskChat, type RelayWorld } from "./relay-world.ts";

/** A person at both ends who types this. */
const person = (answer: string): Partial<CliContext> => ({
  isTty: { stdin: true, stdout: false, stderr: true },
  stdin: stdinOf(`${answer}\n`),
});

/** Two alerts that the desk's chat has refused: what a person sends again does not wait for a dead one. */
async function openWithFailures(): Promise<RelayWorld> {
  const world = await createRelayWorld({ yaml: `destinations: { desk: { type: telegram, chatId: "${deskChat}" } }` });
  const ids = [];
  for (const title of ["First", "Second"]) ids.push(...(await world.post({ title, severity: "critical" })));
  for (const id of ids) await world.ended(id);
  world.chat.setMembership(deskChat, "kicked");
  for (const id of ids) {
    await world.run(`alerts resend ${id}`);
    await world.ended(id);
  }
  return world;
}

it("alerts resend --failed shows the number first and resends nothing with --dry-run, or where nobody can be asked", async () => {
  const world = await openWithFailures();
  const dry = await world.run("alerts resend --failed --dry-run");
  expect(dry.status).toBe(0);
  expect(dry.stdout).toMatch(
    /desk: 2 alerts, received .*, one message each\. It is failing \(dead\): it is tried first[\s\S]*Nothing was resent/,
  );
  expect(dry.stdout).not.toContain("paused");
  await world.run("destinations pause desk");
  const paused = await world.run("alerts resend --failed --dry-run");
  expect(paused.stdout).toContain("Somebody has paused it: they wait until it is resumed.");
  await world.run("destinations resume desk");
  const unasked = await world.run("alerts resend --failed --json");
  expect(unasked.status).toBe(2);
  expect(unasked.json().error).toMatchObject({ code: "usage", message: expect.stringContaining("--yes") });
  const no = await world.run("alerts resend --failed", person("n"));
  expect(no).toMatchObject({ status: 1, stderr: expect.stringMatching(/desk: 2 alerts[\s\S]*Resend these 2\?/) });
  expect(await world.data("alerts list --state failed")).toHaveLength(2);
});

it("alerts resend --failed leaves them failed while the chat refuses, and says so; resends them once it works", async () => {
  const world = await openWithFailures();
  const refused = await world.run("alerts resend --failed --yes");
  expect(refused.status).toBe(1);
  expect(refused.stdout).toMatch(/2 to desk stay failed: it still takes no messages: /);
  const misspelt = await world.run("alerts resend --failed --destination desc --dry-run");
  expect([misspelt.status, misspelt.stderr]).toEqual([1, expect.stringContaining("There is no destination desc.")]);
  const tried = await world.run("destinations try desk");
  expect(tried.status).toBe(1);
  expect(tried.stdout).toMatch(/desk still does not work: .*\. It is tried again by itself /);
  expect((await world.run("status")).stdout).toContain(
    "desk: 2 failed. Resend with: tocsin alerts resend --failed --destination desk",
  );

  world.chat.setMembership(deskChat, "member");
  expect(await world.data("destinations try desk")).toMatchObject({ result: "works", health: "ok" });
  const done = await world.run("alerts resend --failed --destination desk", person("yes"));
  expect(done.status).toBe(0);
  expect(done.stdout).toContain('2 are on the way again, marked "Resent": one message in four while new alerts come');
  const data = await world.data("alerts list");
  for (const { id } of data) await world.ended(id);
  expect((await world.run("alerts list --state failed")).stdout).toBe("No alert fits these filters.\n");
  expect((await world.run("alerts list")).stdout).toMatch(/Second +1 sent[\s\S]*First +1 sent/);
  const second = data.find(({ title }: { title: string }) => title === "Second");
  expect((await world.run(`alerts show ${second.id}`)).stdout).toMatch(/desk .*failed resent .*: sent/);
  const desk = (await world.data("status")).destinations[0];
  expect([desk.counts.failed ?? 0, desk.counts.sent]).toEqual([0, 4]);
});

it("alerts resend of one alert asks a person before it goes to several destinations, and nobody else", async () => {
  const world = await createRelayWorld();
  const { id } = await world.send({ title: "Once", severity: "critical" });
  const count = async () => (await world.data(`alerts show ${id}`)).deliveries.length;
  const no = await world.run(`alerts resend ${id}`, person(""));
  expect(no.status).toBe(1);
  expect(no.stderr).toMatch(/Resend it to 3 destinations: desk, .*\? \[y\/N\]/);
  expect(await count()).toBe(3);
  expect((await world.run(`alerts resend ${id} --to desk`, person("n"))).status).toBe(0);
  expect(await count()).toBe(4);
  expect((await world.run(`alerts resend ${id}`)).status).toBe(0);
  expect(await count()).toBe(7);
});
