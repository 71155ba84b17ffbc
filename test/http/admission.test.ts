import type { Socket } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { Admission } from "../../src/http/admission.ts";

const day = 24 * 60 * 60 * 1000;

function open() {
  let now = 0;
  let turnedAway = 0;
  const admission = new Admission({
    now: () => now,
    onTurnedAway: () => {
      turnedAway += 1;
    },
  });
  const letIn: string[] = [];
  const told: string[] = [];
  const socketAt = (remoteAddress: string | undefined, name: string) =>
    ({ remoteAddress, on: () => {}, end: () => told.push(name) }) as unknown as Socket;
  return {
    admission,
    letIn,
    told,
    turnedAway: () => turnedAway,
    enter(address: string | undefined, name = address ?? ""): Socket {
      const socket = socketAt(address, name);
      admission.enter(socket, () => letIn.push(name));
      return socket;
    },
    know: (address: string | undefined) => admission.know(socketAt(address, "")),
    wait: (ms: number) => {
      now += ms;
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it("lets in at once where an alert came from that network within a day, and others behind the new connections", async () => {
  const { enter, know, letIn, wait } = open();
  know("192.0.2.7");
  enter("198.51.100.1");
  enter("192.0.2.9");
  expect(letIn).toEqual(["192.0.2.9"]);
  await turn();
  expect(letIn).toHaveLength(1);
  await turn();
  expect(letIn).toEqual(["192.0.2.9", "198.51.100.1"]);
  wait(day);
  enter("192.0.2.7");
  expect(letIn).toHaveLength(2);
  await turn();
  await turn();
});

it("takes the networks in turn, a few connections at a time", async () => {
  const { enter, letIn } = open();
  for (const name of ["a1", "a2", "a3", "a4", "a5", "a6"]) enter("2001:db8:1::1", name);
  for (const name of ["b1", "b2"]) enter("2001:db8:2:ffff::1", name);
  for (const name of ["c1"]) enter("198.51.100.1", name);
  await turn();
  await turn();
  expect(letIn).toEqual(["a1", "b1", "c1", "a2"]);
  await turn();
  expect(letIn.slice(4)).toEqual(["b2", "a3", "a4", "a5"]);
  await turn();
  expect(letIn.slice(8)).toEqual(["a6"]);
});

it("waits for no end of new connections", async () => {
  const { enter, letIn } = open();
  for (let count = 0; count < 40; count += 1) {
    enter("198.51.100.1", String(count));
    await turn();
  }
  expect(letIn.length).toBeGreaterThanOrEqual(8);
  while (letIn.length < 40) await turn();
});

it("lets in no more that have no answer yet than 64 and what a turn lets in, until one has it or 50 ms are over", async () => {
  const processClock = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => processClock.mockRestore());
  const { admission, enter, letIn } = open();
  const sockets = Array.from({ length: 100 }, (_, count) => enter("198.51.100.1", String(count)));
  while (letIn.length < 64) await turn();
  for (let count = 0; count < 20; count += 1) await turn();
  expect(letIn).toHaveLength(64);
  admission.leave(sockets[0] as Socket);
  await expect.poll(() => letIn.length).toBe(68);
  processClock.mockReturnValue(51);
  await expect.poll(() => letIn.length).toBe(100);
});

it("lets in all that wait from a network when its first alert is accepted", async () => {
  const { enter, know, letIn } = open();
  for (let count = 0; count < 100; count += 1) enter(`192.0.2.${count}`);
  know("192.0.2.200");
  expect(letIn).toHaveLength(100);
  enter(undefined, "gone");
  know(undefined);
  expect(letIn).toHaveLength(100);
  await turn();
  await turn();
  expect(letIn).toHaveLength(101);
});

it("tells one of the network that waits most to come again when too many wait, and counts it", () => {
  const { admission, enter, told, turnedAway, letIn } = open();
  enter("198.51.100.1");
  for (let count = 0; count < 4_096; count += 1) enter(`192.0.2.${count % 250}`, `stranger ${count}`);
  expect([told, turnedAway()]).toEqual([["stranger 0"], 1]);
  admission.open();
  expect(letIn).toHaveLength(4_096);
  enter("203.0.113.1");
  expect(letIn).toHaveLength(4_097);
});
