import { parseJson } from "../../src/intake/read/parse-json.ts";

/** What 1 MiB of a body may cost: about 100 ms where the yardstick takes 4. */
export const costOfMebibyte = 25;
/** A batch in all. */
export const costOfBatch = 10 * costOfMebibyte;

const ordinary = `[${'{"title":"TVL of USDC fell","value":4812345.67,"token":"USDC"},'.repeat(10_000)}{}]`;

/**
 * What work costs, without a clock on the wall: CPU time of this process, the least of several tries, in units of a
 * yardstick that is measured with it. A busy machine makes a try wait, which costs no CPU, or share a core's caches,
 * which the least of several leaves out; a machine twice as fast is so for the yardstick too.
 */
export function createCostMeter() {
  const yardstick = () => parseJson(ordinary, { maxDepth: 64, maxKeys: 100_000, maxValues: 100_000 });
  for (let warmUp = 0; warmUp < 5; warmUp += 1) yardstick();
  let unitMs = Math.min(...Array.from({ length: 15 }, () => cpuMsOf(yardstick)));

  return {
    /**
     * In yardsticks: one is the reading of 630 KB of ordinary JSON, about 4 ms. Tries until one is at most `enough`, and
     * gives up after `tries`: an answer above `enough` is the least of all tries.
     */
    measure(work: () => unknown, enough: number, tries = 6): number {
      let least = Number.POSITIVE_INFINITY;
      for (let attempt = 0; attempt < tries && least > enough; attempt += 1) {
        least = Math.min(least, cpuMsOf(work) / unitMs);
        // A machine that has slowed down meanwhile has slowed down for both.
        if (least > enough) unitMs = Math.max(unitMs, Math.min(cpuMsOf(yardstick), cpuMsOf(yardstick)));
      }
      return least;
    },
  };
}

function cpuMsOf(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
