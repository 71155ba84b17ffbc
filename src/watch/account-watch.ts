import { createHash } from "node:crypto";
import type { AccountView, WatchView } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { Clock, Random } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createPoll } from "../core/poll.ts";
import type { AccountReading, AccountService, Registration } from "../core/ports/account.ts";
import type { WatchState, WatchStore } from "../core/ports/watch.ts";
import type { Secret } from "../core/secret.ts";
import { showAddress } from "../ground/net/shown-address.ts";
import { createRedactor } from "../ground/text/redact.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { findTarget, targetOf } from "./hook-address.ts";
import {
  type AccountNames,
  accountNames,
  countLook,
  endOfKey,
  type Finding,
  isNews,
  judgeAccount,
  type Look,
  type Matter,
  readLook,
  refusedAgainMs,
  type Streaks,
  type Target,
  toLook,
} from "./judge-account.ts";
import {
  type AccountMemory,
  emptyMemory,
  mostADay,
  ofLastDay,
  planAccountNotice,
  readMemory,
  writeAccountNotice,
} from "./plan-account-notices.ts";
import { changeOutputs, planPutBack } from "./plan-outputs.ts";
import type { ShownDuty } from "./watch.ts";

export interface AccountWatchDeps {
  service: AccountService;
  store: WatchStore;
  /** See `Engine.notify`: to everybody who gets notices, and `watch` saved in the same step. */
  notify(facts: AlertFacts, watch: WatchState): Promise<void>;
  registration: {
    read(): Promise<Registration | undefined>;
    write(registration: Registration): Promise<void>;
    /** Calls this when it has changed: setup has run. @returns what ends that */
    follow(onChange: () => void): () => void;
  };
  /** The hook's secrets that this relay takes now, the present one first. */
  hookSecrets(): Secret[];
  /**
   * Whether this relay, or one on the same database, answers for a hook's address at another host. That host may still
   * keep alerts for itself. Never rejects.
   */
  answersAt(url: string): Promise<boolean>;
  clock: Clock;
  random: Random;
  log: Log;
}

export interface AccountWatchOptions {
  /** The source whose account it is. Default: it is that of `ALERTING_URL`. */
  source?: string;
  /** How the outside reaches this relay; absent: nobody has said. */
  publicUrl?: string;
  /** Where people see what is wrong, and can do something about it. */
  pageUrl: string;
  /** The longest time from one look to the next. Milliseconds. */
  everyMs: number;
  /** Outputs that somebody has changed are put back without being asked, at most three times a day. */
  putBack: boolean;
}

export interface AccountWatch extends ShownDuty {
  /** What the service said last; empty when nothing was heard since the start. */
  known(): Pick<AccountView, "answer" | "canPutBack">;
  /**
   * Makes the account send here again, as setup had registered it.
   * @throws AppError as `planPutBack` and the calls of the service do; `conflict` without a public address.
   */
  putBack(): Promise<"put-back" | "unchanged">;
}

/** Setup may be about to finish what looks like somebody else's change, and services answer nonsense for a moment. */
const longestConfirmMs = 10_000;
/** So many looks that cannot tell are made as soon as the one that confirms. */
const mostUnclear = 5;
/** How often a service that does not show the account is asked until people know of it. */
const blindEveryMs = 5 * 60_000;

/**
 * Looks at the account at the service, again and again, and tells people when it no longer is as setup left it. What is
 * found is told once two looks in a row have found it; all that may be told is compared with what people know, so it is
 * told once over any restart.
 */
export function createAccountWatch(deps: AccountWatchDeps, options: AccountWatchOptions): AccountWatch {
  const { service, store, registration, clock, random, log } = deps;
  const { publicUrl, everyMs } = options;
  const names = accountNames(options.source);
  let memory: AccountMemory | undefined;
  let streaks: Streaks = {};
  /** What the last look would have told, had it been the second, and how many looks since could not tell. */
  let suspected: Partial<Record<Matter, { says: string; mark: string; unclear: number }>> = {};
  /** What is bad in the same way since when. */
  let lasting: Partial<Record<Matter, { mark: string; since: number }>> = {};
  /** How often it came and went since the last notice, hidden by the limit. */
  const hidden: Partial<Record<Matter, number>> = {};
  /** The outputs were just put back: what came of it is looked at soon. */
  let hasPutBack = false;
  let last: { at: number; look: Look; findings: Finding[]; registered?: Registration } | undefined;
  let answer: AccountView["answer"];
  let stopping: AbortSignal | undefined;

  const placesOf = (registered: Registration | undefined) => [publicUrl, registered?.publicUrl];

  async function ask(signal?: AbortSignal): Promise<Look> {
    try {
      return readLook(await service.lookAtAccount({ signal }));
    } catch (error) {
      const look = toLook(error);
      // Whatever a service quotes in its errors may be the address that it has.
      const hide = createRedactor(
        deps.hookSecrets().map((secret) => secret.reveal()),
        { leastLength: 1 },
      );
      const clean = (text: string) => hide(text).replace(/\bhttps?:\/\/[^\s"'<>]+/gi, showAddress);
      return "why" in look ? { ...look, why: clean(look.why) } : look;
    }
  }

  /** That the account sends here is reason enough to hold it to that: setup may have run on another machine. */
  async function adopt(reading: AccountReading, known: Registration | undefined): Promise<Registration | undefined> {
    const isKnown = known !== undefined && known.webhookOff !== true;
    if (isKnown || publicUrl === undefined || reading.id === undefined || typeof reading.webhookUrl !== "string") {
      return known;
    }
    if (targetOf(reading.webhookUrl, [publicUrl], deps.hookSecrets()) !== "here") return known;
    const { id: accountId, messengerChannelId } = reading;
    const found = { accountId, publicUrl, messengerChannelId, at: clock.now() };
    try {
      await registration.write(found);
      log.info("account.registration_found", { accountId });
    } catch (error) {
      // It is found again by the next look.
      log.error("account.registration_unkept", { error: String(error).slice(0, 300) });
    }
    return found;
  }

  async function look(): Promise<void> {
    memory ??= readMemory(await store.loadWatchState(names.watch));
    const asked = await ask(stopping);
    if (stopping?.aborted) return;
    const now = clock.now();
    const known = await registration.read();
    const reading = asked.kind === "answer" ? asked.reading : undefined;
    const registered = reading ? await adopt(reading, known) : known;
    const target = await findTarget(reading?.webhookUrl, placesOf(registered), deps);
    streaks = countLook(streaks, asked, now);
    const findings = judgeAccount({
      names,
      look: asked,
      streaks,
      isRefusalTold: memory.told.key !== undefined,
      registration: registered,
      target,
      fingerprint,
      mend: (byHand) => describeMend(byHand, now),
      isLeft: options.putBack && isSpent(now),
      now,
    });
    last = { at: now, look: asked, findings: findings.map(withStanding), registered };
    if (reading) answer = toAnswer(reading, target, now);
    try {
      await tell(findings, now);
    } catch (error) {
      // The store is in trouble: the service is not to be asked any more often because of that.
      suspected = {};
      throw error;
    }
    await putBackUnasked(findings, registered, reading, now);
  }

  /** What people were told stays true for the page until something else is known. */
  function withStanding(finding: Finding): Finding {
    const before = last?.findings.find(({ matter }) => matter === finding.matter);
    const isStanding = finding.verdict === "unknown" && before?.verdict === "bad";
    return isStanding && memory?.told[finding.matter] !== undefined ? before : finding;
  }

  /** An answer that does not say ends nothing. */
  function countLasting(findings: Finding[], now: number): void {
    const before = lasting;
    lasting = {};
    for (const { matter, verdict, mark, since = now } of findings) {
      const known = before[matter];
      // While nobody knows of it, another form of it is no other trouble.
      const isTold = memory?.told[matter] !== undefined;
      const goesOn = verdict === "unknown" || (verdict === "bad" && (!isTold || known?.mark === mark));
      if (known !== undefined && goesOn) lasting[matter] = known;
      else if (verdict === "bad") lasting[matter] = { mark, since };
      else if (known !== undefined && !isTold && ofLastDay(memory?.toldAt[matter], now).length >= mostADay) {
        hidden[matter] = (hidden[matter] ?? 0) + 1;
      }
    }
  }

  async function tell(findings: Finding[], now: number): Promise<void> {
    countLasting(findings, now);
    const before = suspected;
    suspected = {};
    for (const finding of findings) {
      const { matter, mark } = finding;
      const badForMs = now - (lasting[matter]?.since ?? now);
      const due = planAccountNotice(finding, memory ?? emptyMemory, now, badForMs);
      const twin = before[matter];
      if (due === undefined) {
        // A failure between two answers does not make people wait for another interval.
        const isOpen = finding.verdict === "unknown" && twin !== undefined && twin.unclear < mostUnclear;
        if (isOpen) suspected[matter] = { ...twin, unclear: twin.unclear + 1 };
        continue;
      }
      suspected[matter] = { says: due.says, mark, unclear: 0 };
      if (twin?.says !== due.says || isNews(matter, twin.mark, mark)) continue;
      const about = { account: answer?.name, link: options.pageUrl, names, hidden: hidden[matter] };
      await deps.notify(writeAccountNotice(due, about), { name: names.watch, state: due.memory });
      memory = due.memory;
      delete hidden[matter];
      delete suspected[matter];
      log.warn("account.noticed", { watch: names.watch, matter, says: due.says });
    }
  }

  /** The attempt is on disk before the call leaves, so that no restart makes more of them. */
  async function putBackUnasked(
    findings: Finding[],
    registered: Registration | undefined,
    reading: AccountReading | undefined,
    now: number,
  ): Promise<void> {
    if (!options.putBack || reading === undefined || memory === undefined) return;
    const recent = ofLastDay(memory.putBackAt, now);
    // Not before people were told of it, and so not before a second look has found it. An address where this relay
    // answers may be meant, and alerts arrive: a person decides.
    const isTold = ({ matter, verdict, mark, isMild }: Finding) =>
      isOutput(matter) && verdict === "bad" && !isMild && !isNews(matter, memory?.told[matter], mark);
    if (!findings.some(isTold) || isSpent(now)) return;
    const hook = hookOf(registered);
    const isKept = findings.some(({ matter, isMild }) => matter === "webhook" && isMild);
    const isHere = (url: string) => isKept || hook.isHere(url);
    const change = planPutBack(reading, registered, { ...hook, isHere }, names);
    if (change === undefined) return;
    const next = { ...memory, putBackAt: [...recent, now] };
    await store.saveWatchState({ name: names.watch, state: next });
    memory = next;
    try {
      await changeOutputs(service, change, { isHere: hook.isHere, signal: stopping });
      log.warn("account.put_back", { outputs: Object.keys(change) });
    } catch (error) {
      log.error("account.not_put_back", { error: error instanceof AppError ? error.message : "unknown failure" });
    }
    hasPutBack = true;
  }

  function hookOf(registered: Registration | undefined) {
    const place = publicUrl ?? registered?.publicUrl;
    const [secret] = deps.hookSecrets();
    if (place === undefined || secret === undefined) {
      throw new AppError("conflict", "PUBLIC_URL is not set, so there is no address that the account could send to.", {
        hint: "Set it to the address that the internet reaches this relay by, and restart Tocsin.",
      });
    }
    const isHere = (url: string) => targetOf(url, placesOf(registered), deps.hookSecrets()) === "here";
    return { url: `${place}/hooks/${secret.reveal()}`, isHere };
  }

  function isSpent(now: number): boolean {
    return ofLastDay(memory?.putBackAt, now).length >= mostADay;
  }

  function describeMend(byHand: string, now: number): string {
    if (!options.putBack) return byHand;
    return isSpent(now)
      ? `Tocsin has put it back three times within a day, and leaves it now. ${byHand}`
      : "Tocsin puts it back now.";
  }

  const poll = createPoll({
    look,
    clock,
    everyMs() {
      const confirmMs = Math.min(longestConfirmMs, Math.round(everyMs / 10));
      const isSoon = hasPutBack || Object.keys(suspected).some((matter) => matter !== "key");
      hasPutBack = false;
      if (isSoon) return confirmMs;
      // Also where nothing is to be told of it: it was told before a restart, or often enough today.
      const isFirstRefusal = last?.look.kind === "refused" && streaks.refused?.looks === 1;
      if (isFirstRefusal || suspected.key !== undefined) return Math.min(refusedAgainMs, everyMs);
      const isBlind = streaks.blind !== undefined && memory?.told.service === undefined;
      const mostMs = isBlind ? Math.min(blindEveryMs, everyMs) : everyMs;
      // Many relays that start together do not ask together; a look that confirms still fits into the time.
      return Math.round(mostMs * (0.75 + 0.15 * random()));
    },
    onFailed: (error) => log.error("account.look_failed", { error: String(error).slice(0, 300) }),
  });

  return {
    async run(stop) {
      stopping = stop;
      // Whoever has just run setup looks at the page next.
      const unfollow = registration.follow(poll.wake);
      await poll.run(stop).finally(unfollow);
    },
    view: () => viewAccount(names, last),
    known: () => ({
      answer,
      canPutBack: last?.findings.some(({ matter, verdict }) => isOutput(matter) && verdict === "bad") === true,
    }),
    async putBack() {
      const reading = await service.lookAtAccount({ signal: stopping });
      const registered = await registration.read();
      const hook = hookOf(registered);
      const change = planPutBack(reading, registered, hook, names);
      if (change !== undefined) await changeOutputs(service, change, { isHere: hook.isHere, signal: stopping });
      poll.wake();
      return change === undefined ? "unchanged" : "put-back";
    },
  };
}

function isOutput(matter: Finding["matter"]): boolean {
  return matter === "webhook" || matter === "channel";
}

function viewAccount(
  { watch: name, setup }: AccountNames,
  last: { at: number; look: Look; findings: Finding[]; registered?: Registration } | undefined,
): WatchView {
  if (last === undefined) {
    return { name, verdict: "unknown", summary: "the service was not asked yet", troubles: [] };
  }
  const { at: lookedAt, look, findings, registered } = last;
  const bad = findings.filter(({ verdict }) => verdict === "bad");
  const troubles = bad.map(({ title, text }) => `${title}. ${text}`.trim());
  const seen = (verdict: WatchView["verdict"], summary: string): WatchView => ({
    name,
    verdict,
    summary,
    troubles,
    lookedAt,
  });
  const [first, ...more] = bad;
  if (first) {
    const summary = more.length === 0 ? first.title : `${first.title}, and ${more.length} more`;
    const { since, reason } = first;
    const level = bad.every(({ isFirst, isMild }) => isFirst || isMild) && ({ level: "warn" } as const);
    const isFirst = bad.every((finding) => finding.isFirst);
    const again = isFirst && { note: `it is asked again in ${formatDuration(refusedAgainMs)}` };
    return { ...seen("trouble", summary), since, reason, ...level, ...again };
  }
  if (look.kind !== "answer") return seen("unknown", `cannot tell: ${look.why}`);
  if (registered === undefined) {
    return seen("idle", `not registered here yet, so there is nothing to compare with; run: ${setup}`);
  }
  if (registered.webhookOff) return seen("idle", "setup has turned the account's webhook off");
  const unstated = findings.filter(({ matter, verdict }) => matter !== "expiry" && verdict === "unknown");
  if (unstated.length > 0) {
    const what = unstated.flatMap(({ matter }) => unstatedNames[matter] ?? []).join(" and ");
    return seen("unknown", `cannot tell: the service's answer does not say ${what}`);
  }
  return seen("well", "the account sends its alerts here");
}

/** What an answer leaves out when a matter cannot be judged. */
const unstatedNames: Partial<Record<Finding["matter"], string>> = {
  key: "which account it is",
  webhook: "where its alerts go",
  channel: "which messenger channel it has",
};

function toAnswer(reading: AccountReading, target: Target | undefined, at: number): AccountView["answer"] {
  const { id, name, webhookUrl, messengerChannelId } = reading;
  return {
    at,
    id,
    name,
    keyExpiresAt: endOfKey(reading, at),
    webhook: target,
    webhookAddress: typeof webhookUrl === "string" ? showAddress(webhookUrl) : undefined,
    messengerChannelId,
  };
}

function fingerprint(url: string): string {
  return createHash("sha256").update(url).digest("base64url").slice(0, 22);
}
