import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRelayWorld } from "./relay-world.ts";

it("tells what is true of a running relay, without its secrets", async () => {
  const world = await createRelayWorld({ env: { PUBLIC_URL: "https://alerts.example.com" } });
  const [id = ""] = await world.post({ title: "One", severity: "critical" });
  await world.ended(id);
  const run = await world.run(["status", "--json"]);
  expect(run.status).toBe(0);
  expect(run.json().data).toMatchObject({
    running: true,
    ready: true,
    url: world.relay.localUrl,
    hook: "https://alerts.example.com/hooks/***",
    store: { alerts: 1, unrouted: 0, diskFull: false, lastReceivedAt: expect.stringMatching(/Z$/) },
    destinations: [
      { name: "desk", health: "ok", counts: { sent: 1 } },
      { name: "ops", health: "ok", counts: { sent: 1 } },
      { name: "mail", health: "ok", counts: { sent: 1 } },
    ],
  });
  const people = await world.run(["status"]);
  for (const name of ["webhook-secret", "admin-token"]) {
    const secret = readFileSync(join(world.dataDir, "secrets", name), "utf8").trim();
    expect(run.stdout + people.stdout + people.stderr).not.toContain(secret);
  }
});

it("tells what a stopped relay has left, and fails", async () => {
  const world = await createRelayWorld({ env: { SMTP_URL: "smtp://127.0.0.1:9" } });
  const [id = ""] = await world.post({ title: "One", severity: "critical" });
  await world.run(["test", "--severity", "critical", "--to", "desk,ops"]);
  await world.stopRelay();
  const run = await world.run(["status"]);
  expect(run.status).toBe(1);
  expect(run.stdout).toMatch(/^relay +not running/);
  expect(run.stdout).toMatch(/alerts +2\n/);
  expect(run.stdout).toMatch(/mail +email +\S+ +0 +2 +0 +0/);
  expect(id).not.toBe("");
});
