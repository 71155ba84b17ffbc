import { expect, it } from "vitest";
import { openRaw, type RawConnection } from "../support/raw-http.ts";
import { startRelayProcess, webhookSecret } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const path = `/hooks/${webhookSecret}`;
const ofEachKind = 60;
const dripEveryMs = 400;

interface SlowKind {
  /** What is said at once. */
  first: string;
  /** What follows, a little at a time, for as long as the connection is open. */
  drip?: string;
  /** When the relay has to have ended it, milliseconds after the beginning. Default: as headers. */
  endedWithinMs?: number;
  /** What it says first is enough to refuse it. */
  isRefusedAtOnce?: boolean;
}

/**
 * The relay ends headers after 10 s and requests after 20 s. Ten times that is for a busy machine; without limits of
 * its own Node would give them 60 and 300 s, and a connection that says nothing for ever.
 */
const [headersMs, requestMs] = [100_000, 200_000];
const begin = (to: string, rest = "") => `POST ${to} HTTP/1.1\r\nHost: x\r\n${rest}`;
const length = "Content-Length: 9999\r\n\r\n";
const chunked = "Transfer-Encoding: chunked\r\n\r\n";
const refused = { first: begin("/hooks/unknown", length), drip: "a", isRefusedAtOnce: true };
const slowKinds: Record<string, SlowKind> = {
  "says nothing": { first: "" },
  "stops within 16 KB of headers": { first: begin(path, `X-A: ${"a".repeat(16_000)}`) },
  "drips headers": { first: begin(path), drip: "a: b\r\n" },
  "drips a body": { first: begin(path, length), drip: "a", endedWithinMs: requestMs },
  "drips chunks": { first: begin(path, chunked), drip: "1\r\na\r\n", endedWithinMs: requestMs },
  "drips a login": { ...refused, first: begin("/login", length), endedWithinMs: requestMs },
  "drips to an unknown secret": refused,
};

type Ended = { statuses: number[]; afterMs: number };

/**
 * Item 5. It takes the twenty seconds that a request may take: only the clock of the machine can show that they end.
 */
it("answers a good sender at once while hundreds of slow ones hold connections, and ends those in time", async () => {
  const relay = await startRelayProcess(makeTempFolder(), { LOG_LEVEL: "error" });
  const slow = Object.entries(slowKinds).flatMap(([name, kind]) =>
    Array.from({ length: ofEachKind }, async () => ({ name, ...(await holdOpen(relay.url, kind)) })),
  );
  let hasOneEnded = false;
  for (const one of slow) {
    void one.then(({ name }) => {
      hasOneEnded ||= slowKinds[name]?.isRefusedAtOnce !== true;
    });
  }

  let answered = 0;
  for (; !hasOneEnded; answered += 1) {
    const { status } = await relay.post(JSON.stringify({ title: `good ${answered}` }));
    expect(status).toBe(202);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  // Hundreds on a calm machine; were a good sender to wait for a slow one, it would be one.
  expect(answered).toBeGreaterThan(10);

  for (const { name, statuses, afterMs } of await Promise.all(slow)) {
    expect([name, ...statuses.filter((status) => status < 400)]).toEqual([name]);
    expect(afterMs, name).toBeLessThan(slowKinds[name]?.endedWithinMs ?? headersMs);
  }
  expect(relay.log()).not.toContain(`"level"`);
});

async function holdOpen(url: string, { first, drip }: SlowKind): Promise<Ended> {
  const startedAt = performance.now();
  const connection: RawConnection = await openRaw(url);
  if (first !== "") await connection.write(first);
  const dripping =
    drip === undefined
      ? undefined
      : setInterval(() => void (connection.socket.writable && connection.socket.write(drip)), dripEveryMs);
  const answers = await connection.readToEnd();
  clearInterval(dripping);
  return { statuses: answers.map(({ status }) => status), afterMs: performance.now() - startedAt };
}
