import { expect, it } from "vitest";
import { createRelayWorld } from "./relay-world.ts";

it("a destination is paused and resumed by command, and what came meanwhile arrives", async () => {
  const world = await createRelayWorld({});
  const paused = await world.run(["destinations", "pause", "desk"]);
  expect([paused.status, paused.stderr]).toEqual([0, ""]);
  expect(paused.stdout).toMatch(/^desk is paused since .*: what comes for it waits until somebody resumes it\.$/m);
  expect(paused.stdout).toContain("Resume: tocsin destinations resume desk\n");
  const status = await world.run(["status"]);
  expect(status.stdout).toMatch(/^desk +telegram +paused /m);
  expect(status.stdout).toMatch(/^✕ desk is paused since .* → \S*tocsin destinations resume desk$/m);
  expect(status.stdout).toContain("desk is paused since");
  const [id = ""] = await world.post({ title: "One", severity: "critical" });
  const resumed = await world.run(["destinations", "resume", "desk", "--json"]);
  expect(resumed.json().data).toMatchObject({ name: "desk", verdict: expect.any(String) });
  expect(resumed.json().data).not.toHaveProperty("paused");
  await world.ended(id);
  const none = await world.run(["destinations", "pause", "nobody"]);
  expect(none.status).toBe(1);
  expect(none.stderr).toContain("nobody");
});
