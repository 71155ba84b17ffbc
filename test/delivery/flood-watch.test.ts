import { describe, expect, it } from "vitest";
import { createFloodWatch } from "../../src/delivery/memory/flood-watch.ts";

describe("floods", () => {
  it("are the chat's own matter while one chat asks us to wait", () => {
    const floods = createFloodWatch();
    expect([0, 1, 2].map((at) => floods.note("bot", "a", at))).toEqual([false, false, false]);
  });

  it("are the bot's when a second chat asks within ten seconds", () => {
    const floods = createFloodWatch();
    floods.note("bot", "a", 0);
    expect(floods.note("bot", "b", 10_000)).toBe(true);
    expect(floods.note("bot", "c", 20_001)).toBe(false);
  });

  it("are told apart by bot", () => {
    const floods = createFloodWatch();
    floods.note("one", "a", 0);
    expect(floods.note("other", "b", 1)).toBe(false);
  });
});
