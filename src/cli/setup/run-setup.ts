import type { Config } from "../../config/config.ts";
import { forgetPreviousSecrets, loadOrCreateSecrets, rotateSecret } from "../../config/generated-secrets.ts";
import { loadConfig } from "../../config/load-config.ts";
import { requireAlerting } from "../../config/upstream-env.ts";
import { AppError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { type AlertingClient, createAlertingClient } from "../../upstream/alerting-client.ts";
import { readChatId } from "../../vendors/telegram/vendor.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import { maskWebhookUrl } from "../upstream/mask-webhook-url.ts";
import { checkHook } from "./check-hook.ts";
import { describeDifference, isOwnHook, type Outputs, othersAddress, planSetup, type SetupPlan } from "./plan-setup.ts";
import { type SavedOutputsFile, savedOutputsFile, toOutputs } from "./saved-outputs.ts";
import type { SetupOptions } from "./setup.ts";

interface Run {
  options: SetupOptions;
  context: CliContext;
  output: Output;
  config: Config;
  client: AlertingClient;
  saved: SavedOutputsFile;
}

export async function runSetup(options: SetupOptions, context: CliContext, output: Output): Promise<void> {
  refuseContradictions(options);
  const channel = readChannel(options);
  const config = loadConfig({ env: context.env, cwd: context.cwd });
  const { now, random, sleep, signal } = context;
  const client = createAlertingClient({ ...requireAlerting(context.env), now, random, sleep });
  const run: Run = { options, context, output, config, client, saved: savedOutputsFile(config.dataDir) };

  const { account } = await client.readAccount({ signal });
  const before = toOutputs(account.alertOutputs);
  if (options.restore) return restore(run, account.id, before);
  if (options.webhookOff) return turnOff(run, account.id, before, channel);

  const publicUrl = requirePublicUrl(config);
  refuseGivenSecret(run);
  const planFor = (secret: Secret) => {
    const webhookUrl = `${publicUrl}/hooks/${secret.reveal()}`;
    return planSetup(before, { webhookUrl, publicUrl, channel, takeOver: options.takeOver === true });
  };
  const { webhookSecret } = await loadOrCreateSecrets(config.dataDir, config);
  const known = planFor(webhookSecret);
  if (options.dryRun) return report(run, known, "dry-run");
  if (!known.change && !options.rotateSecret) {
    await forgetPrevious(run);
    return report(run, known, "unchanged");
  }
  if (!options.rotateSecret) await noteReachability(run, known);
  await confirm(run, known);

  // Not before everybody has agreed: from here on the relay takes the new secret and the old one.
  const plan = options.rotateSecret ? planFor(await rotateSecret(config.dataDir, "webhook-secret")) : known;
  if (options.rotateSecret) await noteReachability(run, plan);
  await keep(run, account.id, plan);
  if (plan.change) await client.setAlertOutputs(plan.change, { signal });
  await verify(run, plan.after);
  await forgetPrevious(run);
  await report(run, plan, "changed");
}

/** No alert comes here any more, until `setup` or `setup --restore` turns the webhook on again. */
async function turnOff(
  run: Run,
  accountId: string,
  before: Outputs,
  channel: string | null | undefined,
): Promise<void> {
  const { publicUrl } = run.config.server;
  const takeOver = run.options.takeOver === true;
  const plan = planSetup(before, { webhookUrl: null, publicUrl, channel, takeOver });
  if (run.options.dryRun) return report(run, plan, "dry-run");
  if (!plan.change) return report(run, plan, "unchanged");
  await confirm(run, plan);
  await keep(run, accountId, plan, { turnedOff: true });
  await run.client.setAlertOutputs(plan.change, { signal: run.context.signal });
  await verify(run, plan.after);
  await report(run, plan, plan.change.webhookUrl === null ? "turned-off" : "changed");
}

async function restore(run: Run, accountId: string, before: Outputs): Promise<void> {
  const saved = await run.saved.read();
  if (!saved) {
    throw new AppError("not_found", "There is nothing to restore: setup has changed nothing that it kept.", {
      hint: `It keeps what was there in DATA_DIR (${run.config.dataDir}); run --restore where setup was run.`,
    });
  }
  if (saved.accountId !== accountId) {
    throw new AppError("conflict", "What was kept belongs to another account.", {
      hint: "Use the API key that setup was run with.",
    });
  }
  refuseOthersAddress(run, before, saved.outputs);
  const after = saved.outputs;
  const same = describeDifference(after, before) === undefined;
  const plan: SetupPlan = { before, after, change: same ? undefined : after, isOurs: true };
  if (run.options.dryRun) return report(run, plan, "dry-run");
  if (plan.change) {
    await confirm(run, plan);
    await run.client.setAlertOutputs(plan.change, { signal: run.context.signal });
    await verify(run, after);
  }
  await run.saved.remove();
  await report(run, plan, plan.change ? "restored" : "unchanged");
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

function refuseContradictions(options: SetupOptions): void {
  const others = options.rotateSecret || options.webhookOff || options.channel !== undefined;
  if (options.restore && others) {
    throw new AppError("usage", "--restore puts everything back and goes with --dry-run, --take-over and --yes only");
  }
  if (options.webhookOff && options.rotateSecret) {
    throw new AppError("usage", "--webhook-off registers no address, so it does not go with --rotate-secret");
  }
}

function readChannel({ channel }: SetupOptions): string | null | undefined {
  if (channel === undefined || channel === true) return undefined;
  if (channel === false) return null;
  const id = readChatId(channel);
  if (typeof id === "string") return id;
  throw new AppError("usage", `--channel ${channel}: ${id.message}`, { hint: id.instead });
}

function requirePublicUrl({ server }: Config): string {
  if (server.publicUrl !== undefined) return server.publicUrl;
  throw new AppError("config_invalid", "PUBLIC_URL is not set, so nobody can tell the service where this relay is.", {
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
async function forgetPrevious({ config }: Run): Promise<void> {
  if (config.webhookSecret === undefined) await forgetPreviousSecrets(config.dataDir, "webhook-secret");
}

/** A running relay takes up a new secret within seconds, and goes on taking the old one. */
async function noteReachability({ context, output, options }: Run, { after }: SetupPlan): Promise<void> {
  const hookUrl = after.webhookUrl ?? "";
  const tries = options.rotateSecret ? 6 : 1;
  for (let left = tries; left > 0; left -= 1) {
    const check = await checkHook(hookUrl, context.signal);
    if (check.reached) return;
    if (left === 1) await output.note(`warning: ${maskWebhookUrl(hookUrl)}: ${check.detail}`);
    else await context.sleep(1_000, context.signal);
  }
}
/** The account is known to send to the present secret. Only a relay that runs takes the older one, until it ends. */
async function confirm(run: Run, plan: SetupPlan): Promise<void> {
  const { context, options, output } = run;
  if (options.yes || !context.isTty.stdin || !context.isTty.stderr) return;
  await output.note(describe(run, plan));
  const { confirm: ask, isCancel } = await import("@clack/prompts");
  const answer = await ask({ message: "Change the account like this?" });
  if (isCancel(answer) || !answer) throw new AppError("cancelled", "Nothing was changed.");
}

/** Saves what was there before setup first changed it: not this relay's own address, nor none after `--webhook-off`. */
async function keep(
  run: Run,
  accountId: string,
  { before, isOurs }: SetupPlan,
  { turnedOff = false } = {},
): Promise<void> {
  const read = await run.saved.read();
  const kept = read?.accountId === accountId ? read : undefined;
  const isOwnDoing = isOurs || (kept?.turnedOff === true && before.webhookUrl === null);
  const savedAt = new Date(run.context.now()).toISOString();
  const found = kept !== undefined && isOwnDoing ? kept : { savedAt, accountId, outputs: before };
  await run.saved.write({ ...found, turnedOff });
}

async function verify({ client, context }: Run, wanted: Outputs): Promise<void> {
  const { account } = await client.readAccount({ signal: context.signal });
  const difference = describeDifference(wanted, toOutputs(account.alertOutputs));
  if (difference === undefined) return;
  throw new AppError("failed", `The service took the change, but ${difference} reads back differently.`, {
    hint: "Look at it with: tocsin upstream outputs. --restore puts back what was there.",
  });
}

type SetupResult = "dry-run" | "unchanged" | "changed" | "turned-off" | "restored";

async function report(run: Run, plan: SetupPlan, result: SetupResult): Promise<void> {
  const { output } = run;
  const data = {
    result,
    before: masked(plan.before),
    after: masked(plan.after),
    changed: result !== "dry-run" && result !== "unchanged",
  };
  await output.result(data, () => `${describe(run, plan)}\n${closingLine(result, plan)}\n`);
}

function describe({ options, output }: Run, { before, after }: SetupPlan): string {
  const was = masked(before);
  const will = masked(after);
  const show = (value: string | null) => value ?? "none";
  // Two addresses that differ in what is hidden would read as the same.
  const differs = was.webhookUrl === will.webhookUrl && before.webhookUrl !== after.webhookUrl;
  const secretMark = options.rotateSecret ? " (new secret)" : differs ? " (another secret)" : "";
  return output
    .table(
      [{ title: "output" }, { title: "before" }, { title: "after" }],
      [
        ["webhook", show(was.webhookUrl), show(will.webhookUrl) + secretMark],
        ["messenger channel", show(was.messengerChannelId), show(will.messengerChannelId)],
      ],
    )
    .trimEnd();
}

function closingLine(result: SetupResult, { isOurs }: SetupPlan): string {
  switch (result) {
    case "dry-run":
      return "Nothing was changed (--dry-run).";
    case "unchanged":
      return "Everything is as it should be; nothing had to change.";
    case "changed":
      return "Changed, and read back. Undo with: tocsin setup --restore";
    case "turned-off":
      return `Changed, and read back: the account sends to no webhook any more. ${
        isOurs ? "Turn it on again with: tocsin setup" : "Undo with: tocsin setup --restore"
      }`;
    case "restored":
      return "Restored, and read back.";
  }
}

function masked({ webhookUrl, messengerChannelId }: Outputs): Outputs {
  return { webhookUrl: webhookUrl === null ? null : maskWebhookUrl(webhookUrl), messengerChannelId };
}
