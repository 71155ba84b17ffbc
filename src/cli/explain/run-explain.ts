import type { Config } from "../../config/config.ts";
import { AppError } from "../../core/errors.ts";
import { isJsonObject } from "../../core/json.ts";
import { type Log, silentLog } from "../../core/log.ts";
import { type FactMapping, type MappableFact, mappableFacts } from "../../core/mapping.ts";
import type { BodyReader } from "../../core/ports/body-reader.ts";
import { isMadeAtRuntime, type Mute } from "../../core/rules.ts";
import type { NameOf } from "../../core/subject-name.ts";
import type { ExplainedReading } from "../../explain/explainer.ts";
import { suggestOrList } from "../../ground/text/suggest.ts";
import { type AdviseOnMissing, createMissingAdvice } from "../../matching/near-path.ts";
import { valueAtPath } from "../../matching/path.ts";
import { readNames } from "../../start/open-left.ts";
import { openReadOnly } from "../../store/open-read-only.ts";
import { localUrlOf, type RelayRun, withConfig } from "../relay/connect-relay.ts";
import { withClient } from "../relay/with-client.ts";
import { countOf } from "../shell/amounts.ts";
import { compareExpected, type Difference, describeDifference, readExpected } from "./expect.ts";
import type { ExplainOptions } from "./explain.ts";
import { type ExplainedAlert, formatExplanation, type MappedFact } from "./format-explanation.ts";
import { listMatchFields } from "./match-fields.ts";
import { readSubject, type Subject } from "./read-subject.ts";

/** Of a batch. As many are read by people. */
const mostShown = 20;

/** Reads, routes and renders as the relay does, and stops there. Each alert of a batch is explained on its own. */
export async function runExplain(base: RelayRun, name: string, options: ExplainOptions): Promise<void> {
  const run = withConfig(base, options.config);
  const { context, output } = run;
  const at = options.at ?? context.now();
  const { loadConfig } = await import("../../config/load-config.ts");
  const { createProcessing } = await import("../../explain/processing.ts");
  const { createExplainer } = await import("../../explain/explainer.ts");
  const config = loadConfig({ env: context.env, cwd: context.cwd });

  refuseUnknownSource(options.source, config.sources);
  const names = config.rules.destinations.map((destination) => destination.name);
  const expected = options.expect && readExpected(options.expect, names);
  const differences: Difference[] = [];
  const { contentType, source } = options;
  const subject = await readSubject(run, name, { contentType, source, at });
  const { maxBodyBytes } = config.intake;
  if (subject.body.length > maxBodyBytes) {
    await output.note(
      `warning: the hook refuses this body with 413: it is larger than ${countOf(maxBodyBytes, "byte")}`,
    );
  }
  if (subject.repeatOf !== undefined)
    await output.note(
      `this alert was a repeat of ${subject.repeatOf} and not sent; this is what its body gets as a first`,
    );
  const mutes = await readMutes(run, subject);
  const faults: string[] = [];
  const log: Log = { ...silentLog, error: (_event, fields) => faults.push(String(fields?.error)) };
  const publicUrl = config.server.publicUrl ?? (config.server.port === 0 ? "http://127.0.0.1" : localUrlOf(config));
  const { rules, sources } = config;
  const mapping = { ...config.mapping, ...sources.find((one) => one.name === subject.source)?.mapping };
  const intake = { ...config.intake, maxBodyBytes: Math.max(maxBodyBytes, subject.body.length) };
  const processing = { readingThreadEntry: context.readingThreadEntry, advises: true };
  const { reader, router, createComposer } = createProcessing({ rules, intake, mapping, sources }, processing);
  const items = await readItems(run, subject, reader).finally(() => reader.close());
  const isMapped = Object.keys(mapping).length > 0;
  const unmapped = { rules, intake, mapping: {}, sources: sources.map((one) => ({ ...one, mapping: {} })) };
  const guesser = isMapped ? createProcessing(unmapped, processing).reader : undefined;
  const guesses = guesser && (await readItems(run, subject, guesser).finally(() => guesser.close()));
  const composer = createComposer(publicUrl, log, { nameOf: await findNames(run, config, subject) });
  const explain = createExplainer({ router, composer, destinations: rules.destinations, mutes, at });

  const list = output.json ? output.openList() : undefined;
  const shown = options.all ? items.length : mostShown;
  for (const [index, { item, items: count, reading }] of items.entries()) {
    const isShown = index < shown;
    if (!isShown && expected === undefined) break;
    const explanation = explain(subject, reading);
    const difference = expected && compareExpected(expected, item, explanation.deliveries);
    if (difference !== undefined) differences.push(difference);
    if (!isShown) continue;
    const fields = listMatchFields(subject.origin, reading);
    const guess = guesses?.[index]?.reading;
    const explained = guess && { mapping: compareWithGuess(mapping, reading, guess) };
    const result = { item, items: count, facts: toFacts(reading), fields, ...explained, ...explanation };
    if (reading.unreadable !== undefined)
      await output.note(`warning: this could not be read (${reading.unreadable}); Tocsin sends it as received`);
    if (list === undefined) {
      const { messages = false } = options;
      await output.print(formatExplanation(result, output, { now: context.now(), messages }));
    }
    await list?.item({ ...result, deliveries: explanation.deliveries.map(toWire) });
    for (const fault of faults.splice(0))
      await output.note(`warning: rendering failed, the message is sent bare: ${fault}`);
  }
  if (items.length > shown)
    await output.note(`${countOf(items.length - shown, "more alert")} of this body left out; --all shows them`);
  const met = expected === undefined ? {} : { expected, differences };
  await list?.close({ at: new Date(at).toISOString(), configuration: config.configFile ?? null, ...met });
  if (expected === undefined) return;
  for (const difference of differences) {
    const which = items.length > 1 ? `alert ${difference.item}: ` : "";
    await output.note(`${which}${describeDifference(expected, difference)}`);
  }
  if (differences.length > 0) context.setExitStatus(1);
  else await output.print(`\n${output.style("green", "As expected.")}\n`);
}

function refuseUnknownSource(name: string | undefined, sources: readonly { name: string }[]): void {
  if (name === undefined || sources.some((source) => source.name === name)) return;
  const known = sources.map((source) => source.name);
  throw new AppError("usage", `there is no source ${name} in the configuration`, {
    hint: known.length === 0 ? "it has no sources; leave --source out" : suggestOrList(name, known),
  });
}

/** What a mapping gave, and what its facts would be without it. */
function compareWithGuess(mapping: FactMapping, reading: ExplainedReading, guess: ExplainedReading): MappedFact[] {
  const advise = createMissingAdvice();
  return mappableFacts.flatMap((fact) => {
    const paths = mapping[fact];
    if (paths === undefined) return [];
    const path = reading.mapped?.[fact];
    const why = path === undefined ? whyNothing(paths, reading, advise) : undefined;
    return [{ fact, paths, path, why, value: textOfFact(reading, fact), guess: textOfFact(guess, fact) }];
  });
}

function whyNothing(
  paths: string[],
  { facts, payload }: ExplainedReading,
  advise: AdviseOnMissing,
): string | undefined {
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

function textOfFact({ facts }: ExplainedReading, fact: MappableFact): string | undefined {
  const value = facts[fact];
  return typeof value === "number" ? toIso(value) : value;
}

interface Item {
  /** From 1. */
  item: number;
  items: number;
  reading: ExplainedReading;
}

/** The reader's limits are the relay's, so that no body holds up the terminal for ever. */
async function readItems(
  { context }: RelayRun,
  { id, body, contentType, source, item: wanted }: Subject,
  reader: BodyReader,
): Promise<Item[]> {
  const { describeUnreadable } = await import("../../routing/unreadable.ts");
  const [result] = await reader.read([{ body, contentType, source }], context.signal);
  context.signal.throwIfAborted();
  if (result === undefined || result.kind === "not_read")
    throw new AppError("failed", `the alert could not be read: ${result?.reason}`);
  if (result.kind === "unreadable") {
    const { reason } = result;
    const facts = { ...describeUnreadable({ id, body, reason }), ...(source !== undefined && { source }) };
    return [{ item: 1, items: 1, reading: { facts, unreadable: reason } }];
  }
  const { translations } = result;
  const items = translations.map((reading, index) => ({
    item: index + 1,
    items: translations.length,
    reading,
  }));
  return wanted === undefined ? items : items.filter(({ item }) => item === wanted + 1);
}

/** A file is explained on any machine; there the mutes made at run time are not known, and that is said. */
async function readMutes(run: RelayRun, subject: Subject): Promise<Mute[]> {
  const quiet: RelayRun = subject.isStored ? { ...run, output: { ...run.output, note: async () => {} } } : run;
  try {
    const listed = await withClient(quiet, (client) => client.listMutes({}));
    return listed.filter(isMadeAtRuntime);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "cancelled") throw error;
    await run.output.note(`mutes made at run time are left out: ${error.message}`);
    return [];
  }
}

/** Of the relay here, whether it runs or not; of one elsewhere that of the stored alert alone. Nothing is asked for. */
async function findNames(run: RelayRun, config: Config, { learnedName }: Subject): Promise<NameOf> {
  const store = run.flags.url === undefined ? await openReadOnly(config).catch(() => undefined) : undefined;
  if (store !== undefined) {
    const { nameOf } = await readNames(store, config).finally(() => store.close());
    return nameOf;
  }
  return ({ kind, chain, address }, at) => {
    const isIt = learnedName?.kind === kind && learnedName.chain === chain && learnedName.address === address;
    return isIt && learnedName.learnedAt <= at ? learnedName.name : undefined;
  };
}

/** Without the payload: the body has it. */
function toFacts({ facts }: ExplainedReading): ExplainedAlert["facts"] {
  const { occurredAt, ...rest } = facts;
  return occurredAt === undefined ? rest : { ...rest, occurredAt: toIso(occurredAt) };
}

function toWire<T extends { dueAt?: number }>({ dueAt, ...rest }: T): object {
  return dueAt === undefined ? rest : { ...rest, dueAt: toIso(dueAt) };
}

/** A sender may write a time that no date can hold. */
function toIso(at: number): string | undefined {
  return Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : undefined;
}
