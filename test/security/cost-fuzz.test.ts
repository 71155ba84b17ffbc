import { expect, it } from "vitest";
import type { Translation } from "../../src/core/alert.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { costOfBatch, costOfMebibyte, createCostMeter } from "../support/cpu-cost.ts";
import { makeHostileBody } from "./hostile-grammar.ts";
import { alertOf, type ReadBody, readings, renderDigest, renderOne, routeOne, showOne } from "./whole-way.ts";

/**
 * More of it, larger and other bodies:
 * `TOCSIN_COST_BODIES=5000 TOCSIN_COST_BYTES=1048576 TOCSIN_COST_SEED=7 npx vitest run test/security/cost-fuzz`.
 */
const bodies = Number(process.env.TOCSIN_COST_BODIES ?? 60);
const most = Number(process.env.TOCSIN_COST_BYTES ?? 65_536);
const firstSeed = Number(process.env.TOCSIN_COST_SEED ?? 20261121);

const mebibyte = 1024 * 1024;
/**
 * Every measurement costs something, and so does every alert of a batch with what it shares: about half a millisecond.
 */
const least = 1;
const costOfAlert = 0.12;
/** One alert's messages for all seven channels, in both forms: texts are cut again and again until they fit. */
const costOfMessages = 5 * costOfMebibyte;
const unitsOfMessages = 512 * 1024;
const unitsOfFacts = 64 * 1024;

const meter = createCostMeter();

/** What costs more than it may, or throws. */
function judge(body: ReadBody): string[] {
  const faults: string[] = [];
  const hold = (what: string, allowed: number, work: () => unknown): void => {
    try {
      const cost = meter.measure(work, allowed);
      if (cost > allowed) faults.push(`${what} cost ${cost.toFixed(1)} of ${allowed.toFixed(1)} yardsticks`);
    } catch (error) {
      faults.push(`${what} threw ${error instanceof Error ? error.stack : String(error)}`);
    }
  };
  const share = body.bytes.length / mebibyte;
  let translations: Translation[] = [];
  hold("translateRequest", costOfBatch, () => {
    translations = translateRequest(body.bytes, body.contentType);
  });
  for (const [name, read] of Object.entries(readings)) {
    const ofOne = least + share * costOfMebibyte * 2;
    const ofBatch = least + translations.length * costOfAlert + share * costOfBatch;
    const isBatch = name.startsWith("translate") && translations.length > 1;
    hold(name, isBatch ? ofBatch : ofOne, () => read(body));
  }
  const sizes = translations.map(({ facts }) => JSON.stringify(facts).length);
  if (Math.max(...sizes) > unitsOfFacts) faults.push(`facts of ${Math.max(...sizes)} characters`);
  const alerts = translations.slice(0, 100).map(alertOf);
  const first = translations[0];
  if (first === undefined || alerts[0] === undefined) return [...faults, "no alert"];
  const [alert] = alerts;
  hold("routing", costOfMebibyte, () => routeOne(first));
  hold("the page", costOfMebibyte, () => showOne(alert));
  let units = 0;
  hold("the messages", costOfMessages, () => {
    units = renderOne(alert);
  });
  hold("the digests", costOfMessages, () => renderDigest(alerts));
  if (units > unitsOfMessages) faults.push(`messages of ${units} characters`);
  return faults;
}

it(`reads, routes, renders and shows ${bodies} hostile bodies within their cost`, () => {
  for (let index = 0; index < bodies; index += 1) {
    const seed = firstSeed + index;
    const body = makeHostileBody(seed, most);
    const shown = `TOCSIN_COST_SEED=${seed} TOCSIN_COST_BODIES=1: ${body.contentType} ${body.bytes.subarray(0, 200)}`;
    expect(judge(body), shown).toEqual([]);
  }
}, 3_600_000);
