import { expect, it } from "vitest";
import { drawPanel } from "../../src/cli/shell/draw-panel.ts";
import type { DestinationView } from "../../src/contract/operations.ts";
import { changedDestinationPanel } from "../../src/panels/destinations.ts";
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

it("does not call sent what is due later, once it is resumed", () => {
  const destination = { name: "ops", counts: { waiting: 1, sent: 3 } } as DestinationView;
  const pen = { style: (_name: string, text: string) => text, now: 0, ownCommand: "tocsin" };
  expect(drawPanel(changedDestinationPanel(destination), pen)).toBe(
    "ops is not paused. 1 waiting: it is sent when it is due.\n",
  );
});

it("on a terminal an error stands on a line of its own, not behind what was being done", async () => {
  const world = await createRelayWorld({});
  const isTty = { stdin: false, stdout: false, stderr: true };
  const { status, stderr } = await world.run(["destinations", "try", "nowhere"], { isTty });
  expect(status).toBe(1);
  expect(stderr).toMatch(/asking nowhere\r\S\[K\S*error:/);
});
