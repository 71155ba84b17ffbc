import type { Outcome } from "../../core/delivery.ts";
import type { ClaimedDelivery } from "../../core/delivery-job.ts";
import { logFailure } from "../../core/log.ts";
import type { Message } from "../../core/message.ts";
import type { PictureOutcome } from "../../core/picture-outcome.ts";
import type { Channel, SendContext } from "../../core/ports/channel.ts";
import type { Illustration } from "../../core/ports/illustration.ts";
import type { PictureDesk } from "../memory/picture-desk.ts";
import { type PaceKey, paceKeysOf } from "../plan/accounts.ts";
import { callChannel } from "./call-channel.ts";
import type { LaneContext } from "./context.ts";
import type { LaneStop } from "./lane.ts";

export interface SentMessage {
  /** The message's deliveries, newest first. */
  deliveries: readonly [ClaimedDelivery, ...ClaimedDelivery[]];
  /** Whether the message has one part and is about one alert. Any other message gets no picture. */
  isAlone: boolean;
  message: Message;
  ref: string | undefined;
  context: Omit<SendContext, "signal">;
}

export interface LanePicturesDeps
  extends Pick<LaneContext, "store" | "destination" | "channel" | "pace" | "settings" | "clock" | "log"> {
  desk: PictureDesk;
  /** See `Channel.illustrate`. */
  illustrate: NonNullable<Channel["illustrate"]>;
  /** Nothing is due, claimed or in flight. */
  isQuiet(): boolean;
  /** `claiming`: no more pictures are begun. `calls`: ends the calls in flight. */
  stop: LaneStop;
}

/** A chat with more messages in the last minute gets no pictures. */
const mostTexts = 5;
const minuteMs = 60_000;
/** From the text's answer to the picture's call. */
const beginWithinMs = 3_000;
const callTimeoutMs = 5_000;
const lookEveryMs = 50;
/** After these refusals in a row, or one request to call later, no picture is tried for `restMs`. */
const mostRefusals = 3;
const restMs = 10 * minuteMs;
/** The wait before each try to write a text again whose call has crossed with a picture's. */
const restoreWaitsMs = [0, 2_000, 10_000, 30_000];

interface Job {
  /** The delivery of the alert that the message shows now. */
  delivery: ClaimedDelivery;
  readonly ref: string;
  readonly context: SentMessage["context"];
  sentAt: number;
  /** A later alert that the message got while the picture was being added. */
  next?: SentMessage;
  message: Message;
  isBeingAdded: boolean;
  editsUnderWay: number;
  /** The text that the message got while its picture was being added. */
  changedTo?: Message;
}

/**
 * Adds pictures to messages that are already sent:
 *
 *     sent and on record ──▶ wanted? ──▶ drawn (2 s) ──▶ the lane is quiet (3 s) ──▶ added (5 s) ──▶ joined
 *                              └──────────────┴───────────────────┴─────────────────────┴──▶ none, and why
 *
 * No text and no delivery waits for a picture. The call has connections of its own. It is made only while the lane has nothing to
 * do and its chat could take a text at once. It takes no slot of the pace, so the number of pictures is limited here.
 *
 * A change of the text (`beginEdit`) wins: the picture is added to the newest text. Where the two calls have crossed, the newest
 * text is written again after the picture. A text with no room for the picture does not change the message while a picture is on
 * its way. Its alert answers the message.
 *
 * All state is in memory, so a restart costs only pictures. Results are noted, and stored when no delivery waits
 * (operations/picture-notes.ts).
 */
export class LanePictures {
  readonly #jobs = new Map<string, Job>();
  readonly #running = new Set<Promise<void>>();
  #texts: number[] = [];
  #refusals = 0;
  #restUntil = 0;

  constructor(private readonly deps: LanePicturesDeps) {}

  /** Called when a sent or changed message is on record. Returns at once. A changed one gets the later alert's picture. */
  noteSent(sent: SentMessage): void {
    const { desk, destination, stop, clock, log } = this.deps;
    const now = clock.now();
    this.#texts = [...this.#texts, now].slice(-mostTexts - 1);
    const { ref, message, context } = sent;
    const [delivery] = sent.deliveries;
    if (!sent.isAlone || ref === undefined || !isWanted(delivery) || stop.claiming.aborted) return;
    const refusal = this.#whyNot(message, now);
    const current = this.#jobs.get(ref);
    if (current !== undefined) {
      desk.note({ destination: destination.name, id: current.delivery.id }, changedSince);
      if (current.isBeingAdded) current.next = sent;
      else Object.assign(current, { delivery, message, sentAt: now });
      return;
    }
    if (refusal) {
      desk.note({ destination: destination.name, id: delivery.id }, refusal);
      return;
    }
    const job: Job = { delivery, ref, context, sentAt: now, message, isBeingAdded: false, editsUnderWay: 0 };
    this.#jobs.set(ref, job);
    const run = this.#illustrate(job)
      .catch(logFailure(log, "picture.failed", { destination: destination.name }))
      .finally(() => {
        if (this.#jobs.get(ref) === job) this.#jobs.delete(ref);
        this.#running.delete(run);
        if (job.next) this.noteSent(job.next);
      });
    this.#running.add(run);
  }

  /**
   * Called before a message is changed. `impossible`: a picture is on its way, and the text has no room next to it. Undefined: no
   * picture is on its way. Otherwise the returned function must be called with the outcome of the change.
   */
  beginEdit(ref: string, message: Message): "impossible" | ((outcome: Outcome | undefined) => void) | undefined {
    const job = this.#jobs.get(ref);
    if (!job) return undefined;
    if (job.isBeingAdded && !this.#holdsPicture(message)) return "impossible";
    job.editsUnderWay += 1;
    return (outcome) => {
      job.editsUnderWay -= 1;
      if (outcome?.kind !== "sent") return;
      if (job.next) job.next = { ...job.next, message };
      if (job.isBeingAdded) job.changedTo = message;
      else job.message = message;
    };
  }

  /** Resolves when nothing is running. Never rejects. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #whyNot(message: Message, now: number): PictureOutcome | undefined {
    if (!this.#holdsPicture(message)) return tooLong;
    if (this.#texts.length > mostTexts && (this.#texts[0] ?? 0) > now - minuteMs)
      return { result: "many", reason: `more than ${mostTexts} messages went there within a minute` };
    if (this.#restUntil > now && this.#restUntil <= now + restMs)
      return { result: "refused", reason: "pictures were refused there before; they are tried again later" };
    return undefined;
  }

  #holdsPicture(message: Message): boolean {
    return this.deps.channel.holdsPicture?.(message) ?? true;
  }

  async #illustrate(job: Job): Promise<void> {
    const { desk, destination, clock, log } = this.deps;
    const outcome = await this.#tryToAdd(job);
    const { delivery, sentAt } = job;
    const tookMs = clock.now() - sentAt;
    const said = outcome.result === "joined" ? { ...outcome, afterMs: tookMs } : outcome;
    desk.note({ destination: destination.name, id: delivery.id }, said);
    log.info("picture.ended", {
      destination: destination.name,
      delivery: delivery.id,
      alert: delivery.alertId,
      durationMs: tookMs,
      result: said.result,
      reason: said.reason,
    });
    if (job.isBeingAdded) await this.#restoreText(job);
  }

  async #tryToAdd(job: Job): Promise<PictureOutcome> {
    const { desk, destination, stop } = this.deps;
    for (;;) {
      const { delivery } = job;
      const drawing = await desk.draw(delivery.alertId, destination.timeZone);
      const isQuiet = "illustration" in drawing && (await this.#waitForQuiet(job));
      // The message shows a later alert meanwhile.
      if (job.delivery !== delivery) continue;
      if (!("illustration" in drawing)) return drawing;
      if (!isQuiet) return stop.claiming.aborted ? stopped : noRoom;
      if (!this.#holdsPicture(job.message)) return tooLong;
      return await this.#add(job, drawing.illustration);
    }
  }

  /** Waits until the lane is quiet and its pace is at most half used: the rest is for texts. */
  async #waitForQuiet({ delivery, sentAt }: Job): Promise<boolean> {
    const { destination, pace, stop, clock } = this.deps;
    const keys = paceKeysOf(destination, delivery.recipient, this.deps.settings).map(halved);
    for (;;) {
      const now = clock.now();
      if (stop.claiming.aborted || now > sentAt + beginWithinMs) return false;
      if (this.deps.isQuiet() && pace.nextSlot(keys, now).at <= now) return true;
      await clock.sleep(lookEveryMs, stop.claiming);
    }
  }

  async #add(job: Job, illustration: Illustration): Promise<PictureOutcome> {
    const { destination, illustrate, pace, stop, clock } = this.deps;
    const { ref, message, context } = job;
    job.isBeingAdded = true;
    const outcome = await this.#call((signal) => illustrate(ref, message, illustration, { ...context, signal }));
    if (outcome.kind === "sent") {
      this.#refusals = 0;
      return { result: "joined" };
    }
    const now = clock.now();
    const isAsked = outcome.kind !== "rejected" && outcome.waitMs !== undefined;
    this.#refusals += 1;
    if (isAsked || this.#refusals >= mostRefusals) this.#restUntil = now + restMs;
    const paces = pace.parkAfter(outcome, destination, context.recipient, now);
    // If that fails, the next recorded text saves them.
    if (paces.length > 0) void this.deps.store.savePaces(paces).catch(() => {});
    return { result: stop.calls.aborted ? "stopped" : "refused", reason: outcome.detail };
  }

  #call(act: (signal: AbortSignal) => Promise<Outcome>): Promise<Outcome> {
    return callChannel(act, { timeoutMs: callTimeoutMs, stop: this.deps.stop.calls }, this.deps);
  }

  /** Writes the newest text again: the vendor may have taken the two calls in either order. */
  async #restoreText(job: Job): Promise<void> {
    const { destination, stop, clock, log } = this.deps;
    const { edit } = this.deps.channel;
    while (job.editsUnderWay > 0 && !stop.calls.aborted) await clock.sleep(lookEveryMs, stop.calls);
    for (const waitMs of restoreWaitsMs) {
      const { changedTo } = job;
      if (changedTo === undefined || !edit) return;
      await clock.sleep(waitMs, stop.calls);
      if (stop.calls.aborted) return;
      const outcome = await this.#call((signal) => edit(job.ref, changedTo, { ...job.context, signal }));
      if (outcome.kind === "sent" && job.changedTo === changedTo) return;
      if (outcome.kind === "rejected") {
        log.warn("picture.text_not_restored", { destination: destination.name, reason: outcome.reason });
        return;
      }
    }
  }
}

/** Firing alerts get a picture, and tests. A resolving alert keeps the picture of its first message. */
function isWanted({ purpose, status, origin }: ClaimedDelivery): boolean {
  const isOfAlert = purpose === "alert" || purpose === "fallback" || purpose === "resend";
  return isOfAlert && origin !== "notice" && status !== "resolved";
}

function halved({ key, pace: { perMinute, ...rest } }: PaceKey): PaceKey {
  return { key, pace: perMinute === undefined ? rest : { ...rest, perMinute: perMinute / 2 } };
}

const tooLong: PictureOutcome = {
  result: "too_long",
  reason: "the text is longer than what the channel takes under a picture",
};
const noRoom: PictureOutcome = {
  result: "late",
  reason: `there was no room beside the texts within ${beginWithinMs / 1000} s`,
};
const changedSince: PictureOutcome = {
  result: "late",
  reason: "its message came to show a later alert before",
};
const stopped: PictureOutcome = { result: "stopped", reason: "Tocsin was stopped meanwhile" };
