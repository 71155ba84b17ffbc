import type { Config } from "../../config/config.ts";
import { forgetPreviousSecrets, loadOrCreateSecrets, rotateSecret } from "../../config/generated-secrets.ts";
import { registrationRecord } from "../../config/registration.ts";
import { AppError } from "../../core/errors.ts";
import type { KeptRecords } from "../../core/ports/kept-records.ts";
import type { Secret } from "../../core/secret.ts";
import { type AlertingClient, createAlertingClient } from "../../upstream/alerting-client.ts";
import type { Account } from "../../upstream/alerting-schemas.ts";
import { readChatId } from "../../vendors/telegram/vendor.ts";
import { isSecretOf } from "../../watch/put-back.ts";
import { judgeExpiry } from "../doctor/check-service.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import { askToChange } from "./ask.ts";
import type { KeptRecord } from "./kept-record.ts";
import { describeLastRun, judgeLastRun, type LastRun, lastRunRecord } from "./last-run.ts";
import { describeDifference, isOwnHook, type Outputs, othersAddress, planSetup, type SetupPlan } from "./plan-setup.ts";
import { awaitSecret, findTaker, type ProofRun, type ProvenRelay, prove } from "./prove.ts";
import { describeChange, masked, type ReportedRun, report } from "./report.ts";
import { type SavedOutputs, savedOutputsRecord, toOutputs } from "./saved-outputs.ts";
import { type ProofTest, sendProof } from "./send-proof.ts";
import type { SetupOptions } from "./setup.ts";
import { openStages } from "./stages.ts";
import { type Subject, withSubject } from "./subject.ts";

interface Run extends ReportedRun {
  options: SetupOptions;
  config: Config;
  client: AlertingClient;
  /** Where the service is. */
  serviceUrl: string;
  /** Secrets, and what follows. */
  kept: KeptRecords;
  /** What the account had before setup first changed it. */
  saved: KeptRecord<SavedOutputs>;
  /** How far this run has come. */
  progress: KeptRecord<LastRun>;
  startedAt: number;
  /** See `ProofRun`. */
  ownRelay?: ProofRun["ownRelay"];
  /** Not every destination has the test; the next run sends another. */
  owesTest?: boolean;
}

/**
 * Everything that can be proven is proven before the account is touched, and a stage that fails ends the run there. The
 * one PUT changes all that is to change, so at any moment the account is as it was or as it is to be; a run that is cut
 * off leaves on disk how far it had come, and the next one reads the account and says which.
 */
export async function runSetup(options: SetupOptions, context: CliContext, output: Output): Promise<void> {
  const channel = readChannel(options);
  await withSubject(context, options.source, (subject) => setUp(subject, channel, { options, context, output }));
}

async function setUp(
  { config, alerting, names, kept }: Subject,
  channel: string | null | undefined,
  { options, context, output }: Pick<Run, "options" | "context" | "output">,
): Promise<void> {
  const { now, random, sleep } = context;
  const run: Run = {
    options,
    context,
    output,
    config,
    client: createAlertingClient({ ...alerting, now, random, sleep }),
    serviceUrl: alerting.url,
    stages: openStages(output, options),
    names,
    kept,
    saved: savedOutputsRecord(kept, names.source),
    progress: lastRunRecord(kept, names.source),
    startedAt: now(),
  };
  try {
    run.interrupted = await tellLastRun(run);
    await (options.dryRun ? perform(run, channel) : performOnRecord(run, channel));
  } finally {
    await endOwnRelay(run);
  }
}

/** What comes next is said of a relay that has ended: the account may send here by now. */
async function endOwnRelay({ ownRelay, output }: Run): Promise<void> {
  if (ownRelay === undefined) return;
  await output.progress.update("ending the relay of this setup");
  await ownRelay.stop();
  await output.note(
    "The relay that setup ran has ended. Start one: tocsin serve. Until it runs, alerts are refused here.",
  );
}

async function performOnRecord(run: Run, channel: string | null | undefined): Promise<void> {
  const startedAt = new Date(run.startedAt).toISOString();
  // An earlier run is not forgotten before it could be told how it left the account, nor before the test that it owes.
  const isOpen = run.interrupted?.account === "unknown" || run.interrupted?.account === "new";
  if (!isOpen) await run.progress.write({ step: "checking", startedAt });
  try {
    await perform(run, channel);
    if (!run.owesTest) await run.progress.remove();
  } catch (error) {
    // Whether a change was made that failed or was interrupted the next run says.
    const left = await run.progress.read().catch(() => undefined);
    if (left?.step !== "checking") throw error;
    await run.progress.remove();
    throw error === run.context.signal.reason && error instanceof AppError
      ? new AppError("cancelled", error.message, { hint: "the account was not changed" })
      : error;
  }
}

async function perform(run: Run, channel: string | null | undefined): Promise<void> {
  const { options } = run;
  if (options.restore) return restore(run, await readAccount(run));
  if (options.webhookOff) return turnOff(run, await readAccount(run), channel);
  return register(run, channel);
}

/** An earlier run that was cut off: how it left the account, said before anything else. */
async function tellLastRun({ client, config, context, output, progress }: Run): Promise<Run["interrupted"]> {
  const last = await progress.read();
  if (last === undefined) return undefined;
  let now: { accountId: string; outputs: Outputs } | undefined;
  if (last.step !== "checking") {
    try {
      const { account } = await client.readAccount({ signal: context.signal });
      now = { accountId: account.id, outputs: toOutputs(account.alertOutputs) };
    } catch (error) {
      if (!(error instanceof AppError) || error.code === "cancelled") throw error;
    }
  }
  const account = judgeLastRun(last, now);
  await output.note(describeLastRun(last, account, config.server.publicUrl));
  return { startedAt: last.startedAt, account };
}

interface FoundAccount {
  id: string;
  name?: string;
  outputs: Outputs;
  /** ISO 8601; absent: the service names none that can be read. */
  keyExpiresAt?: string;
}

/** GET /account verifies the key as well. */
async function readAccount({ client, context, stages }: Run): Promise<FoundAccount> {
  await stages.begin("the account");
  const { account } = await client.readAccount({ signal: context.signal });
  const { id, accountName, apiKeyExpiresAt } = account;
  const outputs = toOutputs(account.alertOutputs);
  await stages.pass([describeAccount(account, outputs), judgeExpiry(account, context.now())]);
  return {
    id,
    name: accountName ?? undefined,
    outputs,
    keyExpiresAt: apiKeyExpiresAt === undefined ? undefined : new Date(apiKeyExpiresAt).toISOString(),
  };
}

function describeAccount({ id, accountName }: Account, outputs: Outputs) {
  const { webhookUrl, messengerChannelId } = masked(outputs);
  const channel = messengerChannelId === null ? "" : `, and to the messenger channel ${messengerChannelId}`;
  const name = accountName ? `${accountName} (${id})` : id;
  return {
    check: "account",
    verdict: "ok" as const,
    detail: `${name}, which sends to ${webhookUrl ?? "no webhook"}${channel}`,
  };
}

async function register(run: Run, channel: string | null | undefined): Promise<void> {
  const { options, context, config, serviceUrl, stages } = run;
  const publicUrl = requirePublicUrl(config);
  refuseGivenSecret(run);
  const { webhookSecret } = await loadOrCreateSecrets(run.kept, config);
  const hookOf = (secret: Secret) => ({ url: publicUrl, secret, serviceUrl });
  const relay = options.skipProof ? await warnUnproven(run) : await prove(run, hookOf(webhookSecret));

  const account = await readAccount(run);
  const before = account.outputs;
  const arrivesHere = before.webhookUrl !== null && isSecretOf(before.webhookUrl, publicUrl, [webhookSecret]);
  const planFor = (secret: Secret) => {
    const isRight = arrivesHere && secret === webhookSecret;
    const webhookUrl = isRight ? before.webhookUrl : `${publicUrl}/hooks/${secret.reveal()}`;
    return planSetup(before, { webhookUrl, publicUrl, channel, takeOver: options.takeOver === true, arrivesHere });
  };
  const known = planFor(webhookSecret);
  if (options.dryRun) {
    if (stages.findings.some(({ verdict }) => verdict === "problem")) context.setExitStatus(1);
    return report(run, { account, plan: known, result: "dry-run" });
  }
  if (!known.change && !options.rotateSecret) {
    await forgetPrevious(run);
    await keepRegistration(run, account.id, known.after);
    const isOwed = run.interrupted?.account === "new";
    const sendsTest = isOwed ? () => sendTest(run, relay, hookOf(webhookSecret)) : undefined;
    return report(run, { account, plan: known, result: "unchanged", sendsTest });
  }
  const kept = await keep(run, account.id, known);
  await askFirst(run, known);

  // Not before everybody has agreed: from here on the relay takes the new secret and the old one.
  const secret = options.rotateSecret ? await rotateSecret(run.kept, "webhook-secret") : webhookSecret;
  const plan = planFor(secret);
  if (options.rotateSecret) {
    const taker = relay === undefined ? await findTaker(run, hookOf(webhookSecret)) : publicUrl;
    if (taker !== undefined) await awaitSecret(run, taker, secret, webhookSecret);
  }
  const arrivesAs = (url: string) => isSecretOf(url, publicUrl, [secret]);
  await change(run, account.id, plan, arrivesAs);
  if (kept.turnedOff) await run.saved.write({ ...kept, turnedOff: false });
  await forgetPrevious(run);
  await keepRegistration(run, account.id, plan.after);
  const canUndo = describeDifference(kept.outputs, plan.before) === undefined && !plan.isOurs;
  await report(run, {
    account,
    plan,
    result: "changed",
    sendsTest: () => sendTest(run, relay, hookOf(secret)),
    offersUndo: canUndo ? () => offerUndo(run, account.id, plan, arrivesAs) : undefined,
  });
}

/**
 * @param arrivesHere see `change`
 * @returns whether somebody has said yes, and the account has what it had before
 */
async function offerUndo(
  run: Run,
  accountId: string,
  { before, after, isOurs }: SetupPlan,
  arrivesHere: (url: string) => boolean,
): Promise<boolean> {
  const { context, output, options } = run;
  const back = { before: after, after: before, change: before, isOurs };
  const question = "The test failed. Put back what the account had before?";
  const isAgreed = await askToChange({ context, output, yes: options.yes }, describeChange(run, back), question).catch(
    (error: unknown) => {
      if (!(error instanceof AppError) || error.code !== "cancelled") throw error;
      return false;
    },
  );
  if (!isAgreed) return false;
  await refuseMeanwhile(run, after, "nothing was put back", arrivesHere);
  await change(run, accountId, back);
  await forgetRegistration(run);
  run.owesTest = false;
  return true;
}

/** As before setup first changed the account. */
async function forgetRegistration({ saved, kept, names }: Run): Promise<void> {
  await saved.remove();
  await registrationRecord(kept, names.source).remove();
}

/** No alert comes here any more, until `setup` or `setup --restore` turns the webhook on again. */
async function turnOff(run: Run, account: FoundAccount, channel: string | null | undefined): Promise<void> {
  const { publicUrl } = run.config.server;
  const takeOver = run.options.takeOver === true;
  const plan = planSetup(account.outputs, { webhookUrl: null, publicUrl, channel, takeOver });
  if (run.options.dryRun) return report(run, { account, plan, result: "dry-run" });
  if (!plan.change) {
    await keepRegistration(run, account.id, plan.after);
    return report(run, { account, plan, result: "unchanged" });
  }
  const kept = await keep(run, account.id, plan);
  await askFirst(run, plan);
  await run.saved.write({ ...kept, turnedOff: true });
  await change(run, account.id, plan);
  await keepRegistration(run, account.id, plan.after);
  await report(run, { account, plan, result: plan.change.webhookUrl === null ? "turned-off" : "changed" });
}

async function restore(run: Run, account: FoundAccount): Promise<void> {
  const before = account.outputs;
  const saved = await run.saved.read();
  if (!saved) {
    throw new AppError("not_found", "There is nothing to restore: setup has changed nothing that it kept.", {
      hint: `It would be ${run.saved.place}; run --restore with the DATA_DIR or DATABASE_URL that setup was run with.`,
    });
  }
  if (saved.accountId !== account.id) {
    throw new AppError("conflict", "What was kept belongs to another account.", {
      hint: "Use the API key that setup was run with.",
    });
  }
  refuseOthersAddress(run, before, saved.outputs);
  const after = saved.outputs;
  const same = describeDifference(after, before) === undefined;
  const plan: SetupPlan = { before, after, change: same ? undefined : after, isOurs: true };
  if (run.options.dryRun) return report(run, { account, plan, result: "dry-run" });
  if (plan.change) {
    await askFirst(run, plan);
    await change(run, account.id, plan);
  }
  await forgetRegistration(run);
  await report(run, { account, plan, result: plan.change ? "restored" : "unchanged" });
}

/**
 * The one request that changes anything, between two words on disk about how far it has come; then it is read back.
 *
 * @param arrivesHere for an address that the service gives another form. Default: it has to read back as it was written
 */
async function change(
  run: Run,
  accountId: string,
  plan: SetupPlan,
  arrivesHere?: (url: string) => boolean,
): Promise<void> {
  if (!plan.change) return;
  const { client, context, output, progress, startedAt: began } = run;
  const { before, after } = plan;
  const startedAt = new Date(began).toISOString();
  await progress.write({ step: "changing", startedAt, accountId, before, after });
  try {
    await output.progress.update("changing the account, and reading it back");
    await client.setAlertOutputs(plan.change, { signal: context.signal });
    await verify(run, after, arrivesHere);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "cancelled") throw error;
    const hint = "Run setup again, also with --dry-run: it says whether the account has the change.";
    throw new AppError("cancelled", "Stopped while the account was being changed.", { hint });
  }
  await progress.write({ step: "testing", startedAt, accountId, before, after });
}

/** The account is changed by now, so a test that fails or is interrupted is said, and undoes nothing. */
async function sendTest(
  run: Run,
  relay: ProvenRelay | undefined,
  hook: Parameters<typeof sendProof>[2],
): Promise<ProofTest | undefined> {
  if (relay === undefined) return undefined;
  try {
    const test = await sendProof(run, relay, hook);
    if (!test.ok) run.context.setExitStatus(1);
    run.owesTest = !test.ok;
    return test;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "cancelled") throw error;
    throw new AppError("cancelled", "Stopped: the account has the change, read back; only the test was not awaited.", {
      hint: `Send another one with: tocsin test. Undo the change with: ${run.names.setup} --restore`,
    });
  }
}

async function warnUnproven({ output }: Run): Promise<undefined> {
  await output.note(
    "WARNING: --skip-proof: nobody has looked whether alerts reach this relay, or whether it reaches any destination.",
  );
  return undefined;
}

/** An address that somebody has set since setup is overwritten with `--take-over` only. */
function refuseOthersAddress({ options, config }: Run, before: Outputs, saved: Outputs): void {
  const { webhookUrl } = before;
  const { publicUrl } = config.server;
  if (options.takeOver || webhookUrl === null || webhookUrl === saved.webhookUrl) return;
  if (isOwnHook(webhookUrl, publicUrl)) return;
  const hint =
    "What is to be put back was there before that. If it may be replaced all the same, say --restore --take-over.";
  throw othersAddress(webhookUrl, publicUrl, hint);
}

function readChannel({ channel }: SetupOptions): string | null | undefined {
  if (channel === undefined) return undefined;
  if (channel === false) return null;
  const id = readChatId(channel);
  if (typeof id === "string") return id;
  throw new AppError("usage", `--channel ${channel}: ${id.message}`, { hint: id.instead });
}

function requirePublicUrl({ server }: Config): string {
  if (server.publicUrl !== undefined) return server.publicUrl;
  throw new AppError("config_invalid", "PUBLIC_URL is not set, so there is no address to give to the service.", {
    hint: "Set it to the address that the internet reaches this relay by, e.g. PUBLIC_URL=https://alerts.example.com",
  });
}

function refuseGivenSecret({ config, options }: Run): void {
  if (!options.rotateSecret || config.webhookSecret === undefined) return;
  throw new AppError("config_invalid", "The hook's secret comes from WEBHOOK_SECRET, so setup cannot change it.", {
    hint: "Change the variable, restart the relay, then run setup again.",
  });
}

/** The account is known to send to the present secret: an older one is taken by the running relay alone, until it ends. */
async function forgetPrevious({ config, kept }: Run): Promise<void> {
  if (config.webhookSecret === undefined) await forgetPreviousSecrets(kept, "webhook-secret");
}

/** A question may stand there for long, so the account is looked at once more behind the answer. */
async function askFirst(run: Run, plan: SetupPlan): Promise<void> {
  const { context, output, options } = run;
  const question = "Change the account like this?";
  const isAsked = await askToChange({ context, output, yes: options.yes }, describeChange(run, plan), question);
  if (isAsked) await refuseMeanwhile(run, plan.before, "nothing was changed now");
}

/** @throws AppError `conflict` unless the account still has what this run has last seen there */
async function refuseMeanwhile(
  run: Run,
  expected: Outputs,
  outcome: string,
  arrivesHere?: (url: string) => boolean,
): Promise<void> {
  const difference = await findDifference(run, expected, arrivesHere);
  if (difference === undefined) return;
  throw new AppError("conflict", `Somebody has changed ${difference} meanwhile, so ${outcome}.`, {
    hint: "Run setup again: it shows what the account has by then.",
  });
}

/**
 * What was there before setup first changed it: not this relay's own address, nor none after `--webhook-off`. On disk
 * before anybody is asked, so `turnedOff` stays as it was until the change that it tells of.
 */
async function keep(run: Run, accountId: string, { before, isOurs }: SetupPlan): Promise<SavedOutputs> {
  const read = await run.saved.read();
  const kept = read?.accountId === accountId ? read : undefined;
  const isOwnDoing = isOurs || (kept?.turnedOff === true && before.webhookUrl === null);
  const savedAt = new Date(run.context.now()).toISOString();
  const found = kept !== undefined && isOwnDoing ? kept : { savedAt, accountId, outputs: before };
  await run.saved.write(found);
  return found;
}

/**
 * What the account is held to from now on. Behind the change, so that a relay that looks meanwhile finds what it
 * expects, or what it will expect when it looks a second time.
 */
async function keepRegistration(run: Run, accountId: string, after: Outputs): Promise<void> {
  const record = registrationRecord(run.kept, run.names.source);
  const publicUrl = run.config.server.publicUrl ?? (await record.read())?.publicUrl;
  if (publicUrl === undefined) return;
  const { webhookUrl, messengerChannelId } = after;
  const webhookOff = webhookUrl === null ? true : undefined;
  try {
    await record.write({ accountId, publicUrl, webhookOff, messengerChannelId, at: run.context.now() });
  } catch (error) {
    const why = error instanceof AppError ? error.message : (error as NodeJS.ErrnoException).code;
    const place = run.kept.placeOf("registration.json");
    await run.output.note(`warning: ${place} cannot be written (${why}), so the relay does not watch this change`);
  }
}

async function verify(run: Run, wanted: Outputs, arrivesHere?: (url: string) => boolean): Promise<void> {
  const difference = await findDifference(run, wanted, arrivesHere);
  if (difference === undefined) return;
  throw new AppError("failed", `The service took the change, but ${difference} reads back differently.`, {
    hint: "Look at it with: tocsin upstream outputs. --restore puts back what was there.",
  });
}

/** @param arrivesHere see `change` */
async function findDifference(
  { client, context }: Run,
  wanted: Outputs,
  arrivesHere: (url: string) => boolean = () => false,
): Promise<string | undefined> {
  const { account } = await client.readAccount({ signal: context.signal });
  const found = toOutputs(account.alertOutputs);
  const { webhookUrl: url } = found;
  const isOther = wanted.webhookUrl !== null && url !== null && url !== wanted.webhookUrl;
  const webhookUrl = isOther && arrivesHere(url) ? wanted.webhookUrl : url;
  return describeDifference(wanted, { ...found, webhookUrl });
}
