import type { Account } from "../../upstream/alerting-schemas.ts";
import { type AccountRun, connectAlerting } from "./connect.ts";
import { maskWebhookUrl } from "./mask-webhook-url.ts";
import { formatDistance, formatInstant } from "./number-text.ts";

/** `tocsin upstream account`: verifies the key and shows the account. */
export async function showAccount(run: AccountRun, options: { showSecrets?: boolean }): Promise<void> {
  const { message, account } = await (await connectAlerting(run)).readAccount({ signal: run.context.signal });
  const outputs = shownOutputs(account, options.showSecrets);
  const { apiKeyExpiresAt, ...documented } = account;
  const data = {
    ...documented,
    alertOutputs: outputs,
    ...(apiKeyExpiresAt === undefined ? {} : { apiKeyExpiresAt: new Date(apiKeyExpiresAt).toISOString() }),
  };
  const { output, context } = run;
  await output.result(
    data,
    () =>
      output.fields([
        ["Key", message ?? "accepted"],
        ["Key expires", describeExpiry(account, context.now())],
        ["Account", account.accountName ?? ""],
        ["Account id", account.id],
        ["Webhook", outputs.webhookUrl ?? "none"],
        ["Channel", outputs.messengerChannelId ?? "none"],
        ["Created", account.createdAt ?? ""],
        ["Updated", account.updatedAt ?? ""],
      ]),
    message === undefined ? undefined : { message },
  );
}

/** `tocsin upstream outputs`: where the account's alerts go. */
export async function showOutputs(run: AccountRun, options: { showSecrets?: boolean }): Promise<void> {
  const { account } = await (await connectAlerting(run)).readAccount({ signal: run.context.signal });
  const outputs = shownOutputs(account, options.showSecrets);
  const { output } = run;
  await output.result(outputs, () =>
    output.fields([
      ["Webhook", outputs.webhookUrl ?? "none"],
      ["Channel", outputs.messengerChannelId ?? "none"],
    ]),
  );
}

/** Who holds a hook's address can send alerts, so it is shown only when that is asked for. */
function shownOutputs({ alertOutputs }: Account, showSecrets = false): Account["alertOutputs"] {
  const { webhookUrl } = alertOutputs;
  if (showSecrets || webhookUrl === null) return alertOutputs;
  return { ...alertOutputs, webhookUrl: maskWebhookUrl(webhookUrl) };
}

function describeExpiry(account: Account, now: number): string {
  const { apiKeyExpiresAt, apiKeyExpirationTimestamp } = account;
  if (apiKeyExpiresAt !== undefined) {
    return `${formatInstant(apiKeyExpiresAt)} (${formatDistance(apiKeyExpiresAt, now)})`;
  }
  const isGiven = apiKeyExpirationTimestamp !== undefined && apiKeyExpirationTimestamp !== null;
  return isGiven ? `cannot be read: ${JSON.stringify(apiKeyExpirationTimestamp)}` : "not given";
}
