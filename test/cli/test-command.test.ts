import { expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { AppError } from "../../src/core/errors.ts";
import { halve, startSpoilingProxy } from "../support/spoiling-proxy.ts";
import { createRelayWorld, deskChat, mailAddress, opsChat, passTimeWhen, yaml } from "./relay-world.ts";

/** For a test that has to arrive, on however busy a machine. */
const patient = ["--timeout", "4m"];

it("sends one marked alert as a sender would and shows each outcome", async () => {
  const world = await createRelayWorld();
  const run = await world.run(["test", "--severity", "critical", "--json", ...patient]);
  expect(run.status).toBe(0);
  const { data } = run.json();
  expect(data).toMatchObject({ ok: true, timedOut: false });
  const sent = ["desk", "mail", "ops"].map((destination) => ({ destination, state: "sent" }));
  expect(data.deliveries).toMatchObject(sent);
  const [message, ...more] = world.chat.messages(deskChat);
  expect(more).toEqual([]);
  expect(message?.text).toMatch(/^🧪 Test from [\s\S]*No action needed/);
  expect(world.mailbox.mails(mailAddress)[0]?.subject).toContain("TEST");
  const people = await world.run(["test", "--severity", "warning", ...patient]);
  expect(people.stdout).toMatch(/ops telegram to -1001700000002, test +sent after \d[\s\S]*1 of 1 reached\./);
});

it("fails when the test arrives with another body, and says how many bytes were sent and came", async () => {
  const world = await createRelayWorld();
  const proxy = await startSpoilingProxy(world.relay.localUrl, halve);
  const run = await world.run(["test", "--severity", "critical", "--url", proxy, ...patient]);
  expect(run.status).toBe(1);
  expect(run.stdout).toMatch(
    /^The test arrives cut off: \d+ bytes sent, \d+ arrived\. Something in front of the relay/m,
  );
});

it("fails when a destination refuses, and shows its words", async () => {
  const world = await createRelayWorld({ yaml: yaml.replace(opsChat, "-1009") });
  const run = await world.run(["test", "--severity", "warning", ...patient]);
  expect(run.status).toBe(1);
  expect(run.stdout).toMatch(
    /ops telegram to -1009, test +failed after \d.*chat not found.*What helps: check the chat/,
  );
  expect(run.stdout).toContain("0 of 1 reached.");
  const id = run.stdout.trim().slice(-36);
  expect((await world.run(`alerts show ${id}`)).stdout).toContain("What helps: check the chat");
  await world.stopRelay();
  expect((await world.run(`alerts show ${id}`)).stdout).toContain("What helps: check the chat");
});

it("straight to one destination sends one marked message there, whatever the routes, mutes and quiet hours say", async () => {
  const muted = `${yaml.replace("chatId: ", 'quietHours: { from: "00:00", to: "23:59" }, chatId: ')}
mutes:
  - { match: { title: { exists: true } }, until: "2099-01-01T00:00:00Z", reason: everything }
`;
  const world = await createRelayWorld({ yaml: muted });
  const run = await world.run(["test", "--to", "desk", "--to", "mail", "--json", ...patient]);
  expect([run.status, run.stderr]).toEqual([0, ""]);
  const { data } = run.json();
  expect(data).toMatchObject({ ok: true, timedOut: false, tests: [{ destination: "desk", isNew: true }, {}] });
  const sent = { state: "sent", purpose: "test" };
  expect(data.deliveries).toMatchObject(["desk", "mail"].map((destination) => ({ destination, ...sent })));
  expect(world.chat.messages(deskChat).map(({ text }) => text)).toEqual([
    expect.stringMatching(/^🧪 Test of desk[\s\S]*straight to this destination[\s\S]*No action needed/),
  ]);
  expect(world.chat.messages(opsChat)).toEqual([]);
  expect(world.mailbox.mails(mailAddress)[0]?.subject).toContain("TEST");
  const logged = await world.run(["alerts", "show", data.tests[0].id]);
  expect(logged.stdout).toMatch(/origin +test[\s\S]*request +none: Tocsin wrote it itself/);
  // The clock of this machine is an hour behind: what it took is said by the relay's.
  const late = await world.run(["test", "--to", "ops", ...patient], { now: () => Date.now() - 3_600_000 });
  expect(late.stdout).toMatch(/has reached ops \(\S+\) after [\d.]+ m?s\. /);
});

it("straight to one destination says why it was not reached and what to do, and sends no second one within seconds", async () => {
  // Its clock stands still, so that the second is asked for within seconds on any machine.
  const at = Date.now();
  const world = await createRelayWorld({ clock: { ...systemClock, now: () => at } });
  world.chat.setMembership(deskChat, "kicked");
  const first = await world.run(["test", "--to", "desk", ...patient]);
  expect(first.status).toBe(1);
  expect(first.stdout).toMatch(
    /^The test did not reach desk \(-1001700000001\): .*bot was kicked.*\. Add the bot back and let it post\.\n\n0 of 1 reached\.\n/,
  );
  expect((await world.run("status")).stdout).toMatch(/desk .*dead/);
  world.chat.setMembership(deskChat, "member");
  const again = await world.run(["test", "--to", "desk", ...patient]);
  expect(again.stderr).toContain("no second test was sent to desk: this is what became of the one of");
  expect(world.chat.messages(deskChat)).toEqual([]);
});

it("straight to one destination fails when the time runs out, says why, and that the relay goes on", async () => {
  const world = await createRelayWorld({ env: { SMTP_URL: "smtp://127.0.0.1:9" } });
  const time = passTimeWhen(async () => {
    const counted = await world.relay.store.countByDestination();
    const countsOf = (name: string) => counted.find(({ destination }) => destination === name)?.counts;
    return countsOf("mail")?.waiting === 1 && countsOf("ops")?.sent === 1;
  });
  const run = await world.run("test --to mail,ops --timeout 2s", time);
  expect(run.status).toBe(1);
  expect(run.stdout).toMatch(
    /has not reached mail .*check the network[\s\S]*has reached ops[\s\S]*1 of 2 reached after 2 s; the relay keeps trying/,
  );
  expect((await world.run("test --to mail --timeout 1s")).stderr).toContain("no second test was sent to mail");
});

it("straight to one destination says by Ctrl-C that what was sent goes on, and where to see it", async () => {
  const world = await createRelayWorld({ env: { SMTP_URL: "smtp://127.0.0.1:9" } });
  const interrupt = new AbortController();
  const sleep = async () => {
    interrupt.abort(new AppError("cancelled", "stopped by SIGINT"));
    throw interrupt.signal.reason;
  };
  const run = await world.run("test --to mail", { signal: interrupt.signal, sleep });
  expect(run.status).toBe(1);
  expect(run.stderr).toMatch(/error: stopped by SIGINT\nhint: {2}the relay still sends; see: tocsin alerts show 01/);
});

it("reaches nobody where no route wants it, a name is none, or the hook has another secret than the one found here", async () => {
  const world = await createRelayWorld();
  const unwanted = await world.run(["test", "--severity", "info", ...patient]);
  expect(unwanted.status).toBe(1);
  expect(unwanted.stdout).toContain("No route wants an alert of severity info");
  const misspelt = await world.run("test --to desk,dsek");
  expect(misspelt.status).toBe(2);
  expect(misspelt.stderr).toMatch(/no destination dsek[\s\S]*desk, ops, mail/);
  const env = { ...world.env, WEBHOOK_SECRET: "canary-webhook-secret-0123456789abcdefg" };
  const run = await world.run("test", { env });
  expect(run).toMatchObject({ status: 1, stderr: expect.stringContaining("does not know the hook secret") });
  expect(run.stdout + run.stderr).not.toContain("canary");
  expect(world.chat.messages(deskChat)).toEqual([]);
});
