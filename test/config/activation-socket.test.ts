import { expect, test } from "vitest";
import { findActivationSocket } from "../../src/config/activation-socket.ts";

const pid = 4711;
const find = (count?: string, whose?: string) =>
  findActivationSocket({ env: { LISTEN_FDS: count, LISTEN_PID: whose }, pid });

test("takes the one socket that was opened for this process, and none when there is none", () => {
  expect(find("1", "4711")).toEqual({ fd: 3 });
  expect(find(" 1\n", "4711")).toEqual({ fd: 3 });
  for (const [count, whose] of [[], ["", ""], ["0", "4711"], [undefined, "4711"]])
    expect(find(count, whose)).toEqual({});
});

test("leaves a socket to the process that it was opened for, and says so", () => {
  expect(find("1", "17")).toEqual({ ignored: expect.stringContaining("LISTEN_PID is 17 and this process 4711") });
});

test.each([
  ["2", "4711", 'LISTEN_FDS is "2", and Tocsin takes one socket: keep one ListenStream.'],
  ["one", "4711", 'LISTEN_FDS is "one", and is no number of sockets.'],
  ["-1", "4711", 'LISTEN_FDS is "-1", and is no number of sockets.'],
  ["1", undefined, "LISTEN_PID is not set, and says of no process that the socket of LISTEN_FDS is its own."],
  ["1", "self", 'LISTEN_PID is "self", and says of no process that the socket of LISTEN_FDS is its own.'],
])("refuses LISTEN_FDS %j with LISTEN_PID %j in one line", (count, whose, message) => {
  expect(() => find(count, whose)).toThrow(message);
  expect(message).not.toContain("\n");
});
