import { z } from "zod";
import type { AccountView, WatchView } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { Random } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { AccountReading, AccountService, Registration } from "../core/ports/account.ts";
import { hashText, type Secret } from "../core/secret.ts";
import { showAddress } from "../ground/net/shown-address.ts";
import { errorText } from "../ground/text/error-text.ts";
import { createRedactor } from "../ground/text/redact.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { type DueNotice, Findings, ofLastDay, toldSchema } from "./findings.ts";
import { findTarget, targetOf } from "./hook-address.ts";
import {
  type AccountFinding,
  type AccountNames,
  accountNames,
  countLook,
  endOfKey,
  isNews,
  judgeAccount,
  type Look,
  readLook,
  refusedAgainMs,
  type Streaks,
  type Target,
  toLook,
} from "./judge-account.ts";
import { changeOutputs, planPutBack } from "./plan-outputs.ts";
import { Watch, type WatchDeps } from "./watch.ts";

export interface AccountWatchDeps extends Omit<WatchDeps, "publicUrl"> {
  service: AccountService;
  registration: {
    read(): Promise<Registration | undefined>;
    write(registration: Registration): Promise<void>;
    /** Calls `onChange` after setup has run. @returns a function that ends the calls */
    follow(onChange: () => void): () => void;
  };
  /** The secrets of the hook that this relay accepts now, the current one first. */
  hookSecrets(): readonly Secret[];
  /** Whether this relay, or one on the same database, answers at a hook's address on another host. Never rejects. */
  answersAt(url: string): Promise<boolean>;
  random: Random;
}

export interface AccountWatchOptions {
  /** The source of the account. Default: the account of `ALERTING_URL`. */
  source?: string;
  /** Absent: none is configured. */
  publicUrl?: string;
  pageUrl: string;
  /** The longest time between two looks, milliseconds. */
  everyMs: number;
  /** Whether the relay puts changed outputs back by itself, at most three times a day. */
  putBack: boolean;
}

/** The longest time to the look that confirms a finding. A running setup first looks like somebody else's change. */
const longestConfirmMs = 10_000;
/** How often a service that does not show the account is asked, until people have a notice. */
const blindEveryMs = 5 * 60_000;

/** The most times a day. A relay that puts the account back more often is in a fight with another program. */
const mostPutBack = 3;

const memorySchema = toldSchema.extend({
  /** When the relay put the outputs back by itself in the last 24 hours. */
  putBackAt: z.array(z.number()),
  /** When the key was first refused, epoch milliseconds. Absent: no refusal is reported. */
  refusedSince: z.number().optional(),
});
type Memory = z.infer<typeof memorySchema>;

interface Seen {
  at: number;
  look: Look;
  findings: AccountFinding[];
  registered?: Registration;
}

/** Sends a notice when the service's account differs from what setup registered, in two looks in a row. */
export class AccountWatch extends Watch<Memory> {
  readonly name: string;
  readonly schema = memorySchema;
  memory: Memory = { told: {}, toldAt: {}, putBackAt: [] };
  readonly #names: AccountNames;
  readonly #findings: Findings<AccountFinding, Memory>;
  /** Absent before the first look. */
  #streaks?: Streaks;
  #hasPutBack = false;
  #last?: Seen;
  #answer: AccountView["answer"];
  #isServiceTold = false;
  #stop?: AbortSignal;

  constructor(
    private readonly deps: AccountWatchDeps,
    private readonly options: AccountWatchOptions,
  ) {
    super({ ...deps, publicUrl: options.pageUrl });
    this.#names = accountNames(options.source);
    this.name = this.#names.watch;
    this.#findings = new Findings({
      confirmations: 2,
      mostADay: 3,
      isNews,
      write: (due) => this.#write(due),
      onTold: ({ finding: { matter }, isWorse }) =>
        deps.log.warn("account.noticed", { watch: this.name, matter, says: isWorse ? "worse" : "better" }),
    });
  }

  override async run(stop: AbortSignal): Promise<void> {
    // Looks at once after setup: people look at the page next.
    const unfollow = this.deps.registration.follow(this.wake);
    await super.run(stop).finally(unfollow);
  }

  readonly everyMs = (): number => {
    const { everyMs } = this.options;
    const suspected = this.#findings.suspected();
    const isSoon = this.#hasPutBack || suspected.some((matter) => matter !== "key");
    this.#hasPutBack = false;
    if (isSoon) return Math.min(longestConfirmMs, Math.round(everyMs / 10));
    // Also without a notice: a notice may have gone out before a restart, or the day's limit is reached.
    const isFirstRefusal = this.#last?.look.kind === "refused" && this.#streaks?.refused?.looks === 1;
    if (isFirstRefusal || suspected.includes("key")) return Math.min(refusedAgainMs, everyMs);
    const isBlind = this.#streaks?.blind !== undefined && !this.#isServiceTold;
    const mostMs = isBlind ? Math.min(blindEveryMs, everyMs) : everyMs;
    // Relays that start together should not ask together. A confirming look still fits into the time.
    return Math.round(mostMs * (0.75 + 0.15 * this.deps.random()));
  };

  async look(stop: AbortSignal): Promise<void> {
    this.#stop = stop;
    const look = await this.#ask(stop);
    if (stop.aborted) return;
    const now = this.deps.clock.now();
    const known = await this.deps.registration.read();
    const reading = look.kind === "answer" ? look.reading : undefined;
    const registered = reading ? await this.#adopt(reading, known) : known;
    const target = await findTarget(reading?.webhookUrl, this.#placesOf(registered), this.deps);
    const { memory } = this;
    this.#streaks = countLook(this.#streaks ?? resumeStreaks(memory), look, now);
    const findings = judgeAccount({
      names: this.#names,
      look,
      streaks: this.#streaks,
      isRefusalTold: memory.told.key !== undefined,
      registration: registered,
      target,
      fingerprint: (url) => hashText(url).slice(0, 22),
      mend: (byHand) => this.#describeMend(byHand, isSpent(memory, now)),
      isLeft: this.options.putBack && isSpent(memory, now),
      now,
    });
    this.#last = { at: now, look, findings: findings.map((finding) => this.#standing(finding)), registered };
    if (reading) this.#answer = toAnswer(reading, target, now);
    try {
      await this.#findings.tell(findings, this, now);
    } finally {
      this.#isServiceTold = this.memory.told.service !== undefined;
    }
    if (this.options.putBack && reading) await this.#putBackUnasked({ findings, registered, reading, now });
  }

  override tell(facts: AlertFacts | undefined, memory: Memory): Promise<void> {
    const refusedSince = memory.told.key === undefined ? undefined : this.#streaks?.refused?.since;
    return super.tell(facts, { ...memory, refusedSince });
  }

  async #ask(signal: AbortSignal): Promise<Look> {
    try {
      return readLook(await this.deps.service.lookAtAccount({ signal }));
    } catch (error) {
      const look = toLook(error);
      // Errors of a service may quote the account's address.
      const secrets = this.deps.hookSecrets().map((secret) => secret.reveal());
      const hide = createRedactor(secrets, { leastLength: 1 });
      const clean = (text: string) => hide(text).replace(/\bhttps?:\/\/[^\s"'<>]+/gi, showAddress);
      return "why" in look ? { ...look, why: clean(look.why) } : look;
    }
  }

  /** An account that already sends here is registered: setup may have run on another machine. */
  async #adopt(reading: AccountReading, known: Registration | undefined): Promise<Registration | undefined> {
    const { publicUrl } = this.options;
    const isKnown = known !== undefined && known.webhookOff !== true;
    if (isKnown || publicUrl === undefined || reading.id === undefined || typeof reading.webhookUrl !== "string") {
      return known;
    }
    const { hookSecrets, registration, clock, log } = this.deps;
    if (targetOf(reading.webhookUrl, [publicUrl], hookSecrets()) !== "here") return known;
    const { id: accountId, messengerChannelId } = reading;
    const found = { accountId, publicUrl, messengerChannelId, at: clock.now() };
    try {
      await registration.write(found);
      log.info("account.registration_found", { accountId });
    } catch (error) {
      log.error("account.registration_unkept", { error: errorText(error) });
    }
    return found;
  }

  /** An earlier finding stays on the page until a look has a clear answer. */
  #standing(finding: AccountFinding): AccountFinding {
    const before = this.#last?.findings.find(({ matter }) => matter === finding.matter);
    const isStanding = finding.verdict === "unknown" && before?.verdict === "bad";
    return isStanding && this.memory.told[finding.matter] !== undefined ? before : finding;
  }

  /** Saves the attempt before the call, so a restart makes no further one. */
  async #putBackUnasked(found: {
    findings: AccountFinding[];
    registered?: Registration;
    reading: AccountReading;
    now: number;
  }): Promise<void> {
    const { findings, registered, reading, now } = found;
    const { memory } = this;
    // People need a notice first. An address where this relay answers may be meant: a person decides.
    const isTold = ({ matter, verdict, mark, isMild }: AccountFinding) =>
      isOutput(matter) && verdict === "bad" && !isMild && !isNews(matter, memory.told[matter], mark);
    if (!findings.some(isTold) || isSpent(memory, now)) return;
    const { service, log } = this.deps;
    const hook = this.#hookOf(registered);
    const isKept = findings.some(({ matter, isMild }) => matter === "webhook" && isMild);
    const isHere = (url: string) => isKept || hook.isHere(url);
    const change = planPutBack(reading, registered, { ...hook, isHere }, this.#names);
    if (change === undefined) return;
    await this.keep({ ...memory, putBackAt: [...ofLastDay(memory.putBackAt, now), now] });
    try {
      await changeOutputs(service, change, { isHere: hook.isHere, signal: this.#stop });
      log.warn("account.put_back", { outputs: Object.keys(change) });
    } catch (error) {
      log.error("account.not_put_back", { error: error instanceof AppError ? error.message : "unknown failure" });
    }
    this.#hasPutBack = true;
  }

  /** @throws AppError as `planPutBack` and the calls of the service do. `conflict` without a public address. */
  async putBack(): Promise<"put-back" | "unchanged"> {
    const { service, registration } = this.deps;
    const signal = this.#stop;
    const reading = await service.lookAtAccount({ signal });
    const registered = await registration.read();
    const hook = this.#hookOf(registered);
    const change = planPutBack(reading, registered, hook, this.#names);
    if (change !== undefined) await changeOutputs(service, change, { isHere: hook.isHere, signal });
    this.wake();
    return change === undefined ? "unchanged" : "put-back";
  }

  #placesOf(registered: Registration | undefined) {
    return [this.options.publicUrl, registered?.publicUrl];
  }

  #hookOf(registered: Registration | undefined) {
    const { hookSecrets } = this.deps;
    const place = this.options.publicUrl ?? registered?.publicUrl;
    const [secret] = hookSecrets();
    if (place === undefined || secret === undefined) {
      throw new AppError("conflict", "PUBLIC_URL is not set, so there is no address that the account could send to.", {
        hint: "Set it to the address that the internet reaches this relay by, and restart Tocsin.",
      });
    }
    const isHere = (url: string) => targetOf(url, this.#placesOf(registered), hookSecrets()) === "here";
    return { url: `${place}/hooks/${secret.reveal()}`, isHere };
  }

  #describeMend(byHand: string, isGivenUp: boolean): string {
    if (!this.options.putBack) return byHand;
    return isGivenUp
      ? `Tocsin has put it back three times within a day, and leaves it now. ${byHand}`
      : "Tocsin puts it back now.";
  }

  #write({ finding, isWorse, isLast, hidden }: DueNotice<AccountFinding>) {
    const { matter, title, text, severity } = finding;
    const { source, watch } = this.#names;
    const joined = hidden === 0 ? "" : ` It also came and went ${hidden === 1 ? "once" : `${hidden} times`} before.`;
    const last = isLast
      ? " This has changed three times within a day; for 24 hours from the first time you get a notice only of what lasts for ten minutes."
      : "";
    const account = this.#answer?.name;
    return {
      key: `${watch}:${matter}`,
      link: this.options.pageUrl,
      title: source === undefined ? title : `${source}: ${title}`,
      text: `${text}${isWorse ? joined : ""}${last}`.trim() || undefined,
      severity: isWorse ? severity : "info",
      fields: account === undefined ? [] : [{ name: "account", value: account }],
    };
  }

  view(): WatchView {
    const { watch: name, setup } = this.#names;
    if (this.#last !== undefined) return viewAccount(name, setup, this.#last);
    return { name, verdict: "unknown", summary: "the service was not asked yet", troubles: [] };
  }

  known(): Pick<AccountView, "answer" | "canPutBack"> {
    const isWrong = ({ matter, verdict }: AccountFinding) => isOutput(matter) && verdict === "bad";
    return { answer: this.#answer, canPutBack: this.#last?.findings.some(isWrong) === true };
  }
}

/** At a start of the relay a refusal that people know of goes on. Its looks are counted anew, so it is confirmed soon. */
function resumeStreaks({ refusedSince: since }: Memory): Streaks {
  return since === undefined ? {} : { refused: { since, looks: 0, why: "" } };
}

const isSpent = ({ putBackAt }: Memory, now: number) => ofLastDay(putBackAt, now).length >= mostPutBack;

const isOutput = (matter: AccountFinding["matter"]) => matter === "webhook" || matter === "channel";

function viewAccount(name: string, setup: string, { at: lookedAt, look, findings, registered }: Seen): WatchView {
  const bad = findings.filter(({ verdict }) => verdict === "bad");
  const troubles = bad.map(({ title, text }) => `${title}. ${text}`.trim());
  const seen = { name, troubles, lookedAt };
  const [first, ...more] = bad;
  if (first) {
    const summary = more.length === 0 ? first.title : `${first.title}, and ${more.length} more`;
    const { since, reason } = first;
    const level = bad.every(({ isFirst, isMild }) => isFirst || isMild) && ({ level: "warn" } as const);
    const isFirst = bad.every((finding) => finding.isFirst);
    const again = isFirst && { note: `it is asked again in ${formatDuration(refusedAgainMs)}` };
    return { ...seen, verdict: "trouble", summary, since, reason, ...level, ...again };
  }
  if (look.kind !== "answer") return { ...seen, verdict: "unknown", summary: `cannot tell: ${look.why}` };
  if (registered === undefined) {
    const summary = `not registered here yet, so there is nothing to compare with; run: ${setup}`;
    return { ...seen, verdict: "idle", summary };
  }
  if (registered.webhookOff) return { ...seen, verdict: "idle", summary: "setup has turned the account's webhook off" };
  const unstated = findings.filter(({ matter, verdict }) => matter !== "expiry" && verdict === "unknown");
  if (unstated.length > 0) {
    const what = unstated.flatMap(({ matter }) => unstatedNames[matter] ?? []).join(" and ");
    return { ...seen, verdict: "unknown", summary: `cannot tell: the service's answer does not say ${what}` };
  }
  return { ...seen, verdict: "well", summary: "the account sends its alerts here" };
}

/** The part of the answer that each matter is judged by. */
const unstatedNames: Partial<Record<AccountFinding["matter"], string>> = {
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
