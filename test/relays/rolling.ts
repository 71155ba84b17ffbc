import { createSeededRandom } from "../support/seeded-random.ts";
import type { Builds } from "./builds.ts";
import { startFleet, type Version } from "./fleet.ts";
import { type Evidence, isSettled, judge, tellAll } from "./judge.ts";
import { createReceivers } from "./receivers.ts";
import { inScope, pause, until } from "./scope.ts";
import { startSender } from "./sender.ts";
import { installWitness } from "./witness.ts";

export interface RollingOptions {
  seed: number;
  /** How often all relays are upgraded, one after another, and rolled back. */
  rounds: number;
  perSecond: number;
  /** Default 3. */
  relays?: number;
  /** Of which version they are before and after an upgrade. Default: this checkout's both times. */
  builds?: Builds;
  say?(line: string): void;
}

/** That of the newer version differs, so that it takes over, and the one before comes back. */
const mute = "{ match: { payload.none: none }, reason: of another version, until: 2100-01-01T00:00:00Z }";
const configurations = ["", `mutes: [${mute}]\n`];
const readyWithinMs = 60_000;
/** Longer than the balancer waits for an answer of `/readyz`, so that a busy machine is none of the faults. */
const drainMs = 3_000;

/**
 * All relays behind the balancer are upgraded one after another, to a program that changes the schema and to another
 * configuration, and rolled back in the same way, while a sender that never repeats goes on. Each of its alerts is answered 202,
 * stored once and delivered once.
 */
export async function runRolling(options: RollingOptions) {
  const { seed, rounds, perSecond, relays = 3, builds, say = () => {} } = options;
  const versions: Version[] = [builds?.old, builds?.new].map((bin, configuration) => ({ configuration, bin }));
  return inScope(async (scope) => {
    const receivers = await createReceivers(scope, createSeededRandom(seed));
    const clocksAheadMs = Array<number>(relays).fill(0);
    const fleet = await startFleet(scope, { receivers, clocksAheadMs, more: configurations, drainMs });
    await Promise.all(fleet.members.map((member) => fleet.start(member, versions[0])));
    const areReady = (count: number) => until(() => fleet.balancer.ready().length >= count, readyWithinMs);
    await areReady(fleet.members.length);
    const targetOf = (number: number) => (number % 10 === 3 ? "mail" : "rest");
    const sending = { perSecond, random: createSeededRandom(seed + 1), neverRepeats: true, targetOf } as const;
    const sender = startSender({ url: fleet.hookUrl, ...sending });
    await installWitness(fleet);
    const stopMs: number[] = [];
    const roundMs: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const roundAt = performance.now();
      builds?.addMigration();
      for (const version of versions.toReversed())
        for (const member of fleet.members) {
          await pause(500);
          const startedAt = performance.now();
          const status = await fleet.stop(member);
          stopMs.push(performance.now() - startedAt);
          if (status !== 0) throw new Error(`${member.name} ended with ${status}: ${member.log()}`);
          await fleet.start(member, version);
          if (!(await areReady(fleet.members.length)))
            throw new Error(`${member.name} does not get ready: ${member.log()}`);
        }
      roundMs.push(performance.now() - roundAt);
      const taken = sender.sent.filter(({ isAccepted }) => isAccepted).length;
      say(`round ${round}: ${(Number(roundMs.at(-1)) / 1_000).toFixed(1)} s, ${taken} alerts answered 202`);
    }
    await sender.end();
    await until(() => isSettled(fleet), 120_000);
    const evidence: Evidence = { fleet, receivers, sent: sender.sent, stops: [], notices: [] };
    const found = await judge(evidence);
    for (const { name, tries } of sender.sent.filter(({ isAccepted }) => !isAccepted))
      found.unshift({ name, what: `${name} was not taken: ${tries.map(({ outcome }) => outcome).join()}` });
    for (const { name, destination } of receivers.arrivals.filter(({ isMarkedRepeat }) => isMarkedRepeat))
      found.push({ name, what: `${name} came to ${destination} as a repeat` });
    const findings = await tellAll(evidence, found);
    return { sent: sender.sent.length, stopMs, roundMs, findings };
  });
}
