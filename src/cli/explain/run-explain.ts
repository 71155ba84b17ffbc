import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import { type Config, requireSource } from "../../config/config.ts";
import type { ExplainedDelivery, Explanation } from "../../contract/operations.ts";
import type { AlertOrigin } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import { createIdSource, idPartPattern, idPattern } from "../../core/id.ts";
import { isMadeAtRuntime, type Mute } from "../../core/rules.ts";
import type { LearnedName, NameOf } from "../../core/subject-name.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { suggestOrList } from "../../ground/text/suggest.ts";
import { isInstant } from "../../ground/time/time-format.ts";
import { explanationPanel } from "../../panels/explanation.ts";
import type { Panel } from "../../panels/panel.ts";
import { readNames } from "../../start/open-left.ts";
import { openReadOnly } from "../../store/open-read-only.ts";
import { bodyOf, findAlert } from "../alerts/one-alert.ts";
import { localUrlOf, type RelayRun, readConfig, withClient, withConfig } from "../relay/connect-relay.ts";
import { fileFailure } from "../shell/failure.ts";
import type { ExplainOptions } from "./explain.ts";

/** Reads, routes and renders like the relay, and sends nothing. Each alert of a batch is explained on its own. */
export async function runExplain(base: RelayRun, name: string, options: ExplainOptions): Promise<void> {
  const run = withConfig(base, options.config);
  const { context, output } = run;
  const at = options.at ?? context.now();
  const { mostExplained } = await import("../../explain/explain-body.ts");
  const { openExplained } = await import("../../explain/open-explained.ts");
  const config = await readConfig(context);

  if (options.source !== undefined) requireSource(config.sources, options.source);
  const names = config.rules.destinations.map((destination) => destination.name);
  const expected = options.expect && readExpected(options.expect, names);
  const differences: Difference[] = [];
  const subject = await readSubject(run, name, { ...options, at });
  const { maxBodyBytes } = config.intake;
  if (subject.body.length > maxBodyBytes) {
    const limit = countOf(maxBodyBytes, "byte");
    await output.note(`warning: the hook refuses this body with 413: it is larger than ${limit}`);
  }
  if (subject.repeatOf !== undefined)
    await output.note(
      `this alert was a repeat of ${subject.repeatOf} and not sent; this is what its body gets as a first`,
    );
  for (const [destination, why] of subject.heldBack ?? [])
    await output.note(`when it came it did not ring at ${destination}: ${why}`);
  const faults: string[] = [];
  const { publicUrl, port } = config.server;
  const explained = await openExplained(config, subject, {
    at,
    mutes: await readMutes(run, subject),
    nameOf: await findNames(run, config, subject),
    publicUrl: publicUrl ?? (port === 0 ? "http://127.0.0.1" : localUrlOf(config)),
    readingThreadEntry: context.readingThreadEntry,
    signal: context.signal,
    onFault: (fault) => faults.push(fault),
  });
  const items = explained.filter(({ item }) => subject.item === undefined || item === subject.item + 1);
  const shown = options.all ? items.length : mostExplained;

  await output.list(async (write) => {
    for (const [index, { item, explain }] of items.entries()) {
      if (index >= shown && expected === undefined) break;
      const explanation = explain();
      const difference = expected && compareExpected(expected, item, explanation.deliveries);
      if (difference !== undefined) differences.push(difference);
      if (index >= shown) continue;
      const { facts, unreadable } = explanation;
      if (unreadable !== undefined)
        await output.note(`warning: this could not be read (${unreadable}); Tocsin sends it as received`);
      await write([{ item, items: explained.length, ...toWire(explanation) }], () => {
        const number = explained.length > 1 && { words: `Alert ${item} of ${explained.length}: ` };
        const inner = explanationPanel(explanation, { isApart: options.messages });
        const panel: Panel = [{ kind: "group", title: [number, facts.title], panel: inner }];
        return `${output.draw(panel, { all: options.messages })}${item < explained.length ? "\n" : ""}`;
      });
      for (const fault of faults.splice(0))
        await output.note(`warning: rendering failed, the message is sent bare: ${fault}`);
    }
    if (items.length > shown)
      await output.note(`${countOf(items.length - shown, "more alert")} of this body left out; --all shows them`);
    const met = expected === undefined ? {} : { expected, differences };
    return { at: new Date(at).toISOString(), configuration: config.configFile ?? null, ...met };
  });
  if (expected === undefined) return;
  for (const difference of differences) {
    const which = items.length > 1 ? `alert ${difference.item}: ` : "";
    await output.note(`${which}${describeDifference(expected, difference)}`);
  }
  if (differences.length > 0) context.setExitStatus(1);
  else await output.print(`\n${output.style("green", "As expected.")}\n`);
}

/** Mutes that were made at run time are unknown on another machine, and a note says so. */
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

/** The names that the relay here has learned. For a relay elsewhere only the stored alert's. Asks no service. */
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

/** Without the payload, which is in the body. A sender may write a time that no date can hold. */
function toWire({ facts, fields, mapping, decisions, deliveries }: Explanation): object {
  const { occurredAt, ...others } = facts;
  const iso = (at: number | undefined) => (at !== undefined && isInstant(at) ? new Date(at).toISOString() : undefined);
  return {
    facts: { ...others, occurredAt: iso(occurredAt) },
    fields,
    mapping,
    decisions,
    deliveries: deliveries.map(({ dueAt, ...rest }) => ({ ...rest, dueAt: iso(dueAt) })),
  };
}

/** The word for no destination, where no destination has this name. */
const nobody = "nobody";

export interface Difference {
  item: number;
  missing: string[];
  unexpected: string[];
}

/** @throws AppError `usage` for a destination that is not configured: no alert could ever reach it. */
export function readExpected(names: readonly string[], configured: readonly string[]): string[] {
  if (names.length === 1 && names[0] === nobody && !configured.includes(nobody)) return [];
  const unknown = names.find((name) => !configured.includes(name));
  if (unknown === undefined) return [...new Set(names)];
  throw new AppError("usage", `--expect: there is no destination ${unknown} in the configuration`, {
    hint: configured.length === 0 ? "it has no destinations" : suggestOrList(unknown, configured),
  });
}

/** A delivery that waits for the end of quiet hours counts as reached, a muted one does not. Undefined: as expected. */
export function compareExpected(
  expected: readonly string[],
  item: number,
  deliveries: readonly Pick<ExplainedDelivery, "destination" | "state">[],
): Difference | undefined {
  const reached = deliveries.filter(({ state }) => state !== "muted").map(({ destination }) => destination);
  const missing = expected.filter((name) => !reached.includes(name));
  const unexpected = reached.filter((name) => !expected.includes(name));
  return missing.length + unexpected.length === 0 ? undefined : { item, missing, unexpected };
}

/** `expected desk, ops; missing: ops; not expected: mail` */
export function describeDifference(expected: readonly string[], { missing, unexpected }: Difference): string {
  const parts = Object.entries({ missing, "not expected": unexpected }).flatMap(([what, names]) =>
    names.length === 0 ? [] : [`; ${what}: ${names.join(", ")}`],
  );
  return `expected ${expected.join(", ") || nobody}${parts.join("")}`;
}

interface Subject {
  /** Stored alerts have an id. Others get one for the links in their messages. */
  id: string;
  isStored: boolean;
  origin: AlertOrigin;
  receivedAt: number;
  body: Uint8Array;
  contentType?: string;
  /** The source whose hook it came by. Absent: the account's hook. */
  source?: string;
  /** The number of the alert in the body, from 0. Absent: all alerts. */
  item?: number;
  repeatOf?: string;
  /** Why a stored alert did not ring, by destination. */
  heldBack?: ReadonlyMap<string, string>;
  /** The stored alert's learned name for a subject that it names by address. */
  learnedName?: LearnedName;
}

const contentTypes: Readonly<Record<string, string>> = {
  ".json": "application/json",
  ".txt": "text/plain; charset=utf-8",
  ".form": "application/x-www-form-urlencoded",
};

/** @throws AppError `not_found`, or `usage` for a file that cannot be read. */
async function readSubject(
  run: RelayRun,
  name: string,
  { contentType, source, at }: { contentType?: string; source?: string; at: number },
): Promise<Subject> {
  const id = name.toLowerCase();
  if (idPattern.test(id)) return readStored(run, id);
  const fresh = { id: createIdSource(() => at)(), isStored: false, origin: "hook", receivedAt: at, source } as const;
  if (name === "-") {
    if (run.context.isTty.stdin) await run.output.note("type or paste the body, and end it with Ctrl-D");
    return { ...fresh, body: await buffer(run.context.stdin), contentType };
  }
  const path = resolve(run.context.cwd, name);
  // A file of this name is more likely than an alert whose id ends so.
  if (idPartPattern.test(id) && !existsSync(path)) return readStored(run, id);
  const what = `${name} is no id of an alert, and no file that can be read`;
  const hint = "give an id of: tocsin alerts list, the name of a file, or - for stdin";
  const body = await readFile(path).catch(fileFailure("usage", what, hint));
  return { ...fresh, body, contentType: contentType ?? contentTypes[extname(path).toLowerCase()] };
}

async function readStored(run: RelayRun, idOrPart: string): Promise<Subject> {
  const alert = await withClient(run, (client) => findAlert(client, idOrPart));
  const { id } = alert;
  const body = bodyOf(alert);
  if (body === undefined || alert.request === null) {
    throw new AppError("not_found", `Tocsin wrote alert ${id} itself: no route decides about it`, {
      hint: `see where it went with: tocsin alerts show ${id}`,
    });
  }
  return {
    id,
    isStored: true,
    origin: alert.origin,
    receivedAt: alert.receivedAt,
    body,
    contentType: alert.request.contentType,
    source: alert.source,
    item: alert.request.item - 1,
    repeatOf: alert.repeatOf,
    heldBack: new Map(
      alert.deliveries.flatMap(({ destination, damped }) =>
        damped?.by === undefined ? [] : [[destination, damped.why]],
      ),
    ),
    learnedName: alert.learnedName,
  };
}
