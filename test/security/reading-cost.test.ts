import { describe, expect, it } from "vitest";
import { namesItself } from "../../src/intake/dedupe.ts";
import { countAlerts } from "../../src/intake/split-batch.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { costOfBatch, costOfMebibyte, createCostMeter } from "../support/cpu-cost.ts";
import { costlyBodies } from "./costly-bodies.ts";

/** Facts are stored and shown for each alert: of one at most so much, and of a batch ten times a body. */
const factsOfAlert = 64 * 1024;
const factsOfBatch = 10 * 1024 * 1024;

const meter = createCostMeter();

describe("a mebibyte is read within its bounds, whatever it holds:", () => {
  it.each(costlyBodies)("$what", ({ body, contentType, isBatch }) => {
    const bytes = Buffer.from(body as string);
    const bound = isBatch ? costOfBatch : costOfMebibyte;
    expect(meter.measure(() => translateRequest(bytes, contentType), bound)).toBeLessThanOrEqual(bound);
    expect(meter.measure(() => countAlerts(bytes, contentType), costOfMebibyte)).toBeLessThanOrEqual(
      costOfMebibyte,
    );
    expect(meter.measure(() => namesItself(bytes, contentType), costOfMebibyte)).toBeLessThanOrEqual(
      costOfMebibyte,
    );
    const facts = translateRequest(bytes, contentType).map(
      (translation) => JSON.stringify(translation.facts).length,
    );
    expect(Math.max(...facts)).toBeLessThan(factsOfAlert);
    expect(facts.reduce((sum, one) => sum + one, 0)).toBeLessThan(factsOfBatch);
  });
});
