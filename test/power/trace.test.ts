import { expect, it } from "vitest";
import { readMessages } from "./http-stream.ts";
import { createTraceReader } from "./trace.ts";

const hex = (text: string) => [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
const file = (descriptor: number, path: string) => `${descriptor}<${hex(path)}>`;

function read(...lines: string[]) {
  const reader = createTraceReader("/d");
  for (const line of lines) reader.read(line);
  return reader.calls();
}

it("reads files, names and syncs as strace writes them, and leaves out what failed or lies elsewhere", () => {
  const calls = read(
    `7 openat(AT_FDCWD<${hex("/d")}>, "${hex("a")}", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = ${file(9, "/d/a")}`,
    `7 openat(AT_FDCWD<${hex("/d")}>, "${hex("/d/b")}", O_RDONLY) = -1 ENOENT (No such file or directory)`,
    `7 openat(AT_FDCWD<${hex("/d")}>, "${hex("/dev/null")}", O_WRONLY|O_CREAT) = 10<${hex("/dev/null")}>`,
    `7 pwrite64(${file(9, "/d/a")}, "${hex('q"(1) = 2')}", 9, 4096) = 9`,
    `7 write(${file(9, "/d/a")}, "${hex("abc")}"..., 5) = 5`,
    `7 ftruncate(${file(9, "/d/a")}, 12) = 0`,
    `7 fdatasync(${file(9, "/d/a")}) = 0`,
    `7 rename("${hex("/d/a")}", "${hex("/d/c")}") = 0`,
    `7 unlink("${hex("/d/c")}") = 0`,
    `7 pwrite64(${file(9, "/d/c")}(deleted), "${hex("x")}", 1, 0) = 1`,
    `7 writev(11<${hex("socket:[5]")}>, [{iov_base="${hex("HT")}", iov_len=2}, {iov_base="${hex("TP")}", iov_len=2}], 2) = 3`,
  );
  expect(calls.map(({ begin, end, ...effect }) => effect)).toEqual([
    { kind: "open", path: "/d/a", descriptor: 9, creates: true, empties: false, appends: false },
    { kind: "write", path: "/d/a", descriptor: 9, bytes: Buffer.from('q"(1) = 2'), at: 4096 },
    { kind: "write", path: "/d/a", descriptor: 9, bytes: Buffer.from("abc\0\0"), at: undefined },
    { kind: "truncate", path: "/d/a", size: 12 },
    { kind: "sync", path: "/d/a" },
    { kind: "rename", from: "/d/a", to: "/d/c" },
    { kind: "unlink", path: "/d/c" },
    { kind: "send", socket: "socket:[5]", bytes: Buffer.from("HTT") },
  ]);
});

it("keeps the order in which calls of several threads begin and end", () => {
  const calls = read(
    `1 fsync(${file(9, "/d/a")} <unfinished ...>`,
    `2 pwrite64(${file(9, "/d/a")}, "${hex("x")}", 1, 0) = 1`,
    "1 <... fsync resumed>)             = 0",
    `2 fsync(${file(8, "/d/b")}) = 0`,
  );
  const places = calls.map(({ kind, begin, end }) => ({ kind, begin, end }));
  expect(places).toEqual([
    { kind: "sync", begin: 0, end: 3 },
    { kind: "write", begin: 1, end: 2 },
    { kind: "sync", begin: 4, end: 5 },
  ]);
});

it("refuses a call whose effect it does not know", () => {
  expect(() => read(`1 copy_file_range(${file(9, "/d/a")}, NULL, ${file(8, "/d/b")}, NULL, 9, 0) = 9`)).toThrow(
    "power cuts after copy_file_range are not modelled",
  );
});

it("finds each answer of a connection, and the call that began to send it", () => {
  const chunks = [
    "HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 204 No Content\r\n\r\nHTT",
    "P/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ncut",
  ].map((text, index) => ({ begin: 10 + index, bytes: Buffer.from(text) }));
  expect(readMessages(chunks)).toEqual([
    { at: 10, start: "HTTP/1.1 202 Accepted", body: "{}" },
    { at: 10, start: "HTTP/1.1 204 No Content", body: "" },
    { at: 10, start: "HTTP/1.1 200 OK", body: "abc" },
  ]);
});
