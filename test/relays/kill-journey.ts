import { adminToken } from "../support/relay-process.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { type Fleet, type Member, startFleet } from "./fleet.ts";
import { followEvents } from "./follower.ts";
import { type Evidence, type Finding, isSettled, judge, tellAll } from "./judge.ts";
import { createReceivers } from "./receivers.ts";
import { inScope, pause, until } from "./scope.ts";
import { type Sender, startSender } from "./sender.ts";
import { installWitness } from "./witness.ts";

export interface KillJourneyOptions {
  seed: number;
  /** For how long alerts are sent at least: the faults that each run has are made in any case. */
  seconds: number;
  perSecond: number;
  /** In this order, over the whole time. Default: at random, each some ten seconds after the one before. */
  faults?: FaultName[];
  /** Default: nobody hears what happens. */
  say?(line: string): void;
}

interface Scene extends Omit<Evidence, "sent"> {
  sender: Sender;
  random: SeededRandom;
  stops: { from: number; to: number }[];
  say(line: string): void;
  /** Something is wrong. */
  complain(what: string): void;
  notices: RegExp[];
}

const faults = {
  /** SIGKILL, and a start some seconds later. */
  async kill({ fleet, random, say }: Scene) {
    const member = pickRunning(fleet, random);
    say(`${member.name} is killed`);
    await fleet.kill(member);
    await pause(random.next() * 4_000);
    await fleet.start(member);
  },
  /** The same, of the relay that talks to the chats, and not before another has taken over. */
  async killOwner({ fleet, say }: Scene) {
    const member = await ownerOf(fleet, chatLane);
    say(`${member.name}, which has the chats, is killed`);
    await fleet.kill(member);
    await until(async () => (await fleet.ownerOf(chatLane)) !== undefined, 60_000);
    await fleet.start(member);
  },
  /** As `pg_ctl restart -m immediate`. */
  async restartPostgres({ fleet, say }: Scene) {
    say("PostgreSQL is restarted at once");
    await fleet.postgres.restart("SIGQUIT");
  },
  async sever({ fleet, random, say }: Scene) {
    const member = pickRunning(fleet, random);
    say(`${member.name} is cut from the database`);
    member.proxy.cut();
  },
  async hang({ fleet, random, say }: Scene) {
    const member = pickRunning(fleet, random);
    say(`${member.name} hears nothing of the database`);
    member.proxy.hang();
    await pause(4_000 + random.next() * 20_000);
    member.proxy.goOn();
  },
  /**
   * SIGSTOP for longer than a lease lasts, of the relay that calls the chats, while one of them waits for its turn: what it would be
   * sent is claimed, and its call is the first thing that the relay is about to do when it goes on.
   */
  async freeze(scene: Scene) {
    scene.sender.burst(4, "desk");
    scene.sender.burst(4, "ops");
    await pause(4_000);
    await freeze(scene, await ownerOf(scene.fleet, chatLane), chatLane);
  },
  /** The same of the relay that calls the webhook, with deliveries claimed ahead of their calls. */
  async freezeAhead(scene: Scene) {
    const { fleet, receivers, sender, random } = scene;
    await freezeHolding(scene, hookLane, random.next() * 8_000 + 18_000, async (owner) => {
      const before = receivers.arrivals.length;
      let isFrozen = false;
      receivers.onHookCall(() => {
        if (isFrozen || receivers.arrivals.length - before < 60) return;
        isFrozen = true;
        fleet.freeze(owner);
      });
      sender.burst(400, "rest");
      await until(() => isFrozen, 10_000, 10);
      receivers.onHookCall(undefined);
      return isFrozen && (await countAhead(scene)) >= 3;
    });
  },
  /**
   * The same in the middle of a long message, whose next part waits for its turn: no call is under way that would end for taking
   * too long, and nothing is asked of the database. To send that part is the first thing that the relay is about to do when it
   * goes on, and only its lease is in the way.
   */
  async freezeBetweenParts(scene: Scene) {
    const { fleet, receivers, sender, random } = scene;
    await freezeHolding(scene, chatLane, random.next() * 22_000 + 18_000, async (owner) => {
      const [alert] = sender.burst(1, "desk", "The pool of the desk falls and falls. ".repeat(260));
      const name = alert?.name ?? "";
      const hasBegun = () => receivers.arrivals.some((one) => one.name === name && one.destination === "desk");
      if (!(await until(hasBegun, 60_000, 20))) return false;
      // Its record is written; the bot's next turn is two seconds behind the first part.
      await pause(500);
      fleet.freeze(owner);
      const [row] = await fleet.ask<{ parts: number }>(
        `SELECT json_array_length(d.progress::json -> 'refs') AS parts FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq
         WHERE a.facts LIKE $1 AND d.destination = 'desk' AND d.claim_token IS NOT NULL`,
        [`%${name}%`],
      );
      return (row?.parts ?? 0) > 0;
    });
  },
  /**
   * What the owner of the chats writes about one of them is on its way for so long that another has taken them over: a pause,
   * which the relay has told its person that it could not make.
   */
  async writeLate({ fleet, say, complain }: Scene) {
    const owner = await ownerOf(fleet, chatLane);
    const { proxy, process: relay } = owner;
    proxy.holdBack('"paused":{"at"');
    const asked = relay?.api("/api/destinations/desk/pause", { method: "POST" }).catch(() => undefined);
    if (!(await until(proxy.isHolding, 5_000, 5))) throw new Error(`no pause was written: ${(await asked)?.status}`);
    proxy.hang();
    say(`${owner.name}, which has ${chatLane}, hears nothing of the database while it writes`);
    await until(async () => ![undefined, owner].includes(await fleet.ownerOf(chatLane)), 60_000);
    proxy.letGo();
    await pause(500);
    proxy.goOn();
    say(`its write arrives, and ${owner.name} hears of the database again`);
    if ((await asked)?.status === 200) complain("a pause was confirmed that was not written");
    const ofDesk = "SELECT FROM destination_statuses WHERE kind = 'destination' AND name = 'desk'";
    const paused = await fleet.ask(`${ofDesk} AND status::json ->> 'paused' IS NOT NULL`);
    if (paused.length > 0) complain("a pause that was refused holds");
  },
  /**
   * A relay stands still while it is told that a destination takes no alerts: another one finds it out as well. People hear of it
   * once, and once that it works again, though the relay that knows it is killed.
   */
  async breakWhileFrozen(scene: Scene) {
    const { fleet, receivers, notices, say } = scene;
    const owner = await ownerOf(fleet, fragileLane);
    let freezing: Promise<void> | undefined;
    receivers.breakFragile(() => {
      freezing ??= freeze(scene, owner, fragileLane);
    });
    await post(fleet, { title: "Fragile A999999Z", to: "fragile" });
    await until(() => freezing !== undefined, 60_000);
    await post(fleet, { title: "Fragile A999998Z", to: "fragile" });
    await freezing;
    const [worse, better] = [/^fragile gets no alerts/, /^fragile works again/];
    notices.push(worse, better);
    const isTold = (words: RegExp, withinMs: number) =>
      until(async () => (await findNotices(fleet)).some((title) => words.test(title)), withinMs);
    await isTold(worse, 60_000);
    receivers.mendFragile();
    await testFragile(fleet);
    const knows = await ownerOf(fleet, fragileLane);
    say(`fragile takes alerts again, and ${knows.name}, which has it, is killed`);
    await fleet.kill(knows);
    await fleet.start(knows);
    // The test may have ended with the relay that was about to send it.
    if (await isTold(better, 30_000)) return;
    await testFragile(fleet);
    await isTold(better, 30_000);
  },
};

export type FaultName = keyof typeof faults;
export const faultNames = Object.keys(faults) as FaultName[];

const chatLane = "account:telegram:7700";
const hookLane = "destination:hook";
const fragileLane = "destination:fragile";
const longestFreezeMs = 40_000;
const usual: FaultName[] = ["kill", "kill", "killOwner", "restartPostgres", "sever", "hang", "freeze"];
/** In each run, however short. */
const always: FaultName[] = ["writeLate", "breakWhileFrozen", "freezeBetweenParts", "freezeAhead"];
/** Machines whose clocks are five minutes apart. */
const clocksAheadMs = [0, 150_000, -150_000];
const settlesWithinMs = 300_000;

/**
 * Three relays on one PostgreSQL while all goes wrong that may, and alerts come. At the end every alert that was answered 202
 * has reached each destination of its route, nothing came twice without saying so, no chat was called by two at a time or
 * too often, and people got each notice once.
 */
export async function runKillJourney(options: KillJourneyOptions) {
  const { seed, seconds, perSecond, say = () => {} } = options;
  const random = createSeededRandom(seed);
  const startedAt = performance.now();
  const secondsSince = () => (performance.now() - startedAt) / 1_000;
  return inScope(async (scope) => {
    const receivers = await createReceivers(scope, createSeededRandom(seed + 1));
    const fleet = await startFleet(scope, { receivers, clocksAheadMs });
    const happened: string[] = [];
    const note = (line: string) => {
      happened.push(`${new Date().toISOString()} ${line}`);
      say(`${secondsSince().toFixed(0)} s: ${line}`);
    };
    await Promise.all(fleet.members.map((member) => fleet.start(member)));
    await until(() => fleet.balancer.ready().length === fleet.members.length, 60_000);
    const held = "SELECT FROM lanes WHERE lease_until > clock_timestamp()";
    await until(async () => (await fleet.ask(held)).length >= 4, 60_000);

    await installWitness(fleet);
    const follower = followEvents(scope, fleet);
    await follower.opened;
    const sender = startSender({ url: fleet.hookUrl, perSecond, random: createSeededRandom(seed + 2) });
    const complaints: Finding[] = [];
    const complain = (what: string) => void complaints.push({ what });
    const scene: Scene = { fleet, receivers, sender, random, stops: [], say: note, complain, notices: [] };
    const over = pause(seconds * 1_000).then(() => true);
    const made: Record<string, number> = {};
    const plan = options.faults ?? planFaults(random);
    for (let turn = 0; ; turn += 1) {
      const name = plan[turn] ?? (options.faults ? undefined : random.pick(usual));
      if (name === undefined) break;
      const isOver = await Promise.race([over, pause(options.faults ? 1_500 : 4_000 + random.next() * 8_000)]);
      if (isOver === true && turn >= plan.length) break;
      await faults[name](scene);
      made[name] = (made[name] ?? 0) + 1;
    }
    await over;
    await sender.end();
    say(`${secondsSince().toFixed(0)} s: nothing more is sent`);
    const isDone = await until(() => isSettled(fleet), settlesWithinMs);
    say(`${secondsSince().toFixed(0)} s: ${isDone ? "all is settled" : "it is not settled"}`);

    const evidence: Evidence = { ...scene, sent: sender.sent };
    const skipped = (await follower.judge()).map((what): Finding => ({ what }));
    const found: Finding[] = [...complaints, ...skipped, ...(await judge(evidence))];
    const findings = await tellAll(evidence, found);
    if (found.length > 0) {
      findings.push("what happened:", ...happened.map((line) => `  ${line}`));
      for (const { name, log } of fleet.members) {
        const last = log().trim().split("\n").slice(-40);
        findings.push(`the last of the log of ${name}:`, ...last.map((line) => `  ${line.slice(0, 300)}`));
      }
    }
    return {
      accepted: sender.sent.filter(({ isAccepted }) => isAccepted).length,
      arrived: receivers.arrivals.length,
      repeats: receivers.arrivals.filter(({ isMarkedRepeat }) => isMarkedRepeat).length,
      resumed: follower.resumed(),
      faults: made,
      /** Nothing: all is well. Else what is wrong, with the story of each alert. */
      findings,
    };
  });
}

/** Those that each run has, at random places among as many others. */
function planFaults(random: SeededRandom): FaultName[] {
  const plan = always.map(() => random.pick(usual));
  for (const name of always) plan.splice(random.below(plan.length + 1), 0, name);
  return plan;
}

const pickRunning = ({ members }: Fleet, random: SeededRandom): Member =>
  random.pick(members.filter(({ process, isStopped }) => process !== undefined && !isStopped));

async function ownerOf(fleet: Fleet, group: string): Promise<Member> {
  let owner: Member | undefined;
  await until(async () => {
    owner = await fleet.ownerOf(group);
    return owner?.process !== undefined;
  }, 60_000);
  if (owner === undefined) throw new Error(`nobody has ${group}`);
  return owner;
}

/** Of the webhook: claimed, and not called as far as the webhook knows. */
async function countAhead({ fleet, receivers }: Scene): Promise<number> {
  const claimed = await fleet.ask<{ name: string }>(
    `SELECT substring(a.facts FROM 'A\\d{6}Z') AS name FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq
     WHERE d.destination = 'hook' AND d.claim_token IS NOT NULL`,
  );
  const arrived = new Set(receivers.arrivals.map(({ name }) => name));
  return claimed.filter(({ name }) => !arrived.has(name)).length;
}

/** @param stopIt stops the owner of the lane; true when it then holds what it has not sent. It is asked again until it does. */
async function freezeHolding(scene: Scene, lane: string, ms: number, stopIt: (owner: Member) => Promise<boolean>) {
  for (let tries = 1; tries <= 10; tries += 1) {
    const owner = await ownerOf(scene.fleet, lane);
    if (await stopIt(owner)) return await freeze(scene, owner, lane, ms);
    scene.fleet.goOn(owner);
  }
  throw new Error(`${lane} has nothing ahead`);
}

/** For longer than a lease lasts. */
async function freeze({ fleet, stops, say }: Scene, member: Member, what: string, ms = longestFreezeMs): Promise<void> {
  const from = Date.now();
  fleet.freeze(member);
  say(`${member.name}, which has ${what}, stands still for ${Math.round(ms / 1_000)} s`);
  await pause(ms);
  stops.push({ from, to: Date.now() });
  fleet.goOn(member);
  say(`${member.name} goes on`);
}

async function findNotices({ ask }: Fleet): Promise<string[]> {
  const titles = "SELECT facts::json ->> 'title' AS title FROM alerts WHERE origin = 'notice'";
  return (await ask<{ title: string }>(titles)).map(({ title }) => title);
}

/** By whichever relay the balancer takes; what it is sent shows that it works. */
const testFragile = ({ balancer }: Fleet) =>
  postUntil(200, `${balancer.url}/api/destinations/fragile/test`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });

const post = ({ hookUrl }: Fleet, body: object) =>
  postUntil(202, hookUrl, { headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

async function postUntil(wanted: number, url: string, what: RequestInit): Promise<void> {
  const isTaken = async () => (await fetch(url, { method: "POST", ...what }).catch(() => undefined))?.status === wanted;
  if (!(await until(isTaken, 60_000))) throw new Error(`no relay answers ${wanted} at ${url}`);
}
