import { registrationRecord } from "../../config/account-records.ts";
import type { Config, SourceSettings } from "../../config/config.ts";
import { type Finding, ok, problem, skipped, toFinding, warning } from "../../core/finding.ts";
import { showAddress } from "../../ground/net/shown-address.ts";
import { oneLine } from "../../ground/text/clean.ts";
import { withAge } from "../../ground/time/time-format.ts";
import { targetWords } from "../../panels/watches.ts";
import { withKept } from "../../store/with-kept.ts";
import { type Account, createAlertingClient } from "../../upstream/alerting-client.ts";
import { findRelayAt } from "../../upstream/prove-address.ts";
import { findTarget } from "../../watch/hook-address.ts";
import { type AccountNames, accountNames, judgeAccount, type Matter, type Target } from "../../watch/judge-account.ts";
import { type RelayRun, readKeptSecret } from "../relay/connect-relay.ts";

const dayMs = 86_400_000;
const soonMs = 14 * dayMs;

/** The key, its end, and whether alerts are sent here. @param source default: the account of `ALERTING_URL` */
export async function checkAccount({ context }: RelayRun, config: Config, source?: SourceSettings): Promise<Finding[]> {
  const alerting = source === undefined ? config.upstream.alerting : source.account;
  if (alerting === undefined) {
    const detail = "ALERTING_URL and ALERTING_API_KEY are not set, so the account cannot be looked at";
    return source === undefined ? [skipped("alerting service", detail)] : [];
  }
  const { now, random, sleep, signal } = context;
  const { account } = await createAlertingClient({ ...alerting, now, random, sleep }).readAccount({ signal });
  const names = accountNames(source?.name);
  const found = await judge(account, config, names, source, context).catch((e) => [toFinding("registration", e)]);
  const isEnding = found.some(({ check }) => check === checkNames.expiry);
  const findings = [
    ok("alerting service", `${alerting.url} takes the key`),
    ...(isEnding ? [] : [judgeExpiry(account, now(), names.key)]),
    ...found,
  ];
  if (source === undefined) return findings;
  return findings.map((finding) => ({ ...finding, check: `${finding.check} of ${source.name}` }));
}

const checkNames: Record<Matter, string> = {
  service: "alerting service",
  key: "API key",
  expiry: "API key",
  account: "account",
  webhook: "registration",
  channel: "messenger channel",
};

/** The findings of the relay's own watch, and where the account sends, unless one of them says that. */
async function judge(
  { id, apiKeyExpiresAt: keyExpiresAt, alertOutputs }: Account,
  config: Config,
  names: AccountNames,
  source: SourceSettings | undefined,
  { now, signal }: RelayRun["context"],
): Promise<Finding[]> {
  const { webhookUrl } = alertOutputs;
  const registration = await withKept(config, (kept) => registrationRecord(kept, names.source).read());
  const findSecret = async () => {
    if (source === undefined) return config.webhookSecret ?? (await readKeptSecret(config, "webhook-secret"))?.secret;
    return source.secret ?? (await readKeptSecret(config, `source-${source.name}`))?.secret;
  };
  const secret = webhookUrl === null ? undefined : await findSecret();
  const secrets = secret === undefined ? [] : [secret];
  const places = [config.server.publicUrl, registration?.publicUrl].filter((place) => place !== undefined);
  const isKnown = webhookUrl === null || (secrets.length > 0 && places.length > 0);
  const answersAt = async (url: string) => (await findRelayAt(url, secrets, signal)) !== undefined;
  const target = isKnown ? await findTarget(webhookUrl, places, { hookSecrets: () => secrets, answersAt }) : undefined;
  const bad = judgeAccount({
    names,
    look: { kind: "answer", reading: { id, keyExpiresAt, ...alertOutputs } },
    streaks: {},
    registration,
    target,
    fingerprint: () => "",
    mend: (byHand) => byHand,
    isLeft: false,
    now: now(),
  }).filter(({ verdict }) => verdict === "bad");
  const found = bad.map(({ matter, severity, title, text }) =>
    (severity === "critical" ? problem : warning)(checkNames[matter], title, text),
  );
  if (bad.some(({ matter }) => matter === "webhook")) return found;
  const isOff = registration?.accountId === id && registration.webhookOff === true;
  return [...found, describeTarget(target, showAddress(webhookUrl ?? ""), isOff, names)];
}

function describeTarget(target: Target | undefined, address: string, isOff: boolean, { setup }: AccountNames): Finding {
  const check = checkNames.webhook;
  const register = `register this relay with: ${setup}`;
  switch (target) {
    case undefined:
      return skipped(check, `the account sends to ${address}; whether that is here is not known`);
    case "here":
      return ok(check, "the account sends its alerts to this relay");
    case "nowhere": {
      if (!isOff) return problem(check, "the account has no webhook, so no alert is sent here", register);
      const detail = "setup has turned the account's webhook off, so no alert is sent here";
      return warning(check, detail, `turn it on again with: ${setup}`);
    }
    default: {
      const mend = target === "stranger" ? register : `${register} --take-over`;
      return problem(check, `the account sends to ${targetWords[target](address)}`, mend);
    }
  }
}

/** The service has just accepted the key, so no date can be a problem yet. */
export function judgeExpiry(
  { apiKeyExpiresAt: at, apiKeyExpirationTimestamp: given }: Account,
  now: number,
  key: string,
): Finding {
  const check = "API key";
  if (given === undefined || given === null || given === "") return ok(check, "no expiry is given");
  if (at === undefined || at < now - dayMs) {
    const says = oneLine(JSON.stringify(given), 60);
    return skipped(check, `accepted, but its expiry cannot be read: the service says ${says}`);
  }
  const detail = `${at > now ? "expires" : "expired"} ${withAge(at, now)}`;
  return at - now > soonMs ? ok(check, detail) : warning(check, detail, `ask the service for a new key and set ${key}`);
}
