import { expect, it } from "vitest";
import { createRelayWorld, deskChat, mailAddress, opsChat, yaml } from "./relay-world.ts";

it("sends one marked alert the whole real way and shows each outcome", async () => {
  const world = await createRelayWorld();
  const run = await world.run(["test", "--severity", "critical", "--json"]);
  expect(run.status).toBe(0);
  const { data } = run.json();
  expect(data).toMatchObject({ ok: true, timedOut: false });
  expect(data.deliveries.map(({ destination, state }: Record<string, string>) => `${destination} ${state}`)).toEqual([
    "desk sent",
    "mail sent",
    "ops sent",
  ]);
  const [message, ...more] = world.chat.messages(deskChat);
  expect(more).toEqual([]);
  expect(message?.text).toMatch(/^🧪 Test from [\s\S]*No action needed/);
  expect(world.mailbox.mails(mailAddress)[0]?.subject).toContain("TEST");
  const people = await world.run(["test", "--severity", "warning"]);
  expect(people.stdout).toMatch(/ops +-1001700000002 +sent +\d+\.\d s[\s\S]*1 of 1 reached\./);
});

it("fails when a destination refuses, and shows its words", async () => {
  const world = await createRelayWorld({ yaml: yaml.replace(opsChat, "-1009") });
  const run = await world.run(["test", "--severity", "warning"]);
  expect(run.status).toBe(1);
  expect(run.stdout).toMatch(/ops +-1009 +failed +\d+\.\d s +.*chat not found/);
  expect(run.stdout).toContain("0 of 1 reached.");
});

it("fails when the time runs out, and says that the relay goes on", async () => {
  const world = await createRelayWorld({ env: { SMTP_URL: "smtp://127.0.0.1:9" } });
  const run = await world.run(["test", "--severity", "critical", "--timeout", "1s", "--json"]);
  expect(run.status).toBe(1);
  expect(run.json().data).toMatchObject({ ok: false, timedOut: true });
  const chatsOnly = await world.run(["test", "--severity", "critical", "--to", "desk,ops"]);
  expect(chatsOnly.status).toBe(0);
  expect(chatsOnly.stdout).toContain("2 of 2 reached.");
});

it("fails when no route wants it, or none sends it to the destination named", async () => {
  const world = await createRelayWorld();
  const nowhere = await world.run(["test", "--severity", "info"]);
  expect(nowhere.status).toBe(1);
  expect(nowhere.stdout).toContain("No route wants an alert of severity info");
  const elsewhere = await world.run(["test", "--severity", "warning", "--to", "desk"]);
  expect(elsewhere.status).toBe(1);
  expect(elsewhere.stdout).toContain("No route sends this alert to desk");
  const unknown = await world.run(["test", "--to", "dsek"]);
  expect(unknown.status).toBe(2);
  expect(unknown.stderr).toMatch(/no destination dsek[\s\S]*desk, ops, mail/);
});

it("says so when the hook has another secret than the one found here", async () => {
  const world = await createRelayWorld();
  const env = { ...world.env, WEBHOOK_SECRET: "canary-webhook-secret-0123456789abcdefg" };
  const run = await world.run(["test"], { env });
  expect(run.status).toBe(1);
  expect(run.stderr).toContain("does not know the hook secret");
  expect(run.stdout + run.stderr).not.toContain("canary");
});
