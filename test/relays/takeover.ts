import { createSeededRandom } from "../support/seeded-random.ts";
import { type Fleet, type Member, startFleet } from "./fleet.ts";
import { createReceivers, type Receivers } from "./receivers.ts";
import { createScope, pause, until } from "./scope.ts";
import { startSender } from "./sender.ts";

export interface TakeoverOptions {
  /** Of each kind. */
  times: number;
  /** How many run at the same time, each with its part of them: a turn mostly waits for a lease to end. Default 1. */
  fleets?: number;
  perSecond: number;
  say?(line: string): void;
}

/** From the end of a lane's owner to the first call of that lane by another, milliseconds. */
export interface TakeoverTimes {
  afterKillMs: number[];
  /** From the moment at which its drain is over. */
  afterStopMs: number[];
}

const lane = "destination:hook";
const longestMs = 60_000;
const drainMs = 1_000;

/** How long the webhook hears nothing when the relay that calls it is killed, and when it is stopped in order. */
export async function measureTakeover(options: TakeoverOptions): Promise<TakeoverTimes> {
  const { times, fleets: most = 1 } = options;
  const fleets = Math.min(most, times);
  const shares = Array.from({ length: fleets }, (_, index) => Math.floor((times + index) / fleets));
  const outcomes = await Promise.all(shares.map((share) => measureFleet({ ...options, times: share })));
  return {
    afterKillMs: outcomes.flatMap(({ afterKillMs }) => afterKillMs),
    afterStopMs: outcomes.flatMap(({ afterStopMs }) => afterStopMs),
  };
}

async function measureFleet({ times, perSecond, say = () => {} }: TakeoverOptions): Promise<TakeoverTimes> {
  const scope = createScope();
  try {
    const receivers = await createReceivers(scope, createSeededRandom(1));
    const fleet = await startFleet(scope, { receivers, clocksAheadMs: [0, 0, 0], drainMs });
    await Promise.all(fleet.members.map((member) => fleet.start(member)));
    await until(() => fleet.balancer.ready().length === fleet.members.length, longestMs);
    const sender = startSender({
      url: fleet.hookUrl,
      perSecond,
      random: createSeededRandom(2),
      targetOf: () => "rest",
    });
    const outcome: TakeoverTimes = { afterKillMs: [], afterStopMs: [] };
    for (let turn = 0; turn < 2 * times; turn += 1) {
      const isKill = turn % 2 === 0;
      await until(() => fleet.balancer.ready().length === fleet.members.length, longestMs);
      // Lanes are shared anew while relays come.
      await pause(4_000);
      const owner = await ownerOf(fleet);
      const tookMs = isKill ? await timeKill(fleet, owner, receivers) : await timeStop(fleet, owner, receivers);
      (isKill ? outcome.afterKillMs : outcome.afterStopMs).push(tookMs);
      say(`${isKill ? "killed" : "stopped"}: ${Math.round(tookMs)} ms`);
      await fleet.start(owner);
    }
    await sender.end();
    return outcome;
  } finally {
    await scope.end();
  }
}

async function ownerOf(fleet: Fleet): Promise<Member> {
  let owner: Member | undefined;
  await until(async () => {
    owner = await fleet.ownerOf(lane);
    return owner?.process !== undefined;
  }, longestMs);
  if (owner === undefined) throw new Error(`nobody has ${lane}`);
  return owner;
}

async function timeKill(fleet: Fleet, owner: Member, receivers: Receivers): Promise<number> {
  await fleet.kill(owner);
  const at = Date.now();
  // What it had sent may still be read just now.
  return firstAfter(receivers, at + 50, at);
}

/** The longest silence from the end of the drain to that of the process, and the first call behind it. */
async function timeStop(fleet: Fleet, owner: Member, receivers: Receivers): Promise<number> {
  const drainedAt = Date.now() + drainMs;
  await fleet.stop(owner);
  await firstAfter(receivers, Date.now(), Date.now());
  const calls = [
    drainedAt,
    ...receivers.arrivals.flatMap(({ at, destination }) => (destination === "hook" && at >= drainedAt ? at : [])),
  ];
  return Math.max(...calls.slice(1).map((at, index) => at - (calls[index] as number)));
}

async function firstAfter({ arrivals }: Receivers, since: number, from: number): Promise<number> {
  let found: number | undefined;
  const isThere = () => {
    found = arrivals.find(({ at, destination }) => destination === "hook" && at > since)?.at;
    return found !== undefined;
  };
  if (!(await until(isThere, longestMs))) throw new Error("nobody took the lane over");
  return (found as number) - from;
}
