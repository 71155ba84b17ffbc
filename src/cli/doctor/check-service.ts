import type { Config } from "../../config/config.ts";
import { registrationRecord } from "../../config/registration.ts";
import type { UpstreamAccess } from "../../config/upstream-env.ts";
import type { Secret } from "../../core/secret.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";
import { oneLine } from "../../ground/text/clean.ts";
import { withKept } from "../../store/with-kept.ts";
import { createAlertingClient } from "../../upstream/alerting-client.ts";
import type { Account } from "../../upstream/alerting-schemas.ts";
import { findRelayAt } from "../../upstream/prove-address.ts";
import { type AccountNames, accountNames } from "../../watch/judge-account.ts";
import { isSecretOf } from "../../watch/put-back.ts";
import { type RelayRun, readKeptSecret } from "../relay/connect-relay.ts";
import { countOf, describeAge } from "../shell/amounts.ts";
import { maskWebhookUrl } from "../upstream/mask-webhook-url.ts";
import { type Finding, toFinding } from "./finding.ts";

const dayMs = 86_400_000;
const soonMs = 14 * dayMs;
/** The Date header counts whole seconds. */
const unnoticedSkewMs = 5_000;
/** Signed requests and time-outs of others begin to fail here (Standard Webhooks allows five minutes). */
const harmfulSkewMs = 120_000;

/** Whose account is looked at. */
interface Subject {
  names: AccountNames;
  alerting: UpstreamAccess;
  /** Of its hook. Throws as reading it does. */
  findSecret(): Promise<Secret | undefined>;
}

/** Each account at the alerting service: the key, its end, and whether alerts are sent here. */
export async function checkService(run: RelayRun, config: Config): Promise<Finding[]> {
  const { sources, upstream } = config;
  const findings: Finding[] = [];
  if (upstream.alerting === undefined) {
    const detail = "ALERTING_URL and ALERTING_API_KEY are not set, so the account cannot be looked at";
    findings.push({ check: "alerting service", verdict: "skipped", detail });
  } else {
    const findSecret = async () => config.webhookSecret ?? (await readKeptSecret(config, "webhook-secret"))?.secret;
    const subject = { names: accountNames(), alerting: upstream.alerting, findSecret };
    findings.push(...(await checkAccount(run, config, subject)));
  }
  for (const { name, account: alerting, secret } of sources) {
    if (alerting === undefined) continue;
    const findSecret = async () => secret ?? (await readKeptSecret(config, `source-${name}`))?.secret;
    const found = await checkAccount(run, config, { names: accountNames(name), alerting, findSecret });
    findings.push(...found.map((finding) => ({ ...finding, check: `${finding.check} of ${name}` })));
  }
  return findings;
}

async function checkAccount(run: RelayRun, config: Config, subject: Subject): Promise<Finding[]> {
  const { alerting, names } = subject;
  const { now, random, sleep, signal } = run.context;
  const client = createAlertingClient({ ...alerting, now, random, sleep });
  const clock = checkClock(run, alerting.url);
  try {
    const { account } = await client.readAccount({ signal });
    return [
      { check: "alerting service", verdict: "ok", detail: `${alerting.url} takes the key` },
      judgeExpiry(account, now(), names.key),
      await judgeWebhook(account, config, subject, signal).catch((error) => toFinding("registration", error)),
      ...(await clock),
    ];
  } catch (error) {
    return [toFinding("alerting service", error), ...(await clock)];
  }
}

/** When the key ends, in days. The service has just taken it, so whatever it says of its end is no problem yet. */
export function judgeExpiry(
  { apiKeyExpiresAt, apiKeyExpirationTimestamp: given }: Account,
  now: number,
  key = "ALERTING_API_KEY",
): Finding {
  const check = "API key";
  if (given === undefined || given === null || given === "") {
    return { check, verdict: "ok", detail: "no expiry is given" };
  }
  if (apiKeyExpiresAt === undefined || apiKeyExpiresAt < now - dayMs) {
    const says = oneLine(JSON.stringify(given), 60);
    return { check, verdict: "skipped", detail: `accepted, but its expiry cannot be read: the service says ${says}` };
  }
  const days = Math.floor((apiKeyExpiresAt - now) / dayMs);
  const when = days >= 1 ? `in ${countOf(days, "day")}` : describeAge(apiKeyExpiresAt, now);
  const detail = `${apiKeyExpiresAt > now ? "expires" : "expired"} ${new Date(apiKeyExpiresAt).toISOString()} (${when})`;
  if (apiKeyExpiresAt - now > soonMs) return { check, verdict: "ok", detail };
  return { check, verdict: "warning", detail, mend: `ask the service for a new key and set ${key}` };
}

/** Alerts come here only when the account's webhook is this relay's hook, secret and all. */
async function judgeWebhook(
  { id, alertOutputs }: Account,
  config: Config,
  { names, findSecret }: Subject,
  signal: AbortSignal,
): Promise<Finding> {
  const check = "registration";
  const register = `register this relay with: ${names.setup}`;
  const registered = await withKept(config, (kept) => registrationRecord(kept, names.source).read());
  const wasHere = registered?.accountId === id && registered.webhookOff !== true;
  const changed = "somebody has changed that since setup; put it back on the page Account, or with:";
  const { webhookUrl } = alertOutputs;
  if (webhookUrl === null && registered?.accountId === id && registered.webhookOff) {
    const detail = "setup has turned the account's webhook off, so no alert is sent here";
    return { check, verdict: "warning", detail, mend: `turn it on again with: ${names.setup}` };
  }
  if (webhookUrl === null) {
    const detail = "the account has no webhook, so no alert is sent here";
    return { check, verdict: "problem", detail, mend: wasHere ? `${changed} ${names.setup}` : register };
  }
  const { publicUrl } = config.server;
  const secret = await findSecret();
  if (publicUrl === undefined || secret === undefined) {
    const detail = `the account sends to ${maskWebhookUrl(webhookUrl)}; whether that is here is not known`;
    return { check, verdict: "skipped", detail };
  }
  const hookUrl = `${publicUrl}/hooks/${secret.reveal()}`;
  const here = "the account sends its alerts to this relay";
  if (webhookUrl === hookUrl) return { check, verdict: "ok", detail: here };
  if (isSecretOf(webhookUrl, publicUrl, [secret])) {
    return { check, verdict: "ok", detail: `${here}, under another form of its address` };
  }
  const isSamePlace = maskWebhookUrl(webhookUrl) === maskWebhookUrl(hookUrl);
  const detail = isSamePlace
    ? "the account sends to this address with another secret: those alerts are answered 404"
    : `the account sends to ${maskWebhookUrl(webhookUrl)}, not to ${maskWebhookUrl(hookUrl)}`;
  const mend = `${wasHere ? changed : "register this relay with:"} ${names.setup} --take-over`;
  if (!isSamePlace && (await findRelayAt(webhookUrl, [secret], signal)) !== undefined) {
    return {
      check,
      verdict: "warning",
      detail: `${detail}: a relay with this secret answers there, but its host may keep alerts`,
      mend: `if it is meant, set PUBLIC_URL to it and run: ${names.setup}; if not, ${mend}`,
    };
  }
  return { check, verdict: "problem", detail, mend: isSamePlace ? register : mend };
}

/** By the Date header of any answer, half of the way there and back taken off. Silent when there is none. */
async function checkClock({ context }: RelayRun, url: string): Promise<Finding[]> {
  const check = "clock";
  try {
    const startedAt = context.now();
    const response = await withTimeLimit(5_000, context.signal, ({ signal }) =>
      fetch(url, { method: "HEAD", redirect: "manual", signal }),
    );
    const endedAt = context.now();
    const theirs = Date.parse(response.headers.get("date") ?? "");
    if (Number.isNaN(theirs)) return [];
    const skewMs = (startedAt + endedAt) / 2 - (theirs + 500);
    if (Math.abs(skewMs) < unnoticedSkewMs) return [{ check, verdict: "ok", detail: "agrees with the service's" }];
    const seconds = Math.round(Math.abs(skewMs) / 1_000);
    return [
      {
        check,
        verdict: Math.abs(skewMs) < harmfulSkewMs ? "warning" : "problem",
        detail: `this machine is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the service`,
        mend: "let the machine set its clock by NTP",
      },
    ];
  } catch {
    // That the service does not answer is a finding of the check of the account.
    return [];
  }
}
