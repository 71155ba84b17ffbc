import { expect, test } from "vitest";
import { isLoopback, localHost } from "../../../src/ground/net/local-host.ts";

test.each(["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.10", "::1", "[::1]"])(
  "%s is this machine",
  (host) => {
    expect(isLoopback(host)).toBe(true);
  },
);

test.each(["0.0.0.0", "::", "localhost.example", "127.0.0.1.example", "10.0.0.1", "[::2]", ""])(
  "%j may be another machine",
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);

test.each([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "127.0.0.1"],
  ["::1", "[::1]"],
  ["192.0.2.1", "192.0.2.1"],
])("a server at %s is reached at %s", (host, expected) => {
  expect(localHost(host)).toBe(expected);
});
