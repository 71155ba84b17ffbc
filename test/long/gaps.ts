import { day, type Faults, type Simulated, simulateAccount } from "../watch/gaps/simulated-account.ts";

const hour = 3_600_000;
const minute = 60_000;
const outage = { from: 12 * day + 9 * hour, to: 12 * day + 12 * hour };
const again = { from: 17 * day + 20 * hour, to: 17 * day + 23 * hour };
const silence = { from: 12 * day, to: 16 * day, rules: 1 };
const late = 50 * minute;

interface Scenario extends Faults {
  /** The first notice comes at the latest so long after the fault begins. */
  withinMs?: number;
  /** Default: 14 days. Where the fault is what counts, the days around it are enough: the check sees seven days back. */
  watched?: readonly [from: number, to: number];
}

const around = { watched: [11.5, 13] } as const;
const lost = { ...around, outages: [outage], withinMs: 45 * minute };
const silent: Scenario = { watched: [11.5, 14], silent: [silence], withinMs: day };
const beforeLost = { ...silence, from: outage.from - 20 * hour };
const [one, other] = [0, 100].map((minutes) => outage.from + minutes * minute) as [number, number];
const twice = [
  { from: one, to: one + hour },
  { from: other, to: other + 6 * hour },
];
const unreadable = [{ from: 13 * day, to: 13 * day + 20 * minute, rules: 1 }];
const backlogs = [{ from: outage.to - 6 * minute, to: outage.to + 2 * hour }];
const allTheTime = [{ from: 0, to: 20 * day, ms: late }];

/** Sixty rules over twenty days. */
const scenarios: Record<string, Scenario> = {
  "all well": {},
  "noise 1 %": { noise: 0.01 },
  "5 single losses": { singles: 5 },
  "all lost for 3 h": lost,
  "all lost for 3 h, noise 0.3 %": { ...lost, noise: 0.003 },
  "all lost for 3 h, noise 1 %": { ...lost, noise: 0.01 },
  "all lost for 3 h a second time": { ...lost, watched: [17.5, 18.5], outages: [outage, again] },
  "one rule silent": silent,
  "one rule silent, noise 1 %": { ...silent, noise: 0.01 },
  "one rule silent, then all lost for 3 h": { ...lost, noise: 0.01, silent: [beforeLost] },
  "all lost for 1 h, well for 40 min, lost for 6 h": { ...lost, outages: twice, withinMs: 60 * minute },
  "one rule silent, its records fail once": { ...silent, unreadable },
  "all lost for 3 h, then alerts wait to be read": { ...lost, backlogs },
  "relay down for 2 h": { ...around, downtimes: [{ from: one, to: one + 2 * hour }], withinMs: 10 * minute },
  "50 min late for a day": { watched: [11.5, 14], late: [{ from: 12 * day, to: 13 * day, ms: late }] },
  "50 min late all the time": { watched: [6, 13], late: allTheTime },
  "the same, all lost for 3 h": { ...around, late: allTheTime, outages: [outage] },
};
/** At most one false notice in a month. */
const mostFalseADay = 1 / 30;
const leastTold = 0.9;

/** `npm run test:long -- gaps 3 noise`: the first three seeds of the scenarios whose name has this. */
export async function run([seeds = "2", ...words]: readonly string[]): Promise<boolean> {
  const names = Object.keys(scenarios).filter((name) => name.includes(words.join(" ")));
  const all: Simulated[] = [];
  let isKept = true;
  let days = 0;
  console.log(
    "scenario | seed | told of lost | first notice, min | notices, ends | false: sure, likely, notices, ends | of noise told",
  );
  for (const name of names) {
    const { withinMs, watched = [6, 20], ...faults } = scenarios[name] as Scenario;
    for (let seed = 1; seed <= Number(seeds); seed += 1) {
      const found = await simulateAccount(faults, { seed, watched });
      all.push(found);
      days += watched[1] - watched[0];
      const firsts = found.firstAfterMs.map((ms) => (ms === undefined ? "none" : Math.round(ms / minute)));
      // One rule that falls silent takes longer to tell than all.
      const limitOf = (index: number) =>
        faults.silent === undefined || index < (faults.outages ?? []).length ? withinMs : day;
      const isInTime = found.firstAfterMs.every((ms = Infinity, index) => ms <= (limitOf(index) ?? Infinity));
      const isTrue = found.falseSure + found.falseEnds === 0;
      const isWell = isInTime && found.told >= leastTold * found.lost && isTrue;
      if (!isWell) isKept = false;
      const { told, lost, notices, ends, falseSure, falseLikely, falseNotices, falseEnds, noise, noiseTold } = found;
      console.log(
        `${name} | ${seed} | ${told} of ${lost} | ${firsts.join(", ")} | ${notices}, ${ends} | ${falseSure}, ${falseLikely}, ${falseNotices}, ${falseEnds} | ${noiseTold} of ${noise}${isWell ? "" : " | NOT KEPT"}`,
      );
    }
  }
  const falseNotices = all.reduce((sum, one) => sum + one.falseNotices, 0);
  console.log(`${falseNotices} false notices in ${days} days`);
  return isKept && falseNotices <= Math.ceil(mostFalseADay * days);
}
