import { expect, it } from "vitest";
import type { WatchView } from "../../src/contract/operations.ts";
import type { AlertFacts } from "../../src/core/alert.ts";
import { type TestClock, writeTime } from "../support/test-clock.ts";

interface Watched {
  clock: TestClock;
  /** Absent: it sends none. */
  told?: AlertFacts[];
  toldAt?: number[];
  restart(): Promise<void>;
}

/** Time passes, the relay is started again, or whatever else is done. */
export type WatchStep<World> = number | "restart" | ((world: World) => unknown);

const join = (...words: unknown[]) => words.filter(Boolean).join(" ");

/** What a person sees of a watch. Its advice mostly begins with the summary, and has the reason. */
export function writeView(
  { verdict, level, summary, since, reason, note, troubles }: WatchView,
  start: number,
): string {
  const begun = since !== undefined && `since ${writeTime(since - start)}`;
  const advice = troubles.join(" · ");
  const isSaid = (words?: string) => words === undefined || advice.includes(words);
  const parts = [join(verdict, level), !isSaid(summary) && summary, begun, !isSaid(reason) && reason, note, advice];
  return parts.filter(Boolean).join(" · ");
}

/**
 * What came of the steps, for a person to read: each notice with its time, what is shown of the watch wherever that has changed, and
 * what functions answered.
 */
async function tellWatch<World extends Watched>(
  world: World,
  steps: readonly WatchStep<World>[],
  show: (world: World, start: number) => string,
): Promise<string> {
  const { clock } = world;
  const start = clock.now();
  const lines: string[] = [];
  let shown: string | undefined;
  let heard = 0;
  const note = (at: number, ...words: unknown[]) => lines.push(join(writeTime(at - start), ...words));
  function look(): void {
    for (const { severity, status, title, text, alertKey, fields, link } of world.told?.slice(heard) ?? []) {
      const said = [title, text, ...fields.map(({ name, value }) => `${name}: ${value}`)].filter(Boolean).join(" · ");
      const place = link && `[${link.replace(/^https:\/\/[^/]+/, "")}]`;
      note(world.toldAt?.[heard++] ?? 0, severity, status, `${alertKey}:`, said, place);
    }
    const now = show(world, start);
    if (now !== shown) note(clock.now(), "shows", now);
    shown = now;
  }
  look();
  for (const step of steps) {
    const isTime = typeof step === "number";
    const answer = await (isTime ? clock.advance(step) : step === "restart" ? world.restart() : step(world));
    look();
    if (answer !== undefined) note(clock.now(), "says", typeof answer === "string" ? answer : JSON.stringify(answer));
  }
  return `\n${lines.map((line) => line.replaceAll("\n", " / ")).join("\n")}\n`;
}

export type WatchScene<World, Options> = [what: string, steps: WatchStep<World>[], options?: Options];

/** Compares scenes, each of a watch of its own, with what a person has read: __snapshots__. */
export const tellWatches =
  <World extends Watched, Options>(
    open: (options?: Options) => Promise<World>,
    show: (world: World, start: number) => string,
  ) =>
  (scenes: WatchScene<World, Options>[]) =>
    it.each(scenes)("%s", async (_what, steps, options) => {
      expect(await tellWatch(await open(options), steps, show)).toMatchSnapshot();
    });
