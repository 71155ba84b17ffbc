import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { recordLoad, shortLoad } from "./loads.ts";
import { plantedFaults } from "./planted-faults.ts";
import { loadRecording, replay } from "./replay.ts";

const seed = 20261122;
const pointsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ number: first + index, seed }));

/**
 * P1 and P5 where the power goes: the relay at work is recorded from its system calls, and each point of the recording
 * is opened as a disk may be found then. `npm run test:power` does so at many more points of longer recordings.
 */
it.skipIf(process.platform !== "linux")(
  "keeps what it has promised over a power cut at any point, and finds each sync that is left out",
  async () => {
    mkdirSync(".tmp/power", { recursive: true });
    const folder = mkdtempSync(join(resolve(".tmp/power"), "short-"));
    onTestFinished(({ task }) => {
      if (task.result?.state === "pass") rmSync(folder, { recursive: true, force: true });
      else console.error(`its recording: npm run test:power -- --recording ${folder} --seed ${seed} --point NUMBER`);
    });
    await recordLoad(shortLoad, folder, seed);
    const recording = await loadRecording(folder);
    expect(recording.promises.accepted.length).toBeGreaterThan(50);
    expect(recording.promises.calls.length).toBeGreaterThan(50);
    expect(recording.promises.shown.length).toBeGreaterThan(0);
    expect(recording.promises.mutes.length).toBe(1);

    expect(await replay(recording, pointsFrom(0, 32))).toEqual([]);
    for (const { name, plant } of plantedFaults) {
      const faulty = plant(recording) ?? recording;
      expect.soft(await replay(faulty, pointsFrom(100, 16), { stopAtFirst: true }), name).not.toEqual([]);
    }
  },
);
