import type { Clock } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { ClaimedDelivery } from "../../core/delivery-job.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { Log } from "../../core/log.ts";
import type { Message } from "../../core/message.ts";
import type { PictureOutcome } from "../../core/picture-outcome.ts";
import type { Channel, SendContext } from "../../core/ports/channel.ts";
import type { Illustration } from "../../core/ports/illustration.ts";
import type { Destination } from "../../core/rules.ts";
import type { LaneStore } from "../lane-store.ts";
import type { PaceMemory } from "../memory/pace.ts";
import type { PictureDesk } from "../memory/picture-desk.ts";
import { type PaceKey, paceKeysOf } from "../plan/accounts.ts";
import { callChannel } from "./call-channel.ts";
import type { LaneStop } from "./lane.ts";

/**
 * How a message gets its picture, behind its back:
 *
 *     sent and on record ──▶ wanted? ──▶ drawn (2 s) ──▶ the lane is quiet (3 s) ──▶ added (5 s) ──▶ joined
 *                              └──────────────┴───────────────────┴─────────────────────┴──▶ none, and why
 *
 * A text waits for none of it: nothing here is awaited by a delivery, nothing is written to the store in front of one, the
 * call goes over connections of its own, and it is made only while the lane has nothing to do and its chat could take a text
 * at once. It takes no slot of the pace, for the next text may go at once as well; how many there are is bounded here.
 *
 * A text that is changed meanwhile (`beginEdit`) is what stays: the picture is added to the newest text, and where the two
 * calls have crossed, the newest is written once more behind the picture. What could not be changed any more with a picture
 * on it is not changed while one is on its way; the alert then answers it.
 *
 * All of it is in memory: a restart costs the pictures that have not joined, and no text. What became of them is noted, and
 * kept behind all deliveries (operations/picture-notes.ts).
 */
export interface LanePictures {
  /**
   * A message was sent, or changed to show a later alert, and that is on record. Returns at once. A message that shows a
   * later alert gets that one's picture in place of its own, which would contradict its text.
   */
  noteSent(sent: SentMessage): void;
  /**
   * A message is about to be changed. `impossible`: it is getting a picture, with which it could not say that. Undefined: it
   * is getting none. Else the way to say how the change went, which has to be called.
   */
  beginEdit(ref: string, message: Message): "impossible" | ((outcome: Outcome | undefined) => void) | undefined;
  /** Resolves when nothing is under way. Never rejects. */
  ended(): Promise<void>;
}

export interface SentMessage {
  /** All that the message is about, the newest first. */
  deliveries: readonly [ClaimedDelivery, ...ClaimedDelivery[]];
  /** One of several parts, or of many alerts together: it gets none, and counts all the same. */
  isAlone: boolean;
  message: Message;
  ref: string | undefined;
  context: Omit<SendContext, "signal">;
}

export interface LanePicturesDeps {
  desk: PictureDesk;
  destination: Destination;
  channel: Channel;
  /** Nothing is due, claimed or under way in the lane. */
  isQuiet(): boolean;
  pace: PaceMemory;
  store: Pick<LaneStore, "savePaces">;
  settings: DeliverySettings;
  /** `claiming`: none is begun any more. `calls`: ends those under way. */
  stop: LaneStop;
  clock: Clock;
  log: Log;
}

/** Of messages in the last minute: with more, the chat is busy enough. */
const mostTexts = 5;
const minuteMs = 60_000;
/** From the text's answer to the beginning of the picture's call. */
const beginWithinMs = 3_000;
const callTimeoutMs = 5_000;
const lookEveryMs = 50;
/** After as many refusals in a row, or one wish to be called later, no picture is tried for a while. */
const mostRefusals = 3;
const restMs = 10 * minuteMs;
/** A text that crossed with a picture is written once more, and again if that does not go through. */
const restoreWaitsMs = [0, 2_000, 10_000, 30_000];

interface Job {
  /** Of the alert that the message shows now. */
  delivery: ClaimedDelivery;
  readonly ref: string;
  readonly context: SentMessage["context"];
  sentAt: number;
  /** The message came to show a later alert while the picture of the one before was being added. */
  next?: SentMessage;
  /** What the message says now. */
  message: Message;
  isBeingAdded: boolean;
  editsUnderWay: number;
  /** What it was changed to while its picture was being added. */
  changedTo?: Message;
}

export function createLanePictures(deps: LanePicturesDeps): LanePictures {
  const { desk, destination, channel, pace, stop, clock, log } = deps;
  const jobs = new Map<string, Job>();
  const running = new Set<Promise<void>>();
  let texts: number[] = [];
  let refusals = 0;
  let restUntil = 0;

  function noteSent(sent: SentMessage): void {
    const now = clock.now();
    texts = [...texts, now].slice(-mostTexts - 1);
    const { ref, message, context } = sent;
    const [delivery] = sent.deliveries;
    if (!sent.isAlone || ref === undefined || !isWanted(delivery) || stop.claiming.aborted) return;
    const refusal = whyNot(message, now);
    const current = jobs.get(ref);
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
    jobs.set(ref, job);
    const run = illustrate(job)
      .catch((error: unknown) => {
        log.error("picture.failed", { destination: destination.name, error: String(error).slice(0, 300) });
      })
      .finally(() => {
        if (jobs.get(ref) === job) jobs.delete(ref);
        running.delete(run);
        if (job.next) noteSent(job.next);
      });
    running.add(run);
  }

  function whyNot(message: Message, now: number): PictureOutcome | undefined {
    if (!holdsPicture(message)) return tooLong;
    if (texts.length > mostTexts && (texts[0] ?? 0) > now - minuteMs)
      return { result: "many", reason: `more than ${mostTexts} messages went there within a minute` };
    if (restUntil > now && restUntil <= now + restMs)
      return { result: "refused", reason: "pictures were refused there before; they are tried again later" };
    return undefined;
  }

  function holdsPicture(message: Message): boolean {
    return channel.holdsPicture?.(message) ?? true;
  }

  async function illustrate(job: Job): Promise<void> {
    const outcome = await tryToAdd(job);
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
    if (job.isBeingAdded) await restoreText(job);
  }

  async function tryToAdd(job: Job): Promise<PictureOutcome> {
    for (;;) {
      const { delivery } = job;
      const drawing = await desk.draw(delivery.alertId, destination.timeZone);
      const isQuiet = "illustration" in drawing && (await waitForQuiet(job));
      // It shows a later alert by now.
      if (job.delivery !== delivery) continue;
      if (!("illustration" in drawing)) return drawing;
      if (!isQuiet) return stop.claiming.aborted ? stopped : noRoom;
      if (!holdsPicture(job.message)) return tooLong;
      return await add(job, drawing.illustration);
    }
  }

  /** Half of the pace is left to texts. */
  async function waitForQuiet({ delivery, sentAt }: Job): Promise<boolean> {
    const keys = paceKeysOf(destination, delivery.recipient, deps.settings).map(halved);
    for (;;) {
      const now = clock.now();
      if (stop.claiming.aborted || now > sentAt + beginWithinMs) return false;
      if (deps.isQuiet() && pace.nextSlot(keys, now).at <= now) return true;
      await clock.sleep(lookEveryMs, stop.claiming);
    }
  }

  async function add(job: Job, illustration: Illustration): Promise<PictureOutcome> {
    const { ref, message, context } = job;
    job.isBeingAdded = true;
    const outcome = await call(async (signal) => {
      if (!channel.illustrate) throw new Error(`a ${channel.type} channel shows no pictures`);
      return channel.illustrate(ref, message, illustration, { ...context, signal });
    });
    if (outcome.kind === "sent") {
      refusals = 0;
      return { result: "joined" };
    }
    const now = clock.now();
    const isAsked = outcome.kind !== "rejected" && outcome.waitMs !== undefined;
    refusals += 1;
    if (isAsked || refusals >= mostRefusals) restUntil = now + restMs;
    const paces = pace.parkAfter(outcome, destination, context.recipient, now);
    // The next text that is recorded saves it as well.
    if (paces.length > 0) void deps.store.savePaces(paces).catch(() => {});
    return { result: stop.calls.aborted ? "stopped" : "refused", reason: outcome.detail };
  }

  function call(act: (signal: AbortSignal) => Promise<Outcome>): Promise<Outcome> {
    return callChannel(act, { timeoutMs: callTimeoutMs, stop: stop.calls }, deps);
  }

  /** Nobody knows which of the two calls was the later one at the other side. */
  async function restoreText(job: Job): Promise<void> {
    while (job.editsUnderWay > 0 && !stop.calls.aborted) await clock.sleep(lookEveryMs, stop.calls);
    for (const waitMs of restoreWaitsMs) {
      const { changedTo } = job;
      if (changedTo === undefined || !channel.edit) return;
      await clock.sleep(waitMs, stop.calls);
      if (stop.calls.aborted) return;
      const outcome = await call(async (signal) => {
        if (!channel.edit) throw new Error(`a ${channel.type} channel cannot edit`);
        return channel.edit(job.ref, changedTo, { ...job.context, signal });
      });
      if (outcome.kind === "sent" && job.changedTo === changedTo) return;
      if (outcome.kind === "rejected") {
        log.warn("picture.text_not_restored", { destination: destination.name, reason: outcome.reason });
        return;
      }
    }
  }

  return {
    noteSent,
    beginEdit(ref, message) {
      const job = jobs.get(ref);
      if (!job) return undefined;
      if (job.isBeingAdded && !holdsPicture(message)) return "impossible";
      job.editsUnderWay += 1;
      return (outcome) => {
        job.editsUnderWay -= 1;
        if (outcome?.kind !== "sent") return;
        if (job.next) job.next = { ...job.next, message };
        if (job.isBeingAdded) job.changedTo = message;
        else job.message = message;
      };
    },
    async ended() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

/** What an alert's message says of its moment. Good news has the picture of its first message; tests show how one looks. */
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
