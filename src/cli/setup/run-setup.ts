import {
  lastRunRecord,
  registrationRecord,
  type SavedOutputs,
  savedOutputsRecord,
} from "../../config/account-records.ts";
import { type Config, findAccount } from "../../config/config.ts";
import {
  forgetPreviousSecrets,
  loadOrCreateSecrets,
  loadSourceSecrets,
  rotateSecret,
} from "../../config/generated-secrets.ts";
import { loadConfig } from "../../config/load-config.ts";
import { requireAlerting } from "../../config/upstream-env.ts";
import { AppError } from "../../core/errors.ts";
import { type Finding, ok } from "../../core/finding.ts";
import type { Outputs } from "../../core/ports/account.ts";
import type { KeptRecords } from "../../core/ports/kept-records.ts";
import { withKept } from "../../store/with-kept.ts";
import { type AlertingClient, createAlertingClient } from "../../upstream/alerting-client.ts";
import type { OwnHook } from "../../upstream/check-public-url.ts";
import { isSecretOf } from "../../watch/hook-address.ts";
import { type AccountNames, accountNames } from "../../watch/judge-account.ts";
import {
  changeOf,
  changeOutputs,
  describeDifference,
  type Hook,
  type OutputsPlan,
  planRestore,
  planSetup,
} from "../../watch/plan-outputs.ts";
import { readChat } from "../chats/find-bots.ts";
import { judgeExpiry } from "../doctor/check-service.ts";
import { formatFinding } from "../doctor/run-doctor.ts";
import { type CliContext, writeText } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import { openPrompts } from "../start/prompts.ts";
import { awaitSecret, type FoundRelay, proofs, type Stage } from "./prove.ts";
import {
  changePanel,
  describeLastRun,
  judgeLastRun,
  type LeftAs,
  masked,
  report,
  type SetupResult,
  tellChange,
} from "./report.ts";
import { type ProofTest, sendProof } from "./send-proof.ts";
import type { SetupOptions } from "./setup.ts";

export interface Run {
  options: SetupOptions;
  context: CliContext;
  output: Output;
  /** Where setup is for a source, its hook's secret stands in place of the account's. */
  config: Config;
  names: AccountNames;
  client: AlertingClient;
  serviceUrl: string;
  kept: KeptRecords;
  saved: ReturnType<typeof savedOutputsRecord>;
  progress: ReturnType<typeof lastRunRecord>;
  startedAt: string;
  /** A channel id sets it, null clears it, `undefined` leaves it as it is. */
  channel: string | null | undefined;
  findings: Finding[];
  /** An earlier run was interrupted or not confirmed, and left the account in this state. */
  interrupted?: { startedAt: string; account: LeftAs };
  hook?: OwnHook;
  relay?: FoundRelay;
  /** The relay that this run has started because none ran. It ends with the run. */
  ownRelay?: { stop(): Promise<void> };
  /** Not every destination has received the test, so the next run sends another. */
  owesTest?: boolean;
}

export type RegisteringRun = Run & { hook: OwnHook };
type FoundAccount = Awaited<ReturnType<typeof readAccount>>;
export type AccountRun = Run & { account: FoundAccount };

/**
 * All checks come before a change, and a problem ends the run. One PUT changes the account, so it always has the old or
 * the new outputs. An interrupted run leaves its last step on disk, and the next run reports it.
 */
export async function runSetup(options: SetupOptions, context: CliContext, output: Output): Promise<void> {
  const { env, cwd, now, random, sleep } = context;
  const { source } = options;
  const channel = readChannel(options.channel);
  const loaded = loadConfig({ env, cwd });
  const found = source === undefined ? undefined : findAccount(loaded, source);
  const alerting = found?.account ?? requireAlerting(env);
  await withKept(loaded, async (kept) => {
    const webhookSecret = found ? (await loadSourceSecrets(kept, [found])).get(found.name)?.[0] : loaded.webhookSecret;
    const run: Run = {
      ...{ context, output, options, channel, kept, findings: [], names: accountNames(source) },
      config: { ...loaded, webhookSecret },
      client: createAlertingClient({ ...alerting, now, random, sleep }),
      serviceUrl: alerting.url,
      saved: savedOutputsRecord(kept, source),
      progress: lastRunRecord(kept, source),
      startedAt: new Date(now()).toISOString(),
    };
    try {
      run.interrupted = await tellLastRun(run);
      await (options.dryRun ? perform(run) : performOnRecord(run));
    } finally {
      await endOwnRelay(run);
    }
  });
}

/** The account may send here now, so people read that this relay has ended. */
async function endOwnRelay({ ownRelay, output }: Run): Promise<void> {
  if (ownRelay === undefined) return;
  await output.progress.update("ending the relay of this setup");
  await ownRelay.stop();
  await output.note(
    "The relay that setup ran has ended. Start one: tocsin serve. Until it runs, alerts are refused here.",
  );
}

async function performOnRecord(run: Run): Promise<void> {
  const { progress, interrupted, startedAt } = run;
  // The record of an earlier run stays until its result is reported and its test is sent.
  const isOpen = interrupted?.account === "unknown" || interrupted?.account === "new";
  if (!isOpen) await progress.write({ step: "checking", startedAt });
  try {
    await perform(run);
    if (!run.owesTest) await progress.remove();
  } catch (error) {
    // The next run reports whether a failed or interrupted change was made.
    const left = await progress.read().catch(() => undefined);
    if (left?.step !== "checking") throw error;
    await progress.remove();
    throw error === run.context.signal.reason && error instanceof AppError
      ? new AppError("cancelled", error.message, { hint: "the account was not changed" })
      : error;
  }
}

async function tellLastRun(run: Run): Promise<Run["interrupted"]> {
  const last = await run.progress.read();
  if (last === undefined) return undefined;
  const unreadable = (error: unknown) => {
    if (!(error instanceof AppError) || isCancelled(error)) throw error;
    return undefined;
  };
  const now = last.step === "checking" ? undefined : await readAccount(run).catch(unreadable);
  const account = judgeLastRun(last, now);
  await run.output.note(describeLastRun(last, account, run.config.server.publicUrl));
  return { startedAt: last.startedAt, account };
}

function isCancelled(error: unknown): boolean {
  return error instanceof AppError && error.code === "cancelled";
}

async function readAccount({ client, context, output }: Run) {
  await output.progress.update("looking at the account");
  const { account } = await client.readAccount({ signal: context.signal });
  const { webhookUrl, messengerChannelId } = account.alertOutputs;
  return { ...account, outputs: { webhookUrl, messengerChannelId } };
}

/** @throws AppError `failed` after a check with problems, unless the run changes nothing anyway. */
async function lookAt<R extends Run>(run: R, stages: readonly Stage<NoInfer<R>>[]): Promise<void> {
  const { output, options, findings } = run;
  for (const { of, look } of stages) {
    await output.progress.update(`looking at ${of}`);
    const problems: Finding[] = [];
    for await (const finding of await look(run)) {
      const isProblem = finding.verdict === "problem";
      findings.push(finding);
      if (isProblem) problems.push(finding);
      if (!isProblem || options.dryRun) await output.print(formatFinding(finding, output));
    }
    if (problems.length > 0 && !options.dryRun) throw toStop(problems);
  }
}

function toStop(problems: Finding[]): AppError {
  const nameOf = (check: string) => (problems.length === 1 ? "" : `${check}: `);
  const mends = problems.flatMap(({ check, mend }) => (mend === undefined ? [] : [`${nameOf(check)}${mend}`]));
  const hint = [...mends, "Nothing was changed. Run setup again when that is fixed."].join("\n");
  return new AppError("failed", problems.map(({ check, detail }) => `${check}: ${detail}`).join("\n"), { hint });
}

async function perform(begun: Run): Promise<void> {
  const { options, context, config, kept, saved } = begun;
  if (!options.restore && !options.webhookOff) await prepare(begun);
  // Reading the account also verifies the key.
  const account = await readAccount(begun);
  await lookAt(begun, [{ of: "the account", look: async () => judge(account, context.now(), begun.names) }]);
  const run = Object.assign(begun, { account });
  const { hook } = run;
  let plan = await makePlan(run);
  if (options.dryRun) {
    if (run.findings.some(({ verdict }) => verdict === "problem")) context.setExitStatus(1);
    await tellChange(run, plan, "dry-run");
    return report(run, plan, { result: "dry-run" });
  }

  let canUndo = false;
  const isChange = changeOf(plan.before, plan.after) !== undefined || options.rotateSecret === true;
  if (isChange) {
    const former = options.restore ? undefined : await keep(run, plan);
    await askFirst(run, plan);
    // The person has agreed. From here on the relay accepts the new secret and the old one.
    if (options.rotateSecret) plan = await rotate(run, plan);
    if (former !== undefined && hook === undefined) await saved.write({ ...former, turnedOff: true });
    await change(run, plan);
    if (former?.turnedOff && hook !== undefined) await saved.write({ ...former, turnedOff: false });
    const isFirst = former !== undefined && describeDifference(former.outputs, plan.before) === undefined;
    canUndo = hook !== undefined && isFirst && !plan.isOurs;
  }
  // The account now sends to the present secret. Only the running relay still accepts an older one, until it ends.
  if (hook !== undefined && config.webhookSecret === undefined) await forgetPreviousSecrets(kept, "webhook-secret");
  if (options.restore) await forgetRegistration(run);
  else await keepRegistration(run, plan.after);

  const result = isChange ? resultOf(run, plan) : "unchanged";
  await tellChange(run, plan, result);
  const isOwed = isChange || run.interrupted?.account === "new";
  const test = hook !== undefined && isOwed ? await sendTest(run) : undefined;
  const isUndone = test?.ok === false && canUndo && (await offerUndo(run, plan));
  await report(run, plan, { result: isUndone ? "restored" : result, isUndone, test, canUndo });
}

function resultOf({ options }: Run, { before, after }: OutputsPlan): SetupResult {
  if (options.restore) return "restored";
  return after.webhookUrl === null && before.webhookUrl !== null ? "turned-off" : "changed";
}

async function prepare(begun: Run): Promise<void> {
  const { config, options, kept, serviceUrl, output } = begun;
  const { publicUrl } = config.server;
  if (publicUrl === undefined) {
    throw new AppError("config_invalid", "PUBLIC_URL is not set, so there is no address to give to the service.", {
      hint: "Set it to the address that the internet reaches this relay by, e.g. PUBLIC_URL=https://alerts.example.com",
    });
  }
  if (options.rotateSecret && config.webhookSecret !== undefined) {
    throw new AppError("config_invalid", "The hook's secret comes from WEBHOOK_SECRET, so setup cannot change it.", {
      hint: "Change the variable, restart the relay, then run setup again.",
    });
  }
  const { webhookSecret: secret } = await loadOrCreateSecrets(kept, config);
  const run = Object.assign(begun, { hook: { url: publicUrl, secret, serviceUrl } });
  if (!options.skipProof) return lookAt(run, proofs);
  await output.note(
    "WARNING: --skip-proof: nobody has looked whether alerts reach this relay, or whether it reaches any destination.",
  );
}

function judge(account: FoundAccount, now: number, { key }: AccountNames): Finding[] {
  const { id, accountName, outputs } = account;
  const { webhookUrl, messengerChannelId } = masked(outputs);
  const channel = messengerChannelId === null ? "" : `, and to the messenger channel ${messengerChannelId}`;
  const name = accountName ? `${accountName} (${id})` : id;
  const detail = `${name}, which sends to ${webhookUrl ?? "no webhook"}${channel}`;
  return [ok("account", detail), judgeExpiry(account, now, key)];
}

function addressOf({ url, secret }: OwnHook): Hook {
  return { url: `${url}/hooks/${secret.reveal()}`, isHere: (other) => isSecretOf(other, url, [secret]) };
}

/** Without a hook, no target of the account leads here. */
const isHereOf =
  ({ hook }: Run): Hook["isHere"] =>
  (url) =>
    hook !== undefined && addressOf(hook).isHere(url);

async function makePlan({ hook, channel, saved, account, config, options }: AccountRun): Promise<OutputsPlan> {
  const { publicUrl } = config.server;
  const { restore, takeOver } = options;
  if (!restore) return planSetup(account.outputs, { hook: hook && addressOf(hook), publicUrl, channel, takeOver });
  const found = await saved.read();
  if (found === undefined) {
    throw new AppError("not_found", "There is nothing to restore: setup has changed nothing that it kept.", {
      hint: `It would be ${saved.place}; run --restore with the DATA_DIR or DATABASE_URL that setup was run with.`,
    });
  }
  if (found.accountId !== account.id) {
    throw new AppError("conflict", "What was kept belongs to another account.", {
      hint: "Use the API key that setup was run with.",
    });
  }
  return planRestore(account.outputs, found.outputs, { publicUrl, takeOver });
}

/**
 * Saves the outputs from before setup: not this relay's address, nor the empty one after `--webhook-off`. Comes before
 * any question, so `turnedOff` keeps its value until the change.
 */
async function keep({ saved, account, context }: AccountRun, { before, isOurs }: OutputsPlan): Promise<SavedOutputs> {
  const read = await saved.read();
  const kept = read?.accountId === account.id ? read : undefined;
  const isOwnDoing = isOurs || (kept?.turnedOff === true && before.webhookUrl === null);
  const savedAt = new Date(context.now()).toISOString();
  const found = kept !== undefined && isOwnDoing ? kept : { savedAt, accountId: account.id, outputs: before };
  await saved.write(found);
  return found;
}

/** The answer may take long, so the account is read once more after it. */
async function askFirst(run: Run, plan: OutputsPlan): Promise<void> {
  const answer = await ask(run, plan, "Change the account like this?");
  if (answer === false) throw new AppError("cancelled", "Nothing was changed.");
  if (answer === true) await refuseMeanwhile(run, plan.before, "nothing was changed now");
}

/** @returns undefined with `--yes`, and where no person can answer @throws AppError `cancelled` at Ctrl-C */
async function ask(run: Run, plan: OutputsPlan, question: string): Promise<boolean | undefined> {
  const { context, output, options } = run;
  const prompts = options.yes ? undefined : await openPrompts(context, "Nothing was changed.");
  if (prompts === undefined) return undefined;
  await output.progress.clear();
  await writeText(context.stderr, output.draw(changePanel(run, plan)));
  return prompts.confirm(question);
}

/** @throws AppError `conflict` unless the account still has the outputs that this run last read */
async function refuseMeanwhile(run: Run, expected: Outputs, outcome: string): Promise<void> {
  const difference = describeDifference((await readAccount(run)).outputs, expected, isHereOf(run));
  if (difference === undefined) return;
  throw new AppError("conflict", `Somebody has changed ${difference} meanwhile, so ${outcome}.`, {
    hint: "Run setup again: it shows what the account has by then.",
  });
}

async function rotate(run: Run, plan: OutputsPlan): Promise<OutputsPlan> {
  const known = run.hook as OwnHook;
  const secret = await rotateSecret(run.kept, "webhook-secret");
  await lookAt(Object.assign(run, { hook: known }), [awaitSecret(secret, known.secret)]);
  run.hook = { ...known, secret };
  return { ...plan, after: { ...plan.after, webhookUrl: addressOf(run.hook).url } };
}

/** The only request that makes a change. A record on disk comes first, since the outcome may stay unknown. */
async function change(run: AccountRun, { before, after }: OutputsPlan): Promise<void> {
  const { client, context, output, progress, startedAt, account } = run;
  const wanted = changeOf(before, after);
  if (wanted === undefined) return;
  await progress.write({ step: "changing", startedAt, accountId: account.id, before, after });
  try {
    await output.progress.update("changing the account, and reading it back");
    const undo = ". --restore puts back what was there.";
    await changeOutputs(client, wanted, { isHere: isHereOf(run), undo, signal: context.signal });
  } catch (error) {
    throw inPlaceOfCancelled(
      error,
      "Stopped while the account was being changed.",
      "Run setup again, also with --dry-run: it says whether the account has the change.",
    );
  }
}

/** Removes the records of setup, as before its first change of the account. */
async function forgetRegistration({ saved, kept, names }: Run): Promise<void> {
  await saved.remove();
  await registrationRecord(kept, names.source).remove();
}

/** Comes after the change: a relay that looks in between finds the old outputs or, in its second look, the new ones. */
async function keepRegistration(run: AccountRun, { webhookUrl, messengerChannelId }: Outputs): Promise<void> {
  const { kept, names, config, context, account, output } = run;
  const record = registrationRecord(kept, names.source);
  const publicUrl = config.server.publicUrl ?? (await record.read())?.publicUrl;
  if (publicUrl === undefined) return;
  const webhookOff = webhookUrl === null ? true : undefined;
  try {
    await record.write({ accountId: account.id, publicUrl, webhookOff, messengerChannelId, at: context.now() });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    await output.note(`warning: ${error.message} So the relay does not watch this change`);
  }
}

/** The account is changed already, so a failed or interrupted test is reported and undoes nothing. */
async function sendTest(run: Run): Promise<ProofTest | undefined> {
  const { hook, relay, names } = run;
  if (hook === undefined || relay === undefined) return undefined;
  try {
    const test = await sendProof({ ...run, flags: {} }, relay, hook);
    if (!test.ok) run.context.setExitStatus(1);
    run.owesTest = !test.ok;
    return test;
  } catch (error) {
    throw inPlaceOfCancelled(
      error,
      "Stopped: the account has the change, read back; only the test was not awaited.",
      `Send another one with: tocsin test. Undo the change with: ${names.setup} --restore`,
    );
  }
}

/** @returns whether the person has agreed, and the account has its former outputs again */
async function offerUndo(run: AccountRun, { before, after, isOurs }: OutputsPlan): Promise<boolean> {
  const back = { before: after, after: before, isOurs };
  const question = "The test failed. Put back what the account had before?";
  const isAgreed = await ask(run, back, question).catch((error: unknown) => {
    if (!isCancelled(error)) throw error;
    return false;
  });
  if (!isAgreed) return false;
  await refuseMeanwhile(run, after, "nothing was put back");
  await change(run, back);
  await forgetRegistration(run);
  run.owesTest = false;
  return true;
}

/** Ctrl-C has a meaning of its own at a question, and in the middle of a step. */
function inPlaceOfCancelled(error: unknown, message: string, hint: string): unknown {
  return isCancelled(error) ? new AppError("cancelled", message, { hint }) : error;
}

function readChannel(channel: SetupOptions["channel"]): string | null | undefined {
  if (typeof channel === "string") return readChat("--channel", channel);
  return channel === false ? null : undefined;
}
