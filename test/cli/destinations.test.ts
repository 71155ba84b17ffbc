import { expect, it } from "vitest";
import { drawPanel } from "../../src/cli/shell/draw-panel.ts";
import type { DestinationView } from "../../src/contract/operations.ts";
import { changedDestinationPanel } from "../../src/panels/destinations.ts";
import { createRelayWorld } from "./relay-world.ts";

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
  const { status, stderr } = await world.run("destinations try nowhere", { isTty });
  expect(status).toBe(1);
  expect(stderr).toMatch(/asking nowhere\r\S\[K\S*error:/);
});
