import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { readRequest } from "../../src/intake/read/read-request.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { costOfBatch, costOfMebibyte, createCostMeter } from "../support/cpu-cost.ts";
import { costlyBodies } from "./costly-bodies.ts";

/** Facts are stored and shown for each alert: at most this much of one, and ten times a body of a batch. Bytes. */
const factsOfAlert = 64 * 1024;
const factsOfBatch = 10 * 1024 * 1024;

const meter = createCostMeter();

it.each(costlyBodies)(
  "a mebibyte is read within its bounds, whatever it holds: $what",
  ({ body, contentType, isBatch }) => {
    const bytes = Buffer.from(body as string);
    const bound = isBatch ? costOfBatch : costOfMebibyte;
    expect(meter.measure(() => translateRequest(bytes, contentType), bound)).toBeLessThanOrEqual(bound);
    expect(meter.measure(() => readRequest(bytes, contentType).countAlerts(), costOfMebibyte)).toBeLessThanOrEqual(
      costOfMebibyte,
    );
    const facts = translateRequest(bytes, contentType).map((translation) => JSON.stringify(translation.facts).length);
    expect(Math.max(...facts)).toBeLessThan(factsOfAlert);
    expect(facts.reduce((sum, one) => sum + one, 0)).toBeLessThan(factsOfBatch);
  },
);

/** 64 MiB for the largest body and all that is made of it, and 16 for the program. */
const heapMib = 64 + 16;

it("all of them are read in a heap of 64 MiB beside the program", async () => {
  const program = fileURLToPath(new URL("read-costly-bodies.ts", import.meta.url));
  const heap = [`--max-old-space-size=${heapMib}`, "--max-semi-space-size=8"];
  const run = promisify(execFile)(process.execPath, [...heap, "--import", import.meta.resolve("tsx"), program]);
  expect((await run).stdout).toBe(`read ${costlyBodies.length}`);
});
