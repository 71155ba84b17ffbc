import type { Config } from "../config/config.ts";
import type { Explanation, MappedFact } from "../contract/operations.ts";
import type { AlertOrigin } from "../core/alert.ts";
import { isJsonObject } from "../core/json.ts";
import { silentLog } from "../core/log.ts";
import { type FactMapping, type MappableFact, mappableFacts } from "../core/mapping.ts";
import type { StoredBody } from "../core/ports/body-reader.ts";
import type { Mute } from "../core/rules.ts";
import type { NameOf } from "../core/subject-name.ts";
import { isInstant } from "../ground/time/time-format.ts";
import { type AdviseOnMissing, createMissingAdvice } from "../matching/near-path.ts";
import { valueAtPath } from "../matching/path.ts";
import { readToExplain } from "./explain-body.ts";
import { createExplainer, type ExplainedReading } from "./explainer.ts";
import { createProcessing } from "./processing.ts";

export interface OpenExplainedOptions {
  /** The instant at which the alerts are routed, epoch milliseconds. */
  at: number;
  mutes: Mute[];
  nameOf: NameOf;
  /** Where the links of messages lead, without a trailing slash. */
  publicUrl: string;
  readingThreadEntry?: URL;
  signal: AbortSignal;
  /** A message could not be rendered and is shown as plain text. */
  onFault(fault: string): void;
}

/**
 * An alert is asked for by its number from 1. With a mapping, the body is also read without it, to compare.
 * @throws AppError as `readToExplain` does
 */
export async function openExplained(
  { rules, sources, mapping: ofAll, intake: limits }: Config,
  subject: StoredBody & { id: string; origin: AlertOrigin; receivedAt: number },
  { at, mutes, nameOf, publicUrl, readingThreadEntry, signal, onFault }: OpenExplainedOptions,
): Promise<{ item: number; explain(): Explanation }[]> {
  const mapping = { ...ofAll, ...sources.find((one) => one.name === subject.source)?.mapping };
  const intake = { ...limits, maxBodyBytes: Math.max(limits.maxBodyBytes, subject.body.length) };
  const read = async (by: Pick<Config, "mapping" | "sources">) => {
    const made = createProcessing({ rules, intake, ...by }, { readingThreadEntry, advises: true });
    return { ...made, readings: await readToExplain(made.reader, subject, signal).finally(() => made.reader.close()) };
  };
  const { router, createComposer, readings } = await read({ mapping, sources });
  const unmapped = { mapping: {}, sources: sources.map((one) => ({ ...one, mapping: {} })) };
  const guesses = Object.keys(mapping).length > 0 ? (await read(unmapped)).readings : [];
  const log = { ...silentLog, error: (_event: string, fields?: object) => onFault(String(Object(fields).error)) };
  const composer = createComposer(publicUrl, log, { nameOf });
  const explain = createExplainer({ router, composer, destinations: rules.destinations, mutes, at });
  return readings.map((reading, index) => ({
    item: index + 1,
    explain() {
      const guess = guesses[index];
      return { ...explain(subject, reading), mapping: guess && compareMapping(mapping, reading, guess) };
    },
  }));
}

/** What a mapping gave, and what its facts would be without it. `guess`: the same alert, read without the mapping. */
function compareMapping(mapping: FactMapping, reading: ExplainedReading, guess: ExplainedReading): MappedFact[] {
  const advise = createMissingAdvice();
  return mappableFacts.flatMap((fact) => {
    const paths = mapping[fact];
    if (paths === undefined) return [];
    const path = reading.mapped?.[fact];
    const why = path === undefined ? whyNothing(paths, reading, advise) : undefined;
    return [{ fact, paths, path, why, value: textOf(reading, fact), guess: textOf(guess, fact) }];
  });
}

function whyNothing(paths: string[], { facts, payload }: ExplainedReading, advise: AdviseOnMissing) {
  for (const path of paths) {
    const value = payload === undefined ? undefined : valueAtPath(payload, path);
    if (isJsonObject(value)) return `${path} is an object: name one of its members`;
    if (Array.isArray(value)) return `${path} is a list: name one of its elements`;
    if (value !== undefined && value !== null) return `what ${path} holds cannot be read as that`;
    const near = advise(path, { facts, payload, origin: "hook" });
    // A mapping names one element.
    if (near !== undefined) return near.replaceAll("[*]", "[0]");
  }
  return undefined;
}

function textOf({ facts }: ExplainedReading, fact: MappableFact): string | undefined {
  const value = facts[fact];
  if (typeof value !== "number") return value;
  return isInstant(value) ? new Date(value).toISOString() : undefined;
}
