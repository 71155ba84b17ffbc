import { AppError } from "../core/errors.ts";
import type { AccountReading, Registration } from "../core/ports/account.ts";
import { showAddress } from "../ground/net/shown-address.ts";
import { oneLine } from "../ground/text/clean.ts";
import { dayMs, minuteMs } from "../ground/time/spans.ts";
import { createTimeFormat, formatDuration } from "../ground/time/time-format.ts";
import type { Finding } from "./findings.ts";

/** Each matter has its own notices and its own end. */
export const matters = ["service", "key", "account", "webhook", "channel", "expiry"] as const;
export type Matter = (typeof matters)[number];

export interface AccountNames {
  /** Absent: the account of `ALERTING_URL`. */
  source?: string;
  /** The watch, its memory, and the first part of its notices' keys: `account`, `account:desk`. */
  watch: string;
  /** `tocsin setup`, or the same for a source. */
  setup: string;
  key: string;
}

export function accountNames(source?: string): AccountNames {
  if (source === undefined) return { watch: "account", setup: "tocsin setup", key: "ALERTING_API_KEY" };
  const key = `the variable of sources.${source}.account.apiKey`;
  return { source, watch: `account:${source}`, setup: `tocsin setup --source ${source}`, key };
}

export type Look =
  | { kind: "answer"; reading: AccountReading }
  | { kind: "refused"; why: string }
  | { kind: "gone"; why: string }
  /** An answer without the account: a page, another form, another interface, a rate limit. */
  | { kind: "unclear"; why: string };

/** An answer without all of the expected parts says nothing about the account. */
export function readLook(reading: AccountReading): Look {
  if (reading.id !== undefined || reading.webhookUrl !== undefined) return { kind: "answer", reading };
  return { kind: "unclear", why: "the service's answer does not say which account it is and where its alerts go" };
}

export function toLook(error: unknown): Look {
  const { code, message: why } = error instanceof AppError ? error : { code: "internal", message: "the look failed" };
  if (code === "upstream_unauthorized" || code === "upstream_forbidden") return { kind: "refused", why };
  return { kind: code === "upstream_unreachable" || code === "upstream_failed" ? "gone" : "unclear", why };
}

/** How long the service has failed in the same way, look after look. At a start of the relay only a reported refusal goes on. */
export interface Streaks {
  /** No look has shown the account since then. */
  blind?: Streak;
  /** No look has had an answer since then. */
  gone?: Streak;
  refused?: Streak;
}

interface Streak {
  since: number;
  looks: number;
  why: string;
}

/** A refusal shows that the service is there. Only an answer with an account shows that the key is accepted. */
export function countLook({ blind, gone, refused }: Streaks, look: Look, at: number): Streaks {
  if (look.kind === "answer") return {};
  const grow = (streak?: Streak) => ({ since: streak?.since ?? at, looks: (streak?.looks ?? 0) + 1, why: look.why });
  if (look.kind === "refused") return { refused: grow(refused) };
  return { refused, blind: grow(blind), gone: look.kind === "gone" ? grow(gone) : undefined };
}

/**
 * `stranger`: here, with a secret that this relay does not accept. `answered`: another host, behind which this relay,
 * or one on its database, answers.
 */
export type Target = "here" | "stranger" | "elsewhere" | "answered" | "nowhere";

export interface AccountFinding extends Finding<Matter> {
  text: string;
  reason?: string;
  /** Seen once: the next look comes soon, and people get no notice before it. */
  isFirst?: boolean;
  /** Nothing is lost by it yet. */
  isMild?: boolean;
}

export interface AccountSight {
  names: AccountNames;
  look: Look;
  streaks: Streaks;
  /** People already know that the key is refused. Default: they do not. */
  isRefusalTold?: boolean;
  /** The outputs that setup has registered. Absent: none were registered here. */
  registration?: Registration;
  target?: Target;
  /** Distinguishes addresses without containing them. */
  fingerprint(url: string): string;
  /** Says what happens next to another's output. `byHand`: how a person puts the relay's own back. */
  mend(byHand: string): string;
  /** The relay has put the outputs back as often as it may, and leaves them now. */
  isLeft: boolean;
  now: number;
}

/** A service that restarts, or a short failure of the network, wakes nobody before this time. */
const goneAfterMs = 30 * minuteMs;
/** A rate limit, or a service's maintenance page, wakes nobody before this time. */
const unclearAfterMs = 60 * minuteMs;
/** The least number of failures: after a machine has slept, one failure would look like hours. */
const fewestBlind = 4;
/** The time to the next question after a refused key, milliseconds. Services sometimes answer 401 for a moment. */
export const refusedAgainMs = 30_000;
const { full } = createTimeFormat("UTC");
/** The days before the key's end at which people get a notice. */
const expiryDays = [1, 3, 7, 14];

export function judgeAccount(sight: AccountSight): AccountFinding[] {
  return [
    judgeService(sight),
    judgeKey(sight),
    judgeIdentity(sight),
    judgeWebhook(sight),
    judgeChannel(sight),
    judgeExpiry(sight),
  ];
}

function judgeService({ look, streaks: { blind, gone }, now }: AccountSight): AccountFinding {
  // One outage has one mark, whatever the service answers meanwhile.
  const found = { matter: "service", mark: "gone", text: "", severity: "warning" } as const;
  if (look.kind === "answer") return { ...found, verdict: "well", title: "The account can be looked at again" };
  if (look.kind === "refused") return { ...found, verdict: "well", title: "The alerting service answers again" };
  const isLong = (streak: Streak | undefined, afterMs: number): streak is Streak =>
    streak !== undefined && now - streak.since >= afterMs && streak.looks >= fewestBlind;
  // An odd answer at the start of an outage does not delay its notice.
  const isGone = isLong(gone, goneAfterMs);
  const streak = isGone ? gone : blind;
  if (!isLong(streak, isGone ? goneAfterMs : unclearAfterMs)) return { ...found, verdict: "unknown", title: "" };
  const { since } = streak;
  const title = isGone ? "The alerting service does not answer" : "The account cannot be looked at";
  const advice = isGone ? "" : " See whether the configured address still leads to the service.";
  const text = `Not since ${full(since)}, and last: ${look.why}. Nobody knows whether it still sends alerts.${advice}`;
  return { ...found, verdict: "bad", title, text, since, reason: look.why };
}

function judgeKey({ names, look, streaks: { refused }, isRefusalTold, now }: AccountSight): AccountFinding {
  const found = { matter: "key", mark: "refused", text: "", severity: "critical" } as const;
  if (look.kind === "answer") {
    const verdict = look.reading.id === undefined ? "unknown" : "well";
    return { ...found, verdict, title: "The alerting service takes the API key" };
  }
  if (look.kind !== "refused") return { ...found, verdict: "unknown", title: "" };
  const { since = now, looks = 1 } = refused ?? {};
  const reason = look.why.split(/answered \d{3}: /, 2)[1] ?? look.why;
  const said = `${full(since)}: ${reason.replace(/\.$/, "")}.`;
  if (looks === 1 && !isRefusalTold) {
    const title = "The alerting service refused the API key";
    const text = `At ${said} It is asked again in ${formatDuration(refusedAgainMs)}.`;
    return { ...found, verdict: "bad", title, text, since, reason, isFirst: true };
  }
  const guess = /expired|revoked/i.test(reason) ? "" : " It may have expired or been revoked.";
  const text =
    `Since ${said}${guess} No alert is sent with such a key. Ask ` +
    `the service for a new key, set ${names.key} and restart Tocsin.`;
  return { ...found, verdict: "bad", title: "The alerting service refuses the API key", text, since, reason };
}

/**
 * Epoch milliseconds. An accepted key has not ended: an end before yesterday comes from a wrong clock, or is no date.
 */
export function endOfKey({ keyExpiresAt }: AccountReading, now: number): number | undefined {
  return keyExpiresAt === undefined || keyExpiresAt < now - dayMs ? undefined : keyExpiresAt;
}

function judgeExpiry({ names, look, now }: AccountSight): AccountFinding {
  const found = { matter: "expiry", mark: "", title: "", text: "", severity: "info" } as const;
  const at = look.kind === "answer" ? endOfKey(look.reading, now) : undefined;
  if (at === undefined) return { ...found, verdict: "unknown" };
  const days = expiryDays.find((some) => at - now <= some * dayMs);
  const on = full(at);
  if (days === undefined) {
    const title = "The API key of the alerting service is good for longer";
    return { ...found, verdict: "well", title, text: `It expires ${on}.` };
  }
  const left = Math.ceil((at - now) / dayMs);
  const when =
    at <= now ? "has expired by this machine's clock" : left === 1 ? "expires within a day" : `expires in ${left} days`;
  return {
    ...found,
    verdict: "bad",
    mark: `${days}@${at}`,
    title: `The API key of the alerting service ${when}`,
    text: `It ends ${on}, and no alert is sent with it any longer. Ask the service for a new key, set ${names.key} and restart Tocsin.`,
    severity: days > 3 ? "warning" : "critical",
  };
}

/** The end of the mark of an output that the relay no longer puts back. */
const left = " left";

/**
 * Whether a mark is news after the reported one. For a key's end only a later one of its steps is news, so a clock that
 * is set back reports none again. People who have read that the relay puts an output back must also read that it stops.
 * The opposite is no news.
 */
export function isNews(matter: Matter, told: string | undefined, mark: string): boolean {
  if (told === undefined) return true;
  if (matter !== "expiry") return told !== mark && told !== `${mark}${left}`;
  const [toldDays = 0, toldAt = 0] = told.split("@").map(Number);
  const [days = 0, at = 0] = mark.split("@").map(Number);
  return Math.abs(at - toldAt) > dayMs || days < toldDays;
}

function judgeIdentity({ names, look, registration }: AccountSight): AccountFinding {
  const id = look.kind === "answer" ? look.reading.id : undefined;
  const title = "The API key belongs to the account that was set up";
  const found = { matter: "account", mark: id ?? "", title, text: "", severity: "critical" } as const;
  if (registration === undefined) return { ...found, verdict: "idle" };
  if (id === undefined) return { ...found, verdict: "unknown" };
  if (id === registration.accountId) return { ...found, verdict: "well" };
  return {
    ...found,
    verdict: "bad",
    title: "The API key belongs to another account than the one that was set up",
    text:
      `Setup registered this relay with the account ${registration.accountId}; the key now opens ${id}. ` +
      `If that is meant, run: ${names.setup}. If not, set the right ${names.key} and restart Tocsin.`,
  };
}

/** The outputs of another account cannot be compared. */
function isComparable({ look, registration }: AccountSight): boolean {
  return look.kind !== "answer" || look.reading.id === undefined || look.reading.id === registration?.accountId;
}

function judgeWebhook(sight: AccountSight): AccountFinding {
  const { names, look, registration, target, fingerprint, mend, isLeft } = sight;
  const url = look.kind === "answer" ? look.reading.webhookUrl : undefined;
  const byHand = describeByHand(names, "--take-over");
  const found = (verdict: AccountFinding["verdict"], title = "", mark = ""): AccountFinding => ({
    matter: "webhook",
    verdict,
    mark: isLeft ? `${mark}${left}` : mark,
    title: title || "The account sends its alerts here again",
    text: verdict === "bad" ? `No alert of the account arrives here until that is fixed. ${mend(byHand)}` : "",
    severity: "critical",
  });
  if (registration === undefined || registration.webhookOff || !isComparable(sight)) return found("idle");
  if (url === undefined || target === undefined) return found("unknown");
  const mark = fingerprint(url ?? "");
  const shown = showAddress(url ?? "");
  switch (target) {
    case "here":
      return found("well");
    case "nowhere":
      return found("bad", "The account's webhook was switched off", "off");
    case "stranger":
      return found("bad", "The account sends its alerts here with a secret that this relay does not take", mark);
    case "elsewhere":
      return found("bad", `The account sends its alerts to ${shown} and no longer here`, mark);
    case "answered":
      return {
        ...found("bad"),
        title: `The account sends its alerts to ${shown}, another address than the registered one; this relay answers there`,
        // A mark of its own: people get a notice when this relay no longer answers there.
        mark: `${mark} answered`,
        text: `Its host may keep alerts for itself. If it is meant, set PUBLIC_URL to it and run: ${names.setup}. If not: ${byHand}`,
        severity: "warning",
        isMild: true,
      };
  }
}

function judgeChannel(sight: AccountSight): AccountFinding {
  const { names, look, registration, mend, isLeft } = sight;
  const channel = look.kind === "answer" ? look.reading.messengerChannelId : undefined;
  const wanted = registration?.messengerChannelId;
  const option = typeof wanted === "string" ? `--channel ${showChannel(wanted)}` : "--no-channel";
  const found = (verdict: AccountFinding["verdict"], title: string): AccountFinding => ({
    matter: "channel",
    verdict,
    mark: verdict === "bad" ? `${oneLine(String(channel), 64)}${isLeft ? left : ""}` : "",
    title,
    text: verdict === "bad" ? `${mend(describeByHand(names, option))} If it is meant, run: ${names.setup}.` : "",
    severity: "warning",
  });
  if (wanted === undefined || !isComparable(sight)) return found("idle", "");
  if (channel === undefined) return found("unknown", "");
  if (channel === wanted) {
    const title =
      wanted === null
        ? "The account has no messenger channel again, as setup left it"
        : `The account's messenger channel is ${showChannel(wanted)} again`;
    return found("well", title);
  }
  const change = `from ${showChannel(wanted)} to ${showChannel(channel)}`;
  return found("bad", `The account's messenger channel was changed ${change}`);
}

function describeByHand({ setup }: AccountNames, option: string): string {
  return `Put it back on the page Account, or with: ${setup} ${option}.`;
}

function showChannel(channel: string | null): string {
  return channel === null ? "none" : oneLine(channel, 64);
}
