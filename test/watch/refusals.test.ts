import { type HookSight, RefusalWatch } from "../../src/watch/refusals.ts";
import { tellWatches, type WatchStep } from "./tell-watch.ts";
import { day, minute, second, startWatchWorld } from "./watch-world.ts";

async function start() {
  const sight = { hook: { refused: {} } as HookSight };
  const world = await startWatchWorld((deps) =>
    new RefusalWatch({ ...deps, hooks: () => new Map([["forge", sight.hook]]) }).open(),
  );
  const { restart } = world;
  return Object.assign(world, {
    sight,
    /** What other relays know is there again. Default: nothing. */
    async restart(hook: HookSight = { refused: {} }) {
      sight.hook = hook;
      await restart();
    },
  });
}

type World = Awaited<ReturnType<typeof start>>;
type Step = WatchStep<World>;

/** And so much time passes. */
const refuses =
  (count = 3, ms = 0) =>
  async ({ sight, clock }: World) => {
    const refused = { wrong_signature: (sight.hook.refused.wrong_signature ?? 0) + count };
    sight.hook = { ...sight.hook, refused, lastRefusedAt: clock.now() };
    await clock.advance(ms);
  };
const accepts =
  (ms = minute) =>
  async ({ sight, clock }: World) => {
    sight.hook = { ...sight.hook, lastAcceptedAt: clock.now() };
    await clock.advance(ms);
  };
const beginsAmidOthers: Step = ({ restart, clock }) => {
  const [lastAcceptedAt, lastRefusedAt] = [clock.now() - minute, clock.now() - second];
  return restart({ refused: { wrong_signature: 40 }, lastAcceptedAt, lastRefusedAt });
};
const times = (count: number, ...steps: Step[]) => Array.from({ length: count }, () => steps).flat();

tellWatches<World, undefined>(start, ({ watch }) => {
  const { verdict, summary, troubles } = watch.view();
  return [`${verdict} · ${summary}`, ...troubles.map((text) => text.split(", and ", 1)[0])].join(" · ");
})([
  [
    "tells once that a source lets nobody in, with what to do, and once when it does again",
    [minute, refuses(3, 30 * second), refuses(), minute, ...times(5, refuses(3, day)), accepts()],
  ],
  [
    "takes one or two requests for no lock-out, and counts and names what was refused since one passed",
    [refuses(40), accepts(), refuses(2, 10 * minute), refuses(1, minute)],
  ],
  [
    "counts nothing that other relays had refused before it watches",
    [beginsAmidOthers, 10 * minute, refuses(3, minute)],
  ],
  [
    "says nothing of a stranger while the sender is let in",
    [
      async (world) => {
        for (let count = 0; count < 100; count += 1) {
          await refuses(3, 20 * second)(world);
          await accepts(20 * second)(world);
        }
      },
    ],
  ],
  [
    "is not made to repeat itself within a day by what comes and goes, and hides nothing that goes on for ten minutes",
    [
      ...times(5, refuses(3, 5 * minute), accepts(5 * minute)),
      ...[...times(6, refuses(3, 2 * minute)), accepts(), day, refuses(3, 5 * minute)],
    ],
  ],
  [
    "knows over a restart who is locked out, and tells when that is over",
    [refuses(3, 5 * minute), "restart", refuses(3, 5 * minute), accepts()],
  ],
]);
