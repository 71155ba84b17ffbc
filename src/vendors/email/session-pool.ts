import type { CallBounds } from "../../core/ports/channel.ts";
import { isTimeout } from "../../ground/net/time-limit.ts";
import type { Envelope, SmtpSession, Step } from "./session.ts";
import type { Breakdown } from "./transcript.ts";

/**
 * Keeps connections to one account for a while, so a burst logs in once.
 * nodemailer's own pool silently requeues mails. Its log hides which connection carried which mail, so nobody could say
 * whether a mail may have arrived.
 * @param options.maxConnections at once; mail servers count them per account
 * @param options.idleMs how long a connection is kept for the next mail
 */
export function createSessionPool(
  createSession: () => SmtpSession,
  options: { maxConnections: number; idleMs: number },
) {
  const idle: { session: SmtpSession; timer: NodeJS.Timeout }[] = [];
  const busy = new Set<SmtpSession>();
  const waiting: (() => void)[] = [];
  let taken = 0;
  let closed = false;

  async function takeSlot(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (taken < options.maxConnections) {
      taken += 1;
      return true;
    }
    return new Promise((resolve) => {
      const enter = (): void => {
        signal.removeEventListener("abort", leave);
        resolve(true);
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(enter), 1);
        resolve(false);
      };
      signal.addEventListener("abort", leave, { once: true });
      waiting.push(enter);
    });
  }

  /** Passes the slot directly to the next waiting call, so no other call takes it first. */
  function freeSlot(): void {
    const next = waiting.shift();
    if (next === undefined) taken -= 1;
    else next();
  }

  function takeIdle(): SmtpSession | undefined {
    for (let entry = idle.pop(); entry !== undefined; entry = idle.pop()) {
      clearTimeout(entry.timer);
      if (entry.session.isOpen()) return entry.session;
    }
    return undefined;
  }

  function keep(session: SmtpSession): void {
    if (closed) {
      void session.quit();
      return;
    }
    const timer = setTimeout(() => {
      idle.splice(idle.indexOf(entry), 1);
      void session.quit();
    }, options.idleMs);
    timer.unref();
    const entry = { session, timer };
    idle.push(entry);
  }

  async function deliverOver(
    session: SmtpSession,
    isNew: boolean,
    ...mail: Parameters<SmtpSession["deliver"]>
  ): Promise<Step> {
    busy.add(session);
    try {
      const opened: Step = isNew ? await session.open(mail[2].signal) : { ok: true };
      const step = opened.ok ? await session.deliver(...mail) : opened;
      if (step.ok) keep(session);
      else void session.quit();
      return step;
    } finally {
      busy.delete(session);
    }
  }

  return {
    async deliver(envelope: Envelope, mail: Buffer, bounds: CallBounds): Promise<Step> {
      const { signal } = bounds;
      if (!(await takeSlot(signal))) return notStarted(signal);
      try {
        const kept = takeIdle();
        if (kept !== undefined) {
          const step = await deliverOver(kept, false, envelope, mail, bounds);
          if (step.ok || !wasStale(step.breakdown)) return step;
        }
        if (closed) return notStarted(signal);
        return await deliverOver(createSession(), true, envelope, mail, bounds);
      } finally {
        freeSlot();
      }
    },
    /** Ends all connections. A mail under way breaks off and reports its stage. */
    async close(): Promise<void> {
      closed = true;
      for (const session of busy) session.destroy();
      const leaving = idle.splice(0).map(({ session, timer }) => {
        clearTimeout(timer);
        return session.quit();
      });
      await Promise.all(leaving);
    },
  };
}

/** The server closed a kept connection before the mail left. The caller repeats such a mail at once. */
function wasStale({ stage, cause }: Breakdown): boolean {
  return stage !== "content" && (cause.kind === "lost" || (cause.kind === "reply" && cause.reply.code === 421));
}

function notStarted(signal: AbortSignal): Step {
  const timedOut = isTimeout(signal.reason);
  return { ok: false, breakdown: { stage: "connect", cause: { kind: "aborted", timedOut } } };
}
