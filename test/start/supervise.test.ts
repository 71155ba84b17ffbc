import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import type { Log } from "../../src/core/log.ts";
import { openSocket } from "../../src/http/hold-socket.ts";
import { supervise } from "../../src/start/supervise.ts";
import { createTestContext } from "../support/cli.ts";
import { createTestClock } from "../support/test-clock.ts";

/** A child that does what the test says, and notes what it hears. */
class FakeChild extends EventEmitter {
  readonly signals: string[] = [];
  readonly stdout = new PassThrough();
  constructor(
    readonly args: string,
    readonly pid: number | undefined,
  ) {
    super();
  }
  kill(signal: string): void {
    this.signals.push(signal);
    if (signal === "SIGKILL") this.end(null, signal);
  }
  end(status: number | null, signal: string | null = null): void {
    this.emit("exit", status, signal);
    this.emit("close", status, signal);
  }
}

/** The supervisor with children of the test's, a clock that it moves, and SIGHUP and SIGTERM as functions. */
function startSupervisor(start: { refuses?: (args: string) => Error | undefined; isStopped?: boolean } = {}) {
  const clock = createTestClock();
  const children: FakeChild[] = [];
  const events: { event: string; [field: string]: unknown }[] = [];
  const note = (event: string, fields?: object) =>
    void events.push({ event: event.replace("supervisor.", ""), ...fields });
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const stopping = new AbortController();
  if (start.isStopped) stopping.abort();
  let hangUp = () => {};
  const { context } = createTestContext({
    now: clock.now,
    sleep: (ms, signal) => clock.sleep(ms, signal).then(() => signal?.throwIfAborted()),
    signal: stopping.signal,
    startAgain(args) {
      const name = args.join(" ");
      const failure = start.refuses?.(name);
      if (failure) throw failure;
      const child = new FakeChild(name, children.length + 1);
      children.push(child);
      return child as unknown as ChildProcess;
    },
    onHangUp: (listener) => {
      hangUp = listener;
    },
  });
  const ended = supervise(context, log, 3, []);
  return {
    clock,
    children,
    events,
    ended,
    latest: () => children.at(-1) as FakeChild,
    hangUp: async () => {
      hangUp();
      await clock.settle();
    },
    stop: () => stopping.abort(),
    /** The check that runs, which comes to this. */
    async check(status: number, said?: object) {
      const check = children.at(-1) as FakeChild;
      expect(check.args).toBe("check --json");
      if (said !== undefined) check.stdout.write(JSON.stringify(said));
      await clock.settle();
      check.end(status);
      await clock.settle();
    },
  };
}

const serve = "serve --listen-fd 3";
const failing = (code: string) => Object.assign(new Error(code), { code });
const logLevel = { where: "LOG_LEVEL", message: "is no level", instead: "write info" };

/** What a child hears is behind its name. */
const heard = ({ children }: ReturnType<typeof startSupervisor>) =>
  children.map(({ args, signals }) => [args === serve ? "serve" : "check", ...signals].join(" "));

it("SIGHUP asks the relay to stop when the check has found nothing, and starts the next when it has ended", async () => {
  const supervisor = startSupervisor();
  await supervisor.hangUp();
  expect(heard(supervisor)).toEqual(["serve", "check"]);
  await supervisor.check(0);
  expect(heard(supervisor)).toEqual(["serve SIGTERM", "check"]);
  supervisor.children[0]?.end(0);
  await supervisor.clock.settle();
  expect(heard(supervisor)).toEqual(["serve SIGTERM", "check", "serve"]);
});

type Checked = (supervisor: ReturnType<typeof startSupervisor>) => Promise<void>;
const says = (status: number, said?: object): Checked => {
  return (supervisor) => supervisor.check(status, said);
};
const isMissing: Checked = async ({ latest, clock }) => {
  Object.assign(latest(), { pid: undefined });
  latest().emit("error", failing("ENOENT"));
  await clock.settle();
};
it.each<[string, Checked, string, Parameters<typeof startSupervisor>[0]?]>([
  ["a mistake", says(2, { data: { valid: false, problems: [logLevel] } }), "LOG_LEVEL: is no level (write info)"],
  ["an installation that is not whole", says(1, { error: { message: "Not built yet." } }), "Not built yet."],
  ["a check that says nothing", says(1), "tocsin check ended with status 1"],
  ["a check that hangs", ({ clock }) => clock.advance(30_000), "tocsin check ended with SIGKILL"],
  ["a check that is not there", isMissing, "tocsin check cannot be started: ENOENT"],
  [
    "no room for a check",
    async () => {},
    "tocsin check cannot be started: ENOMEM",
    { refuses: (args) => (args === serve ? undefined : failing("ENOMEM")) },
  ],
])("SIGHUP lets the relay go on with %s, and says why", async (_what, check, why, start) => {
  const supervisor = startSupervisor(start);
  await supervisor.hangUp();
  await check(supervisor);
  expect(heard(supervisor)[0]).toBe("serve");
  expect(supervisor.events.at(-1)).toEqual({ event: "restart_refused", why, goesOn: 1 });
});

it("SIGHUP checks once more when it comes again meanwhile, and signals a relay once however often it comes", async () => {
  const supervisor = startSupervisor();
  for (let signal = 0; signal < 3; signal += 1) await supervisor.hangUp();
  await supervisor.check(2);
  await supervisor.check(0);
  await supervisor.hangUp();
  await supervisor.check(0);
  supervisor.stop();
  // A second signal would end it at once, and with it the calls and alerts that are under way.
  expect(heard(supervisor)[0]).toBe("serve SIGTERM");
  supervisor.children[0]?.end(0);
  expect(await supervisor.ended).toBe(0);
});

it("SIGHUP does not stop a relay that was started since", async () => {
  const supervisor = startSupervisor();
  const [first] = supervisor.children;
  await supervisor.hangUp();
  const [, check] = supervisor.children;
  await supervisor.clock.advance(10_000);
  first?.end(null, "SIGSEGV");
  await supervisor.clock.settle();
  check?.end(0);
  await supervisor.clock.settle();
  expect(heard(supervisor)).toEqual(["serve", "check", "serve"]);
});

it("SIGHUP ends a pause after a crash", async () => {
  const supervisor = startSupervisor();
  supervisor.latest().end(1);
  await supervisor.clock.settle();
  expect(supervisor.children).toHaveLength(1);
  await supervisor.hangUp();
  expect(supervisor.children).toHaveLength(2);
});

it("a relay that hangs is killed 10 s behind its own limit for calls in flight, and the next is started", async () => {
  const supervisor = startSupervisor();
  supervisor.latest().emit("message", { stopsWithinMs: 60_000 });
  await supervisor.hangUp();
  await supervisor.check(0);
  await supervisor.clock.advance(69_999);
  expect(heard(supervisor)).toEqual(["serve SIGTERM", "check"]);
  await supervisor.clock.advance(1);
  expect(heard(supervisor)).toEqual(["serve SIGTERM SIGKILL", "check", "serve"]);
  expect(supervisor.events).toContainEqual({ event: "relay_hangs", pid: 1, killedAfterMs: 70_000 });
});

it("a relay that hangs is killed at SIGTERM too, also one that has not said its limit", async () => {
  const supervisor = startSupervisor();
  supervisor.stop();
  await supervisor.clock.advance(30_000);
  expect(await supervisor.ended).toBe(1);
  expect(heard(supervisor)).toEqual(["serve SIGTERM SIGKILL"]);
});

it("a relay that ends by itself is started again after 1, 2, 4 … 30 s, at once when it had run for 10 s", async () => {
  const supervisor = startSupervisor();
  const pauses = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
  for (const ms of pauses) {
    const { length } = supervisor.children;
    supervisor.latest().end(1);
    await supervisor.clock.advance(ms - 1);
    expect(supervisor.children).toHaveLength(length);
    await supervisor.clock.advance(1);
    expect(supervisor.children).toHaveLength(length + 1);
  }
  const ends = supervisor.events.filter(({ event }) => event === "relay_ended");
  expect(ends.map(({ startedAgainInMs }) => startedAgainInMs)).toEqual(pauses);
  await supervisor.clock.advance(10_000);
  supervisor.latest().end(null, "SIGKILL");
  await supervisor.clock.settle();
  expect(supervisor.children).toHaveLength(pauses.length + 2);
});

it("a relay that ends by itself is tried again when the system starts no process, whether that is thrown or told", async () => {
  let isFull = true;
  const supervisor = startSupervisor({ refuses: () => (isFull ? failing("ENOMEM") : undefined) });
  const { clock, events, children, latest } = supervisor;
  await clock.settle();
  expect(events.at(-1)).toMatchObject({ event: "relay_ended", error: "ENOMEM", startedAgainInMs: 1_000 });
  isFull = false;
  await clock.advance(1_000);
  expect(children).toHaveLength(1);
  Object.assign(latest(), { pid: undefined });
  latest().emit("error", failing("ENOENT"));
  await clock.settle();
  expect(events.at(-1)).toMatchObject({ event: "relay_ended", error: "ENOENT", startedAgainInMs: 2_000 });
});

it("a relay that ends by itself has not ended when only a signal could not be sent to it", async () => {
  const supervisor = startSupervisor();
  for (let signal = 0; signal < 2; signal += 1) supervisor.latest().emit("error", failing("EPERM"));
  await supervisor.clock.advance(60_000);
  expect(supervisor.children).toHaveLength(1);
});

it("starts no relay when it was told to end before it could", async () => {
  const supervisor = startSupervisor({ isStopped: true });
  await supervisor.ended;
  expect(supervisor.children).toEqual([]);
});

it("says in one line when Node opens no socket for others", async () => {
  await expect(openSocket("127.0.0.1", 0, {})).rejects.toThrow(
    `Node.js ${process.versions.node} opens no socket for others, so none can be held.`,
  );
});
