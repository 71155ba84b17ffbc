import { expect, it } from "vitest";
import { z } from "zod";
import { AppError } from "../../src/core/errors.ts";
import { silentLog } from "../../src/core/log.ts";
import { ownFacts } from "../../src/core/own-facts.ts";
import { Watch } from "../../src/watch/watch.ts";
import { mute } from "../conformance/store/common/mutes.ts";
import { minute, second, startWatchWorld } from "./watch-world.ts";

/** A watch that tells each new height of the water once, and what it logs. Rules of a real one say the rest. */
async function openRiver(firstAfterMs = 0) {
  const river = { height: 0, looks: 0, failures: [] as unknown[] };
  class River extends Watch<{ told: number }, number> {
    readonly name = "river";
    readonly schema = z.object({ told: z.number() });
    memory = { told: 0 };
    readonly everyMs = () => minute;
    override readonly firstAfterMs = firstAfterMs;

    async look() {
      river.looks += 1;
      if (river.height === this.memory.told) return;
      const words = { key: "river", severity: "critical", status: "firing", link: "" } as const;
      const facts = river.height > 0 ? ownFacts({ title: `${river.height} m`, ...words }) : undefined;
      await this.tell(facts, { told: river.height }, { told: -1 });
    }

    view = () => this.memory.told;
  }
  const log = { ...silentLog, error: (event: string, fields?: object) => void river.failures.push([event, fields]) };
  const world = await startWatchWorld((deps) => new River(deps).open(), { log });
  const rises = async (height: number) => {
    river.height = height;
    await world.clock.advance(minute);
  };
  return { ...world, world, river, rises, titles: () => world.told.map(({ title }) => title) };
}

it("a watch looks at its start and as often as its rules say, at once when it is woken, and no more when it ends", async () => {
  const { world, river, clock } = await openRiver(10 * second);
  expect(river.looks).toBe(0);
  await clock.advance(10 * second);
  expect(river.looks).toBe(1);
  await clock.advance(2 * minute);
  expect(river.looks).toBe(3);
  world.watch.wake();
  await clock.settle();
  expect(river.looks).toBe(4);
  await world.stop();
  await clock.advance(10 * minute);
  expect(river.looks).toBe(4);
});

it.each(["stopped", "killed"] as const)("a watch that is %s repeats no notice, and tells what is new", async (how) => {
  const { world, rises, titles } = await openRiver();
  await rises(2);
  await world.restart(minute, how);
  await rises(2);
  expect([titles(), world.watch.view()]).toEqual([["2 m"], 2]);
  await world.restart(minute, how);
  await rises(3);
  expect(titles()).toEqual(["2 m", "3 m"]);
});

it.each([
  ["the store is full", new Error("no room")],
  ["another relay has taken over its duty", new AppError("conflict", "Another relay has taken over what is watched.")],
])(
  "a notice that cannot be stored since %s is remembered by nobody, and told once when it can be",
  async (_, refusal) => {
    const { world, rises, river, titles } = await openRiver();
    world.refusal = refusal;
    await rises(2);
    expect([titles(), world.watch.view(), await world.scene.store.loadWatchState("river")]).toEqual([[], 0, undefined]);
    expect(river.failures).toContainEqual(["watch.failed", { watch: "river", error: String(refusal) }]);
    await world.restart();
    expect(titles()).toEqual([]);
    world.refusal = undefined;
    await rises(2);
    await rises(2);
    expect(titles()).toEqual(["2 m"]);
  },
);

it("a notice for which a mute holds is not sent, and what is to be remembered then is", async () => {
  const { world, rises, titles } = await openRiver();
  world.mutes.push(mute("m", { matchers: [{ field: "alertKey", condition: { equals: ["tocsin:river"] } }] }));
  await rises(2);
  expect([titles(), world.watch.view()]).toEqual([[], -1]);
  world.mutes.pop();
  await rises(2);
  expect(titles()).toEqual(["2 m"]);
});

it("what is over without a word is remembered without a notice", async () => {
  const { world, rises, titles } = await openRiver();
  await rises(2);
  await rises(0);
  await rises(2);
  expect(titles()).toEqual(["2 m", "2 m"]);
  expect(await world.scene.store.loadWatchState("river")).toEqual({ told: 2 });
});

it("a watch begins anew where nobody can read what was saved", async () => {
  const { world, rises, titles } = await openRiver();
  await rises(2);
  await world.scene.store.saveWatchState({ name: "river", state: { told: "two metres" } });
  await world.restart();
  expect(titles()).toEqual(["2 m", "2 m"]);
});
