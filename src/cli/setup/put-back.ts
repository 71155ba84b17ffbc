import { loadOrCreateSecrets } from "../../config/generated-secrets.ts";
import { type RegistrationRecord, registrationRecord } from "../../config/registration.ts";
import type { AccountReading } from "../../core/ports/account.ts";
import { createAlertingClient } from "../../upstream/alerting-client.ts";
import { showAddress } from "../../watch/judge-account.ts";
import { isSecretOf, planPutBack, putBack } from "../../watch/put-back.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import { maskWebhookUrl } from "../upstream/mask-webhook-url.ts";
import { askToChange } from "./ask.ts";
import { type Subject, withSubject } from "./subject.ts";

export interface PutBackOptions {
  dryRun?: boolean;
  /** See `SetupOptions`. */
  source?: string;
  yes?: boolean;
}

/**
 * `tocsin setup --put-back`: what setup registered, put into the account again after somebody else has changed it. Asks
 * first on a terminal, reads back, and leaves what `--restore` would put back as it is.
 */
export async function runPutBack(options: PutBackOptions, context: CliContext, output: Output): Promise<void> {
  await withSubject(context, options.source, (subject) => putBackFor(subject, options, context, output));
}

async function putBackFor(
  { config, alerting, names, kept }: Subject,
  options: PutBackOptions,
  context: CliContext,
  output: Output,
): Promise<void> {
  const { now, random, sleep, signal } = context;
  const service = createAlertingClient({ ...alerting, now, random, sleep });
  const record = registrationRecord(kept, names.source);
  const registration = await record.read();
  const before = await service.lookAtAccount({ signal });
  const { webhookSecret, previousWebhookSecrets } = await loadOrCreateSecrets(kept, config);
  const place = config.server.publicUrl ?? registration?.publicUrl;
  const places = [place, registration?.publicUrl].filter((some) => some !== undefined);
  const secrets = [webhookSecret, ...previousWebhookSecrets];
  const isHere = (url: string) => places.some((some) => isSecretOf(url, some, secrets));
  const hook = { url: `${place}/hooks/${webhookSecret.reveal()}`, isHere };
  const change = planPutBack(before, registration, hook, names);
  const after = { ...before, ...change };
  const result = change === undefined ? "unchanged" : options.dryRun ? "dry-run" : "put-back";
  if (change !== undefined && !options.dryRun) {
    const question = "Put the account back like this?";
    await askToChange({ context, output, yes: options.yes }, formatChange(output, before, after), question);
    await putBack(service, change, isHere, signal);
    await wakeWatch(record, now());
  }
  const data = { result, changed: result === "put-back", before: shown(before), after: shown(after) };
  await output.result(data, () => `${formatChange(output, before, after)}\n${closingLines[result]}\n`);
}

/** The running relay looks at the account when this is written, and tells that it is well again. */
async function wakeWatch(record: RegistrationRecord, now: number): Promise<void> {
  const registration = await record.read();
  // Without that it looks in a few minutes.
  if (registration !== undefined) await record.write({ ...registration, at: now }).catch(() => {});
}

const closingLines = {
  unchanged: "The account is as setup left it; nothing had to be put back.",
  "dry-run": "Nothing was changed (--dry-run).",
  "put-back": "Put back, and read back: the account sends here again.",
};

function formatChange(output: Output, before: AccountReading, after: AccountReading): string {
  const [was, will] = [shown(before), shown(after)];
  const show = (value: string | null | undefined) => (value === undefined ? "not said" : (value ?? "none"));
  const isSameBut = was.webhookUrl === will.webhookUrl && before.webhookUrl !== after.webhookUrl;
  return output
    .table(
      [{ title: "output" }, { title: "before" }, { title: "after" }],
      [
        ["webhook", show(was.webhookUrl), `${show(will.webhookUrl)}${isSameBut ? " (this relay's secret)" : ""}`],
        ["messenger channel", show(was.messengerChannelId), show(will.messengerChannelId)],
      ],
    )
    .trimEnd();
}

function shown({ webhookUrl, messengerChannelId }: AccountReading) {
  return {
    webhookUrl: typeof webhookUrl === "string" ? showHook(webhookUrl) : webhookUrl,
    messengerChannelId,
  };
}

/** Of somebody else's address the path may be a secret, wherever in it that stands. */
function showHook(url: string): string {
  return /\/hooks\/./.test(url) ? maskWebhookUrl(url) : showAddress(url);
}
